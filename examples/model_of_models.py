"""A model made of models: two loops of water that heat drives round, each solved inside the solve of both."""

import jax
import jax.numpy as jnp
import numpy as np

import couplax as cpx

jax.config.update("jax_enable_x64", True)

HEAT_CAPACITY = 4180.0  # of water [J/kg/K]
TABLE = [0.0, 20.0, 40.0, 60.0, 80.0, 100.0], [999.84, 998.21, 992.22, 983.20, 971.80, 958.35]
FIT = np.polyfit(*TABLE, 4)


@cpx.foreign(out=jnp.float64)
def density(temperature):  # of water [kg/m^3] at 0 to 100 degC: numpy, opaque to JAX
    return np.polyval(FIT, temperature)


hot_leg = cpx.component(density, "rho_hot", name="hot_leg", rename={"temperature": "t_hot"})
cold_leg = cpx.component(density, "rho_cold", name="cold_leg", rename={"temperature": "t_cold"})


@cpx.residual(cpx.output("flow", guess=0.2, units="kg/s", bounds=(1e-4, 5.0)))
def buoyancy(flow, rho_hot, rho_cold, height=3.0, resistance=6e3):
    return 9.81 * height * (rho_cold - rho_hot) - resistance * flow**2


@cpx.component(cpx.output("t_hot", units="degC"), cpx.input("heat", units="W"))
def heater(t_cold, flow, heat):
    return t_cold + heat / (flow * HEAT_CAPACITY)


loop = cpx.Model(hot_leg, cold_leg, buoyancy, heater)


# What the loops meet in names their variables as they are called in the whole.
@cpx.component(
    cpx.output("t_out", guess=40.0, units="degC", bounds=(0.0, 100.0)),
    cpx.output("heat", guess=1e4, units="W"),
    rename={
        "t_in": "core.t_hot",
        "flow": "core.flow",
        "t_out": "core.t_cold",
        "t_cool": "pool.t_cold",
        "heat": "pool.heat",
    },
)
def exchanger(t_in, flow, t_cool, conductance=800.0):
    heat = conductance * (t_in - t_cool)
    return t_in - heat / (flow * HEAT_CAPACITY), heat


@cpx.component(
    cpx.output("t_out", guess=25.0, units="degC", bounds=(0.0, 100.0)),
    rename={"t_in": "pool.t_hot", "flow": "pool.flow", "t_out": "pool.t_cold"},
)
def radiator(t_in, flow, air=20.0, surface=600.0):
    return air + (t_in - air) * jnp.exp(-surface / (flow * HEAT_CAPACITY))


def plant(part):
    """Returns two of `part`, with what lies between them and behind."""
    return cpx.Model(part.nested("core"), exchanger, part.nested("pool"), radiator)


tight = {"rtol": 1e-10, "atol": 1e-10}
inside = plant(loop.close(cpx.Newton(**tight))).close(cpx.Newton(rtol=1e-9, atol=1e-9))
print(inside)
result = inside.run({"core.heat": 20e3})
print(result)
# What goes in comes out, through the exchanger and to the air.
to_air = result["pool.flow"] * HEAT_CAPACITY * (result["pool.t_hot"] - result["pool.t_cold"])
assert np.allclose([result["pool.heat"], to_air], 20e3, rtol=1e-6)

# One solve of everything at once comes to the same, and so do the derivatives.
at_once = plant(loop).close(cpx.Newton(**tight))
slopes = [jax.grad(model.function("core.heat", "core.t_hot"))(20e3) for model in (inside, at_once)]
print("dT/dQ:", *slopes)
assert np.allclose(at_once.run({"core.heat": 20e3})["core.t_hot"], result["core.t_hot"], rtol=1e-8)
assert np.allclose(slopes[0], slopes[1], rtol=1e-6)  # to the digits of differences

inside.xdsm().save("plant.svg")
