"""`couplax demo`: the main job, end to end, with what it costs and how it compares."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

import couplax as cpx
from couplax.cli._sellar import d2_jax, d2_numpy, sellar
from couplax.foreign import Tally

# Values of an independent implementation, at z = (1, 2), x_1 = 1; the derivatives are of f.
_REFERENCE = {"y_1": 3.0506762937470167, "y_2": 4.746618531264915, "f": 6.059357293905945}
_SLOPES = {"z_1": 1.689612612212272, "x_1": 2.9434964513173334}
_EULER = 34.867847

_POINT = {"x_1": 1.0, "z_1": 1.0, "z_2": 2.0}
_GUESS = {"y_2": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A figure with its bound."""

    what: str
    figure: float
    bound: float

    @property
    def ok(self) -> bool:
        """Whether the figure is within its bound."""
        return self.figure <= self.bound

    def __str__(self) -> str:
        """Returns the check as a line."""
        return (
            f"  {self.what:<58} {self.figure:>9.3g}  (at most {self.bound:g}){'' if self.ok else '  MISSED'}"
        )


def demo(folder: Path, show: Callable[[str], None] = print) -> bool:
    """Runs the demo, leaves its files in `folder`, and returns whether every figure was within its bound."""
    folder.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_enable_x64", True)
    checks = [
        *_coupled(show),
        *_simulation(folder, show),
        *_exported_model(folder, show),
    ]
    _drawing(folder, show)
    missed = sum(not check.ok for check in checks)
    show(f"\n{len(checks) - missed} of {len(checks)} figures within their bounds.")
    return missed == 0


def _report(show: Callable[[str], None], checks: Sequence[Check]) -> Sequence[Check]:
    for check in checks:
        show(str(check))
    return checks


def _coupled(show: Callable[[str], None]) -> Sequence[Check]:
    show("A numpy function in a coupled model: the Sellar problem, discipline 2 in numpy, solved by Newton")
    box = cpx.foreign(d2_numpy, jnp.float64)
    ours, calls = _solved(sellar(cpx.component(box, "y_2", name="d2")), box.tally)
    twin, _ = _solved(sellar(cpx.component(d2_jax, "y_2", name="d2")), Tally())
    show(f"  {'':<8} {'numpy inside':>20} {'all JAX':>20} {'reference':>20}")
    for name, reference in {
        **_REFERENCE,
        **{f"df/d{name}": slope for name, slope in _SLOPES.items()},
    }.items():
        show(f"  {name:<8} {ours[name]:>20.12f} {twin[name]:>20.12f} {reference:>20.12f}")
    slopes = [f"df/d{name}" for name in _SLOPES]
    return _report(
        show,
        [
            Check(
                what="largest difference of a value from all JAX",
                figure=_worst(ours, twin, _REFERENCE),
                bound=1e-9,
            ),
            Check(
                what="largest difference of a value from the reference",
                figure=_worst(ours, _REFERENCE, _REFERENCE),
                bound=1e-9,
            ),
            Check(
                what="largest difference of a slope from the reference",
                figure=max(abs(ours[f"df/d{name}"] - slope) for name, slope in _SLOPES.items()),
                bound=1e-7,
            ),
            Check(
                what="largest difference of a slope from all JAX",
                figure=_worst(ours, twin, slopes),
                bound=1e-7,
            ),
            Check(what="calls of the numpy function for the solve", figure=calls["solve"], bound=9),
            Check(what="calls of the numpy function with the gradient", figure=calls["gradient"], bound=14),
        ],
    )


def _worst(ours: Any, theirs: Any, names: Any) -> float:
    return max(abs(ours[name] - theirs[name]) for name in names)


