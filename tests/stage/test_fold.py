"""What numpy computes of known values: bit for bit what JAX gives."""

from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from couplax.stage._fold import NUMPY_RULES, fold
from couplax.stage._interpret import bind

FLOATS = np.array([0.0, -0.0, 1.5, -2.25, 3.7, 1e-3, np.nan, np.inf, -np.inf, 1e38, 2.0, 0.1])
SINGLE = FLOATS.astype(np.float32)
INTEGERS = np.array([-128, 127, 0, 1, -1, 5, 3, 100], np.int8)
FLAGS = np.array([True, False, True, True])
GRID = np.arange(12.0).reshape(3, 4)
STARTS = (np.int32(-7), np.int32(2))

Sample = tuple[Callable[..., Any], tuple[Any, ...]]


def pairs(array: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns every pair of the values of `array`."""
    return tuple(each.ravel() for each in np.meshgrid(array, array))


def on_pairs(fn: Callable[..., Any], *arrays: np.ndarray) -> list[Sample]:
    return [(fn, pairs(array)) for array in arrays]


def on_each(fn: Callable[..., Any], *arrays: np.ndarray) -> list[Sample]:
    return [(fn, (array,)) for array in arrays]


def converted(dtype: Any) -> Callable[..., Any]:
    return lambda x: lax.convert_element_type(x, dtype)


COMPARED = {"eq": lax.eq, "ne": lax.ne, "lt": lax.lt, "le": lax.le, "gt": lax.gt, "ge": lax.ge}
ARITHMETIC = {"add": lax.add, "sub": lax.sub, "mul": lax.mul}
BITWISE = {"and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor}
SAMPLES: dict[str, list[Sample]] = {
    **{name: on_pairs(fn, FLOATS, SINGLE, INTEGERS, FLAGS) for name, fn in COMPARED.items()},
    **{name: on_pairs(fn, FLOATS, SINGLE, INTEGERS) for name, fn in ARITHMETIC.items()},
    **{name: on_pairs(fn, INTEGERS, FLAGS) for name, fn in BITWISE.items()},
    "neg": on_each(lax.neg, FLOATS, SINGLE, INTEGERS),
    "abs": on_each(lax.abs, FLOATS, SINGLE, INTEGERS),
    "not": on_each(lax.bitwise_not, INTEGERS, FLAGS),
    "is_finite": on_each(lax.is_finite, FLOATS, SINGLE),
    "nextafter": on_pairs(lax.nextafter, FLOATS[2:], SINGLE[2:]),
    "copy": on_each(lambda x: jnp.array(x, copy=True), FLOATS, INTEGERS),
    "div": on_pairs(lax.div, FLOATS, SINGLE, INTEGERS),
    "sqrt": on_each(lax.sqrt, FLOATS, SINGLE),
    "ceil": on_each(lax.ceil, FLOATS, SINGLE),
    "floor": on_each(lax.floor, FLOATS, SINGLE),
    "max": on_pairs(lax.max, FLOATS, INTEGERS, FLAGS),
    "min": on_pairs(lax.min, FLOATS, INTEGERS, FLAGS),
    "reduce_or": on_each(jnp.any, FLAGS),
    "reduce_and": on_each(jnp.all, FLAGS),
    "reduce_max": on_each(lambda x: jnp.max(x, 0), GRID, INTEGERS),
    "reduce_min": on_each(lambda x: jnp.min(x, 0), GRID, INTEGERS),
    "broadcast_in_dim": on_each(lambda x: lax.broadcast_in_dim(x, (12, 2), (0,)), FLOATS, SINGLE),
    "concatenate": [(lambda x, y: lax.concatenate((x, y), 1), (GRID, GRID + 1))],
    "convert_element_type": [
        *on_each(converted(np.float32), FLOATS, INTEGERS, FLAGS),
        *on_each(converted(np.float64), SINGLE, np.array([2**63 + 1025], np.uint64)),
        *on_each(converted(np.bool_), FLOATS, INTEGERS),
        *on_each(converted(np.int32), FLOATS, INTEGERS),
        *on_each(converted(np.uint16), INTEGERS, FLAGS),
    ],
    "dynamic_slice": [(lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)), (GRID, *STARTS))],
    "dynamic_update_slice": [
        (lambda x, y, i, j: lax.dynamic_update_slice(x, y, (i, j)), (GRID, -GRID[:2, :3], *STARTS))
    ],
    "integer_pow": [
        *on_each(lambda x: lax.integer_pow(x, 2), FLOATS, INTEGERS),
        *on_each(lambda x: lax.integer_pow(x, 3), FLOATS),
    ],
    "iota": [(lambda: lax.broadcasted_iota(np.int16, (2, 3, 2), 1), ())],
    "reshape": on_each(lambda x: lax.reshape(x, (2, 6)), GRID),
    "rev": on_each(lambda x: lax.rev(x, (1,)), GRID),
    "select_n": [
        (lax.select_n, (FLAGS, FLOATS[:4], FLOATS[4:8])),
        (lax.select_n, (np.array([0, 2, 1, 0], np.int32), FLOATS[:4], FLOATS[4:8], FLOATS[8:])),
    ],
    "slice": on_each(lambda x: lax.slice(x, (0, 1), (3, 4), (2, 1)), GRID),
    "squeeze": on_each(lambda x: lax.squeeze(x, (0,)), GRID[None]),
    "transpose": on_each(lambda x: lax.transpose(x, (1, 0)), GRID),
}
ROWS = [
    pytest.param(name, *sample, id=f"{name}-{number}")
    for name, samples in SAMPLES.items()
    for number, sample in enumerate(samples)
]


def equation(name: str, fn: Callable[..., Any], args: tuple[Any, ...]) -> jec.JaxprEqn:
    return next(eqn for eqn in jax.make_jaxpr(fn)(*args).eqns if eqn.primitive.name == name)


@pytest.mark.parametrize(("name", "fn", "args"), ROWS)
def test_numpy_gives_the_bits_of_jax(name: str, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    eqn = equation(name, fn, args)
    (came,), (wanted,) = fold(eqn, args), bind(eqn, args)
    assert (came.dtype, came.shape) == (wanted.dtype, wanted.shape)
    assert np.asarray(came).tobytes() == np.asarray(wanted).tobytes()


def test_every_rule_has_a_sample_that_numpy_computes() -> None:
    assert set(SAMPLES) == set(NUMPY_RULES)
    for name, samples in SAMPLES.items():
        came = [fold(equation(name, *sample), sample[1])[0] for sample in samples]
        assert any(isinstance(value, np.ndarray) for value in came), name


def test_a_number_too_small_for_jax_is_zero_here_too() -> None:
    small = (np.float64(1e-300), np.float64(1e-15))
    eqn = equation("mul", lax.mul, small)
    (came,) = fold(eqn, small)
    assert isinstance(came, jax.Array)
    assert float(came) == float(bind(eqn, small)[0])


def test_a_known_condition_runs_the_branch_that_is_taken() -> None:
    def choose(i: Any, x: Any) -> Any:
        return lax.switch(i, [lambda x: x, lambda x: x + 1, lambda x: x * 5], x)

    eqn = equation("cond", choose, (np.int32(0), np.float64(2.0)))
    for index, wanted in ((-3, 2.0), (1, 3.0), (9, 10.0)):
        (came,) = fold(eqn, (np.int32(index), np.float64(2.0)))
        assert float(came) == wanted
