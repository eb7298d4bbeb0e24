"""Shapes, parts and joins."""

import jax.numpy as jnp
from jax import lax

from rule_cases import ALL, EVERY, Case, matrix

SHAPES = [
    Case(
        name="broadcast",
        fn=lambda x: jnp.broadcast_to(x[:, None], (3, 4, 5)) + 0,
        args=matrix(4),
        dtypes=EVERY,
    ),
    Case(name="broadcast of a scalar", fn=lambda x: jnp.broadcast_to(x[0], (2, 3)), args=matrix(4)),
    Case(name="outer sum", fn=lambda x: x[:, None] + x[None, :], args=matrix(4)),
    Case(name="reshape", fn=lambda x: x.reshape(2, 2, 5) * 2, args=matrix(4, 5), dtypes=EVERY),
    Case(name="reshape of reordered axes", fn=lambda x: lax.reshape(x, (10, 2), (1, 0)), args=matrix(4, 5)),
    Case(name="reshape to a vector", fn=lambda x: x.reshape(-1), args=matrix(1, 1)),
    Case(name="squeeze", fn=lambda x: jnp.squeeze(x, 1), args=matrix(3, 1, 2), dtypes=EVERY),
    Case(name="transpose", fn=lambda x: x.transpose(2, 0, 1), args=matrix(2, 3, 4), dtypes=EVERY),
    Case(
        name="concatenate", fn=lambda x: jnp.concatenate([x, 2 * x, x[:0]], 0), args=matrix(3, 2), dtypes=ALL
    ),
    Case(name="stack", fn=lambda x: jnp.stack([x, 2 * x], 1), args=matrix(3, 2), dtypes=EVERY),
    Case(name="unstack", fn=lambda x: jnp.unstack(x, axis=1), args=matrix(3, 2), dtypes=EVERY),
    Case(name="unpacked", fn=lambda x: (lambda a, b, c: (a + b, c))(*x), args=matrix(3)),
    Case(name="split", fn=lambda x: jnp.split(x, [1, 3], axis=1), args=matrix(2, 6), dtypes=EVERY),
    Case(name="slice", fn=lambda x: x[1:4, ::2], args=matrix(5, 6), dtypes=EVERY),
    Case(name="reverse", fn=lambda x: x[::-1, ::-1], args=matrix(5, 6), dtypes=EVERY),
    Case(name="pad", fn=lambda x: jnp.pad(x, ((1, 2), (0, 3))), args=matrix(2, 3), dtypes=ALL),
    Case(
        name="pad inside and negative",
        fn=lambda x: lax.pad(x, x[0, 0], ((2, -1, 2), (-2, 1, 1))),
        args=matrix(3, 4),
        dtypes=EVERY,
    ),
    Case(name="tile", fn=lambda x: jnp.tile(x, (2, 3)), args=matrix(2, 2), dtypes=EVERY),
    Case(name="iota", fn=lambda x: x + jnp.arange(3.0, dtype=x.dtype), args=matrix(3), dtypes=ALL),
    Case(
        name="long iota", fn=lambda x: x + lax.broadcasted_iota(x.dtype, (300, 200), 0), args=matrix(300, 200)
    ),
    Case(
        name="empty",
        fn=lambda x: x.at[...].set(jnp.empty((300, 200), x.dtype)),
        args=matrix(300, 200),
        dtypes=EVERY,
    ),
    Case(name="nothing", fn=lambda x: x[:0] * 2, args=matrix(3), dtypes=ALL),
]
