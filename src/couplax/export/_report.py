"""What verification reports: one line per output and set of inputs."""

from dataclasses import dataclass

from couplax._errors import VerificationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One output on one set of inputs.

    Attributes:
        output: its name; `trial`: which inputs it was computed from.
        struct: what JAX gives, as `float64[3]`.
        error: the largest difference; `scale`: the largest magnitude that JAX gives; `tolerance`: what is
            allowed of it.
        ok: whether the difference is within the tolerance, and NaN and infinities stand at the same places.
    """

    output: str
    trial: str
    struct: str
    error: float
    scale: float
    tolerance: float
    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """How a file compares with JAX; prints as a table."""

    comparisons: tuple[Comparison, ...]

    @property
    def ok(self) -> bool:
        """Whether every output is within its tolerance."""
        return all(comparison.ok for comparison in self.comparisons)

    def assert_ok(self) -> None:
        """Returns nothing; raises where an output is not within its tolerance.

        Raises:
            VerificationError: with the table.
        """
        if not self.ok:
            failed = sorted({comparison.output for comparison in self.comparisons if not comparison.ok})
            names = ", ".join(f"`{name}`" for name in failed)
            raise VerificationError(
                f"The file does not give the numbers that JAX gives, in output {names}:\n{self}\nWhere the "
                "function is right to be sensitive to rounding, pass `verify=False` and compare it yourself."
            )

    def __str__(self) -> str:
        width = max([16, *(len(row.trial) for row in self.comparisons)])
        head = (
            f"{'output':<16} {'inputs':<{width}} {'type':<16} {'error':>10} {'scale':>10} {'tolerance':>10}"
        )
        return "\n".join([head, *(_line(row, width) for row in self.comparisons)])


def _line(row: Comparison, width: int) -> str:
    return (
        f"{row.output:<16} {row.trial:<{width}} {row.struct:<16} {row.error:>10.2e} {row.scale:>10.2e} "
        f"{row.tolerance:>10.0e}  {'ok' if row.ok else 'DIFFERS'}"
    )
