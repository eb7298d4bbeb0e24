"""The Sellar problem with one discipline in C, called from compiled programs with no Python in between."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import couplax as cpx

jax.config.update("jax_enable_x64", True)

SOURCE = """
#include <math.h>
double disc2(double y_1, double z_1, double z_2) { return sqrt(fabs(y_1)) + z_1 + z_2; }
"""

compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
if compiler is None:
    print("No C compiler here: nothing to show.")
    sys.exit()

folder = Path(tempfile.mkdtemp())
(folder / "disc2.c").write_text(SOURCE)
subprocess.run(
    [compiler, "-O2", "-shared", "-fPIC", "-o", "libdisc2.so", "disc2.c", "-lm"], cwd=folder, check=True
)

scalars = {"y_1": jnp.float64, "z_1": jnp.float64, "z_2": jnp.float64}
d2 = cpx.foreign_c(folder / "libdisc2.so", "disc2", scalars, jnp.float64)
print(cpx.check_derivatives(d2, 3.0, 1.0, 2.0))


@cpx.component("y_1")
def d1(x_1, z_1, z_2, y_2):
    return z_1**2 + z_2 + x_1 - 0.2 * y_2


@cpx.component("f")
def objective(x_1, z_2, y_1, y_2):
    return x_1**2 + z_2 + y_1 + jnp.exp(-y_2)


model = cpx.Model(d1, cpx.component(d2, "y_2", name="d2"), objective)
model = model.close(cpx.Newton(rtol=1e-10, atol=1e-10), cut="y_2")
result = model.run(x_1=1.0, z_1=1.0, z_2=2.0, guess={"y_2": 1.0})
print(result)
assert abs(result["f"] - 6.059357293905945) < 1e-9

f = model.function(("z_1", "x_1"), "f", fixed={"z_2": 2.0}, guess={"y_2": 1.0})
gradient = jax.jit(jax.grad(f, argnums=(0, 1)))(1.0, 1.0)
print("df/dz_1, df/dx_1:", *gradient)
assert np.allclose(gradient, (1.689612612212272, 2.9434964513173334), rtol=0, atol=1e-7)
