"""Random numbers; what is drawn from them is tested in test_random.py."""

from typing import Any

import jax
import numpy as np
from jax import lax

from rule_cases import Case

UNSIGNED: tuple[Any, ...] = (np.uint16, np.uint64)

RANDOM = [
    Case(
        name="random bits",
        fn=lambda words: jax.random.bits(jax.random.wrap_key_data(words), (100, 70)),
        args=lambda dtype: (np.array([3, 2**32 - 1], dtype),),
        dtypes=(np.uint32,),
    ),
    Case(
        name="bits of the other generator",
        fn=lambda state: [lax.rng_bit_generator(state, (3, 3), dtype) for dtype in UNSIGNED],
        # The counter goes beyond 64 bits.
        args=lambda dtype: (np.array([9, 8, 2**32 - 2, 2**32 - 1], dtype),),
        dtypes=(np.uint32,),
    ),
]
