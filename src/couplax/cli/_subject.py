"""The function that a command is about: `module.py:function`, found and imported."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from couplax._errors import close_matches, quoted
from couplax.cli._fault import CommandError, told_by_place


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A function with where it was written.

    Attributes:
        name: as it was typed after the colon; `file`: the module's.
    """

    fn: Callable[..., Any]
    name: str
    file: Path


def subject(spelled: str) -> Subject:
    """Returns the function that `spelled` names: `path/to/module.py:function`, or `package.module:function`.

    Raises:
        CommandError: there is no such file, module or function, or importing it failed.
    """
    place, _, name = spelled.rpartition(":")
    if not place or not name:
        raise CommandError(f"`{spelled}` names no function. Write `module.py:function`.")
    module = _imported(place)
    found: Any = module
    for part in name.split("."):
        found = _member(found, part, place)
    if not callable(found):
        raise CommandError(
            f"`{name}` in {place} is of type {type(found).__name__}, and a function is wanted. "
            "Of a model, take `model.function(inputs, outputs)`."
        )
    return Subject(fn=found, name=name, file=Path(str(module.__file__)))


def _member(found: Any, part: str, place: str) -> Any:
    members = vars(found) if isinstance(found, ModuleType) else dict.fromkeys(dir(found))
    if part in members:
        return getattr(found, part)
    close = close_matches(part, [name for name in members if not name.startswith("_")])
    hint = f" Close: {quoted(close)}." if close else ""
    raise CommandError(f"{place} has no `{part}`.{hint}")


def _imported(place: str) -> ModuleType:
    if not place.endswith(".py"):
        return _imported_by_name(place)
    path = Path(place).resolve()
    if not path.is_file():
        near = close_matches(path.name, [other.name for other in path.parent.glob("*.py")])
        raise CommandError(f"There is no file {place}.{f' Close: {quoted(near)}.' if near else ''}")
    return _imported_from(path)


def _imported_from(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{path} cannot be imported as Python.")
    module = importlib.util.module_from_spec(spec)
    # As when Python runs a file: its neighbours can be imported, and it is there by its own name.
    sys.path.insert(0, str(path.parent))
    sys.modules[path.stem] = module
    with told_by_place(f"Importing {path.name}", path):
        spec.loader.exec_module(module)
    return module


def _imported_by_name(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    found = importlib.util.find_spec(name.partition(".")[0])
    if found is None:
        raise CommandError(f"There is no module `{name}`. Write `module.py:function` for a file.")
    with told_by_place(f"Importing `{name}`", Path(str(found.origin))):
        return importlib.import_module(name)
