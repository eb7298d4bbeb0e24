"""Reductions, running ones, places of extremes, sorting."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from rule_cases import ALL, EVERY, INTEGERS, LOGIC, REALS, Case, matrices, matrix, one, with_nan

REDUCTIONS = [
    Case(name="sum", fn=lambda x: jnp.sum(x, axis=1), args=matrix(4, 5), dtypes=ALL, units=8),
    Case(name="sum of all", fn=jnp.sum, args=matrix(4, 5), dtypes=ALL, units=8),
    Case(name="prod", fn=lambda x: jnp.prod(x, axis=0), args=matrix(2, 3), dtypes=ALL, units=8),
    Case(name="max with NaN", fn=lambda x: jnp.max(x, axis=1), args=with_nan, dtypes=REALS),
    Case(name="min with NaN", fn=lambda x: jnp.min(x, axis=0), args=with_nan, dtypes=REALS),
    Case(name="largest integer", fn=lambda x: jnp.max(x, axis=1), args=matrix(4, 5), dtypes=INTEGERS),
    Case(name="least integer", fn=lambda x: jnp.min(x, axis=(0, 1)), args=matrix(4, 5), dtypes=INTEGERS),
    Case(name="max of one", fn=lambda x: jnp.max(x, axis=1), args=matrix(4, 1)),
    Case(name="any", fn=lambda x: jnp.any(x > 2, axis=1), args=matrix(4, 5), dtypes=EVERY),
    Case(name="all", fn=lambda x: jnp.all(x > -2, axis=0), args=matrix(4, 5), dtypes=EVERY),
    Case(
        name="bitwise reductions",
        fn=lambda x: [
            fn(y, (1,))
            for fn in (lax.reduce_and, lax.reduce_or, lax.reduce_xor)
            for y in (x, x[:, :1], x[:, :0])
        ],
        args=matrix(4, 5),
        dtypes=LOGIC,
    ),
    Case(
        name="least and largest of signs",
        fn=lambda x: [fn(x) for fn in (jnp.max, jnp.min, jnp.argmax, jnp.argmin, jnp.sort)],
        args=one,
        dtypes=INTEGERS,
    ),
    Case(
        name="sum of nothing",
        fn=lambda x: (jnp.sum(x[:, :0], 1), jnp.any(x[:, :0] > 0, 1)),
        args=matrix(4, 5),
        dtypes=REALS,
    ),
    Case(name="argmax", fn=lambda x: jnp.argmax(x, axis=1), args=with_nan, dtypes=REALS),
    Case(name="argmin", fn=lambda x: jnp.argmin(x, axis=1), args=with_nan, dtypes=REALS),
    Case(name="argmax of integers", fn=lambda x: jnp.argmax(x), args=matrix(4, 5), dtypes=INTEGERS),
    Case(
        name="cumsum",
        fn=lambda x: jnp.cumsum(x, axis=1),
        args=matrix(4, 5),
        dtypes=ALL,
    ),
    Case(name="reverse cumsum", fn=lambda x: lax.cumsum(x, 0, reverse=True), args=matrix(4, 5), units=8),
    Case(name="cumprod", fn=lambda x: lax.cumprod(x, 1), args=matrices((3, 6)), units=8, dtypes=ALL),
    Case(name="cummax", fn=lambda x: lax.cummax(x, 1), args=with_nan, dtypes=REALS),
    Case(
        name="cummin",
        fn=lambda x: lax.cummin(x, 1, reverse=True),
        args=matrix(4, 5),
        dtypes=ALL,
    ),
    Case(
        name="cumlogsumexp",
        fn=lambda x: lax.cumlogsumexp(x, 0),
        args=lambda dtype: (np.array([-np.inf, 1000.0, 1001.0, -2000.0, 1002.0], dtype),),
        units=8,
        dtypes=REALS,
    ),
    Case(name="sort", fn=lambda x: jnp.sort(x, axis=0), args=matrix(4, 5), dtypes=ALL),
    Case(name="sort with NaN", fn=lambda x: jnp.sort(x, axis=1), args=with_nan, dtypes=REALS),
    Case(name="argsort", fn=lambda x: jnp.argsort(x % 3, axis=1), args=matrix(4, 5), dtypes=ALL),
    Case(
        name="sort by two keys",
        fn=lambda x: lax.sort((x % 2, x, -x), num_keys=2),
        args=matrix(9),
        dtypes=ALL,
    ),
    Case(name="top_k", fn=lambda x: lax.top_k(x, 3), args=matrix(4, 5), dtypes=ALL),
]
