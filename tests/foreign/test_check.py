"""The check of derivatives: what is wrong is found, what is right is left in peace."""

import importlib.util
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax.foreign import Central, ComplexStep, DerivativeReport, check_derivatives, paired

Array = np.ndarray[Any, Any]

THREE = jax.ShapeDtypeStruct((3,), jnp.float64)
X = np.array([0.3, 1.7, -2.2])


def values(x: Array, a: float) -> dict[str, Any]:
    """Returns a code with a diagonal block, a dense one and a zero one."""
    return {"y": np.sin(x) * a, "s": np.sum(x**2)}


def tangent(primals: Any, tangents: Any) -> dict[str, Any]:
    (x, a), (dx, da) = primals, tangents
    return {"y": np.cos(x) * a * dx + np.sin(x) * da, "s": np.sum(2 * x * dx)}


def adjoint(primals: Any, cotangents: Any) -> tuple[Any, Any]:
    (x, a), y, s = primals, cotangents["y"], cotangents["s"]
    return np.cos(x) * a * y + 2 * x * s, np.sum(np.sin(x) * y)


def code(fn: Callable[..., Any] = values, **options: Any) -> cpx.Foreign:
    return cpx.foreign(fn, {"y": THREE, "s": jnp.float64}, **options)


def scalar(fn: Callable[..., Any], **options: Any) -> cpx.Foreign:
    return cpx.foreign(fn, jnp.float64, name="code", **options)


def wrong(report: DerivativeReport) -> set[tuple[str, str, str]]:
    return {(row.input, row.output, row.derivative) for row in report.rows if row.verdict == "WRONG"}


def subjects(report: DerivativeReport) -> set[tuple[str, bool]]:
    return {(finding.subject, finding.is_fault) for finding in report.findings}


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def single(x: Any) -> Any:
    return np.float64(np.sin(np.float32(x)))


GOOD: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "value only": (code(), (X, 1.3)),
    "tangent": (code(tangent=tangent), (X, 1.3)),
    "adjoint": (code(adjoint=adjoint), (X, 1.3)),
    "tangent and adjoint": (code(tangent=tangent, adjoint=adjoint), (X, 1.3)),
    "central": (code(differences=Central()), (X, 1.3)),
    "complex step": (code(differences=ComplexStep()), (X, 1.3)),
    "at zero": (code(tangent=tangent), (np.zeros(3), 0.0)),
    "tiny, and says so": (scalar(lambda x: 1e6 * x * x, scale=1e-9), (1e-9,)),
    "single inside, and says so": (scalar(single, precision=jnp.float32), (0.7,)),
    "near a bound": (scalar(np.sqrt, bounds=(0.0, None), scale=1e-9), (1e-9,)),
    "on a bound": (scalar(lambda x: (1 - x) ** 1.5 + x, bounds=(None, 1.0)), (1.0,)),
    "complex outputs": (cpx.foreign(lambda x: x * np.exp(1j * x), jnp.complex128), (0.7,)),
    "whole numbers beside": (scalar(lambda x, n: np.sin(x) * n), (0.7, 3)),
    "batched": (cpx.foreign(np.tanh, THREE, batched=True), (X,)),
    "a root": (scalar(lambda x: x**2 - 2), (np.sqrt(2.0),)),
    "a constant": (scalar(lambda x: np.float64(3)), (0.7,)),
    "large numbers": (scalar(lambda x: x**2 / 1e12), (1e12,)),
    "far from linear": (jax.jit(lambda x: jnp.exp(-((x - 1) ** 2) * 50) * jnp.sin(40 * x)), (1.1,)),
    "JAX, complex": (lambda z, x: z * z * x, (0.7 + 0.2j, 1.2)),
    "JAX, single precision": (lambda x: jnp.sin(x) * jnp.exp(x[0]), (jnp.float32(X),)),
    "JAX, many inputs": (jax.jit(rosenbrock), (np.linspace(-1, 1, 50),)),
    "JAX, a matrix": (lambda a: jnp.linalg.inv(a), (np.array([[2.0, 1], [0.5, 3]]),)),
    "JAX, a structure": (lambda p: {"u": p["a"] * p["b"][0]}, ({"a": 2.0, "b": (X,)},)),
    "JAX, in steps of its rounding": (lambda x: 1e6 + x - 1e6, (1.6e-8,)),
    "JAX, hardly changing": (lambda x: x / jnp.sqrt(1 + x**2), (-1142518.0,)),
    "a pair": (paired(scalar(np.sin), jnp.sin), (0.3,)),
    "a pair with structures": (
        paired(code(), lambda x, a: {"y": jnp.sin(x) * a, "s": (x**2).sum()}),
        (X, 1.3),
    ),
    "empty beside": (lambda x, e: (jnp.sin(x), e * 2), (0.7, np.zeros((0, 2)))),
}


