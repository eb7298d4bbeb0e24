"""The exceptions and the words of their messages."""

import functools

import pytest

from couplax import _errors as errors

TREE: dict[type[Exception], type[Exception]] = {
    errors.ModelError: ValueError,
    errors.GuessError: ValueError,
    errors.ForeignError: RuntimeError,
    errors.DerivativeError: TypeError,
    errors.SolveError: RuntimeError,
    errors.OptimiseError: RuntimeError,
    errors.MissingExtraError: ImportError,
    errors.StageError: ValueError,
    errors.ExportError: ValueError,
    errors.MissingRuleError: errors.ExportError,
    errors.VerificationError: errors.ExportError,
}


@pytest.mark.parametrize("error", TREE)
def test_every_exception_is_couplaxs_and_the_builtin_it_refines(error: type[Exception]) -> None:
    assert issubclass(error, errors.CouplaxError)
    assert issubclass(error, TREE[error])


def test_the_tree_drawn_is_the_tree_there_is() -> None:
    there = {
        value.__name__
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.CouplaxError)
    }
    drawn = {word for word in (errors.__doc__ or "").split() if word.endswith("Error") and "(" not in word}
    assert there <= drawn
    assert {error.__name__ for error in TREE} | {"CouplaxError"} == there


def test_faults_are_counted_numbered_and_kept() -> None:
    error = errors.ModelError(["first.", "second."])
    assert str(error) == "Model has 2 faults:\n  1. first.\n  2. second."
    assert error.faults == ("first.", "second.")
    assert str(errors.ModelError(["only."])).startswith("Model has 1 fault:")


def test_close_matches_see_through_case_and_slips() -> None:
    known = ["wing_CL", "wing_span", "thrust"]
    assert errors.close_matches("wing_cl", known)[0] == "wing_CL"
    assert errors.close_matches("thurst", known) == ["thrust"]
    assert errors.close_matches("zzz", known) == []
    assert len(errors.close_matches("wing1", ["wing2", "wing3", "wing4", "wing5"])) == 3


def test_names_are_quoted_in_backticks() -> None:
    assert errors.quoted(["a", "b"]) == "`a`, `b`"
    assert errors.quoted([]) == "nothing"


def test_a_function_has_its_place_and_a_builtin_its_name() -> None:
    def here() -> None: ...

    line = here.__code__.co_firstlineno
    assert errors.place_of(here) == f"test_errors.py:{line}"
    assert errors.place_of(functools.wraps(here)(lambda: None)) == f"test_errors.py:{line}"
    assert errors.place_of(len) == "len"
    assert errors.place_of(functools.partial(here)) == "partial"
