"""Branches, loops and custom rules, as they are and under vmap, jvp and grad: ONNX Runtime against JAX."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from onnx_runtime import faults

X, TANGENT = np.array([0.3, -0.7, 1.2]), np.array([1.0, 0.5, -2.0])


def cond(x: Any) -> Any:
    return lax.cond(x.sum() > 0.5, jnp.sin, lambda y: y * y, x)


def switch(x: Any) -> Any:
    index = (10 * x[0]).astype(np.int32)
    return lax.switch(index, [jnp.sin, jnp.cos, lambda y: y * y, jnp.exp, lambda y: -y], x)


def while_loop(x: Any) -> Any:
    return lax.while_loop(lambda c: jnp.abs(c).sum() < 20, lambda c: 1.5 * c + jnp.sin(c), x)


def fori_loop(x: Any) -> Any:
    return lax.fori_loop(0, 40, lambda i, c: c + jnp.sin(c) / (i + 1), x)


def open_fori_loop(x: Any) -> Any:
    stop = (10 * jnp.abs(x[0])).astype(np.int32)
    return lax.fori_loop(stop - 2, stop + 3, lambda i, c: c * jnp.cos(c) + i, x)


def scan(x: Any) -> Any:
    carry, rows = lax.scan(lambda c, y: (0.3 * c * y + 1, jnp.sin(c)), x.sum(), jnp.tile(x, 20))
    return carry * rows


def reverse_scan(x: Any) -> Any:
    return lax.scan(lambda c, y: (0.3 * c * y + 1, c * c), x.sum(), jnp.tile(x, 20), reverse=True)[1]


def scan_of_nothing(x: Any) -> Any:
    return lax.scan(lambda c, _: (jnp.sin(c) + x, c.sum()), x, None, length=30)[1]


def mapped(x: Any) -> Any:
    return lax.map(lambda y: jnp.sin(y) * y, x)


def associative_scan(x: Any) -> Any:
    return lax.associative_scan(lambda a, b: a * b + a, jnp.tile(x, 3))


@jax.custom_jvp
def _cubed(x: Any) -> Any:
    return x**3


@_cubed.defjvp
def _cubed_jvp(primals: Any, tangents: Any) -> Any:
    return _cubed(*primals), 7 * tangents[0] * primals[0]


@jax.custom_vjp
def _halved(x: Any) -> Any:
    return x / 2


_halved.defvjp(lambda x: (_halved(x), x), lambda x, cotangent: (cotangent * x * 5,))


def custom_jvp(x: Any) -> Any:
    return _cubed(jnp.sin(x))


def custom_vjp(x: Any) -> Any:
    return _halved(jnp.sin(x))


def remat(x: Any) -> Any:
    return jax.checkpoint(lambda y: jnp.sin(jnp.sin(y) * y))(x)


def nested_jit(x: Any) -> Any:
    inner = jax.jit(lambda y, n: y**n + jax.jit(jnp.sin)(y), static_argnums=1)
    return jax.jit(lambda y: inner(y, 2) * inner(y, 3))(x)


def custom_root(x: Any) -> Any:
    def solve(fn: Any, y: Any) -> Any:
        return lax.fori_loop(0, 30, lambda _, y: y - fn(y) / (1 + jnp.cosh(y)), y)

    return lax.custom_root(
        lambda y: y + jnp.sinh(y) - x, x, solve, lambda linear, b: b / linear(jnp.ones_like(b))
    )


def custom_linear_solve(x: Any) -> Any:
    matrix = jnp.diag(2 + x * x) + 0.1 * jnp.outer(x, jnp.sin(x))
    return lax.custom_linear_solve(
        lambda v: matrix @ v,
        x,
        lambda _, b: jnp.linalg.solve(matrix, b),
        lambda _, b: jnp.linalg.solve(matrix.T, b),
    )


FORMS = (
    cond,
    switch,
    while_loop,
    fori_loop,
    open_fori_loop,
    scan,
    reverse_scan,
    scan_of_nothing,
    mapped,
    associative_scan,
    custom_jvp,
    custom_vjp,
    remat,
    nested_jit,
    custom_root,
    custom_linear_solve,
)
TRANSFORMS: Mapping[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "plain": lambda fn: fn,
    "vmap": lambda fn: lambda x: jax.vmap(fn)(jnp.stack([x, 2 * x, -x])),
    "jvp": lambda fn: lambda x: jax.jvp(fn, (x,), (TANGENT,)),
    "grad": lambda fn: jax.grad(lambda x: (fn(x) * jnp.cos(fn(x))).sum()),
    "grad of vmap": lambda fn: jax.grad(lambda x: jax.vmap(fn)(jnp.stack([x, 2 * x, -x])).sum()),
}
# JAX has no reverse mode through a loop without a bound, and no forward mode through a rule for the reverse.
UNDEFINED = {
    *((form, transform) for form in (while_loop, open_fori_loop) for transform in ("grad", "grad of vmap")),
    (custom_vjp, "jvp"),
}
PAIRS = [
    pytest.param(form, transform, id=f"{form.__name__}-{transform}")
    for form in FORMS
    for transform in TRANSFORMS
    if (form, transform) not in UNDEFINED
]


@pytest.mark.long_table(9)
@pytest.mark.parametrize(("form", "transform"), PAIRS)
def test_a_form_of_control_gives_what_jax_gives(form: Callable[..., Any], transform: str) -> None:
    # Sums of products, in another order than XLA's.
    assert not faults(TRANSFORMS[transform](form), X, units=256, whole=True)
