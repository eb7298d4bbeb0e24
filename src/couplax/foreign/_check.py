"""`check_derivatives`: each derivative that a code offers against differences of its values."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from couplax._errors import DerivativeError
from couplax.foreign._check_behaviour import (
    batches,
    exactness,
    failures,
    finiteness,
    noise_lines,
    purity,
    scales,
)
from couplax.foreign._check_compare import Tolerance, forward_rows, reverse_rows
from couplax.foreign._check_reference import Domain, Reference, domain_of, magnitudes, reference_of, ways
from couplax.foreign._check_report import DerivativeReport, Finding, Row
from couplax.foreign._check_subject import Subject, subject_of
from couplax.foreign._check_twin import value_rows
from couplax.foreign._foreign import Foreign

Array = np.ndarray[Any, Any]


def check_derivatives(
    f: Callable[..., Any],
    *args: Any,
    rtol: float | None = None,
    directions: int | None = None,
    seed: int = 0,
) -> DerivativeReport:
    """Returns how the derivatives of `f` at `args` compare with differences, and what else is amiss.

    A foreign code is checked for each derivative that it offers, its tangent, its adjoint, or the
    differences that stand in for them; any other JAX function for its `jvp` and `vjp`. Differences are
    taken at many steps, and the best is chosen for each output; an entry is right where `abs(value -
    reference) <= atol + rtol * abs(reference)`, with `atol` from the error of that reference. Beside that:
    <w, J v> = <J^T w, v>; whether the same inputs give the same outputs; whether many points at once give
    what they give alone (`batched=True`); whether the code is as exact as its numbers; whether steps suit
    the inputs' magnitudes and bounds. The code is called itself, not its memo: about 20 times for each
    element of its inputs.

    Args:
        rtol: allowed relative to the reference; by default 1e-6, more where numbers are of single precision.
        directions: how many random directions are checked in each input, and weights in each output; by
            default each element by itself where there are at most 32, else 3.
        seed: of the random directions.

    Raises:
        DerivativeError: nothing in `args` or in what `f` returns can be differentiated, or `f` cannot.
    """
    subject, rng = subject_of(f, args), np.random.default_rng(seed)
    # Steps may leave the domain, which the report says; numpy need not warn of it as well.
    with np.errstate(all="ignore"):
        offer, domain = _offer(f, subject), domain_of(f, subject)
        early = [*purity(subject, domain), *batches(f, subject, domain)]
        reference = reference_of(subject, domain, directions, rng)
        exact = _exact(subject, domain, rtol)
        rows = list(_rows(subject, domain, reference, offer, exact, directions, rng))
        imprecise = [*exactness(subject, domain, reference, by_differences=offer.forward == "differences")]
        late = [
            *finiteness(subject, domain, reference),
            *imprecise,
            *(scales(subject, domain, rows) if not imprecise else ()),
            *failures(subject),
        ]
    return DerivativeReport(
        name=subject.name,
        rows=tuple(rows),
        noise=noise_lines(subject, reference),
        findings=(*early, *offer.notes, *late),
        calls=subject.function.tally.calls if isinstance(subject.function, Foreign) else 0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offer:
    """Where the derivatives of either mode come from; None where there is none to check.

    Attributes:
        twin: a JAX function whose values must be those of the code.
        notes: what was found on the way.
    """

    forward: str | None
    reverse: str | None
    twin: Callable[..., Any] | None = None
    notes: tuple[Finding, ...] = ()


def _offer(f: Callable[..., Any], subject: Subject) -> _Offer:
    if not isinstance(f, Foreign):
        return _offer_of_jax(subject)
    code = f.code
    _try_once(f, subject)
    if code.reference is not None:
        return _Offer(forward="reference jvp", reverse="reference vjp", twin=code.reference)
    # Without an adjoint, reverse mode takes the same columns as forward mode, which are checked there.
    return _Offer(
        forward="tangent" if code.tangent is not None else "differences",
        reverse="adjoint" if code.adjoint is not None else None,
    )


def _try_once(f: Foreign, subject: Subject) -> None:
    """Returns nothing; raises what the code's own routines raise at the point, where they should not."""
    raising = replace(subject, function=Foreign(replace(f.code, memo=0)))
    raising.evaluate(subject.here)
    if f.code.tangent is not None:
        raising.forward(np.ones_like(subject.here))
    if f.code.adjoint is not None:
        raising.reverse(np.ones(len(subject.outputs.labels)))


