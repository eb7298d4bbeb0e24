"""A diode fed through two resistors: an implicit circuit, its voltages found by Newton's method.

Kirchhoff's current law at the two nodes holds the voltages V_1 and V_2. Values as in OpenMDAO's circuit.
"""

import jax
import jax.numpy as jnp
import numpy as np

import couplax as cpx

jax.config.update("jax_enable_x64", True)


@cpx.component(cpx.output("I_R1", units="A"))
def to_ground(V_1, R_1=100.0):
    return V_1 / R_1


@cpx.component(cpx.output("I_R2", units="A"))
def between(V_1, V_2, R_2=10000.0):
    return (V_1 - V_2) / R_2


@cpx.component(cpx.output("I_D", units="A"))
def diode(V_2, I_s=1e-15, V_t=0.025875):
    return I_s * jnp.expm1(V_2 / V_t)


@cpx.residual(cpx.output("V_1", guess=10.0, units="V"))
def first_node(I, I_R1, I_R2):  # noqa: E741 - a current's name
    return I - I_R1 - I_R2


@cpx.residual(cpx.output("V_2", guess=1e-3, units="V"))
def second_node(I_R2, I_D):
    return I_R2 - I_D


circuit = cpx.Model(to_ground, between, diode, first_node, second_node)


def main():
    model = circuit.close(cpx.Newton(rtol=1e-12, atol=1e-14))
    result = model.run(I=0.1)
    print(result)
    assert np.allclose(
        [result["V_1"], result["V_2"]], (9.908047345079330, 0.712781853012352), rtol=1e-13, atol=0
    )

    voltages = model.function("I", ("V_1", "V_2"))
    slopes = jax.jacrev(voltages)(0.1)
    print("dV_1/dI, dV_2/dI:", *slopes)
    assert np.allclose(slopes, (99.01265182824449, 0.2778346526936788), rtol=1e-12, atol=0)


if __name__ == "__main__":
    main()
