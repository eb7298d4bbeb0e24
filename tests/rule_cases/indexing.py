"""Indices that only a run gives."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from rule_cases import ALL, EVERY, Case, indexed, matrix

INDEXING = [
    Case(name="element", fn=lambda x, k: x[k], args=indexed(2), dtypes=EVERY),
    Case(name="element out of range", fn=lambda x, k: x[k], args=indexed(9)),
    Case(name="element from the end", fn=lambda x, k: x[k], args=indexed(-2)),
    Case(
        name="part",
        fn=lambda x, k: lax.dynamic_slice(x, (k, np.int32(1)), (2, 3)),
        args=indexed(1),
        dtypes=EVERY,
    ),
    Case(name="part out of range", fn=lambda x, k: lax.dynamic_slice(x, (k, k), (2, 3)), args=indexed(7)),
    Case(name="part before", fn=lambda x, k: lax.dynamic_slice_in_dim(x, k, 2, 1), args=indexed(-9)),
    Case(
        name="put rows",
        fn=lambda x, k: lax.dynamic_update_slice(x, -x[:2], (k, np.int32(0))),
        args=indexed(9),
        dtypes=ALL,
    ),
    Case(name="put part", fn=lambda x, k: lax.dynamic_update_slice(x, -x[:2, :3], (k, k)), args=indexed(1)),
    Case(
        name="put columns",
        fn=lambda x, k: lax.dynamic_update_slice(x, -x[:, :2], (np.int32(0), k)),
        args=indexed(-1),
    ),
    Case(name="put all", fn=lambda x, k: lax.dynamic_update_slice(x, -x, (k, k)), args=indexed(1)),
    Case(name="rows", fn=lambda x, k: x[k], args=indexed([3, 0, 2]), dtypes=EVERY),
    Case(name="columns", fn=lambda x, k: x[:, k], args=indexed([[3, 0], [2, 1]])),
    Case(name="points", fn=lambda x, k, m: x[k, m], args=indexed([3, 0, -1], [1, 4, 2]), dtypes=ALL),
    Case(
        name="filled",
        fn=lambda x, k: x.at[k].get(mode="fill"),
        args=indexed([3, 9, -7]),
        dtypes=EVERY,
    ),
    Case(
        name="filled with 7", fn=lambda x, k: x.at[k].get(mode="fill", fill_value=7), args=indexed([3, 9, -7])
    ),
    Case(
        name="filled points",
        fn=lambda x, k, m: x.at[k, m].get(mode="fill"),
        args=indexed([3, 9, 1], [1, 4, 8]),
    ),
    Case(name="clipped", fn=lambda x, k: x.at[k].get(mode="clip"), args=indexed([3, 9, -7]), dtypes=ALL),
    Case(name="known rows", fn=lambda x: x[jnp.array([2, 0, 2])], args=matrix(4, 5)),
    Case(
        name="along an axis",
        fn=lambda x, k: jnp.take_along_axis(x, k, axis=1),
        args=indexed([[0], [4], [2], [1]]),
    ),
    Case(
        name="a window each",
        fn=jax.vmap(lambda x, k: lax.dynamic_slice(x, (k,), (2,))),
        args=indexed([0, 4, 2, 9]),
    ),
    Case(name="set", fn=lambda x, k: x.at[k].set(x[0]), args=indexed(2), dtypes=EVERY),
    Case(name="set out of range", fn=lambda x, k: x.at[k].set(1), args=indexed(9)),
    Case(name="set rows", fn=lambda x, k: x.at[k].set(-x[:3]), args=indexed([3, 9, 0]), dtypes=ALL),
    Case(name="set points", fn=lambda x, k: x.at[k, k + 1].set(0), args=indexed([1, 2, 7])),
    Case(name="set columns", fn=lambda x, k: x.at[:, k].set(0), args=indexed([1, 3])),
    Case(name="set at known places", fn=lambda x: x.at[jnp.array([1, 3])].set(0), args=matrix(4, 5)),
    Case(
        name="add twice to one row", fn=lambda x, k: x.at[k].add(x[:3]), args=indexed([1, 1, 9]), dtypes=ALL
    ),
    Case(name="multiply", fn=lambda x, k: x.at[k].multiply(2), args=indexed([1, 1, 9]), dtypes=ALL),
    Case(name="least", fn=lambda x, k: x.at[k].min(2), args=indexed([1, 0, 9]), dtypes=ALL),
    Case(name="greatest", fn=lambda x, k: x.at[k].max(2), args=indexed([1, 0, 9]), dtypes=ALL),
    Case(name="clipped add", fn=lambda x, k: x.at[k].add(1, mode="clip"), args=indexed([1, 9])),
    Case(
        name="set in each row",
        fn=jax.vmap(lambda x, k: x.at[k].set(0)),
        args=indexed([0, 4, 2, 9]),
    ),
    Case(name="gradient of indexing", fn=jax.grad(lambda x, k: (x[k] ** 2).sum()), args=indexed([0, 2, 2])),
]
