"""A code and the JAX function that stands for it: where their values part."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from couplax.foreign._check_reference import Domain, magnitudes
from couplax.foreign._check_report import Row
from couplax.foreign._check_subject import Subject

Array = np.ndarray[Any, Any]

_SAMPLES = 4  # Points beside the one that is checked.
_SPREAD = 0.1  # Of the inputs' size.


def value_rows(
    subject: Subject, twin: Callable[..., Any], domain: Domain, rtol: float, rng: np.random.Generator
) -> Iterator[Row]:
    """Yields, for each output, the value of `twin` beside that of the code, where they differ most.

    They are compared at the point and at a few near it.
    """
    points = [subject.here, *_samples(subject, domain, rng)]
    ours = np.stack([subject.evaluate(x) for x in points])
    theirs = np.stack([replace(subject, function=twin).evaluate(x) for x in points])
    for block in subject.outputs.blocks:
        if block.size:
            labels = subject.outputs.labels[block.elements]
            yield _row(block.name, labels, theirs[:, block.elements], ours[:, block.elements], rtol)


def _samples(subject: Subject, domain: Domain, rng: np.random.Generator) -> Iterator[Array]:
    sizes = magnitudes(subject.here, domain, subject.inputs)
    for _ in range(_SAMPLES):
        moved = subject.here + rng.uniform(-_SPREAD, _SPREAD, sizes.size) * sizes
        yield subject.inputs.rounded(np.clip(moved, domain.lower, domain.upper))


def _row(output: str, labels: Sequence[str], found: Array, wanted: Array, rtol: float) -> Row:
    errors = abs(found - wanted)
    differs = ~(errors <= rtol * abs(wanted).max()) & ~(np.isnan(found) & np.isnan(wanted))
    sample, element = np.unravel_index(np.argmax(np.where(np.isnan(errors), np.inf, errors)), errors.shape)
    place = (int(sample), int(element))
    return Row(
        input="all",
        output=output,
        derivative="value",
        at=labels[place[1]] + (f", sample {place[0]}" if place[0] else ""),
        value=float(found[place]),
        reference=float(wanted[place]),
        error=float(errors[place]),
        allowed=float(rtol * abs(wanted).max()),
        step=0.0,
        verdict="WRONG" if differs.any() else "ok",
    )