@pytest.mark.parametrize("case", GOOD)
def test_a_code_that_is_right_is_left_in_peace(case: str) -> None:
    function, args = GOOD[case]
    report = check_derivatives(function, *args)
    report.assert_ok()
    assert report.ok
    assert {row.verdict for row in report.rows} == {"ok"}, str(report)
    assert report.findings == (), str(report)


def scaled(routine: Callable[..., Any], factor: float) -> Callable[..., Any]:
    def wrong_routine(primals: Any, vectors: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf * factor, routine(primals, vectors))

    return wrong_routine


@pytest.mark.parametrize("factor", [1.02, 0.0, -1.0, 1.00001])
def test_a_tangent_that_is_wrong_by_a_factor_is_found(factor: float) -> None:
    report = check_derivatives(code(tangent=scaled(tangent, factor)), X, 1.3)
    assert wrong(report) == {("x", "y", "tangent"), ("x", "s", "tangent"), ("a", "y", "tangent")}


def test_an_adjoint_that_is_wrong_by_two_percent_is_found_and_breaks_the_identity() -> None:
    report = check_derivatives(code(tangent=tangent, adjoint=scaled(adjoint, 1.02)), X, 1.3)
    pairs = [("x", "y"), ("x", "s"), ("a", "y")]
    assert wrong(report) == {("all", "all", "identity"), *((*pair, "adjoint") for pair in pairs)}


def test_an_adjoint_that_is_wrong_in_one_entry_is_found_and_the_entry_is_named() -> None:
    def one_entry(primals: Any, cotangents: Any) -> Any:
        x, a = adjoint(primals, cotangents)
        x[2] += 0.001 * cotangents["y"][1]
        return x, a

    report = check_derivatives(code(adjoint=one_entry), X, 1.3)
    (row,) = [row for row in report.rows if row.verdict == "WRONG" and row.derivative == "adjoint"]
    assert (row.input, row.output, row.at) == ("x", "y", "y[1], x[2]")
    assert row.error == pytest.approx(0.001, rel=1e-6)


def test_one_wrong_entry_among_many_is_found_by_random_directions() -> None:
    struct = jax.ShapeDtypeStruct((200,), jnp.float64)

    def one_entry(primals: Any, tangents: Any) -> Array:
        result = np.cos(primals[0]) * tangents[0]
        result[117] *= 1.02
        return result

    x = np.linspace(0.5, 1, 200)
    right = cpx.foreign(np.sin, struct, tangent=lambda p, t: np.cos(p[0]) * t[0])
    check_derivatives(right, x).assert_ok()
    report = check_derivatives(cpx.foreign(np.sin, struct, tangent=one_entry), x)
    (row,) = report.rows
    assert (row.verdict, row.at.split(",")[0]) == ("WRONG", "output[117]")


def test_a_nan_is_wrong() -> None:
    report = check_derivatives(scalar(lambda x: np.sin(x), tangent=lambda p, t: np.float64(np.nan)), 0.3)
    assert wrong(report) == {("x", "output", "tangent")}


def test_single_precision_inside_is_found_with_what_to_declare() -> None:
    report = check_derivatives(scalar(single), 0.7)
    assert subjects(report) == {("precision", True)}
    assert "precision=jnp.float32" in report.findings[0].message
    # The spacing of float32 near sin(0.7), of which the error's deviation is about a third.
    assert 0.05 < report.noise[0].level / np.spacing(np.float32(0.644)) < 1.0


