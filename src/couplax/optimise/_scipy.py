"""scipy's optimisers, loaded when first used."""

import importlib
from typing import Any


def scipy_optimize() -> Any:
    """Returns the module `scipy.optimize`, which takes longer to import than couplax itself."""
    return importlib.import_module("scipy.optimize")
