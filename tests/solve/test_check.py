"""The check inside a program: what it lets pass, and what it costs a program where nothing fails."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import couplax as cpx
from couplax.solve._check import AbstractReport, Array, Lane, passed, tied


@dataclass(frozen=True)
class Told(AbstractReport):
    """Raises with what it was told."""

    @property
    def meanings(self) -> tuple[str, ...]:
        return ("it is negative",)

    def which(self, leaves: Sequence[Any]) -> Any:
        return 0

    def error(self, leaves: Sequence[Array], lane: Lane, *, compiled: bool) -> Exception:
        return ValueError(f"{[leaf.tolist() for leaf in leaves]} at {lane.index}, compiled: {compiled}")


def root(x: Any, shared: Any = 7.0) -> Any:
    """Returns the square root of x, checked."""
    one = passed(x < 0, [x, jnp.asarray(shared)], Told())
    return tied(jnp.sqrt(jnp.abs(x)), one)


def test_what_is_checked_keeps_its_value_and_derivatives() -> None:
    for fn in (root, jax.jit(root)):
        np.testing.assert_allclose(fn(4.0), 2.0)
        np.testing.assert_allclose(jax.grad(fn)(4.0), 0.25)
        np.testing.assert_allclose(jax.grad(jax.grad(fn))(4.0), -1 / 32)
        np.testing.assert_allclose(jax.vmap(fn)(jnp.array([1.0, 9.0])), [1.0, 3.0])


def test_a_failure_is_told_at_once_outside_programs() -> None:
    for call in (lambda: root(-4.0), lambda: jax.grad(root)(-4.0)):
        with pytest.raises(ValueError, match=r"\[-4.0, 7.0\] at \(\), compiled: False"):
            call()


def test_a_failure_is_told_by_a_program_when_it_runs() -> None:
    program = jax.jit(root)
    program(4.0)
    for _ in range(2):  # JAX makes it a RuntimeError at first, and a ValueError where the program ran before
        with pytest.raises((RuntimeError, ValueError), match=r"\[-4.0, 7.0\] at \(\), compiled: True"):
            jax.block_until_ready(program(-4.0))


def test_lanes_may_share_what_is_told_and_be_nested() -> None:
    x = jnp.array([[1.0, 4.0], [9.0, -4.0]])
    shared = jnp.array([5.0, 6.0])
    nested = jax.vmap(jax.vmap(root, in_axes=(0, None)))
    with pytest.raises(ValueError, match=r"\[-4.0, 6.0\] at \(1, 1\)"):
        nested(x, shared)
    inner_axis = jax.vmap(jax.vmap(root, in_axes=(0, None)), in_axes=(1, None))
    with pytest.raises(RuntimeError, match=r"\[-4.0, 5.0\] at \(1, 1\)"):
        jax.block_until_ready(jax.jit(inner_axis)(x, 5.0))


def test_lanes_that_differ_in_what_is_told_alone_share_the_check() -> None:
    ones = jax.vmap(lambda told: passed(jnp.array(False), [told], Told()))(jnp.arange(3.0))
    np.testing.assert_allclose(ones, np.ones(3))
    with pytest.raises(ValueError, match=r"\[0.0\] at \(0,\)"):
        jax.vmap(lambda told: passed(jnp.array(True), [told], Told()))(jnp.arange(3.0))


def test_integers_and_booleans_are_tied_too() -> None:
    def counted(x: Any) -> Any:
        return tied({"n": jnp.array([1, 2]), "ok": x > 0, "c": x + 1j}, passed(x < 0, [x], Told()))

    values = jax.jit(counted)(4.0)
    assert values["n"].tolist() == [1, 2]
    assert (values["n"].dtype, bool(values["ok"]), complex(values["c"])) == (np.int64, True, 4 + 1j)
    for name in ("n", "ok", "c"):
        with pytest.raises(RuntimeError, match=r"-4\.0"):
            jax.block_until_ready(jax.jit(lambda x, name=name: counted(x)[name])(-4.0))


def test_a_program_calls_the_host_inside_the_branch_of_a_failure_alone() -> None:
    text = jax.jit(root).lower(4.0).as_text()
    start = text.index("stablehlo.case") if "stablehlo.case" in text else text.index("stablehlo.if")
    # What calls the host comes after the branch begins: nothing does on the way of a success.
    assert "custom_call" not in text[:start]
    assert "custom_call" in text[start:]


def test_what_does_not_vary_costs_a_foreign_code_no_probe_behind_a_check() -> None:
    box = cpx.foreign(lambda y: y**2, jnp.float64, name="behind a check")

    def behind(x: Any, name: str) -> Any:
        return box(tied({"varies": x, "fixed": jnp.float64(2.0)}, passed(x < 0, [x], Told()))[name])

    for name, probes, slope in (("fixed", 0, 0.0), ("varies", 1, 8.0)):
        box.tally.reset()
        moved = jax.jit(lambda x, name=name: jax.jvp(lambda x: behind(x, name), (x,), (1.0,))[1])(4.0)
        np.testing.assert_allclose(moved, slope, rtol=1e-6)
        assert box.tally.probes == probes
