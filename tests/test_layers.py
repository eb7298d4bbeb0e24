"""Who may import whom: the table of layers, read from the source with `ast`, and the bans that go with it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "couplax"

# A layer is a sub-package, or a module beside them; this one stands for the primitives of `foreign` alone.
PRIMITIVES = "foreign._primitives"
# And this one for what their calls are to another runtime.
OPERATOR = "foreign._operator"
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "foreign": (),
    "graph": (),
    "solve": ("graph",),
    "view": ("graph", "solve"),
    "_model": ("graph", "solve", "view"),
    "optimise": ("graph", "solve", "_model"),
    "study": ("_model",),
    "stage": (PRIMITIVES,),
    "export": ("stage", PRIMITIVES, OPERATOR),
}
# Free to use by every layer; among themselves they use one another.
SHARED = ("_errors", "_tree", "_compat", "_source", "_calls", "_sizes", "_struct")
# These see all: `import couplax` itself, and the command line.
FREE = ("__init__", "__main__", "cli")


@dataclass(frozen=True, slots=True)
class Import:
    """One import of a module: `target` is dotted, with the name taken from the module where there is one."""

    line: int
    target: str

    @property
    def parts(self) -> list[str]:
        return self.target.split(".")

    @property
    def layer(self) -> str | None:
        """The layer of couplax that is imported; `couplax` where it is the whole; None outside couplax."""
        if self.parts[0] != "couplax":
            return None
        return self.parts[1] if len(self.parts) > 1 else "couplax"

    @property
    def takes_primitives_only(self) -> bool:
        return self.target.startswith(f"couplax.{PRIMITIVES}") or (
            self.layer == "foreign" and self.target.endswith(("_p", "_P"))
        )


def imports_of(tree: ast.Module, package: str) -> Iterator[Import]:
    """Yields every import in `tree`, wherever it stands; `package` is what relative imports start from."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (Import(node.lineno, alias.name) for alias in node.names)
            case ast.ImportFrom():
                module = _absolute(node, package)
                yield from (Import(node.lineno, f"{module}.{alias.name}") for alias in node.names)
            case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
                yield Import(node.lineno, name)
            case _:
                pass


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return str(node.module)
    parents = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*parents, *([node.module] if node.module else [])])


def layer_faults(tree: ast.Module, path: str) -> list[str]:
    """Returns what `tree`, the module at `path` under `couplax`, imports and may not."""
    *folders, file = path.split("/")
    layer = folders[0] if folders else file.removesuffix(".py")
    if layer in FREE:
        return []
    allowed = MAY_IMPORT.get(layer, ())
    return [
        f"{path}:{found.line}: `{layer}` imports `{found.target}`; it may import {_spelt(layer)}"
        for found in imports_of(tree, ".".join(["couplax", *folders]))
        if found.layer not in (None, layer, *SHARED, *allowed)
        and not (PRIMITIVES in allowed and found.takes_primitives_only)
        and not (OPERATOR in allowed and found.target.startswith(f"couplax.{OPERATOR}."))
    ]


def _spelt(layer: str) -> str:
    return ", ".join(f"`{name}`" for name in (*MAY_IMPORT.get(layer, ()), *SHARED))


def ban_faults(tree: ast.Module, path: str) -> list[str]:
    """Returns where `tree` reaches into private JAX, or looks at JAX's version outside `_compat.py`."""
    private = [
        *(found.line for found in imports_of(tree, "couplax") if found.target.startswith("jax._src")),
        *_attributes(tree, {"_src"}),
    ]
    version = [
        *_attributes(tree, {"__version__", "__version_info__"}),
        *(found.line for found in imports_of(tree, "couplax") if found.target.startswith("jax.__version")),
    ]
    faults = [f"{path}:{line}: `jax._src` is private" for line in private]
    if path != "_compat.py":
        faults += [f"{path}:{line}: only `_compat.py` looks at JAX's version" for line in version]
    return faults


def _attributes(tree: ast.Module, names: set[str]) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in names
        and isinstance(node.value, ast.Name)
        and node.value.id in ("jax", "jaxlib")
    ]


