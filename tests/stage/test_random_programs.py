"""Small programs made at random, nested loops and branches included, against what they were before."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import couplax as cpx
from couplax.stage import Budget, count_equations, finalise, simplify, specialise

pytestmark = pytest.mark.long_table(2)

PROGRAMS = 40
LENGTH = 4

Kind = str
"""`f` a number, `v` a vector of three, `t` one number per trip of a scan, `i` an integer, `b` a boolean."""

Pool = dict[Kind, list[Any]]

UNARY: list[Callable[[Any], Any]] = [
    jnp.sin,
    jnp.tanh,
    jnp.negative,
    jnp.abs,
    lambda x: x * 1.0,
    lambda x: x - 0.0,
]
BINARY: list[Callable[[Any, Any], Any]] = [jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.minimum]


class Writer:
    """Writes one program while it is traced: each choice is drawn from the generator."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def program(self, x: Any, v: Any, n: Any) -> list[Any]:
        """Returns a few values made from the inputs and from constants."""
        pool: Pool = {
            "f": [x, 0.5, jnp.float64(1.25)],
            "v": [v, jnp.array([0.25, -1.0, 2.0])],
            "t": [jnp.linspace(-1.0, 1.0, LENGTH), jnp.full(LENGTH, x)],
            "i": [n, 0, 2],
            "b": [x > 0, True],
        }
        self.write(pool, depth=2, steps=8)
        return [jnp.asarray(self.pick(pool, kind)) for kind in "fvtibfv"]

    def pick(self, pool: Pool, kind: Kind) -> Any:
        return pool[kind][self.rng.integers(len(pool[kind]))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def write(self, pool: Pool, depth: int, steps: int) -> None:
        simple: Sequence[Any] = [
            self.unary,
            self.binary,
            self.vector,
            self.integer,
            self.boolean,
            self.choice,
        ]
        nested: Sequence[Any] = [self.fori, self.loop, self.scan, self.branch, self.wrapped]
        for _ in range(steps):
            kinds = nested if depth and self.chance(0.4) else simple
            step = kinds[self.rng.integers(len(kinds))]
            step(pool, depth)

    def inner(self, pool: Pool) -> Pool:
        return {kind: list(values) for kind, values in pool.items()}

    def unary(self, pool: Pool, depth: int) -> None:
        kind = "fvt"[self.rng.integers(3)]
        pool[kind].append(UNARY[self.rng.integers(len(UNARY))](self.pick(pool, kind)))

    def binary(self, pool: Pool, depth: int) -> None:
        kind = "fvt"[self.rng.integers(3)]
        op = BINARY[self.rng.integers(len(BINARY))]
        # tanh keeps what a loop repeats within bounds, so that roundings do not grow.
        pool[kind].append(jnp.tanh(op(self.pick(pool, kind), self.pick(pool, kind))))

    def vector(self, pool: Pool, depth: int) -> None:
        match int(self.rng.integers(4)):
            case 0:
                pool["v"].append(jnp.full(3, self.pick(pool, "f")))
            case 1:
                pool["f"].append(jnp.tanh(jnp.sum(self.pick(pool, "v"))))
            case 2:
                pool["f"].append(
                    lax.dynamic_index_in_dim(self.pick(pool, "v"), self.pick(pool, "i"), keepdims=False)
                )
            case _:
                column = jnp.reshape(self.pick(pool, "v"), (3, 1))
                pool["v"].append(jnp.reshape(column.T, (3,)))

    def integer(self, pool: Pool, depth: int) -> None:
        left, right = self.pick(pool, "i"), self.pick(pool, "i")
        pool["i"].append([left + right, left * right, left - 1][self.rng.integers(3)] % 5)

    def boolean(self, pool: Pool, depth: int) -> None:
        left, right = self.pick(pool, "b"), self.pick(pool, "b")
        fresh = [self.pick(pool, "f") < self.pick(pool, "f"), self.pick(pool, "i") <= self.pick(pool, "i")]
        made = [*fresh, jnp.logical_and(left, right), jnp.logical_or(left, right), jnp.logical_not(left)]
        pool["b"].append(made[self.rng.integers(len(made))])

    def choice(self, pool: Pool, depth: int) -> None:
        kind = "fvi"[self.rng.integers(3)]
        pool[kind].append(jnp.where(self.pick(pool, "b"), self.pick(pool, kind), self.pick(pool, kind)))

    def carries(self, pool: Pool) -> tuple[str, list[Any]]:
        kinds = "".join("fvib"[k] for k in self.rng.integers(0, 4, size=self.rng.integers(1, 5)))
        dtypes = {"f": float, "v": float, "i": int, "b": bool}
        return kinds, [jnp.asarray(self.pick(pool, kind), dtypes[kind]) for kind in kinds]

    def turn(self, pool: Pool, kinds: str, carries: Sequence[Any], depth: int) -> tuple[Pool, list[Any]]:
        """Returns new carries: made anew, kept, or taken from one another."""
        inside = self.inner(pool)
        for kind, carry in zip(kinds, carries, strict=True):
            inside[kind] += [carry, carry]
        self.write(inside, depth - 1, steps=4)
        new = [
            carry if self.chance(0.25) else jnp.asarray(self.pick(inside, kind), jnp.asarray(carry).dtype)
            for kind, carry in zip(kinds, carries, strict=True)
        ]
        return inside, new

    def keep(self, pool: Pool, kinds: str, values: Sequence[Any]) -> None:
        for kind, value in zip(kinds, values, strict=True):
            pool[kind].append(value)

    def fori(self, pool: Pool, depth: int) -> None:
        kinds, init = self.carries(pool)
        trips = int(self.rng.integers(0, 5))

        def body(k: Any, carries: Any) -> Any:
            inside = self.inner(pool)
            inside["i"] += [k, k]
            return self.turn(inside, kinds, carries, depth)[1]

        self.keep(pool, kinds, lax.fori_loop(0, trips, body, init))

    def loop(self, pool: Pool, depth: int) -> None:
        kinds, init = self.carries(pool)
        limit = self.pick(pool, "i") if self.chance(0.5) else int(self.rng.integers(0, 6))

        def go_on(carries: Any) -> Any:
            return carries[0] < jnp.minimum(limit, 6)

        def body(carries: Any) -> Any:
            return [carries[0] + 1, *self.turn(pool, kinds, carries[1:], depth)[1]]

        self.keep(pool, "i" + kinds, lax.while_loop(go_on, body, [jnp.asarray(0), *init]))

    def scan(self, pool: Pool, depth: int) -> None:
        kinds, init = self.carries(pool)
        reverse = self.chance(0.5)

        def body(carries: Any, slices: Any) -> Any:
            inside = self.inner(pool)
            inside["f"] += [slices[0], slices[1]]
            inside, new = self.turn(inside, kinds, carries, depth)
            return new, (jnp.asarray(self.pick(inside, "f")), jnp.asarray(self.pick(inside, "f")))

        stacks = (self.pick(pool, "t"), self.pick(pool, "t"))
        ends, outputs = lax.scan(body, init, stacks, reverse=reverse)
        self.keep(pool, kinds, ends)
        pool["t"] += list(outputs)

    def branch(self, pool: Pool, depth: int) -> None:
        kinds, operands = self.carries(pool)
        count = int(self.rng.integers(2, 4))
        branches = [lambda *values: self.turn(pool, kinds, values, depth)[1] for _ in range(count)]
        self.keep(pool, kinds, lax.switch(self.pick(pool, "i"), branches, *operands))

    def wrapped(self, pool: Pool, depth: int) -> None:
        kinds, operands = self.carries(pool)
        wrap = [jax.jit, jax.checkpoint][self.rng.integers(2)]
        self.keep(pool, kinds, wrap(lambda *values: self.turn(pool, kinds, values, depth)[1])(*operands))


ARGUMENTS = [
    (0.75, [0.5, -0.25, 1.5], 3),
    (-1.5, [2.0, 0.0, -3.0], 0),
    (0.0, [-0.0, 1e-3, 40.0], 7),
]


def written(seed: int) -> jec.ClosedJaxpr:
    """Returns the program that `seed` makes."""
    return jax.make_jaxpr(Writer(seed).program)(0.75, jnp.array([0.5, -0.25, 1.5]), 3)


def arguments(x: float, v: list[float], n: int) -> tuple[Any, Any, Any]:
    return np.float64(x), np.array(v), np.int64(n)


def assert_same(staged: Callable[..., Any], program: jec.ClosedJaxpr) -> None:
    """Asserts equal values at each of the points, to a few roundings: XLA fuses the two differently."""
    original = jax.jit(jec.jaxpr_as_fun(program))
    for point in ARGUMENTS:
        given = arguments(*point)
        for place, (came, wanted) in enumerate(zip(staged(*given), original(*given), strict=True)):
            message = f"output {place} at {point}"
            np.testing.assert_allclose(came, wanted, rtol=1e-12, atol=1e-12, err_msg=message, strict=True)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_a_staged_program_gives_what_it_gave_before(seed: int) -> None:
    program = written(seed)
    staged = cpx.stage(jec.jaxpr_as_fun(program), *arguments(*ARGUMENTS[0]))
    assert_same(jax.jit(staged), program)


@pytest.mark.parametrize("seed", range(PROGRAMS, PROGRAMS + 10))
def test_a_tight_budget_changes_no_value(seed: int) -> None:
    program = written(seed)
    budget = Budget(elements=2, equations=6, trips=2, table=64)
    staged = simplify(specialise(finalise(program), budget=budget))
    assert_same(jax.jit(jec.jaxpr_as_fun(staged)), program)


PASSES = {"finalise": finalise, "specialise": specialise, "simplify": simplify}


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("seed", range(PROGRAMS, PROGRAMS + 8))
def test_a_pass_on_what_it_gave_changes_nothing(seed: int, name: str) -> None:
    before = written(seed) if name == "finalise" else finalise(written(seed))
    once = PASSES[name](before)
    twice = PASSES[name](once)
    assert count_equations(twice.jaxpr) == count_equations(once.jaxpr)
    jec.check_jaxpr(once.jaxpr)


@pytest.mark.parametrize("seed", range(PROGRAMS, PROGRAMS + 8))
def test_staging_a_staged_program_changes_nothing(seed: int) -> None:
    once = cpx.stage(jec.jaxpr_as_fun(written(seed)), *arguments(*ARGUMENTS[0]))
    twice = cpx.stage(once, *arguments(*ARGUMENTS[0]))
    assert count_equations(twice.jaxpr.jaxpr) == count_equations(once.jaxpr.jaxpr)
