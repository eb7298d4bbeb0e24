"""A toy wing that bends under the forces which its bending changes: how far it flies.

Source: the aerostructure problem of GEMSEO.
"""

import jax

import couplax as cpx

jax.config.update("jax_enable_x64", True)

# thickness of the airfoils [% of chord], of the panels [mm], sweep [deg]
START = {"thick_airfoils": 15.0, "thick_panels": 3.0, "sweep": 25.0}
BOUNDS = {"thick_airfoils": (5.0, 25.0), "thick_panels": (1.0, 20.0), "sweep": (10.0, 35.0)}


@cpx.component("drag", "lift", cpx.output("forces", guess=400.0))
def aerodynamics(sweep, thick_airfoils, displacement):
    drag = 0.1 * ((sweep / 360) ** 2 + 200 + thick_airfoils**2 - thick_airfoils - 4 * displacement)
    lift = (sweep + 0.2 * thick_airfoils - 2 * displacement) / 3000
    return drag, lift, 10 * sweep + 0.2 * thick_airfoils - 0.2 * displacement


@cpx.component("mass", "reserve_factor", cpx.output("displacement", guess=-700.0))
def structure(sweep, thick_panels, forces):
    mass = 4000 * (sweep / 360) ** 3 + 200000 + 100 * thick_panels + 200 * forces
    reserve_factor = -3 * sweep - 6 * thick_panels + 0.1 * forces + 55
    return mass, reserve_factor, 2 * sweep + 3 * thick_panels - 2 * forces


@cpx.component("range")
def mission(lift, mass, drag):
    return 8e11 * lift / (mass * drag)


@cpx.component("loss")
def loss(range):
    return -range


wing = cpx.Model(aerodynamics, structure, mission, loss)
LIMITS = {"lift": (None, 0.5), "reserve_factor": (None, 0.5)}


def main():
    model = wing.close(cpx.Newton(rtol=1e-12, atol=1e-12), cut="displacement")
    result = model.run(**START)
    print(result)
    assert abs(result["range"] - 4253.9825354) < 1e-7

    slopes = jax.grad(model.function(tuple(START), "range"), argnums=(0, 1, 2))(*START.values())
    print("slopes of the range:", *slopes)

    farthest = cpx.minimise(wing, "loss", design=BOUNDS, constraints=LIMITS, start=START)
    print(farthest)
    assert abs(farthest["range"] - 4898.707394) < 1e-5


if __name__ == "__main__":
    main()
