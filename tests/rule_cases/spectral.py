"""Eigenvalues, singular values and tridiagonal systems.

Vectors are compared by what does not depend on their signs: their magnitudes, and the matrix put together
again.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from rule_cases import Case, matrices


def _symmetric(a: Any) -> Any:
    values, vectors = jnp.linalg.eigh(a, symmetrize_input=False)
    return values, jnp.abs(vectors), (vectors * values[None, :]) @ vectors.T, vectors.T @ vectors


def _singular(a: Any) -> Any:
    left, values, right = jnp.linalg.svd(a, full_matrices=False)
    whole_left, _, whole_right = jnp.linalg.svd(a)
    together = (left * values[None, :]) @ right
    return values, together, whole_left.T @ whole_left, whole_right @ whole_right.T


def with_equal_columns(dtype: Any) -> tuple[np.ndarray]:
    """Returns a matrix of half the rank that its shape allows, and a column of zeros."""
    (a,) = matrices((5, 4))(dtype)
    a[:, 1], a[:, 3] = a[:, 0], 0
    return (a,)


def graded(dtype: Any) -> tuple[np.ndarray]:
    """Returns a matrix whose columns are of very different lengths, two of which overflow when squared."""
    (a,) = matrices((5, 4))(dtype)
    large = np.sqrt(np.finfo(dtype).max).astype(dtype)
    return ((a * np.array([[1, 8, 1 / 8, 2]], dtype)) * large,)


def _each(fn: Any) -> Any:
    return lambda *arrays: [fn(a) for a in arrays]


SPECTRAL = [
    Case(
        name="eigenvalues of symmetric matrices",
        fn=_each(_symmetric),
        args=matrices((1, 1), (3, 3), (4, 4), (9, 9)),
        units=64,
        whole=True,
    ),
    Case(
        name="eigenvalues of the upper triangle, in batches",
        fn=lambda a: jnp.linalg.eigvalsh(a, UPLO="U"),
        args=matrices((2, 3, 5, 5)),
        units=64,
        whole=True,
    ),
    Case(
        name="equal eigenvalues",
        fn=lambda a: jnp.linalg.eigvalsh(jnp.diag(jnp.array([1, 2, 1, 0], a.dtype)) + 0 * a),
        args=matrices((4, 4)),
    ),
    Case(
        name="singular values",
        fn=_each(_singular),
        args=matrices((3, 3), (1, 3), (2, 5), (10, 9)),
        units=64,
        whole=True,
    ),
    Case(
        name="singular values that are zero",
        fn=lambda a: [_singular(a), jnp.linalg.matrix_rank(a), jnp.linalg.svdvals(0 * a)],
        args=with_equal_columns,
        units=32,
        whole=True,
    ),
    Case(name="large singular values", fn=jnp.linalg.svdvals, args=graded, units=16, whole=True),
    Case(
        name="singular values in batches",
        fn=lambda a: [jnp.linalg.svdvals(a), jnp.linalg.pinv(a)],
        args=matrices((2, 4, 3)),
        units=64,
        whole=True,
    ),
    Case(
        name="least squares",
        fn=lambda a, b: [jnp.linalg.lstsq(a, b)[0], jnp.linalg.cond(a), jnp.linalg.norm(a, 2)],
        args=matrices((6, 3), (6,)),
        units=256,
        whole=True,
    ),
    Case(
        name="tridiagonal systems",
        fn=jax.vmap(lax.linalg.tridiagonal_solve),
        args=matrices((5, 7), (5, 7), (5, 7), (5, 7, 2)),
        units=16,
        whole=True,
    ),
    Case(
        name="tridiagonal system with a zero on the diagonal",
        fn=lambda a, b: lax.linalg.tridiagonal_solve(a, a.at[2].set(0), a[::-1], b),
        args=matrices((6,), (6, 1)),
        units=16,
        whole=True,
    ),
    Case(
        name="symmetric product",
        fn=lambda a: lax.linalg.symmetric_product(a, a @ a.mT, alpha=2.0, beta=3.0),
        args=matrices((2, 4, 3)),
        units=16,
        whole=True,
    ),
]