def test_single_precision_inside_is_no_fault_where_the_tangent_is_exact() -> None:
    report = check_derivatives(scalar(single, tangent=lambda p, t: np.cos(p[0]) * t[0]), 0.7)
    assert report.ok
    assert subjects(report) == {("precision", False)}


@pytest.mark.parametrize("level", [1e-3, 1e-5])
def test_noise_is_found_and_measured_and_a_step_is_recommended(level: float) -> None:
    def noisy(x: Any) -> Any:
        return np.sin(x) + level * np.sin(1e9 * x + 1e12 * x**2)

    report = check_derivatives(scalar(noisy), 0.7)
    assert ("noise", True) in subjects(report)
    # The deviation of a sine of this amplitude, to the factor that eight points can tell.
    assert level / 4 < report.noise[0].level < 2 * level
    step = 2 * level**0.5
    check = check_derivatives(scalar(noisy, differences=cpx.Forward(step=step)), 0.7)
    assert abs(check.rows[0].value - np.cos(0.7)) < 2 * step


def test_a_code_that_gives_other_outputs_for_the_same_inputs_is_found(rng: np.random.Generator) -> None:
    report = check_derivatives(scalar(lambda x: np.sin(x) + 1e-9 * rng.random()), 0.7)
    assert ("purity", True) in subjects(report)


def test_a_code_that_remembers_its_last_call_is_found() -> None:
    last = [0.0]

    def warm_started(x: Any) -> Any:
        last[0] = np.sin(x) + 1e-6 * last[0]
        return last[0]

    assert ("purity", True) in subjects(check_derivatives(scalar(warm_started), 0.7))


def test_a_step_too_wide_for_the_input_is_found_with_the_scale_to_declare() -> None:
    report = check_derivatives(scalar(lambda x: 1e6 * x * x), 1e-9)
    assert wrong(report) == {("x", "output", "differences")}
    assert subjects(report) == {("scale", True)}
    assert "scale=1e-09" in report.findings[0].message
    assert report.rows[0].reference == pytest.approx(0.002, rel=1e-9)


def test_a_step_too_wide_for_the_function_is_found_with_the_step_to_declare() -> None:
    report = check_derivatives(scalar(np.sin), 1e6)
    assert subjects(report) == {("step", True)}
    assert "couplax.Central(step=" in report.findings[0].message


def test_outputs_that_depend_on_other_lanes_are_found_in_a_code_that_promises_batches() -> None:
    f = cpx.foreign(lambda x: x / np.sum(x), THREE, batched=True)
    assert ("batch", True) in subjects(check_derivatives(f, X))


def test_a_code_that_cannot_take_the_batches_that_it_promises_is_found() -> None:
    f = cpx.foreign(lambda x: np.sum(x**2), jnp.float64, batched=True)
    assert ("batch", True) in subjects(check_derivatives(f, X))


def test_an_input_outside_its_bounds_is_found() -> None:
    assert ("bounds", True) in subjects(check_derivatives(scalar(np.sin, bounds=(1.0, 2.0)), 0.5))


def test_a_domain_left_by_a_step_is_noted() -> None:
    def exact(p: Any, t: Any) -> Any:
        return t[0] / (2 * np.sqrt(p[0] + 0.01))

    def raises(x: Any) -> Any:
        if x < -0.01:
            raise ValueError("negative")
        return np.sqrt(x + 0.01)

    for fn in (raises, lambda x: np.sqrt(x + 0.01)):
        report = check_derivatives(scalar(fn, tangent=exact), 0.0)
        assert report.ok, str(report)
        assert ("bounds", False) in subjects(report)


def test_a_derivative_that_no_difference_can_reach_is_neither_right_nor_wrong() -> None:
    def isolated(x: Any) -> Any:
        return np.float64(1) if x == 0.5 else np.float64(np.nan)

    report = check_derivatives(scalar(isolated, tangent=lambda p, t: np.float64(3)), 0.5)
    assert [row.verdict for row in report.rows] == ["unsure"]
    assert "1 undecided" in report.headline


def test_outputs_that_are_not_finite_are_a_fault() -> None:
    assert ("finite", True) in subjects(check_derivatives(scalar(np.log), -1.0))


