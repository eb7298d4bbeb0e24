"""A working folder for each call of a command: removed when the call succeeds, kept when it fails."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from couplax._errors import ForeignError


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Where the working folders are made.

    Attributes:
        parent: the folder they stand in; the system's temporary one if None.
        keep: whether they are kept after a success too.
        files: files and folders copied into each.
    """

    parent: Path | None
    keep: bool
    files: tuple[Path, ...]

    def new(self, name: str) -> "WorkingFolder":
        """Returns a folder of its own for a call of `name`, to be entered."""
        return WorkingFolder(self, "".join(c if c.isalnum() else "-" for c in name))


class WorkingFolder:
    """A context that makes the folder, and removes it unless an exception leaves or it is to be kept."""

    def __init__(self, folders: Folders, prefix: str) -> None:
        self._folders = folders
        self._prefix = prefix
        self._path: Path | None = None

    def __enter__(self) -> Path:
        if self._folders.parent is not None:
            self._folders.parent.mkdir(parents=True, exist_ok=True)
        self._path = Path(tempfile.mkdtemp(prefix=f"{self._prefix}-", dir=self._folders.parent))
        for file in self._folders.files:
            _copy(file, self._path)
        return self._path

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._path is None:
            return
        if isinstance(error, ForeignError):
            return  # Its message says where the folder is.
        if error is not None:
            error.add_note(f"The working folder is kept: {self._path}")
        elif not self._folders.keep:
            shutil.rmtree(self._path, ignore_errors=True)


def _copy(file: Path, folder: Path) -> None:
    if file.is_dir():
        shutil.copytree(file, folder / file.name)
    else:
        shutil.copy2(file, folder)
