"""Random numbers; what is drawn from them is tested in test_random.py."""

import jax
import numpy as np

from rule_cases import Case

RANDOM = [
    Case(
        name="random bits",
        fn=lambda words: jax.random.bits(jax.random.wrap_key_data(words), (100, 70)),
        args=lambda dtype: (np.array([3, 2**32 - 1], dtype),),
        dtypes=(np.uint32,),
    ),
]
