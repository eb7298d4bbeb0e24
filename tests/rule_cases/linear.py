"""Products and factorisations of matrices."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from rule_cases import Case, matrices, matrix


def _reflectors(a: Any) -> tuple[Any, Any]:
    h, taus = jnp.linalg.qr(a, mode="raw")
    return h.mT, taus


LINEAR = [
    Case(name="matrix product", fn=jnp.matmul, args=matrices((3, 4), (4, 5)), units=16),
    Case(name="matrix times vector", fn=jnp.matmul, args=matrices((3, 4), (4,)), units=16),
    Case(
        name="transposed matrix times vector",
        fn=lambda x, y: jnp.cos(x).T @ y,
        args=matrices((4, 3), (4,)),
        units=16,
    ),
    Case(
        name="rows of a transposed matrix times vector",
        fn=lambda x: x[:2].T @ jnp.ones(2, x.dtype),
        args=matrices((4, 3)),
        units=16,
    ),
    Case(name="vector times matrix", fn=jnp.matmul, args=matrices((4,), (4, 3)), units=16),
    Case(name="inner product", fn=jnp.vdot, args=matrices((4,), (4,)), units=16),
    Case(name="outer product", fn=jnp.outer, args=matrices((4,), (3,)), units=16),
    Case(name="batches", fn=jnp.matmul, args=matrices((2, 3, 4), (2, 4, 5)), units=16),
    Case(
        name="contraction of two axes",
        fn=lambda x, y: jnp.einsum("bijk,kbjl->bil", x, y),
        args=matrices((2, 3, 4, 5), (5, 2, 4, 6)),
        units=32,
    ),
    Case(name="integer product", fn=lambda x: x @ x, args=matrix(3, 3), dtypes=(np.int32, np.int64, np.int8)),
    Case(
        name="by a constant",
        fn=lambda x: jnp.arange(12.0, dtype=x.dtype).reshape(4, 3) @ x,
        args=matrices((3,)),
        units=16,
    ),
    Case(name="of empty rows", fn=lambda x: x[:, :0] @ x[:0, :], args=matrices((3, 3))),
    Case(name="solve", fn=jnp.linalg.solve, args=matrices((4, 4), (4,)), units=2e3),
    Case(name="solve of 12", fn=jnp.linalg.solve, args=matrices((12, 12), (12, 2)), units=2e3),
    Case(name="solves", fn=jax.vmap(jnp.linalg.solve), args=matrices((5, 3, 3), (5, 3)), units=2e3),
    Case(name="lu", fn=lambda x: lax.linalg.lu(x), args=matrices((4, 4)), units=2e3),
    Case(name="lu of a singular matrix", fn=lambda x: lax.linalg.lu(x * 0), args=matrices((3, 3))),
    Case(
        name="pivots to permutation",
        fn=lambda k: lax.linalg.lu_pivots_to_permutation(k, 5),
        args=lambda dtype: (np.array([3, 1, 4], dtype),),
        dtypes=(np.int32,),
    ),
    Case(name="qr", fn=jnp.linalg.qr, args=matrices((5, 3)), units=256),
    Case(name="qr of 12", fn=jnp.linalg.qr, args=matrices((12, 12)), units=2e3),
    Case(name="qr of wide matrices", fn=jnp.linalg.qr, args=matrices((2, 3, 5)), units=256),
    Case(
        name="complete qr", fn=lambda x: jnp.linalg.qr(x, mode="complete"), args=matrices((4, 2)), units=256
    ),
    Case(
        name="householder product",
        fn=lambda x: lax.linalg.householder_product(*_reflectors(x)),
        args=matrices((4, 3)),
        units=256,
    ),
    Case(name="raw qr", fn=lambda x: jnp.linalg.qr(x, mode="raw"), args=matrices((4, 3)), units=256),
    Case(
        name="reflections, left=True transposed=True",
        fn=lambda a, c: lax.linalg.ormqr(*_reflectors(a), c, left=True, transpose=True),
        args=matrices((4, 3), (4, 4)),
        units=256,
    ),
    Case(
        name="reflections, left=True transposed=False",
        fn=lambda a, c: lax.linalg.ormqr(*_reflectors(a), c, left=True, transpose=False),
        args=matrices((4, 3), (4, 4)),
        units=256,
    ),
    Case(
        name="reflections, left=False transposed=True",
        fn=lambda a, c: lax.linalg.ormqr(*_reflectors(a), c, left=False, transpose=True),
        args=matrices((4, 3), (4, 4)),
        units=256,
    ),
    Case(
        name="reflections, left=False transposed=False",
        fn=lambda a, c: lax.linalg.ormqr(*_reflectors(a), c, left=False, transpose=False),
        args=matrices((4, 3), (4, 4)),
        units=256,
    ),
    Case(
        name="cholesky",
        fn=lambda x: jnp.linalg.cholesky(x @ x.T + 4 * jnp.eye(3, dtype=x.dtype)),
        args=matrices((3, 3)),
        units=64,
    ),
    Case(
        name="cholesky of an indefinite matrix",
        fn=lambda x: lax.linalg.cholesky(-x @ x.T),
        args=matrices((3, 3)),
    ),
] + [
    Case(
        name=f"triangular solve, left={left} lower={lower} transposed={transposed}",
        fn=lambda a, b, left=left, lower=lower, transposed=transposed: lax.linalg.triangular_solve(
            a + 4 * jnp.eye(3, dtype=a.dtype), b, left_side=left, lower=lower, transpose_a=transposed
        ),
        args=matrices((3, 3), (3, 3)),
        units=256,
    )
    for left in (True, False)
    for lower in (True, False)
    for transposed in (True, False)
]
