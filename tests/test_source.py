"""Where an equation comes from: the user's line, never a library's."""

from typing import Any

import jax
import jax.extend.core as jec
import jax.numpy as jnp
import optimistix as optx

from couplax._source import has_user_line, where


def first(fn: Any) -> jec.JaxprEqn:
    """Returns the first equation of `fn` at 1."""
    return jax.make_jaxpr(fn)(1.0).jaxpr.eqns[0]


def test_an_equation_names_the_users_file_line_and_function() -> None:
    def drag(x: Any) -> Any:
        return jnp.sin(x)

    line = drag.__code__.co_firstlineno + 1
    assert where(first(drag)) == f"test_source.py:{line} (drag)"


def test_the_innermost_of_the_users_functions_is_named() -> None:
    def inner(x: Any) -> Any:
        return jnp.sin(x)

    def outer(x: Any) -> Any:
        return inner(x) + 1

    assert where(first(outer)).endswith("(inner)")


def test_an_equation_made_inside_a_library_names_the_users_call_of_it() -> None:
    def solved(x: Any) -> Any:
        return optx.root_find(lambda y, x: y**2 - x, optx.Newton(1e-6, 1e-6), x, x).value

    assert where(first(solved)).startswith("test_source.py:")


def test_an_equation_without_a_traceback_has_an_unknown_place() -> None:
    eqn = first(jnp.sin)
    bare = eqn.replace(source_info=eqn.source_info.replace(traceback=None))
    assert where(bare) == "an unknown place"
    assert not has_user_line(bare)
