"""`failures="status"`: which run-time check fired first, wherever in the program it stands."""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax._errors import StageError


def said(fn: Any, *args: Any) -> str:
    """Returns what the status of `fn` at `args` means, without the place."""
    staged = cpx.stage(fn, *args, failures="status")
    result, status = staged(*args)
    assert jax.tree.structure(result) == jax.tree.structure(jax.eval_shape(fn, *args))
    assert (status.shape, status.dtype) == ((), np.int32)
    return staged.meanings[int(status)].split(" (")[0]


def checked(x: Any) -> Any:
    return eqx.error_if(x, x > 3, "too large") * 2


def in_a_loop(x: Any) -> Any:
    return jax.lax.fori_loop(0, 4, lambda _, c: eqx.error_if(c, c > 100, "grew too large") * 2, x)


def in_a_loop_of_unknown_length(x: Any) -> Any:
    return jax.lax.while_loop(lambda c: c < 50, lambda c: eqx.error_if(c, c < 0, "is negative") + 7, x)


def in_a_condition(x: Any) -> Any:
    def goes_on(c: Any) -> Any:
        return eqx.error_if(c, (c > 20) & (c < 30), "is in the gap") < 50

    return jax.lax.while_loop(goes_on, lambda c: c + 7, x)


def in_a_scan(x: Any) -> Any:
    def step(c: Any, s: Any) -> Any:
        c = eqx.branched_error_if(
            c, c + s < -1, jnp.where(c + s < -5, 1, 0), ["is negative", "is far negative"]
        )
        return c + s, c

    return jax.lax.scan(step, x, jnp.array([1.0, -3.0, 2.0]))


def in_a_branch(x: Any) -> Any:
    return jax.lax.cond(x < 0, lambda v: eqx.error_if(v, v < -0.9, "fell in a branch"), lambda v: 2 * v, x)


def twice(x: Any) -> Any:
    y = eqx.error_if(x, x > 3, "the first")
    return eqx.error_if(y, y > 2, "the second")


def solve(y0: Any) -> Any:
    """Returns the solution of y' = y^2 at 3, which 1/y0 less than that is a pole."""
    term, controller = diffrax.ODETerm(lambda t, y, args: y * y), diffrax.PIDController(1e-6, 1e-6)
    found = diffrax.diffeqsolve(
        term, diffrax.Tsit5(), 0, 3, 0.1, y0, stepsize_controller=controller, max_steps=200
    )
    return jnp.asarray(found.ys)[0]


FINE = "no check fired"
STEPS = "The maximum number of solver steps was reached. Try increasing `max_steps`."
TABLE = [
    (checked, 1.0, FINE),
    (checked, 4.0, "too large"),
    (in_a_loop, 1.0, FINE),
    (in_a_loop, 20.0, "grew too large"),
    (in_a_loop_of_unknown_length, 1.0, FINE),
    (in_a_loop_of_unknown_length, -3.0, "is negative"),
    (in_a_condition, 2.0, "is in the gap"),
    (in_a_condition, 31.0, FINE),
    (in_a_condition, 60.0, FINE),
    (in_a_scan, 1.5, FINE),
    (in_a_scan, 0.5, "is negative"),
    (in_a_scan, -9.0, "is far negative"),
    (in_a_branch, 1.0, FINE),
    (in_a_branch, -0.5, FINE),
    (in_a_branch, -1.0, "fell in a branch"),
    (twice, 2.5, "the second"),
    (twice, 4.0, "the first"),
    (solve, 0.2, FINE),
    (solve, 1.0, STEPS),
]


@pytest.mark.parametrize(("fn", "x", "meaning"), TABLE, ids=[f"{fn.__name__}-{x}" for fn, x, _ in TABLE])
def test_the_status_says_which_check_fired_first(fn: Any, x: float, meaning: str) -> None:
    assert said(fn, jnp.asarray(x)) == meaning


def test_the_last_turn_of_a_condition_is_checked_too() -> None:
    def goes_on(c: Any) -> Any:
        return eqx.error_if(c, c > 55, "ended too far") < 50

    assert said(lambda x: jax.lax.while_loop(goes_on, lambda c: c + 7, x), 2.0) == FINE
    assert said(lambda x: jax.lax.while_loop(goes_on, lambda c: c + 9, x), 49.0) == "ended too far"


def test_lanes_share_a_status() -> None:
    assert said(jax.vmap(solve), jnp.array([0.1, 0.2])) == FINE
    assert said(jax.vmap(solve), jnp.array([0.1, 1.0])) == STEPS


def test_the_result_is_what_flows_on_where_a_check_fires() -> None:
    staged = cpx.stage(checked, 1.0, failures="status")
    assert staged(5.0)[0] == 10.0
    assert cpx.stage(lambda x: 2 * x, 1.0, failures="status")(3.0) == (6.0, 0)


def test_a_meaning_ends_with_the_users_line() -> None:
    (_, meaning) = cpx.stage(checked, 1.0, failures="status").meanings
    assert meaning.startswith("too large (test_status.py:")
    assert meaning.endswith(" (checked))")


def test_a_solve_of_a_model_is_named() -> None:
    def left(x: Any, b: Any) -> Any:
        return jnp.where(x > 1, jnp.nan, 0.5 * b + x)

    left_, right = cpx.component(left, "a"), cpx.component(lambda a: jnp.cos(a), "b", name="right")
    model = cpx.Model(left_, right).close(cpx.Newton(), cut="b")
    fn = model.function("x", "a", guess={"b": 1.0})
    (name,) = (cycle.name for cycle in model.cycles)
    assert said(fn, 0.5) == FINE
    assert said(fn, 2.0) == f"`{name}` did not converge"


def test_another_word_for_failures_is_refused() -> None:
    with pytest.raises(StageError, match=r"failures='stat' is not known\. Choose one of `nan`, `status`"):
        cpx.stage(checked, 1.0, failures="stat")  # pyright: ignore[reportArgumentType]  # wrong on purpose


def test_what_is_staged_is_not_staged_anew_with_other_failures() -> None:
    staged = cpx.stage(checked, 1.0, failures="status")
    assert cpx.stage(staged, 1.0) is cpx.stage(staged, 1.0, failures="status") is staged
    with pytest.raises(StageError, match=r'staged with failures="status".*failures="nan" came'):
        cpx.stage(staged, 1.0, failures="nan")


def test_statuses_are_those_that_can_occur() -> None:
    def two(x: Any, n: Any) -> Any:
        which = jnp.where(n > 3, 2, 0)
        x = eqx.branched_error_if(x, x > 1, which, ["is large", "is odd", "is late"])
        return jax.lax.fori_loop(0, n, lambda i, c: eqx.error_if(c + 1, c > 9, "grew"), x)

    staged = cpx.stage(two, 1.0, 4, failures="status")
    said = [meaning.split(" (")[0] for meaning in staged.meanings]
    assert said == [FINE, "is large", "is odd", "is late", "grew"]
    assert list(staged.statuses) == [0, 1, 3, 4]
