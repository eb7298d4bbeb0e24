"""The Sellar problem with one discipline in numpy: solve, differentiate, count the calls, draw."""

import jax
import jax.numpy as jnp
import numpy as np

import couplax as cpx

jax.config.update("jax_enable_x64", True)


@cpx.component("y_1")
def d1(x_1, z_1, z_2, y_2):
    return z_1**2 + z_2 + x_1 - 0.2 * y_2


@cpx.foreign(out=jnp.float64)
def d2(y_1, z_1, z_2):
    return np.sqrt(np.abs(y_1)) + z_1 + z_2


@cpx.component("f")
def objective(x_1, z_2, y_1, y_2):
    return x_1**2 + z_2 + y_1 + jnp.exp(-y_2)


model = cpx.Model(d1, cpx.component(d2, "y_2"), objective)
model = model.close(cpx.Newton(rtol=1e-10, atol=1e-10), cut="y_2")

result = model.run(x_1=1.0, z_1=1.0, z_2=2.0, guess={"y_2": 1.0})
print(result)
print("solve:", d2.tally)
assert abs(result["f"] - 6.059357293905945) < 1e-9

d2.tally.reset()
f = model.function(("z_1", "x_1"), "f", fixed={"z_2": 2.0}, guess={"y_2": 1.0})
gradient = jax.grad(f, argnums=(0, 1))(1.0, 1.0)
print("df/dz_1, df/dx_1:", *gradient)
print("solve and gradient:", d2.tally)
assert np.allclose(gradient, (1.689612612212272, 2.9434964513173334), rtol=0, atol=1e-7)
