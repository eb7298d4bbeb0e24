"""The examples that are reference problems, importable by their own names."""

import importlib.util
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
PROBLEMS = (
    "aerostructure",
    "beam",
    "betz",
    "brachistochrone",
    "diode",
    "golinski",
    "kepler",
    "oscillator",
    "paraboloid",
    "propane",
    "scalable",
    "sobieski",
)


def load(name: str) -> None:
    """Puts the example `name` among the modules that `import` finds."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


for problem in PROBLEMS:
    load(problem)
