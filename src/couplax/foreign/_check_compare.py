"""Derivatives beside their reference: which entries differ by more than they may."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from couplax.foreign._check_layout import Block, Layout
from couplax.foreign._check_reference import Direction, Reference
from couplax.foreign._check_report import Row, Verdict
from couplax.foreign._check_subject import Subject

Array = np.ndarray[Any, Any]

_SAFETY = 4.0  # On the bound of the reference's error.
_UNSURE = 0.05  # Of the slope: where the reference is no better, it cannot tell.
_SMALL = 1e-3  # Of the output, for a change of the input by as much as it is: a slope too small to matter.


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far a derivative may be from its reference: `atol + rtol * abs(reference)`.

    `atol` is a bound on the reference's own error, and `of_variation` of what the output varies by, which
    differences need.
    """

    rtol: float
    of_variation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entries:
    """Derivatives of one output block with respect to one input block, as arrays of one shape."""

    labels: Sequence[str]
    values: Array
    references: Array
    allowed: Array
    bounds: Array
    sizes: Array
    steps: Array

    def worst(self, names: tuple[str, str], derivative: str) -> Row:
        """Returns the row of the entry that differs most for what is allowed."""
        errors = abs(self.values - self.references)
        known = np.isfinite(self.references)
        differs = ~(errors <= self.allowed) & known
        ratio = np.where(np.isnan(errors), np.inf, errors / np.maximum(self.allowed, np.finfo(float).tiny))
        place = int(np.argmax(np.where(differs, ratio + 1, np.minimum(ratio, 1))))
        unsure = bool(np.any(~known | ((self.bounds > _UNSURE * self.sizes) & (self.references != 0))))
        verdict: Verdict = "WRONG" if differs.any() else "unsure" if unsure else "ok"
        return Row(
            input=names[0],
            output=names[1],
            derivative=derivative,
            at=self.labels[place],
            value=float(self.values[place]),
            reference=float(self.references[place]),
            error=float(errors[place]),
            allowed=float(self.allowed[place]),
            step=float(self.steps[place]),
            verdict=verdict,
        )


def forward_rows(subject: Subject, reference: Reference, tolerance: Tolerance, source: str) -> Iterator[Row]:
    """Yields a row for each input and output, of the derivatives in forward mode."""
    found = [subject.forward(way.vector) for way in reference.directions]
    for block, ways in _by_block(subject.inputs, reference.directions):
        for output in filter(lambda block: block.size, subject.outputs.blocks):
            entries = [_forward(subject, reference, tolerance, found[k], k, output) for k in ways]
            yield _joined(entries).worst((block.name, output.name), source)


def _forward(
    subject: Subject, reference: Reference, tolerance: Tolerance, found: Array, k: int, output: Block
) -> _Entries:
    part, way, study = output.elements, reference.directions[k], reference.studies[k]
    slope, bound, variation = study.slope[part], _SAFETY * study.error[part], study.variation[part]
    labels = [f"{label}, {way.label}" for label in subject.outputs.labels[part]]
    return _Entries(
        labels=labels,
        values=found[part],
        references=slope,
        allowed=bound + tolerance.rtol * abs(slope) + tolerance.of_variation * np.nan_to_num(variation),
        bounds=bound,
        sizes=np.maximum(np.fmax(abs(slope), variation), _SMALL * abs(reference.base[part]) / way.size),
        steps=study.step[part],
    )


def reverse_rows(
    subject: Subject, reference: Reference, tolerance: Tolerance, weights: Sequence[Direction], source: str
) -> Iterator[Row]:
    """Yields a row for each input and output, of the derivatives in reverse mode along `weights`."""
    found = [subject.reverse(weight.vector) for weight in weights]
    for block, ways in _by_block(subject.inputs, reference.directions):
        for output, places in _by_block(subject.outputs, weights):
            entries = [_reverse(reference, tolerance, weights[p], found[p], ways) for p in places]
            yield _joined(entries).worst((block.name, output.name), source)


def _reverse(
    reference: Reference, tolerance: Tolerance, weight: Direction, found: Array, ways: Sequence[int]
) -> _Entries:
    studies, directions = [reference.studies[k] for k in ways], [reference.directions[k] for k in ways]
    part = weight.vector != 0
    w = weight.vector[part]
    slopes = np.stack([study.slope[part] for study in studies])
    bound = _SAFETY * np.stack([study.error[part] for study in studies]) @ abs(w)
    variation = np.stack([study.variation[part] for study in studies]) @ abs(w)
    size = abs(slopes) @ abs(w)
    small = np.array([_SMALL * (abs(reference.base[part]) @ abs(w)) / way.size for way in directions])
    return _Entries(
        labels=[f"{weight.label}, {way.label}" for way in directions],
        values=np.stack([np.dot(found, way.vector) for way in directions]),
        references=slopes @ w,
        allowed=bound + tolerance.rtol * size + tolerance.of_variation * np.nan_to_num(variation),
        bounds=bound,
        sizes=np.maximum(np.fmax(size, variation), small),
        steps=np.array([np.max(study.step[part]) for study in studies]),
    )


def _by_block(layout: Layout, ways: Sequence[Direction]) -> Iterator[tuple[Block, list[int]]]:
    for block in layout.blocks:
        places = [k for k, way in enumerate(ways) if way.block == block]
        if places:
            yield block, places


def _joined(parts: Sequence[_Entries]) -> _Entries:
    def join(name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in parts])

    return _Entries(
        labels=[label for part in parts for label in part.labels],
        values=join("values"),
        references=join("references"),
        allowed=join("allowed"),
        bounds=join("bounds"),
        sizes=join("sizes"),
        steps=join("steps"),
    )
