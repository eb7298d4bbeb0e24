"""`to_stablehlo`: a function as bytes."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.export
import jax.extend.core as jec

from couplax._errors import ExportError, quoted
from couplax.export._program import Program, Wanted, has_cotangent, program_of


def to_stablehlo(
    fn: Callable[..., Any],
    *args: Any,
    platforms: Sequence[str] | None = None,
    failures: Any = None,
    gradients: bool = False,
    portable: bool = False,
) -> bytes:
    """Returns `fn` at `args` as serialised StableHLO: what `from_stablehlo` and `jax.export` read.

    The function is staged first, so the bytes hold no callback and need neither the function's code nor the
    libraries that it was written with. They are read by later versions of JAX too, for half a year at least.

    Args:
        fn: any JAX function of positional arguments.
        args: arrays, Python numbers or structs, or pytrees of them; a struct, a `jax.ShapeDtypeStruct` or a
            `couplax.struct`, may have names for sizes.
        platforms: where it is to run, of "cpu", "cuda", "rocm" and "tpu"; by default what JAX runs on here.
        failures: what becomes of a run-time check such as `eqx.error_if`: `"nan"`, the default, `"status"`
            (the function then gives a pair of its result and the status) or `"ignore"`, as for `to_onnx`.
        gradients: whether the bytes hold the function's reverse derivative too.
        portable: whether factorisations are written out in plain operations, for runtimes other than JAX;
            otherwise they are calls of the libraries that come with JAX, which are faster for large matrices.

    Raises:
        StageError: the function holds something that cannot be staged.
        MissingRuleError: it calls foreign code that no JAX function stands for.
        ExportError: it cannot be written, has no gradient, or a platform is unknown.
    """
    wanted = Wanted(target="StableHLO", failures=failures, gradients=gradients, portable=portable)
    program = program_of(fn, args, wanted)
    exported = lowered(_callable(program, _name_of(fn)), _arguments(program), platforms)
    try:
        return bytes(exported.serialize(vjp_order=1 if gradients else 0))
    except ValueError as error:
        raise ExportError(
            f"The structure of the function's arguments or result cannot be written: {error}\nRegister it "
            "with `jax.export.register_pytree_node_serialization`, or take and return tuples and dicts."
        ) from error


def lowered(
    fn: Callable[..., Any], args: Sequence[Any], platforms: Sequence[str] | None
) -> jax.export.Exported:
    """Returns `fn` at `args` lowered for `platforms`.

    Raises:
        ExportError: a platform is unknown to JAX, or lacks an operation.
    """
    known = ("cpu", "cuda", "rocm", "tpu")
    unknown = [name for name in platforms or () if name not in known]
    if unknown or (platforms is not None and not platforms):
        raise ExportError(f"platforms= names {quoted(unknown)}; JAX lowers for {quoted(known)}.")
    try:
        return jax.export.export(jax.jit(fn), platforms=platforms and tuple(platforms))(*args)
    except (NotImplementedError, ValueError) as error:
        raise ExportError(
            f"JAX cannot lower the function for {quoted(platforms or (jax.default_backend(),))}: {error}\n"
            "Rewrite that call; where it is of a library, `portable=True` may write it out."
        ) from error


def run_flat(closed: jec.ClosedJaxpr, *flat: Any) -> tuple[Any, ...]:
    """Returns the outputs of `closed` on `flat`."""
    return tuple(jec.jaxpr_as_fun(closed)(*flat))


def _arguments(program: Program) -> tuple[Any, ...]:
    return tuple(jax.tree.unflatten(program.in_tree, program.inputs))


def _callable(program: Program, name: str) -> Callable[..., Any]:
    """Returns the function of structured arguments to lower, differentiable where the program says how."""
    flat_fn = _with_reverse(program) if program.reverse is not None else _forward(program)

    def run(*args: Any) -> Any:
        return jax.tree.unflatten(program.out_tree, flat_fn(*jax.tree.leaves(args)))

    run.__name__ = run.__qualname__ = name
    return run


def _forward(program: Program) -> Callable[..., tuple[Any, ...]]:
    return lambda *flat: run_flat(program.forward, *flat)


def _with_reverse(program: Program) -> Callable[..., tuple[Any, ...]]:
    reverse: Any = program.reverse

    def kept(*flat: Any) -> tuple[Any, Any]:
        return run_flat(program.forward, *flat), flat

    def pulled(flat: Any, cotangents: Any) -> tuple[Any, ...]:
        pairs = zip(cotangents, program.outputs, strict=True)
        found = iter(run_flat(reverse, *flat, *(ct for ct, struct in pairs if has_cotangent(struct))))
        return tuple(next(found) if has_cotangent(struct) else None for struct in program.inputs)

    flat_fn = jax.custom_vjp(_forward(program))
    flat_fn.defvjp(kept, pulled)
    return flat_fn


def _name_of(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__name__", type(fn).__name__)
