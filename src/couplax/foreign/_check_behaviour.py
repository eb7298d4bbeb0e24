"""What a code does: whether it is pure, keeps lanes apart, is finite, is exact enough."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax.foreign._check_reference import Domain, Reference, magnitudes
from couplax.foreign._check_report import Finding, Noise, Row
from couplax.foreign._check_subject import Subject
from couplax.foreign._foreign import Foreign

Array = np.ndarray[Any, Any]

_STEP = 1e-6  # A relative step below which a code has features smaller than the usual steps.
_LIKE_SINGLE = (
    float(np.finfo(np.float32).eps) ** 0.75
)  # Noise that some digits lost in single precision explain.


def purity(subject: Subject, domain: Domain) -> Iterator[Finding]:
    """Yields a fault where the same inputs give other outputs after a call elsewhere."""
    here = subject.here
    first = subject.evaluate(here)
    subject.evaluate(_near(subject, domain, 2.0**-8))
    again = subject.evaluate(here)
    differs = ~np.isclose(again, first, rtol=8 * np.finfo(float).eps, atol=0, equal_nan=True)
    if differs.any():
        worst = int(np.argmax(np.where(differs, np.nan_to_num(abs(again - first), nan=np.inf), -1)))
        yield Finding(
            subject="purity",
            is_fault=True,
            message=f"the same inputs gave {subject.outputs.labels[worst]} = {first[worst]:.17g}, and later "
            f"{again[worst]:.17g}. Values are remembered and equal calls are folded to one, so a code must "
            "return the same for the same inputs: seed its random numbers, and start each call from the same "
            "state.",
        )


def _near(subject: Subject, domain: Domain, shift: float) -> Array:
    """Returns a point near the one that is checked, within bounds."""
    moved = subject.here + shift * magnitudes(subject.here, domain, subject.inputs)
    return subject.inputs.rounded(np.clip(moved, domain.lower, domain.upper))


def failures(subject: Subject) -> Iterator[Finding]:
    """Yields what is said of a code that raised an exception at some step away from the point."""
    count = subject.function.tally.failures if isinstance(subject.function, Foreign) else 0
    if count:
        message = (
            f"the code failed in {count} calls, at steps from these inputs. Declare "
            "`bounds=`, and steps turn inwards."
        )
        yield Finding(subject="bounds", is_fault=False, message=message)


def batches(function: Any, subject: Subject, domain: Domain) -> Iterator[Finding]:
    """Yields a fault where a code that promises to take many points at once gives others than one by one."""
    if not isinstance(function, Foreign) or not function.code.batched:
        return
    together = Foreign(replace(function.code, memo=0, executor=None))
    points = [_near(subject, domain, shift) for shift in (0.0, 2.0**-7, -(2.0**-6))]
    apart = np.stack([subject.evaluate(x) for x in points])
    advice = (
        "Let each output's lane depend on the same lane of the inputs alone, or leave out `batched=True`."
    )
    try:
        found = _mapped(replace(subject, function=together), points)
    except (ValueError, TypeError, IndexError, RuntimeError) as error:  # of shapes that do not fit
        message = f"on {len(points)} points at once it failed: {str(error).splitlines()[0]} {advice}"
        yield Finding(subject="batch", is_fault=True, message=message)
        return
    scale = np.max(abs(apart), axis=0)
    differs = ~(abs(found - apart) <= 1e-9 * scale) & ~(np.isnan(found) & np.isnan(apart))
    if differs.any():
        lane, worst = (int(k) for k in np.argwhere(differs)[0])
        yield Finding(
            subject="batch",
            is_fault=True,
            message=f"{subject.outputs.labels[worst]} is {apart[lane, worst]:.8g} at a point alone, "
            f"and {found[lane, worst]:.8g} there among {len(points)} points. {advice}",
        )


def _mapped(subject: Subject, points: Sequence[Array]) -> Array:
    """Returns the outputs at each of the points, from one call of the function with a leading axis."""
    columns = [jnp.stack(part) for part in zip(*map(subject.inputs.unpack, points), strict=True)]
    found = jax.vmap(subject.flat)(columns)
    return np.stack([subject.outputs.pack([part[k] for part in found]) for k in range(len(points))])


def finiteness(subject: Subject, domain: Domain, reference: Reference) -> Iterator[Finding]:
    """Yields what is said of outputs that are not finite, and of inputs outside their bounds."""
    here = subject.here
    outside = (here < domain.lower) | (here > domain.upper)
    if outside.any():
        names = [subject.inputs.labels[k] for k in np.flatnonzero(outside)[:3]]
        message = f"{', '.join(names)} lies outside `bounds=`. Check the arguments, or widen the bounds."
        yield Finding(subject="bounds", is_fault=True, message=message)
    bad = ~np.isfinite(reference.base)
    if bad.any():
        names = [subject.outputs.labels[k] for k in np.flatnonzero(bad)[:3]]
        message = (
            f"{', '.join(names)} is not finite at these inputs, so it has no derivative. "
            "Check the code there."
        )
        yield Finding(subject="finite", is_fault=True, message=message)
        return
    pairs = zip(reference.directions, reference.studies, strict=True)
    left = [way.label for way, found in pairs if not found.is_finite]
    if left:
        yield Finding(
            subject="bounds",
            is_fault=False,
            message=f"steps along {', '.join(left[:3])} leave the domain, where outputs are not finite. "
            "Declare `bounds=`, and difference steps turn inwards.",
        )


def noise_lines(subject: Subject, reference: Reference) -> tuple[Noise, ...]:
    """Returns how noisy each output is."""
    relative = _relative(reference)
    parts = [(block.name, block.elements) for block in subject.outputs.blocks if block.size]
    return tuple(
        Noise(
            output=name,
            magnitude=float(np.max(abs(reference.base[part]))),
            level=float(reference.noise[part][np.argmax(relative[part])]),
            relative=float(np.max(relative[part])),
        )
        for name, part in parts
    )


def _relative(reference: Reference) -> Array:
    size = reference.contribution
    return np.divide(reference.noise, size, out=np.zeros_like(size), where=size > 0)


def exactness(
    subject: Subject, domain: Domain, reference: Reference, *, by_differences: bool
) -> Iterator[Finding]:
    """Yields what to declare where a code is noisier than its numbers: a fault if differences are in use."""
    relative = _relative(reference)
    epsilon = np.maximum(subject.outputs.epsilon, domain.epsilon.max())
    # A well-posed computation loses some digits, not nearly half of them.
    noisy = relative > epsilon**0.6
    if not noisy.any():
        return
    worst = int(np.argmax(np.where(noisy, relative / epsilon, 0)))
    level = float(relative[worst])
    if level < _LIKE_SINGLE:
        cause = "as if it computed in single precision inside, or stopped an iteration early"
        remedy = "`precision=jnp.float32`"
    else:
        cause = "far noisier than its numbers: an iteration that stops early, a rounded file, or chance"
        remedy = (
            f"`differences=couplax.Forward(step={level**0.5:.0e})` or "
            f"`couplax.Central(step={level ** (1 / 3):.0e})`"
        )
    yield Finding(
        subject="precision" if level < _LIKE_SINGLE else "noise",
        is_fault=by_differences,
        message=f"{subject.outputs.labels[worst]} has a noise of {level:.0e} of its size, {cause}. "
        f"Difference steps must be wider: pass {remedy}, or make the code more exact.",
    )


def scales(subject: Subject, domain: Domain, rows: Sequence[Row]) -> Iterator[Finding]:
    """Yields a fault for each input whose difference steps are wrong because they are too wide for it."""
    wrong = {row.input: row for row in rows if row.derivative == "differences" and row.verdict == "WRONG"}
    sizes = magnitudes(subject.here, domain, subject.inputs)
    for block in subject.inputs.blocks:
        if block.name not in wrong:
            continue
        size, typical = (part[block.elements] for part in (sizes, domain.typical))
        worst = int(np.argmax(typical / size))
        if typical[worst] > 100 * size[worst]:
            yield Finding(
                subject="scale",
                is_fault=True,
                message=f"{subject.inputs.labels[block.elements][worst]} is {size[worst]:.0e}, and its "
                f"difference step is that of a number of size {typical[worst]:.0e}: too wide. Pass "
                f"`scale={size[worst]:.0e}`, or a tuple of one for each input.",
            )
        elif 0 < wrong[block.name].step < _STEP:
            step = wrong[block.name].step
            yield Finding(
                subject="step",
                is_fault=True,
                message=f"differences along {block.name} are most exact at a step of {step:.0e} of its size: "
                f"pass `differences=couplax.Central(step={step:.0e})`.",
            )
