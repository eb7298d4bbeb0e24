"""Two cycles in one model, one of them of vectors: the flow in two pipes, and the wall that it cools."""

import jax
import jax.numpy as jnp

import couplax as cpx

jax.config.update("jax_enable_x64", True)

DENSITY, VISCOSITY = 998.0, 1.0e-3  # water [kg/m^3], [Pa s]
LENGTH, ROUGHNESS = 100.0, 5e-5  # [m]
STEFAN_BOLTZMANN = 5.670374419e-8  # [W/m^2/K^4]


@cpx.component(cpx.output("speed", units="m/s"))
def flow(pressure_drop, diameter, friction):
    return jnp.sqrt(2 * pressure_drop * diameter / (DENSITY * LENGTH * friction))  # Darcy and Weisbach


@cpx.component(cpx.output("friction", guess=0.02))
def colebrook(speed, diameter, friction):
    reynolds = DENSITY * speed * diameter / VISCOSITY
    smooth = 2.51 / (reynolds * jnp.sqrt(friction))
    return (-2 * jnp.log10(ROUGHNESS / (3.7 * diameter) + smooth)) ** -2


@cpx.component(cpx.output("temperature", guess=350.0, units="K"))
def wall(speed, temperature, heat=5e3):
    cooling = 200.0 * speed.sum() ** 0.8  # [W/m^2/K]
    return 300.0 + (heat - 0.9 * STEFAN_BOLTZMANN * temperature**4) / cooling


model = cpx.Model(flow, colebrook, wall).close(cpx.Newton(rtol=1e-12, atol=1e-12))
print(model)

pipes = {"pressure_drop": 2e4, "diameter": jnp.array([0.05, 0.08])}  # [Pa], [m]
result = model.run(**pipes)
print(result)
assert jnp.allclose(flow(**pipes, friction=result["friction"]), result["speed"], rtol=1e-10)
assert jnp.allclose(
    colebrook(result["speed"], pipes["diameter"], result["friction"]), result["friction"], rtol=1e-10
)

temperature = model.function("pressure_drop", "temperature", fixed={"diameter": pipes["diameter"]})
slope, step = jax.grad(temperature)(2e4), 1.0
differences = (temperature(2e4 + step) - temperature(2e4 - step)) / (2 * step)
print("dT/dp:", slope, "by differences:", differences)
assert abs(slope / differences - 1) < 1e-6

print(jax.vmap(temperature)(jnp.linspace(1e4, 3e4, 5)))  # every lane converges on its own
