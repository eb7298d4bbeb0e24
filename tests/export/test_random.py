"""Random numbers in the file are JAX's own, bit for bit, since its generator is written out."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from couplax.export import to_onnx
from onnx_runtime import faults, outputs_of


def test_bits_of_every_width_are_those_of_jax(key: jax.Array) -> None:
    def bits(key: jax.Array) -> list[jax.Array]:
        widths = (np.uint8, np.uint16, np.uint32, np.uint64)
        return [jax.random.bits(key, (3, 5), dtype) for dtype in widths]

    assert not faults(bits, key)


def test_keys_split_and_folded_are_those_of_jax(key: jax.Array) -> None:
    def keys(key: jax.Array, number: Any, seed: Any) -> list[jax.Array]:
        many = jax.random.split(key, (2, 3))
        folded = jax.vmap(jax.random.fold_in)(many[0], jnp.arange(3) + number)
        return [many, folded, jax.random.fold_in(key, number), jax.random.key(seed), jax.random.clone(key)]

    assert not faults(keys, key, np.int32(-5), np.int64(2**40 + 7))


def test_a_key_of_the_old_style_is_two_integers(key: jax.Array) -> None:
    assert not faults(lambda key: jax.random.split(key, 3), np.asarray(jax.random.key_data(key)))


def test_uniform_numbers_are_those_of_jax_bit_for_bit(key: jax.Array) -> None:
    def drawn(key: jax.Array) -> list[jax.Array]:
        return [
            jax.random.uniform(key, (100, 70)),
            jax.random.uniform(key, (7,), jnp.float32),
            jax.random.randint(key, (9,), -3, 17),
            jax.random.bernoulli(key, 0.3, (9,)),
            jax.random.rademacher(key, (9,)),
        ]

    assert not faults(drawn, key)


def test_the_order_of_a_permutation_and_choices_are_those_of_jax(key: jax.Array) -> None:
    def drawn(key: jax.Array) -> list[jax.Array]:
        return [
            jax.random.permutation(key, 20),
            jax.random.choice(key, jnp.arange(10.0), (4,), replace=False),
            jax.random.categorical(key, jnp.arange(5.0), shape=(6,)),
        ]

    assert not faults(drawn, key)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_of_other_distributions_differ_by_roundings_alone(key: jax.Array, dtype: Any) -> None:
    def drawn(key: jax.Array) -> list[jax.Array]:
        return [
            jax.random.normal(key, (20,), dtype),
            jax.random.exponential(key, (20,), dtype),
            jax.random.laplace(key, (20,), dtype),
            jax.random.truncated_normal(key, -1, 2, (20,), dtype),
            jax.vmap(lambda key: jax.random.normal(key, (2,), dtype))(jax.random.split(key, 3)),
        ]

    assert not faults(drawn, key, units=8, whole=True)


def test_numbers_drawn_until_one_is_accepted_take_as_many_draws(key: jax.Array) -> None:
    def drawn(key: jax.Array) -> list[jax.Array]:
        return [
            jax.random.gamma(key, jnp.array([0.3, 1.0, 7.5])),
            jax.random.poisson(key, 4.0).astype(jnp.float64),
        ]

    assert not faults(drawn, key, units=16, whole=True)


def test_keys_pass_through_loops_and_branches(key: jax.Array) -> None:
    def walk(key: jax.Array, number: Any) -> Any:
        def step(carry: Any, _: None) -> Any:
            key, place = carry
            key, drawn = jax.random.split(key)
            return (key, place + jax.random.uniform(drawn)), drawn

        state, drawn = jax.lax.scan(step, (key, number), None, length=300)
        chosen = jax.lax.cond(number > 0, lambda: jax.random.fold_in(key, 3), lambda: key)
        last = jax.lax.while_loop(
            lambda key: jax.random.uniform(key) < 0.9, lambda key: jax.random.split(key)[1], key
        )
        return state, drawn[::50], chosen, last, jnp.where(number > 0, key, chosen)

    assert not faults(walk, key, 1.0)


def test_a_key_comes_into_the_file_as_two_unsigned_integers(key: jax.Array) -> None:
    proto = to_onnx(lambda key: jax.random.uniform(key), key)
    (entry,) = proto.graph.input
    assert [size.dim_value for size in entry.type.tensor_type.shape.dim] == [2]


def test_different_keys_give_different_numbers(key: jax.Array) -> None:
    other = jax.random.fold_in(key, 1)
    came, _ = outputs_of(lambda one, two: (jax.random.uniform(one), jax.random.uniform(two)), key, other)
    assert came[0] != came[1]


@pytest.mark.long_table(2)
@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
def test_keys_of_the_other_generators_are_those_of_jax(impl: str) -> None:
    def fn(key: Any) -> Any:
        many = jax.random.split(key)
        return [many, jax.vmap(jax.random.bits)(many), jax.random.key(3, impl=impl)]

    assert not faults(fn, jax.random.key(5, impl=impl))


def test_a_struct_of_keys_is_verified_with_keys_of_its_generator() -> None:
    struct = jax.ShapeDtypeStruct((2,), jax.random.key(0, impl="unsafe_rbg").dtype)
    to_onnx(lambda keys: jax.random.key_data(keys[1]), struct)
