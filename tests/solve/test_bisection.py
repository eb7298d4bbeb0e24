"""The bracketed search: what it keeps, how fast it is, what it refuses."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
import pytest

import couplax as cpx
from solver_cases import fixed_point, is_solved


def found(fn: Any, solver: Any, start: Any = 0.5, **options: Any) -> Any:
    """Returns optimistix's solution of fn(y) = 0 by `solver`."""
    return optx.root_find(
        lambda y, _: fn(y), solver, jnp.asarray(start), options=options, max_steps=None, throw=False
    )


# With roots in closed form; the third is flat around its root, the last has none but a change of sign.
EQUATIONS: dict[str, tuple[Any, float]] = {
    "x^3 = 2": (lambda x: x**3 - 2, 2 ** (1 / 3)),
    "x exp(x) = 1": (lambda x: x * jnp.exp(x) - 1, 0.5671432904097838),
    "(x - 1)^9 = 0": (lambda x: (x - 1) ** 9, 1.0),
    "arctan(1000 (x - 1/3))": (lambda x: jnp.arctan(1000 * (x - 1 / 3)), 1 / 3),
    "a jump at 0.7": (lambda x: jnp.where(x < 0.7, -1.0, 2.0), 0.7),
}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", EQUATIONS)
def test_a_bracketed_root_is_found_to_the_tolerance(name: str, sign: int) -> None:
    fn, root = EQUATIONS[name]
    solution = found(lambda x: sign * fn(x), cpx.Bisection(-1.5, 4.0, rtol=1e-10, atol=1e-10))
    assert is_solved(solution)
    # A ninth power is zero to the last bit within 1e-36 of its root.
    np.testing.assert_allclose(solution.value, root, rtol=3e-10)


@pytest.mark.parametrize("name", EQUATIONS)
def test_it_takes_no_more_than_a_few_steps_beyond_those_of_halving(name: str) -> None:
    fn, _ = EQUATIONS[name]
    solution = found(fn, cpx.Bisection(-1.5, 4.0, rtol=1e-10, atol=1e-10))
    halvings = np.log2(5.5 / 1e-10)
    assert int(solution.stats["num_steps"]) <= 1.5 * halvings


def test_a_smooth_equation_takes_a_quarter_of_the_halvings() -> None:
    def fn(x: Any) -> Any:
        return x**3 - 2 * x - 5

    solution = found(fn, cpx.Bisection(2.0, 3.0, rtol=1e-12, atol=1e-12), start=2.5)
    # Wallis's equation, on which Newton showed his method; here by Cardano's formula.
    deep = np.sqrt(25 / 4 - 8 / 27)
    np.testing.assert_allclose(solution.value, np.cbrt(2.5 + deep) + np.cbrt(2.5 - deep), rtol=1e-12)
    assert int(solution.stats["num_steps"]) <= np.log2(1e12) / 4


def test_the_root_stays_bracketed_and_the_bracket_narrows() -> None:
    points: list[float] = []

    def fn(x: Any) -> Any:
        jax.debug.callback(lambda at: points.append(float(at)), x)
        return jnp.exp(x) - 3

    found(fn, cpx.Bisection(0.0, 20.0))
    jax.effects_barrier()
    low, high = 0.0, 20.0
    for point in points[2:]:
        assert low <= point <= high
        low, high = (point, high) if point < np.log(3) else (low, point)
    assert high - low < 3e-8


def test_the_guess_is_tried_first_where_it_lies_between_the_ends() -> None:
    solution = found(lambda x: x - 0.25, cpx.Bisection(0.0, 1.0), start=0.25)
    assert (int(solution.stats["num_steps"]), float(solution.value)) == (1, 0.25)


@pytest.mark.parametrize("root", [0.0, 1.0])
def test_an_end_that_is_a_root_is_returned(root: float) -> None:
    solution = found(lambda x: x - root, cpx.Bisection(0.0, 1.0))
    assert (is_solved(solution), float(solution.value)) == (True, root)


def test_ends_that_do_not_bracket_end_the_solve_at_once() -> None:
    solution = found(lambda x: x**2 + 1, cpx.Bisection(-1.0, 1.0))
    assert bool(solution.result == optx.RESULTS.nonlinear_divergence)
    assert int(solution.stats["num_steps"]) == 0


def test_a_point_where_f_is_nan_is_returned_and_said_to_be() -> None:
    solution = found(lambda x: jnp.where(jnp.abs(x - 0.5) < 0.1, jnp.nan, x - 0.7), cpx.Bisection(0.0, 1.0))
    assert bool(solution.result == optx.RESULTS.nonfinite)
    assert float(solution.value) == 0.5


def test_an_end_at_which_f_is_infinite_brackets_too() -> None:
    solution = found(lambda x: jnp.log(x) + 1, cpx.Bisection(0.0, 10.0))
    np.testing.assert_allclose(solution.value, np.exp(-1), rtol=1e-7)


def test_the_unknowns_own_bounds_are_the_bracket_where_none_is_given() -> None:
    solution = fixed_point(cpx.Bisection(), lambda y, _: jnp.cos(y), jnp.asarray(0.1), lower=0.0, upper=2.0)
    np.testing.assert_allclose(solution.value, 0.7390851332151607, rtol=1e-7)


def test_lanes_of_a_vmap_find_each_its_own_root() -> None:
    def solved(target: Any) -> Any:
        return found(lambda x: x**3 - target, cpx.Bisection(0.0, 4.0)).value

    np.testing.assert_allclose(jax.vmap(solved)(jnp.array([1.0, 8.0, 27.0])), [1, 2, 3], rtol=1e-7)


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: cpx.Bisection(2.0, 1.0), ["lower=2.0, upper=1.0", "`lower` is to be below `upper`"]),
        (lambda: found(lambda x: x, cpx.Bisection()), ["no lower end", "Bisection(lower=..., upper=...)"]),
        (lambda: found(lambda x: x, cpx.Bisection(lower=0.0)), ["no upper end"]),
        (
            lambda: found(lambda x: x, cpx.Bisection(-1.0, 1.0), start=np.ones(2)),
            ["one scalar unknown", "(2,)", "couplax.Newton"],
        ),
    ],
)
def test_a_search_without_its_bracket_or_its_scalar_is_refused(call: Any, parts: list[str]) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        call()
    for part in parts:
        assert part in str(caught.value)


def test_the_declared_bounds_of_a_cycles_unknown_are_the_bracket_where_none_is_given() -> None:
    half = cpx.component(
        lambda y, a: jnp.cos(y) + a, cpx.output("x", guess=0.5, bounds=(0.0, 3.0)), name="half"
    )
    same = cpx.component(lambda x: x, "y", name="same")
    model = cpx.Model(half, same).close(cpx.Bisection(rtol=1e-10, atol=1e-10), cut="x")
    np.testing.assert_allclose(model.run(a=0.0)["x"], 0.7390851332151607, rtol=1e-9)
    # dx = da / (1 + sin x)
    slope = jax.grad(model.function("a", "x"))(0.0)
    np.testing.assert_allclose(slope, 1 / (1 + np.sin(0.7390851332151607)), rtol=1e-9)
