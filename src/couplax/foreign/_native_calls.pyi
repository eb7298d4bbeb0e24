# The compiled extension, built from `_native/`; missing where there was no compiler.

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

mark: int
calls_c: bool
python_target: object
c_target: object

def close() -> None: ...

class Callback:
    index: int
    def __new__(
        cls,
        callable: Callable[..., Sequence[Any]],
        inputs: tuple[np.dtype[Any], ...],
        outputs: tuple[np.dtype[Any], ...],
        report: Callable[[BaseException], str],
        kept: Callable[[], BaseException],
        /,
    ) -> Self: ...

class Lock:
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

class Counter:
    def take(self) -> int: ...

class Memo:
    def __new__(cls, size: int, /) -> Self: ...
    def clear(self) -> None: ...

class Routine:
    index: int
    def __new__(
        cls,
        address: int,
        parameters: tuple[tuple[int, str, int], ...],
        input_strides: tuple[int, ...],
        input_sizes: tuple[int, ...],
        output_strides: tuple[int, ...],
        preparations: tuple[int, ...],
        returned: str,
        returned_to: int,
        lanes: int,
        lock: Lock | None,
        counter: Counter,
        hits: Counter,
        memos: tuple[Memo, ...],
        /,
    ) -> Self: ...
