"""What `import couplax` offers, and what it costs."""

import json
import subprocess
import sys
from types import ModuleType

import pytest

import couplax
from couplax import _errors

CODE_IN = (
    "Central",
    "ComplexStep",
    "DerivativeReport",
    "Foreign",
    "Forward",
    "check_derivatives",
    "detect_sparsity",
    "foreign",
    "foreign_c",
    "foreign_command",
    "foreign_ffi",
    "paired",
)
COUPLE = ("Component", "Input", "Model", "Output", "component", "input", "output", "rate", "residual")
SOLVE = ("Anderson", "Bisection", "Broyden", "GaussSeidel", "Integrate", "Jacobi", "Newton", "Results")
OPTIMISE = (
    "BFGS",
    "IDF",
    "IPOPT",
    "LBFGS",
    "MDF",
    "Optimum",
    "SAND",
    "SLSQP",
    "TrustConstr",
    "minimise",
)
OUT = (
    "Staged",
    "VerifyReport",
    "from_stablehlo",
    "onnx_session",
    "save_onnx",
    "stage",
    "struct",
    "to_onnx",
    "to_stablehlo",
    "to_tensorflow",
    "verify",
)
EXCEPTIONS = (
    "CouplaxError",
    "DerivativeError",
    "ExportError",
    "ForeignError",
    "GuessError",
    "MissingExtraError",
    "MissingRuleError",
    "ModelError",
    "OptimiseError",
    "SolveError",
    "StageError",
    "VerificationError",
)
PUBLIC = (*CODE_IN, *COUPLE, *SOLVE, *OPTIMISE, *OUT, *EXCEPTIONS)

# Parts that cost time or need an extra: they load when first used.
HEAVY = ("diffrax", "distributed", "onnx", "onnx_ir", "onnxruntime", "scipy.optimize", "tensorflow")


def run(code: str) -> str:
    """Returns what `code` prints in an interpreter of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_couplax_offers_the_documented_names_and_no_others() -> None:
    offered = {
        name
        for name in dir(couplax)
        if not name.startswith("_") and not isinstance(getattr(couplax, name), ModuleType)
    }
    assert offered == set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_says_what_it_is(name: str) -> None:
    assert (getattr(couplax, name).__doc__ or "").strip()


def test_every_exception_of_couplax_is_public() -> None:
    defined = {
        name
        for name, value in vars(_errors).items()
        if isinstance(value, type) and issubclass(value, _errors.CouplaxError)
    }
    assert defined == set(EXCEPTIONS)


@pytest.mark.parametrize("name", ["foreign", "stage"])
@pytest.mark.parametrize(
    "first",
    [
        "import couplax.{}",
        "from couplax.{} import __name__",
        "import couplax.solve, couplax.export, couplax.{}",
    ],
)
def test_a_function_named_like_its_package_is_the_function_whatever_is_imported_first(
    name: str, first: str
) -> None:
    assert run(f"{first.format(name)}\nimport couplax\nprint(callable(couplax.{name}))") == "True"


def test_a_name_that_couplax_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = couplax.no_such_name  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]  the point


def test_importing_couplax_loads_no_heavy_part() -> None:
    loaded = json.loads(run("import json, sys, couplax; print(json.dumps(list(sys.modules)))"))
    assert set(HEAVY) & set(loaded) == set()


def test_importing_couplax_switches_no_setting_of_jax() -> None:
    # The libraries it stands on are imported first: what they switch is theirs.
    code = (
        "import equinox, jax, lineax, optimistix\n"
        "before = dict(jax.config.values)\n"
        "import couplax\n"
        "after = dict(jax.config.values)\n"
        "print([name for name in after if after[name] != before.get(name)])"
    )
    assert run(code) == "[]"
