"""Programs of open sizes: functions with structs that hold names, and arrays of the sizes asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import couplax as cpx
from couplax._sizes import shape_at
from couplax._struct import with_sizes

ROWS = cpx.struct("batch", 3, dtype="float64")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A function with the structs it is staged at, and by how much its numbers may be off, relatively."""

    name: str
    fn: Callable[..., Any]
    args: tuple[Any, ...] = (ROWS,)
    rtol: float = 1e-13

    def drawn(self, sizes: Mapping[str, int]) -> list[np.ndarray]:
        """Returns random arrays for the structs, at `sizes`."""
        rng = np.random.default_rng(5)
        return [_draw(rng, shape_at(struct.shape, sizes), struct.dtype) for struct in with_sizes(self.args)]


def _draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    if np.issubdtype(dtype, np.integer):
        return rng.integers(-1, 3, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def lorenz(t: Any, y: Any, args: Any) -> Any:
    return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])


def simulated(solver: Any, controller: Any = None, field: Any = lorenz) -> Callable[..., Any]:
    """Returns from states at 0 to states at 0.1, one solve a row."""
    how = controller or diffrax.ConstantStepSize()

    def simulate(y0: Any) -> Any:
        term = diffrax.ODETerm(field)
        solution = diffrax.diffeqsolve(term, solver, 0.0, 0.1, 0.02, y0, stepsize_controller=how)
        return jnp.asarray(solution.ys)[0]

    return jax.vmap(simulate)


def adaptive() -> diffrax.PIDController:
    return diffrax.PIDController(rtol=1e-6, atol=1e-6)


NETWORK: Any = eqx.nn.MLP(3, 3, 8, 2, activation=jnp.tanh, key=jax.random.key(1), dtype=jnp.float64)


def loss(weights: Any, x: Any, y: Any) -> Any:
    return jnp.mean((jnp.tanh(x @ weights) - y) ** 2)


def attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ k.swapaxes(-1, -2) / 2.0) @ v


PLAIN = (
    Program(name="elementwise", fn=lambda x: jnp.sin(x) * 2.0 + x / 3.0),
    Program(name="matrix product", fn=lambda x: x @ jnp.arange(12.0).reshape(3, 4)),
    Program(name="sum of rows", fn=lambda x: (x.sum(0), x.sum(1), x.sum())),
    Program(name="extremes", fn=lambda x: (x.max(0), x.min(1), jnp.argmax(x, 0))),
    Program(name="mean and variance", fn=lambda x: (x.mean(0), x.var())),
    Program(name="softmax", fn=lambda x: (jax.nn.softmax(x), jax.nn.softmax(x, axis=0))),
    Program(name="concatenate", fn=lambda x: jnp.concatenate([x, jnp.ones((2, 3)), 2.0 * x])),
    Program(name="stack and split", fn=lambda x: [jnp.stack([x, -x], 1), *jnp.split(x, [1], axis=1)]),
    Program(name="transpose and flatten", fn=lambda x: (x.T * 2.0, x.reshape(-1) + 1.0)),
    Program(name="differences of rows", fn=lambda x: x[:, None, :] - x[None]),
    Program(name="parts", fn=lambda x: (x[1:], x[:-1], x[::-1], x[0], x[-1])),
    Program(name="pad", fn=lambda x: jnp.pad(x, ((1, 2), (0, 1)))),
    Program(name="size as a number", fn=lambda x: x * x.shape[0]),
    Program(name="numbers of rows", fn=lambda x: x * jnp.arange(x.shape[0])[:, None]),
    Program(name="zeros", fn=lambda x: (jnp.zeros(x.shape[0]), jnp.full_like(x, 2.0))),
    Program(name="cumulative sum", fn=lambda x: (jnp.cumsum(x, 0), lax.cumsum(x, 0, reverse=True))),
    Program(name="sort", fn=lambda x: (jnp.sort(x, 0), jnp.argsort(x, 0))),
    Program(name="scan over rows", fn=lambda x: lax.scan(lambda c, r: (c + r, c * 2.0), jnp.zeros(3), x)),
    Program(
        name="loop over rows",
        fn=lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: 0.5 * c + x[i], jnp.zeros(3)),
    ),
    Program(name="set a row", fn=lambda x: x.at[0].set(1.0)),
    Program(name="take", fn=lambda x, i: x[i], args=(ROWS, cpx.struct("k", dtype="int32"))),
    Program(
        name="sum by segments",
        fn=lambda x, i: jax.ops.segment_sum(x, i, num_segments=4),
        args=(ROWS, cpx.struct("batch", dtype="int32")),
    ),
    Program(name="lower triangle", fn=lambda x: jnp.tril(x @ x.T)),
    Program(name="one hot", fn=lambda x: jax.nn.one_hot(jnp.argmax(x, 1), 5)),
    Program(name="complex numbers", fn=lambda x: jnp.abs(jnp.exp(1j * x)).sum(0)),
    Program(
        name="convolution",
        fn=lambda x: lax.conv_general_dilated(x, jnp.ones((2, 1, 3, 3), x.dtype), (1, 1), "SAME"),
        args=(cpx.struct("batch", 1, 6, 6, dtype="float32"),),
        rtol=1e-5,
    ),
    Program(name="attention", fn=attention, args=(cpx.struct("batch", "seq", 4),) * 3),
    Program(name="two names", fn=lambda x, y: x @ y, args=(cpx.struct("n", "m"), cpx.struct("m", "n"))),
    Program(
        name="sizes as expressions",
        fn=lambda x, y: x.reshape(2, -1) + y[None],
        args=(cpx.struct("2*n"), cpx.struct("n")),
    ),
    Program(
        name="a size to be solved for",
        fn=lambda x: jnp.arange((x.shape[0] - 1) // 2),
        args=(cpx.struct("2*n + 1"),),
    ),
    Program(
        name="linear solves",
        fn=jax.vmap(lambda x: jnp.linalg.solve(jnp.eye(3) + jnp.outer(x, x), x)),
        rtol=1e-9,
    ),
    Program(name="network", fn=jax.vmap(NETWORK)),
    Program(
        name="gradient of a loss",
        fn=lambda x, y: jax.grad(loss)(jnp.full((3, 3), 0.1), x, y),
        args=(ROWS, ROWS),
    ),
)
"""Operations and networks."""

SOLVES = (
    Program(
        name="Runge-Kutta by hand",
        fn=jax.vmap(lambda y: lax.fori_loop(0, 99, lambda _, y: y + 0.01 * lorenz(0, y, None), y)),
        rtol=1e-10,
    ),
    Program(name="Euler", fn=simulated(diffrax.Euler()), rtol=1e-10),
    Program(name="Tsit5 with fixed steps", fn=simulated(diffrax.Tsit5()), rtol=1e-10),
    Program(name="Tsit5 with PID", fn=simulated(diffrax.Tsit5(), adaptive()), rtol=1e-9),
    Program(
        name="neural ODE",
        fn=simulated(diffrax.Tsit5(), adaptive(), field=lambda t, y, args: NETWORK(y)),
        rtol=1e-9,
    ),
)
"""Solves of differential equations, mapped over a batch."""