def _offer_of_jax(subject: Subject) -> _Offer:
    """Returns which modes a JAX function has: custom rules and loops may leave it with one."""
    missing: dict[str, str] = {}
    for mode, call, like in (
        ("jvp", subject.forward, subject.here),
        ("vjp", subject.reverse, np.zeros(len(subject.outputs.labels))),
    ):
        try:
            call(np.zeros_like(like))
        except (TypeError, ValueError, NotImplementedError) as error:
            missing[mode] = str(error).splitlines()[0]
    if len(missing) == 2:
        raise DerivativeError(f"`{subject.name}` has no derivative to check: {missing['jvp']}")
    notes = [
        Finding(subject=mode, is_fault=False, message=f"the function has none: {error}")
        for mode, error in missing.items()
    ]
    names = [None if mode in missing else mode for mode in ("jvp", "vjp")]
    return _Offer(forward=names[0], reverse=names[1], notes=tuple(notes))


def _exact(subject: Subject, domain: Domain, rtol: float | None) -> Tolerance:
    epsilon = _epsilon(subject, domain)
    # Analytic derivatives are rounded too, by a few digits of what the output varies by.
    return Tolerance(rtol=max(1e-6, 100 * epsilon) if rtol is None else rtol, of_variation=64 * epsilon)


def _epsilon(subject: Subject, domain: Domain) -> float:
    return float(max(subject.outputs.epsilon.max(), domain.epsilon.max()))


def _by_differences(subject: Subject, domain: Domain) -> Tolerance:
    # A one-sided difference is exact to the root of the precision, relative to how much an output varies.
    loose = max(1e-3, 30 * _epsilon(subject, domain) ** 0.5)
    return Tolerance(rtol=loose, of_variation=loose)


def _rows(
    subject: Subject,
    domain: Domain,
    reference: Reference,
    offer: _Offer,
    exact: Tolerance,
    random: int | None,
    rng: np.random.Generator,
) -> Iterator[Row]:
    loose = _by_differences(subject, domain)
    forward = loose if offer.forward == "differences" else exact
    if offer.twin is not None:
        yield from value_rows(subject, offer.twin, domain, exact.rtol, rng)
    if offer.forward is not None:
        yield from forward_rows(subject, reference, forward, offer.forward)
    if offer.reverse is not None:
        weights = [*ways(subject.outputs, np.ones(len(subject.outputs.labels)), random, rng)]
        yield from reverse_rows(subject, reference, exact, weights, offer.reverse)
    if offer.forward is not None and offer.reverse is not None:
        slack = loose.rtol if offer.forward == "differences" else _epsilon(subject, domain) ** 0.5
        sizes = magnitudes(subject.here, domain, subject.inputs)
        yield _identity(subject, reference.base, sizes, slack, rng)


def _identity(subject: Subject, base: Array, sizes: Array, slack: float, rng: np.random.Generator) -> Row:
    """Returns the row of <J^T w, v> beside <w, J v>, in which all inputs and outputs take part."""
    v = rng.choice([-1.0, 1.0], sizes.size) * rng.uniform(0.5, 1, sizes.size) * sizes
    tangent = subject.forward(v)
    w = rng.choice([-1.0, 1.0], tangent.size) * rng.uniform(0.5, 1, tangent.size)
    adjoint = subject.reverse(w)
    left, right = float(adjoint @ v), float(w @ tangent)
    allowed = slack * float(abs(adjoint) @ abs(v) + abs(w) @ abs(tangent))
    # Where the outputs hardly change, what is left is the rounding on the way to them.
    allowed += 64 * float((subject.outputs.epsilon * abs(w)) @ abs(base))
    return Row(
        input="all",
        output="all",
        derivative="identity",
        at="<w, J v>",
        value=left,
        reference=right,
        error=abs(left - right),
        allowed=allowed,
        step=0.0,
        verdict="ok" if abs(left - right) <= allowed else "WRONG",
    )
