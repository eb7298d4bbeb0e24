"""`stage` with sizes that are open until the program runs."""

from collections import Counter
from typing import Any

import diffrax
import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from symbolic_programs import PLAIN, ROWS, SOLVES, Program, adaptive, simulated

pytestmark = pytest.mark.long_table(2)

# Of the solves one is enough here: the others are staged for the file in ONNX.
PROGRAMS = [
    *PLAIN,
    *(program for program in SOLVES if program.name in {"Runge-Kutta by hand", "Tsit5 with PID"}),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_of_open_sizes_gives_the_same_numbers_at_every_size(program: Program) -> None:
    staged = cpx.stage(program.fn, *program.args)
    for size in (3, 1, 4):
        args = program.drawn({"batch": size, "n": size, "m": size + 1, "k": size + 2, "seq": size + 3})
        came, wanted = staged(*args), jax.jit(program.fn)(*args)
        assert jax.tree.structure(came) == jax.tree.structure(wanted)
        for ours, theirs in zip(jax.tree.leaves(came), jax.tree.leaves(wanted), strict=True):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
            # Relative to the largest number: sums differ by their order.
            np.testing.assert_allclose(
                ours, theirs, rtol=program.rtol, atol=program.rtol * np.abs(theirs).max(initial=0)
            )


def test_the_sizes_stay_open_in_the_program() -> None:
    staged = cpx.stage(lambda x: jnp.concatenate([x, x]), ROWS)
    assert [str(aval.shape) for aval in staged.jaxpr.out_avals] == ["(2*batch, 3)"]  # pyright: ignore[reportAttributeAccessIssue]  # an array


def test_a_mapped_solve_is_specialised_as_one_of_known_size_is() -> None:
    def computing(struct: Any) -> Counter[str]:
        staged = cpx.stage(simulated(diffrax.Tsit5(), adaptive()), struct)
        largest = max(_bodies(staged.jaxpr.jaxpr), key=lambda body: len(body.eqns))
        return Counter(eqn.primitive.name for eqn in largest.eqns)

    came, wanted = computing(ROWS), computing(jax.ShapeDtypeStruct((5, 3), jnp.float64))
    # A constant of open size is a number that is broadcast.
    assert set((came - wanted) + (wanted - came)) <= {"broadcast_in_dim"}


def _bodies(jaxpr: Any) -> list[Any]:
    """Returns the conditions and bodies of all loops."""
    found: list[Any] = []
    for eqn in jaxpr.eqns:
        subs = [getattr(sub, "jaxpr", sub) for sub in jec.jaxprs_in_params(eqn.params)]
        found += subs if eqn.primitive.name in {"while", "scan"} else []
        found += [body for sub in subs for body in _bodies(sub)]
    return found


def test_a_staged_loop_is_compiled_once_for_a_size() -> None:
    traces: list[None] = []

    def fn(x: Any) -> Any:
        traces.append(None)
        return jax.lax.scan(lambda c, r: (c + r, None), jnp.zeros(3), x)[0]

    staged = cpx.stage(fn, ROWS)
    first = staged(np.ones((4, 3)))
    np.testing.assert_array_equal(first, np.full(3, 4.0))
    np.testing.assert_array_equal(jax.jit(staged)(np.ones((6, 3))), np.full(3, 6.0))
    np.testing.assert_allclose(jax.grad(lambda x: staged(x).sum())(np.ones((2, 3))), np.ones((2, 3)))
    assert len(traces) == 1


def test_sizes_that_do_not_agree_are_told_with_both() -> None:
    staged = cpx.stage(lambda x, y: x + y, ROWS, ROWS)
    with pytest.raises(
        cpx.StageError, match=r"float64\[4,3\], float64\[4,3\].*float64\[4,3\], float64\[5,3\]"
    ):
        staged(np.ones((4, 3)), np.ones((5, 3)))
    with pytest.raises(cpx.StageError, match=r"float64\[4,3\].*came to be called.*float64\[4,2\]"):
        staged(np.ones((4, 2)), np.ones((4, 2)))


def test_the_summary_names_the_open_sizes() -> None:
    staged = cpx.stage(lambda x: jax.lax.scan(lambda c, r: (c + r, c), jnp.zeros(3), x), ROWS)
    assert "a loop of batch trips" in staged.summary()


def branching(x: Any) -> Any:
    return x if x.shape[0] > 4 else -x


def counting(x: Any) -> Any:
    return [x[k] for k in range(x.shape[0])]


@pytest.mark.parametrize("fn", [branching, counting])
def test_what_an_open_size_cannot_decide_is_told_with_the_line(fn: Any) -> None:
    line = fn.__code__.co_firstlineno + 1
    with pytest.raises(cpx.StageError, match="not the same for every size") as raised:
        cpx.stage(fn, ROWS)
    assert f"at test_symbolic.py:{line} ({fn.__name__})" in str(raised.value)
    assert "_DimExpr" not in str(raised.value)


def masked(x: Any) -> Any:
    return x[x > 0]


def found(x: Any) -> Any:
    return jnp.nonzero(x)


def chosen(x: Any) -> Any:
    return x if x[0] > 0 else -x


def counted(x: Any) -> Any:
    return jnp.zeros(x.argmax())


@pytest.mark.parametrize("fn", [masked, found, chosen, counted])
def test_a_shape_or_branch_that_depends_on_values_is_told_with_the_line(fn: Any) -> None:
    line = fn.__code__.co_firstlineno + 1
    with pytest.raises(cpx.StageError, match="depends on values that only a run gives") as raised:
        cpx.stage(fn, np.ones(3))
    assert f"at test_symbolic.py:{line} ({fn.__name__})" in str(raised.value)
    assert len(str(raised.value)) < 500
