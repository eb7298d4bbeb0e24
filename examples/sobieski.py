"""Sobieski's supersonic business jet: three coupled disciplines and the range that they give.

Structure, aerodynamics and propulsion exchange vectors; the mission reads all three. Source: Sobieszczanski-
Sobieski, Agte and Sandusky (1998), Bi-Level Integrated System Synthesis (BLISS), NASA/TM-1998-208715.
"""

import jax
import jax.numpy as jnp
import numpy as np

import couplax as cpx

jax.config.update("jax_enable_x64", True)

START = {
    # thickness to chord, altitude [ft], Mach number, aspect ratio, sweep [deg], wing area [ft^2]
    "x_shared": jnp.array([0.05, 45000.0, 1.6, 5.5, 55.0, 1000.0]),
    "x_1": jnp.array([0.25, 1.0]),  # taper ratio, area of the wing box's section (relative)
    "x_2": 1.0,  # skin friction coefficient (relative)
    "x_3": 0.5,  # throttle (relative)
}
BOUNDS = {
    "x_shared": (
        np.array([0.01, 30000.0, 1.4, 2.5, 40.0, 500.0]),
        np.array([0.09, 60000.0, 1.8, 8.5, 70.0, 1500.0]),
    ),
    "x_1": (np.array([0.1, 0.75]), np.array([0.4, 1.25])),
    "x_2": (0.75, 1.25),
    "x_3": (0.1, 1.0),
}
LIMITS = {"g_1": (None, 0.0), "g_2": (None, 0.0), "g_3": (None, 0.0)}

# What a trend is worth, relative to the reference, at the lower and at the upper end of its variable.
RISES, RISES_FASTER, FALLS, FALLS_FASTER = (0.95, 1.05), (0.95, 1.1), (1.05, 0.95), (1.05, 0.9)
DIPS = (1.0025, 1.0025)

# How the curvature in one variable couples it to the later ones: only what is above the diagonal is used.
INTERACTION = np.array(
    [
        [0.0, 0.3970, 0.8152, 0.9230, 0.1108],
        [0.0, 0.0, 0.6357, 0.7435, 0.1138],
        [0.0, 0.0, 0.0, 0.3657, 0.0019],
        [0.0, 0.0, 0.0, 0.0, 0.0169],
        [0.0, 0.0, 0.0, 0.0, 0.0],
    ]
)


def trend(values, reference, ends, half_width=0.25):
    """Returns the quadratic 1 + a.s + s.A.s / 2 that stands for a detailed analysis (report, appendix).

    `s` are the relative changes of the variables from their reference, at most 25 %.
    """
    lower, upper = np.array(ends).T
    ratio = jnp.stack([jnp.asarray(value) for value in values]) / np.array(reference)
    # Not jnp.clip, whose slope on the limit is halved: some optimal variables lie on it.
    change = jnp.where(ratio < 0.75, 0.75, jnp.where(ratio > 1.25, 1.25, ratio)) - 1
    slope = (upper - lower) / (2 * half_width)
    curvature = (upper + lower - 2) / (2 * half_width**2)
    mixed = curvature[:, None] * INTERACTION[: len(ends), : len(ends)]
    return 1 + slope @ change + change @ (np.diag(curvature) + mixed + mixed.T) @ change / 2


def atmosphere(altitude):
    """Returns the speed of sound [ft/s], the density [slug/ft^3] and the relative temperature."""
    below = altitude < 36089.0  # the tropopause
    theta = 1 - 6.875e-6 * altitude
    sound = jnp.where(below, 1116.39 * jnp.sqrt(theta), 968.1)
    thinned = jnp.where(below, theta**4.2561, 0.2971 * jnp.exp((36089.0 - altitude) / 20806.7))
    return sound, 0.002377 * thinned, jnp.where(below, theta, 0.7519)


@cpx.component("y_1", "g_1")
def structure(x_shared, x_1, y_2, y_3):
    thickness, _, _, aspect, sweep, area = x_shared
    taper, box = x_1
    lift, engine_weight = y_2[0], y_3[1]
    half_span = jnp.sqrt(aspect * area) / 2
    centre = (1 + 2 * taper) / (3 * (1 + taper))  # of the aerodynamic forces
    half_span_0, centre_0 = np.sqrt(5.5 * 1000.0) / 2, 1.5 / 3.75

    # The lift's reference is 1, as published, so that its change is always at the limit.
    twist = trend(
        (box, half_span, centre, lift),
        (1.0, half_span_0, centre_0, 1.0),
        (RISES_FASTER, FALLS_FASTER, FALLS_FASTER, FALLS),
    )
    stress = [
        trend(
            (thickness, lift, box, half_span, centre),
            (0.05, 1.0, 1.0, half_span_0, centre_0),
            (FALLS_FASTER, RISES, FALLS_FASTER, RISES, RISES),
            half_width=0.1 + 0.05 * station,
        )
        for station in range(5)
    ]
    wing = 0.0051 * (6.0 * lift) ** 0.557 * area**0.649 * aspect**0.5 * thickness**-0.4 * (1 + taper) ** 0.1
    wing *= (0.1875 * area) ** 0.1 / jnp.cos(jnp.deg2rad(sweep)) * trend((box,), (1.0,), (RISES,), 0.008)
    chord = area / jnp.sqrt(aspect * area)
    fuel = 2000.0 + 5 * area / 18 * 2 / 3 * thickness * chord * 42.5  # [lb]
    weight = 25000.0 + wing + fuel + engine_weight  # [lb]
    g_1 = jnp.stack([*(value - 1.09 for value in stress), twist - 1.04, 0.8 - twist])
    return jnp.stack([weight, fuel, twist]), g_1