def test_what_the_code_raises_at_the_point_is_raised() -> None:
    def fails(x: Any) -> Any:
        raise ZeroDivisionError("no mesh")

    with pytest.raises(ZeroDivisionError, match="no mesh"):
        check_derivatives(scalar(fails), 0.3)


def test_a_function_with_one_mode_is_checked_in_that_mode() -> None:
    def loop(x: Any) -> Any:
        return jax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * jnp.sin(s[1])), (0, x))[1]

    report = check_derivatives(loop, 0.3)
    assert [row.derivative for row in report.rows] == ["jvp"]
    assert subjects(report) == {("vjp", False)}


def test_a_custom_rule_that_is_wrong_is_found() -> None:
    @jax.custom_jvp
    def f(x: Any) -> Any:
        return jnp.sin(x)

    f.defjvp(lambda p, t: (f(p[0]), 1.02 * jnp.cos(p[0]) * t[0]))
    assert {row.derivative for row in check_derivatives(f, 0.3).rows if row.verdict == "WRONG"} == {
        "jvp",
        "vjp",
    }


def test_a_pair_whose_members_differ_is_found() -> None:
    fast = scalar(np.sin)
    check_derivatives(paired(fast, jnp.sin), 0.3).assert_ok()
    report = check_derivatives(paired(fast, lambda x: jnp.sin(x) + 1e-3 * x), 0.3)
    assert {row.derivative for row in report.rows if row.verdict == "WRONG"} == {
        "value",
        "reference jvp",
        "reference vjp",
    }


def test_a_pair_that_parts_beside_the_point_is_found_with_the_sample() -> None:
    def fast(x: Any) -> Any:
        return np.sin(x) if x > 0.29 else np.float64(0)

    report = check_derivatives(paired(scalar(fast), jnp.sin), 0.3)
    (row,) = [row for row in report.rows if row.derivative == "value"]
    assert row.verdict == "WRONG"
    assert row.at.startswith("output, sample ")


def test_a_check_calls_the_code_itself_and_leaves_its_tally_and_memo_alone() -> None:
    f = scalar(np.sin)
    f(0.3)
    before = str(f.tally)
    report = check_derivatives(f, 0.3)
    assert str(f.tally) == before
    assert report.calls > 10


def test_a_function_without_derivatives_is_refused() -> None:
    def callback(x: Any) -> Any:
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), jnp.float64), x)

    with pytest.raises(cpx.DerivativeError, match="has no derivative to check: Pure callbacks"):
        check_derivatives(callback, 0.3)


def test_nothing_to_differentiate_is_said() -> None:
    with pytest.raises(cpx.DerivativeError, match="has no derivative to check"):
        check_derivatives(lambda n: n + 1, 3)


def test_a_report_that_is_not_ok_raises_with_its_table() -> None:
    report = check_derivatives(code(tangent=scaled(tangent, 1.02)), X, 1.3)
    assert not report.ok
    with pytest.raises(cpx.DerivativeError, match="3 of 4 wrong") as caught:
        report.assert_ok()
    assert str(caught.value) == str(report)


def test_the_table_is_aligned_and_has_a_line_for_each_pair() -> None:
    report = check_derivatives(code(tangent=tangent), X, 1.3)
    headline, head, *lines = str(report).splitlines()
    assert headline.startswith("Derivatives of `values`: all 4 right (")
    assert [line[head.index("verdict") :] for line in lines[:4]] == ["ok"] * 4
    assert [line.split()[:3] for line in lines[:2]] == [["x", "s", "tangent"], ["x", "y", "tangent"]]


def test_a_notebook_shows_a_table_with_its_text_escaped() -> None:
    page = check_derivatives(scalar(np.sin), 0.3)._repr_html_()
    assert page.count("<table>") == 2
    noted = check_derivatives(lambda x: jnp.sin(x), 0.3)._repr_html_()
    assert "&lt;lambda&gt;" in noted
    assert "<w, J v>" not in noted


@pytest.mark.skipif(importlib.util.find_spec("rich") is None, reason="the package rich is not installed")
def test_a_terminal_shows_a_table_by_rich() -> None:
    console = importlib.import_module("rich.console").Console(width=160, record=True)
    console.print(check_derivatives(scalar(np.sin), 0.3))
    assert "differences" in console.export_text()
