"""The reference that derivatives are compared with: differences along directions through the inputs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from couplax.foreign._check_layout import Block, Layout
from couplax.foreign._check_noise import noise
from couplax.foreign._check_steps import Line, Study, study
from couplax.foreign._check_subject import Subject
from couplax.foreign._domain import point
from couplax.foreign._foreign import Foreign

Array = np.ndarray[Any, Any]

_FEW = 32  # Blocks of no more elements are checked element by element.
_RANDOM = 3  # How many random directions stand for the elements of a larger one.


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """What is known of the inputs' numbers, each as a vector.

    Attributes:
        typical: the magnitude below which a step of the code's own differences stops shrinking.
        lower: the least that an input may be; `upper`: the most.
        epsilon: the relative spacing of the numbers that the code computes with.
    """

    typical: Array
    lower: Array
    upper: Array
    epsilon: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """A way through the inputs, all of it in one block, or through the outputs as weights.

    Attributes:
        label: the element it is along, or which random one it is.
        vector: where it goes; `size`: how far along it the inputs change by as much as they are.
    """

    block: Block
    label: str
    vector: Array
    size: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The derivatives of all outputs along directions.

    Attributes:
        base: the outputs at the point; `noise`: the noise of each.
        directions: the directions; `studies`: the derivatives along each.
    """

    base: Array
    noise: Array
    directions: tuple[Direction, ...]
    studies: tuple[Study, ...]

    @property
    def contribution(self) -> Array:
        """How much the inputs contribute to each output: the largest slope times size."""
        slopes = [abs(s.slope) * d.size for d, s in zip(self.directions, self.studies, strict=True)]
        return np.max([abs(self.base), *slopes], axis=0)


def domain_of(function: Any, subject: Subject) -> Domain:
    """Returns what is declared of the inputs' numbers; the defaults for a function that declares nothing."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(subject.args)]
    pack, here = subject.inputs.pack, subject.here
    if not isinstance(function, Foreign):
        wide = np.full(here.shape, np.inf)
        typical = np.maximum(abs(here), 1.0)
        return Domain(typical=typical, lower=-wide, upper=wide, epsilon=subject.inputs.epsilon)
    declared = point(function.code, leaves, [])
    places = [k for k, leaf in enumerate(leaves) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    like = [leaves[k] for k in places]

    def packed(parts: Any) -> Array:
        # A complex number has its bounds and its size for both of its parts.
        pairs = zip(places, like, strict=True)
        return pack(
            [np.broadcast_to(parts[k] * (1 + 1j if x.dtype.kind == "c" else 1), x.shape) for k, x in pairs]
        )

    return Domain(
        typical=packed(declared.typical),
        lower=packed(declared.lower),
        upper=packed(declared.upper),
        epsilon=packed([np.full(leaf.shape, e) for leaf, e in zip(leaves, declared.epsilon, strict=True)]),
    )


def ways(layout: Layout, sizes: Array, random: int | None, rng: np.random.Generator) -> Iterator[Direction]:
    """Yields the unit vectors of each block, or random ones where there are many elements.

    Args:
        sizes: the magnitude of each element, by which random directions are scaled.
        random: how many random directions for each block; None takes unit vectors for small blocks.
    """
    for block in layout.blocks:
        if random is None and block.size <= _FEW:
            for k in range(block.elements.start, block.elements.stop):
                vector = np.zeros_like(sizes)
                vector[k] = 1.0
                yield Direction(block=block, label=layout.labels[k], vector=vector, size=float(sizes[k]))
        elif block.size:
            for count in range(_RANDOM if random is None else random):
                vector = np.zeros_like(sizes)
                signs = rng.choice([-1.0, 1.0], block.size)
                vector[block.elements] = signs * rng.uniform(0.5, 1, block.size) * sizes[block.elements]
                yield Direction(
                    block=block, label=f"{block.name} (random {count + 1})", vector=vector, size=1.0
                )


def magnitudes(here: Array, domain: Domain, layout: Layout) -> Array:
    """Returns the magnitude of each input: its own, else that of its array, else the typical one."""
    sizes = abs(here)
    for block in layout.blocks:
        part = sizes[block.elements]
        part[part == 0] = part.max(initial=0.0)
    return np.where(sizes == 0, domain.typical, sizes)


def reference_of(subject: Subject, domain: Domain, random: int | None, rng: np.random.Generator) -> Reference:
    """Returns the derivatives of `subject` by differences, along ways that span each input or sample it."""
    here, base = subject.here, subject.evaluate(subject.here)
    sizes = magnitudes(here, domain, subject.inputs)
    inward = np.where(domain.upper - here >= here - domain.lower, 1.0, -1.0)
    all_inputs = inward * rng.uniform(0.5, 1, here.size) * sizes

    def along_all(distance: float) -> Array:
        return subject.evaluate(subject.inputs.rounded(here + distance * all_inputs))

    level = noise(along_all, float(subject.inputs.epsilon.max()))
    all_ways = tuple(ways(subject.inputs, sizes, random, rng))
    studies = (study(_line(subject, domain, way, base), level, subject.outputs.epsilon) for way in all_ways)
    return Reference(base=base, noise=level, directions=all_ways, studies=tuple(studies))


def _line(subject: Subject, domain: Domain, way: Direction, base: Array) -> Line:
    here, moves = subject.here, way.vector != 0
    room_up, room_down = domain.upper - here, here - domain.lower
    rate = way.vector[moves]
    ahead = np.where(rate > 0, room_up[moves], room_down[moves]) / abs(rate)
    behind = np.where(rate > 0, room_down[moves], room_up[moves]) / abs(rate)
    return Line(
        evaluate=subject.evaluate,
        rounded=subject.inputs.rounded,
        here=here,
        base=base,
        direction=way.vector,
        size=way.size,
        limit=float(np.max(domain.typical[moves] / abs(rate))),
        below=float(behind.min()),
        above=float(ahead.min()),
    )