@cpx.component(cpx.output("y_2", guess=jnp.array([5e4, 1e4, 5.0])), "g_2")
def aerodynamics(x_shared, x_2, y_1, y_3):
    thickness, altitude, mach, _, sweep, area = x_shared
    weight, twist, engine_scale = y_1[0], y_1[2], y_3[2]
    sound, density, _ = atmosphere(altitude)
    force = density * (mach * sound) ** 2 * area / 2  # dynamic pressure times area [lb]
    cosine = jnp.cos(jnp.deg2rad(sweep))
    induced = (mach**2 - 1) * cosine / (4 * jnp.sqrt(sweep**2 - 1) - 2)
    least = 0.01375 * trend((engine_scale, x_2), (1.0, 1.0), (RISES, RISES))
    least += 3.05 * thickness ** (5 / 3) * cosine**1.5
    lift_coefficient = weight / force
    drag_coefficient = (least + induced * lift_coefficient**2) * trend((twist,), (1.0,), (DIPS,))
    pressure_gradient = trend((thickness,), (0.05,), (RISES,))
    y_2 = jnp.stack(
        [weight, drag_coefficient * force, lift_coefficient / drag_coefficient]
    )  # lift, drag, L/D
    return y_2, pressure_gradient - 1.04


@cpx.component("y_3", "g_3")
def propulsion(x_shared, x_3, y_2):
    _, altitude, mach, *_ = x_shared
    drag = y_2[1]
    thrust = 16168.6 * x_3  # [lb]
    available = 11483.7822254806 + 10856.2163466548 * mach - 0.5080237941 * altitude
    available += 3200.157926969 * mach**2 - 2 * 0.1466251679 * mach * altitude + 6.8572e-6 * altitude**2
    # Specific fuel consumption [1/h]: a fit quadratic in Mach number, altitude and thrust.
    fuel_rate = 1.13238425638512 + 1.53436586044561 * mach - 3.295564466e-5 * altitude
    fuel_rate += -1.6378694115e-4 * thrust - 0.31623315541888 * mach**2 - 8.574e-11 * altitude**2
    fuel_rate += 1.059951e-8 * thrust**2 + 2 * 4.10691343e-6 * altitude * mach
    fuel_rate += 2 * (-5.24800059e-5 * thrust * mach + 1.90214e-9 * thrust * altitude)
    scale = drag / (3 * thrust)  # of each of the three engines
    engine_weight = 3 * 4360.0 * scale**1.05  # [lb]
    temperature = trend(
        (mach, altitude, x_3), (1.6, 45000.0, 0.5), (RISES_FASTER, FALLS_FASTER, RISES_FASTER)
    )
    g_3 = jnp.stack([scale - 1.5, 0.5 - scale, thrust / available - 1, temperature - 1.02])
    return jnp.stack([fuel_rate, engine_weight, scale]), g_3


@cpx.component(cpx.output("y_4", units="nautical_mile"))
def mission(x_shared, y_1, y_2, y_3):
    _, altitude, mach, *_ = x_shared
    weight, fuel, lift_to_drag, fuel_rate = y_1[0], y_1[1], y_2[2], y_3[0]
    _, _, theta = atmosphere(altitude)
    speed = 661.0 * mach * jnp.sqrt(theta)  # [kn]
    return speed * lift_to_drag / fuel_rate * jnp.log(weight / (weight - fuel))  # Breguet's range


@cpx.component("loss")
def loss(y_4):
    return -y_4


jet = cpx.Model(structure, aerodynamics, propulsion, mission, loss)


def main():
    result = jet.close(cpx.Newton(rtol=1e-12, atol=1e-9)).run(**START)
    print(result)
    assert abs(result["y_4"] - 535.7821319229) < 1e-7

    farthest = cpx.minimise(jet, "loss", design=BOUNDS, constraints=LIMITS, start=START)
    print(farthest)
    assert abs(farthest["y_4"] - 3963.38) < 0.1


if __name__ == "__main__":
    main()
