"""Lineax: every solver, on operators of each kind, with derivatives."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import lineax
import numpy as np

from programs._program import Program

_GENERAL = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.2, -0.7, 5.0]])
_POSITIVE = _GENERAL @ _GENERAL.T
_TALL = np.array([[4.0, 1.0], [1.0, 3.0], [0.2, -0.7]])
_VECTOR = np.array([1.0, -2.0, 0.5])
_TOLERANCES: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}


def _solved(solver: Any, tags: Any = frozenset()) -> Callable[..., Any]:
    def solve(matrix: Any, vector: Any) -> Any:
        return lineax.linear_solve(lineax.MatrixLinearOperator(matrix, tags), vector, solver).value

    return solve


def _diagonal(diagonal: Any, vector: Any) -> Any:
    return lineax.linear_solve(lineax.DiagonalLinearOperator(diagonal), vector, lineax.Diagonal()).value


def _tridiagonal(diagonal: Any, side: Any, vector: Any) -> Any:
    operator = lineax.TridiagonalLinearOperator(diagonal, side, side / 2)
    return lineax.linear_solve(operator, vector, lineax.Tridiagonal()).value


def _jacobian(at: Any, vector: Any) -> Any:
    operator = lineax.JacobianLinearOperator(lambda y, args: y**3 + 4 * y + jnp.sum(y), at)
    return lineax.linear_solve(operator, vector).value


def _function(at: Any, vector: Any) -> Any:
    """Returns a Krylov solve with a matrix that is never written down."""

    def apply(v: Any) -> Any:
        return 4 * v - jnp.roll(v, 1) / 2 - jnp.roll(v, -1) + at * v

    operator = lineax.FunctionLinearOperator(apply, jax.eval_shape(lambda: vector))
    return lineax.linear_solve(operator, vector, lineax.GMRES(**_TOLERANCES)).value


def _gradient(matrix: Any, vector: Any) -> Any:
    def loss(m: Any, v: Any) -> Any:
        return jnp.sum(lineax.linear_solve(lineax.MatrixLinearOperator(m), v, lineax.LU()).value ** 2)

    return jax.grad(loss, argnums=(0, 1))(matrix, vector)


def _inverted(matrix: Any, vectors: Any) -> Any:
    operator = lineax.MatrixLinearOperator(matrix)
    state = lineax.LU().init(operator, {})
    return jax.vmap(lambda v: lineax.linear_solve(operator, v, lineax.LU(), state=state).value)(vectors)


_SYMMETRIC = lineax.positive_semidefinite_tag
_SOLVERS = {
    "LU": (lineax.LU(), frozenset[object](), _GENERAL),
    "QR": (lineax.QR(), frozenset[object](), _TALL),
    "SVD": (lineax.SVD(), frozenset[object](), _TALL),
    "Cholesky": (lineax.Cholesky(), _SYMMETRIC, _POSITIVE),
    "Triangular": (lineax.Triangular(), lineax.lower_triangular_tag, np.tril(_GENERAL)),
    "CG": (lineax.CG(**_TOLERANCES), _SYMMETRIC, _POSITIVE),
    "GMRES": (lineax.GMRES(**_TOLERANCES), frozenset[object](), _GENERAL),
    "BiCGStab": (lineax.BiCGStab(**_TOLERANCES), frozenset[object](), _GENERAL),
    "Normal": (lineax.Normal(lineax.Cholesky()), frozenset[object](), _TALL),
    "NormalCG": (lineax.Normal(lineax.CG(**_TOLERANCES)), frozenset[object](), _TALL),
    "LSMR": (lineax.LSMR(**_TOLERANCES), frozenset[object](), _TALL),
    "AutoLinearSolver": (lineax.AutoLinearSolver(well_posed=None), frozenset[object](), _TALL),
    "AutoLinearSolver, positive": (lineax.AutoLinearSolver(well_posed=True), _SYMMETRIC, _POSITIVE),
}

PROGRAMS = (
    *(
        Program(
            name=f"Lineax {name}", fn=_solved(solver, tags), args=(matrix, _VECTOR), shows=(type(solver),)
        )
        for name, (solver, tags, matrix) in _SOLVERS.items()
    ),
    Program(
        name="Lineax Diagonal",
        fn=_diagonal,
        args=(_VECTOR + 3, _VECTOR),
        shows=(lineax.Diagonal,),
    ),
    Program(
        name="Lineax Tridiagonal",
        fn=_tridiagonal,
        args=(np.array([4.0, 5.0, 6.0]), np.array([1.0, -1.0]), _VECTOR),
        shows=(lineax.Tridiagonal,),
    ),
    Program(name="Lineax of a Jacobian", fn=_jacobian, args=(np.array([0.5, -0.2, 1.0]), _VECTOR)),
    Program(name="Lineax of a function", fn=_function, args=(np.array([0.5, 0.2, 1.0]), _VECTOR)),
    Program(name="Lineax gradient", fn=_gradient, args=(_GENERAL, _VECTOR)),
    Program(name="Lineax, several vectors", fn=_inverted, args=(_GENERAL, _POSITIVE)),
)