def _solved(model: cpx.Model, tally: Tally) -> tuple[dict[str, float], dict[str, int]]:
    """Returns values and slopes by name, and the calls of the solve and of the solve with the gradient."""
    tally.reset()
    result = model.run(guess=_GUESS, throw=True, **_POINT)
    calls = {"solve": tally.calls}
    tally.reset()
    f = model.function(tuple(_SLOPES), "f", fixed={"z_2": _POINT["z_2"]}, guess=_GUESS)
    slopes = jax.block_until_ready(jax.grad(f, argnums=(0, 1))(*(_POINT[name] for name in _SLOPES)))
    calls["gradient"] = tally.calls
    values = {name: float(result[name]) for name in _REFERENCE}
    return values | {f"df/d{name}": float(slope) for name, slope in zip(_SLOPES, slopes, strict=True)}, calls


def simulate(y0: Any) -> Any:
    """Returns y(1) of dy/dt = -y by ten Euler steps, from y(0) = `y0`."""
    term = diffrax.ODETerm(lambda t, y, args: -y)
    solution: Any = diffrax.diffeqsolve(term, diffrax.Euler(), t0=0, t1=1, dt0=0.1, y0=y0)
    return solution.ys[0]


def _simulation(folder: Path, show: Callable[[str], None]) -> Sequence[Check]:
    show("\nA Diffrax simulation out to ONNX: dy/dt = -y, Euler, ten steps, float32")
    with jax.enable_x64(False):
        staged = cpx.stage(simulate, 1.0)
        proto = cpx.to_onnx(simulate, 1.0)
        wanted = float(simulate(100.0))
    came = float(_run(proto, _save(proto, folder / "simulate.onnx", show), np.float32(100.0))[0])
    show("  " + staged.summary().replace("\n", "\n  "))
    show(f"  y(1) from y(0) = 100: ONNX Runtime {came:.6f}, JAX {wanted:.6f}, reference {_EULER}")
    return _report(
        show,
        [
            Check(
                what="relative difference of ONNX Runtime from JAX", figure=abs(came / wanted - 1), bound=1e-6
            ),
            Check(what="relative difference from the reference", figure=abs(came / _EULER - 1), bound=1e-6),
        ],
    )


def _exported_model(folder: Path, show: Callable[[str], None]) -> Sequence[Check]:
    show("\nThe closed Sellar model out to ONNX, its Newton loop inside the file")
    model = sellar(cpx.component(d2_jax, "y_2", name="d2"))
    f = model.function(("x_1", "z_1", "z_2"), ("y_1", "y_2", "f"), guess=_GUESS)
    checks: list[Check] = []
    for dtype, bound in ((np.float32, 1e-6), (np.float64, 1e-12)):
        with jax.enable_x64(dtype is np.float64):
            arguments = [dtype(value) for value in _POINT.values()]
            proto = cpx.to_onnx(f, *arguments)
            wanted = [float(value) for value in f(*arguments)]
        came = _run(proto, _save(proto, folder / f"sellar_{dtype.__name__}.onnx", show), *arguments)
        worst = max(abs(float(c) / w - 1) for c, w in zip(came, wanted, strict=True))
        checks.append(
            Check(what=f"relative difference from JAX in {dtype.__name__}", figure=worst, bound=bound)
        )
    return _report(show, checks)


def _save(proto: Any, path: Path, show: Callable[[str], None]) -> Path:
    """Writes the file, checks it, and says what it is."""
    import onnx

    onnx.checker.check_model(proto, full_check=True)
    path.write_bytes(proto.SerializeToString())
    inputs, outputs = ([entry.name for entry in part] for part in (proto.graph.input, proto.graph.output))
    size = f"{len(proto.graph.node)} nodes, opset {proto.opset_import[0].version}"
    show(f"  {path}: ({', '.join(inputs)}) -> ({', '.join(outputs)}), {size}")
    return path


def _run(proto: Any, path: Path, *arguments: Any) -> Any:
    """Returns the outputs of the file at `path` in ONNX Runtime."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [entry.name for entry in proto.graph.input]
    return session.run(None, dict(zip(names, map(np.asarray, arguments), strict=True)))


def _drawing(folder: Path, show: Callable[[str], None]) -> None:
    show("\nThe Sellar model drawn as an XDSM")
    path = folder / "sellar.svg"
    sellar(cpx.component(d2_jax, "y_2", name="d2")).xdsm().save(path)
    show(f"  {path}")
