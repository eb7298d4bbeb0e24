"""The compiled route to foreign code: built where a compiler and the headers are, and missed by nothing else.

Without it couplax goes through JAX's own callbacks, and C routines through `ctypes`: slower, with the same
numbers. So whatever stands in the way of building it is said in one line, and is no failure.
"""

from setuptools import Extension, setup

SOURCES = "src/couplax/foreign/_native"


def extensions() -> list[Extension]:
    """Returns the extension, or nothing where the headers that it is compiled against are not installed."""
    try:
        import jaxlib
        import numpy
    except ImportError as missing:
        print(f"couplax is built without its compiled route: {missing}")
        return []
    return [
        Extension(
            "couplax.foreign._native_calls",
            sources=[f"{SOURCES}/{name}.c" for name in ("module", "python_call", "c_call", "memo")],
            depends=[f"{SOURCES}/native.h", f"{SOURCES}/memo.h"],
            include_dirs=[f"{next(iter(jaxlib.__path__))}/include", numpy.get_include()],
            extra_compile_args=["-std=gnu11", "-O2", "-pthread", "-fno-strict-aliasing"],
            optional=True,
        )
    ]


setup(ext_modules=extensions())