def modules() -> list[str]:
    """Returns the path of every module of couplax, from the package's folder."""
    return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def parse(path: str) -> ast.Module:
    return ast.parse((PACKAGE / path).read_text(encoding="utf-8"), filename=path)


@pytest.mark.parametrize("path", modules())
def test_a_module_imports_only_what_its_layer_may(path: str) -> None:
    assert layer_faults(parse(path), path) == []


@pytest.mark.parametrize("path", modules())
def test_a_module_uses_public_jax_and_leaves_its_version_to_compat(path: str) -> None:
    assert ban_faults(parse(path), path) == []


def test_every_folder_and_module_of_the_package_stands_in_the_table() -> None:
    known = {*MAY_IMPORT, *SHARED, *FREE}
    assert {path.split("/")[0].removesuffix(".py") for path in modules()} - known == set()


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("graph/_x.py", "import couplax.solve"),
        ("graph/_x.py", "import couplax.solve as solving"),
        ("graph/_x.py", "from couplax.solve._newton import Newton"),
        ("graph/_x.py", "from couplax import solve"),
        ("graph/_x.py", "from ..solve import Newton"),
        ("graph/_x.py", "from .. import solve"),
        ("graph/deep/_x.py", "from ...solve import Newton"),
        ("graph/_x.py", "import couplax"),
        ("graph/_x.py", "from couplax import Model"),
        ("graph/_x.py", "if TYPE_CHECKING:\n    from couplax.solve import Newton"),
        ("graph/_x.py", "def late():\n    from couplax.solve import Newton"),
        ("graph/_x.py", "importlib.import_module('couplax.solve')"),
        ("solve/_x.py", "from couplax._model import Model"),
        ("stage/_x.py", "from couplax.foreign import Foreign"),
        ("stage/_x.py", "from couplax.foreign._host import Host"),
        ("export/_x.py", "from couplax.graph import Cycle"),
        ("_tree.py", "from couplax.graph import Cycle"),
        ("_model.py", "from couplax.stage import stage"),
    ],
)
def test_an_import_that_a_layer_may_not_make_is_reported_with_its_place(path: str, source: str) -> None:
    (fault,) = layer_faults(ast.parse(source), path)
    assert fault.startswith(f"{path}:{len(source.splitlines())}: ")
    assert "may import" in fault


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("graph/_x.py", "from couplax.graph._y import Cycle"),
        ("graph/_x.py", "from ._y import Cycle"),
        ("graph/__init__.py", "from ._y import Cycle as Cycle"),
        ("graph/_x.py", "from couplax._errors import ModelError"),
        ("graph/_x.py", "from .._errors import ModelError"),
        ("graph/_x.py", "import networkx, jax.numpy"),
        ("solve/_x.py", "from couplax.graph import Cycle"),
        ("stage/_x.py", "from couplax.foreign._primitives import value_p"),
        ("stage/_x.py", "from couplax.foreign import _primitives"),
        ("export/_x.py", "from couplax.foreign import value_p, linear_p"),
        ("cli/_x.py", "import couplax"),
        ("__init__.py", "from couplax._model import Model as Model"),
    ],
)
def test_an_import_that_a_layer_may_make_is_passed(path: str, source: str) -> None:
    assert layer_faults(ast.parse(source), path) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("stage/_x.py", "import jax._src.core"),
        ("stage/_x.py", "from jax._src import core"),
        ("stage/_x.py", "from jax._src.core import Jaxpr"),
        ("stage/_x.py", "jax._src.core"),
        ("stage/_x.py", "jax.__version__"),
        ("stage/_x.py", "jaxlib.__version__"),
        ("stage/_x.py", "jax.__version_info__ >= (0, 11)"),
        ("stage/_x.py", "from jax import __version_info__"),
        ("_compat.py", "from jax._src import core"),
    ],
)
def test_private_jax_and_its_version_are_reported_with_their_place(path: str, source: str) -> None:
    (fault,) = ban_faults(ast.parse(source), path)
    assert fault.startswith(f"{path}:1: ")


def test_compat_may_look_at_the_version_of_jax() -> None:
    assert ban_faults(ast.parse("NEW = jax.__version_info__ >= (0, 11)"), "_compat.py") == []
