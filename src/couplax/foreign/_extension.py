"""The compiled extension, where it is there and fits the installed JAX."""

import atexit
import functools
import warnings
from types import ModuleType
from typing import Any

import jax
import jax.ffi
import numpy as np

PYTHON_TARGET = "couplax_python"
C_TARGET = "couplax_c"


@functools.cache
def extension() -> Any:
    """Returns the extension with its targets made known to XLA; None where it was not built or is refused."""
    try:
        from couplax.foreign import _native_calls
    except ImportError:
        return None
    return _native_calls if _registered(_native_calls) else None


def _registered(module: ModuleType | Any) -> bool:
    # Before the backend has started XLA puts a target off, and one that it then refuses takes the backend
    # with it.
    jax.devices("cpu")
    try:
        jax.ffi.register_ffi_target(PYTHON_TARGET, module.python_target, platform="cpu")
        jax.ffi.register_ffi_target(C_TARGET, module.c_target, platform="cpu")
    except (RuntimeError, ValueError) as refusal:
        warnings.warn(
            "couplax's compiled route does not fit the installed jaxlib, and the slower one serves: "
            f"{refusal}. Install couplax again to build it anew.",
            RuntimeWarning,
            stacklevel=3,
        )
        return False
    # Runs before JAX's own leave-taking, which was registered when JAX was imported, and before Python's.
    atexit.register(module.close)
    return True


def call_target(context: Any, name: str, target: Any, operands: Any) -> Any:
    """Returns the results of a call of `target`, an object of the extension, in the lowered program."""
    hold(context, target)
    rule = jax.ffi.ffi_lowering(name)
    return rule(context, *operands, index=np.uint64(target.index), mark=np.uint64(extension().mark))


def hold(context: Any, target: Any) -> None:
    """Keeps `target` as long as the program that is being lowered, which JAX then refuses to serialise."""
    context.module_context.add_keepalive(target)
