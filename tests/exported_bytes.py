"""Exports some programs and prints a digest of each file's bytes, for tests that run this twice."""

import hashlib
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import couplax as cpx
from couplax.export import to_onnx

WEIGHTS = {"kernel": np.linspace(0.0, 1.0, 12).reshape(3, 4), "bias": np.arange(4.0), "scale": np.ones(4)}


def solve(y0: Any) -> Any:
    """Returns an adaptive solve, with a check of its own and a loop that stays."""
    term = diffrax.ODETerm(lambda t, y, args: -y)
    steps = diffrax.PIDController(rtol=1e-5, atol=1e-5)
    return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 1.0, 0.1, y0, stepsize_controller=steps).ys


def network(x: Any, state: Any) -> Any:
    """Returns a dict made from dicts and closed-over arrays, through a branch and a scan."""
    hidden = jnp.tanh(x @ WEIGHTS["kernel"] + WEIGHTS["bias"][None]) * WEIGHTS["scale"][None]
    end, rows = lax.scan(lambda c, row: (c * 0.5 + row, c), state["b"], hidden)
    return {"z": lax.cond(end.sum() > 0, jnp.sin, jnp.cos, end), "a": rows, "n": state["a"]}


def draws(key: Any) -> Any:
    """Returns numbers drawn in several ways."""
    return jax.random.normal(key, (3,)), jax.random.permutation(key, 5)


def cycle() -> Any:
    """Returns a model with a closed cycle."""
    first = cpx.component(lambda z, v: z - 0.2 * v, cpx.output("u", guess=1.0), name="first")
    second = cpx.component(lambda u: jnp.sqrt(jnp.abs(u)) + 1.0, "v", name="second")
    return cpx.Model(first, second).close(cpx.Newton()).function("z", ("u", "v"))


def digests() -> dict[str, str]:
    """Returns a digest of each file."""
    files = {
        "solve": to_onnx(solve, 1.0, failures="status", verify=False),
        "network": to_onnx(network, np.ones((5, 3)), {"b": np.ones(4), "a": 1}, verify=False),
        "draws": to_onnx(draws, jax.random.key(1), verify=False),
        "cycle": to_onnx(cycle(), 5.0, verify=False),
    }
    return {name: hashlib.sha256(proto.SerializeToString()).hexdigest() for name, proto in files.items()}


if __name__ == "__main__":
    for name, digest in digests().items():
        print(f"{name}: {digest}")
