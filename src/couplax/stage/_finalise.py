"""Finalise: every primitive that only wraps JAX code is replaced by what it wraps.

Libraries wrap plain JAX code in primitives of their own so that some transformation treats it specially
(Equinox's `unvmap_any`, Lineax's `linear_solve`, JAX's own `jit` and `custom_jvp_call`). Once a program is
traced for the last time no transformation follows, so what they wrap can stand in their place, inside every
`cond`, `while` and `scan` too.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import jax
import jax.extend.core as jec
import jax.numpy as jnp

from couplax._errors import StageError
from couplax._source import where
from couplax.foreign._primitives import foreign_value_p, referenced
from couplax.stage._interpret import Value, bind, closed_jaxpr, interpret, trace
from couplax.stage._known import SIZE_PRIMITIVE, is_host_call
from couplax.stage._status import mark

Failures = Literal["nan", "status", "ignore"]
"""What becomes of a run-time check: outputs are NaN where it fires, a status tells, or it is dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinaliseContext:
    """What a finalise rule may ask for.

    Attributes:
        eqn: the equation at hand.
        failures: what becomes of a run-time check.
    """

    eqn: jec.JaxprEqn
    failures: Failures
    rules: "FinaliseRules"

    def inline(self, jaxpr: Any, *inputs: Value) -> list[Value]:
        """Returns the outputs of `jaxpr`, itself finalised, on `inputs`."""
        return interpret(closed_jaxpr(jaxpr), inputs, self._handle)

    def finalised(self, jaxpr: Any) -> jec.ClosedJaxpr:
        """Returns `jaxpr` finalised, as a closed jaxpr."""
        closed = closed_jaxpr(jaxpr)
        return trace(partial(self.inline, closed), closed.in_avals)

    def keep(self, *inputs: Value, **changed: Any) -> list[Value]:
        """Returns the outputs of the equation's own primitive, which so stays in the program."""
        return bind(self.eqn, inputs, **changed)

    def _handle(self, eqn: jec.JaxprEqn, inputs: list[Value]) -> Sequence[Value]:
        return _finalise_equation(eqn, inputs, failures=self.failures, rules=self.rules)


FinaliseRule = Callable[..., Sequence[Value]]
"""`rule(context, *inputs, **params) -> outputs`."""

FinaliseRules = dict[str, FinaliseRule]
"""Rules by the primitive's name."""

FINALISE_RULES: FinaliseRules = {}


def finalise_rule(primitive: jec.Primitive | str) -> Callable[[FinaliseRule], FinaliseRule]:
    """Returns a decorator that registers a rule for `primitive`, given itself or by name.

    The rule gets a `FinaliseContext`, the inputs positionally and every param of the primitive by name, and
    returns the outputs as JAX values.

    Raises:
        ValueError: the primitive has a rule already.
    """
    name = primitive if isinstance(primitive, str) else primitive.name

    def register(rule: FinaliseRule) -> FinaliseRule:
        if name in FINALISE_RULES:
            raise ValueError(
                f"finalise_rule: primitive `{name}` has a rule already; two would be one too many."
            )
        FINALISE_RULES[name] = rule
        return rule

    return register


def finalise(
    closed: jec.ClosedJaxpr, *, failures: Failures = "nan", rules: FinaliseRules = FINALISE_RULES
) -> jec.ClosedJaxpr:
    """Returns `closed` with nothing left in it but JAX's own operations, loops, branches and foreign codes.

    Args:
        failures: what becomes of run-time checks such as `eqx.error_if`: `"nan"` makes what passes through
            the check NaN (integers zero) where it fires, `"status"` leaves a marker for
            `couplax.stage._status.collected`, `"ignore"` drops it.
        rules: the table of rules.

    Raises:
        StageError: a primitive has no rule and its implementation cannot be traced.
    """
    handle = partial(_finalise_equation, failures=failures, rules=rules)
    return trace(lambda *inputs: interpret(closed, inputs, handle), closed.in_avals)


def _finalise_equation(
    eqn: jec.JaxprEqn, inputs: list[Value], *, failures: Failures, rules: FinaliseRules
) -> Sequence[Value]:
    context = FinaliseContext(eqn=eqn, failures=failures, rules=rules)
    rule = rules.get(eqn.primitive.name)
    if rule is not None:
        return rule(context, *inputs, **eqn.params)
    if eqn.primitive.name in _WRAPPED:
        return context.inline(eqn.params[_WRAPPED[eqn.primitive.name]], *inputs)
    if is_host_call(eqn.primitive) or _runs_as_it_is(eqn.primitive):
        return context.keep(*inputs)
    return _trace_implementation(context, inputs)


_WRAPPED = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "checkpoint": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}
"""Primitives that wrap a jaxpr, with the param that holds it."""


def _runs_as_it_is(primitive: jec.Primitive) -> bool:
    # An operation of JAX's own is implemented by compiling it, through a `functools.partial` that names it; a
    # primitive that wraps JAX code is implemented by that code, a function.
    if primitive.name.startswith("random_") or primitive.name == SIZE_PRIMITIVE:
        # What JAX does with keys asks for keys, not for tracers of the numbers inside them; a symbolic size
        # is a number only where the program runs.
        return True
    missing = getattr(primitive.impl, "__func__", None) is jec.Primitive.impl
    return missing or not _is_plain_function(primitive.impl)


def _is_plain_function(impl: object) -> bool:
    return hasattr(impl, "__code__")


def _trace_implementation(context: FinaliseContext, inputs: list[Value]) -> Sequence[Value]:
    primitive = context.eqn.primitive
    try:
        inner = trace(partial(_implementation, context.eqn), [jax.typeof(value) for value in inputs])
    except (jax.errors.JAXTypeError, TypeError, ValueError, LookupError, NotImplementedError) as error:
        raise StageError(
            f"Primitive `{primitive.name}`, reached at {where(context.eqn)}, has no finalise rule, and its "
            f"implementation is not JAX code: {_first_line(error)}\nRegister a rule with "
            "`couplax.stage.finalise_rule`."
        ) from error
    if _is_one_equation(inner, primitive):
        # The implementation only compiles and runs the primitive: it is an operation.
        return context.keep(*inputs)
    return context.inline(inner, *inputs)


def _first_line(error: Exception) -> str:
    """Returns what `error` says first; JAX goes on for a page, which stays in the cause."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _is_one_equation(inner: Any, primitive: jec.Primitive) -> bool:
    """Returns whether `inner` is an equation of `primitive` and nothing else, calls around it not counted."""
    if len(inner.eqns) != 1:
        return False
    (eqn,) = inner.eqns
    called = _WRAPPED.get(eqn.primitive.name)
    return eqn.primitive is primitive or (
        called is not None and _is_one_equation(closed_jaxpr(eqn.params[called]), primitive)
    )


def _implementation(eqn: jec.JaxprEqn, *inputs: Value) -> Sequence[Value]:
    outputs = eqn.primitive.impl(*inputs, **eqn.params)
    return outputs if eqn.primitive.multiple_results else [outputs]


def _alias(context: FinaliseContext, *values: Value, **where_and_how: Any) -> list[Value]:
    return list(values)


for _name in ("copy", "stop_gradient", "name", "device_put", "optimization_barrier"):
    finalise_rule(_name)(_alias)


@finalise_rule("add_any")
def _add_any(context: FinaliseContext, left: Value, right: Value) -> list[Value]:
    return [jax.lax.add(left, right)]


@finalise_rule("call_hi_primitive")
def _high_level(context: FinaliseContext, *inputs: Value, _prim: Any) -> list[Value]:
    # JAX 0.12: an operation on trees (`searchsorted`, `custom_root`) that says itself what it expands to.
    def expanded(*flat: Value) -> list[Value]:
        return jax.tree.leaves(_prim.expand(*jax.tree.unflatten(_prim.in_tree, flat)))

    return context.inline(trace(expanded, [jax.typeof(value) for value in inputs]), *inputs)


@finalise_rule("while")
def _while(
    context: FinaliseContext, *inputs: Value, cond_jaxpr: Any, body_jaxpr: Any, **counts: int
) -> list[Value]:
    cond, body = context.finalised(cond_jaxpr), context.finalised(body_jaxpr)
    if cond.out_avals[0].shape == ():
        return context.keep(*inputs, cond_jaxpr=cond, body_jaxpr=body)
    return _lanes_while(cond, body, inputs, counts["cond_nconsts"], counts["body_nconsts"])


def _lanes_while(
    cond: jec.ClosedJaxpr, body: jec.ClosedJaxpr, inputs: Sequence[Value], first: int, second: int
) -> list[Value]:
    """Returns the carries of a mapped `while`: it goes on while a lane does; one that has ended stays."""
    of_cond, of_body = inputs[:first], inputs[first : first + second]

    def lanes(carries: Sequence[Value]) -> Value:
        return interpret(cond, [*of_cond, *carries])[0]

    def turn(carries: tuple[Value, ...]) -> tuple[Value, ...]:
        goes_on, moved = lanes(carries), interpret(body, [*of_body, *carries])
        return tuple(_where_lane(goes_on, new, old) for new, old in zip(moved, carries, strict=True))

    init = tuple(inputs[first + second :])
    return list(jax.lax.while_loop(lambda carries: jnp.any(lanes(carries)), turn, init))


def _where_lane(lanes: Value, new: Value, old: Value) -> Value:
    aval = jax.typeof(new)
    wide = jax.lax.broadcast_in_dim(lanes, aval.shape, range(jax.typeof(lanes).ndim))
    return jax.lax.select(wide, new, old)


@finalise_rule("scan")
def _scan(context: FinaliseContext, *inputs: Value, jaxpr: Any, **layout: Any) -> list[Value]:
    return context.keep(*inputs, jaxpr=context.finalised(jaxpr))


@finalise_rule("cond")
def _cond(context: FinaliseContext, *inputs: Value, branches: Sequence[Any], **params: Any) -> list[Value]:
    checks = [_check_in(branch) for branch in branches]
    if context.failures != "nan" and len(branches) == 2 and checks.count(None) == 1:
        place = checks.index(None)
        if context.failures == "status":
            _mark_branch(inputs[0] != place, branches[1 - place], checks[1 - place], inputs[1:])
        return context.inline(branches[place], *inputs[1:])
    return context.keep(*inputs, branches=tuple(context.finalised(branch) for branch in branches))


@finalise_rule(foreign_value_p)
def _foreign_value(
    context: FinaliseContext, *inputs: Value, host: Any, signature: Any, mapped: Any, lanes: Any
) -> list[Value]:
    reference = host.code.reference
    if reference is None:
        return context.keep(*inputs)
    twin = partial(referenced, reference, signature, mapped=mapped, lanes=lanes)
    return context.inline(trace(lambda *leaves: twin(leaves), map(jax.typeof, inputs)), *inputs)


@finalise_rule("pure_callback")
def _pure_callback(
    context: FinaliseContext,
    *inputs: Value,
    callback: Any,
    result_avals: Any,
    sharding: Any,
    vmap_method: Any,
) -> list[Value]:
    if not _is_check(callback):
        return context.keep(*inputs)
    if context.failures == "status":
        mark(True, inputs[-1], _meanings(context.eqn))
    return [_failed(aval) for aval in result_avals]


@finalise_rule("solve_check")
def _solve_check(context: FinaliseContext, failed: Value, *told: Value, report: Any) -> list[Value]:
    # What a model returns is multiplied by it, lane by lane.
    one = jnp.ones(jax.typeof(failed).shape, jnp.float32)
    if context.failures == "status":
        mark(failed, report.which(told), report.meanings)
    nan = jnp.full_like(one, jnp.nan)
    return [jax.lax.select(failed, nan, one) if context.failures == "nan" else one]


@finalise_rule("platform_index")
def _platform_index(context: FinaliseContext, **params: Any) -> list[Value]:
    # `lax.platform_dependent` asks where it is lowered: a staged program is for the platform it is staged on.
    with jax.ensure_compile_time_eval():
        return context.keep()


@finalise_rule("shard_map")
def _shard_map(context: FinaliseContext, *inputs: Value, **params: Any) -> list[Value]:
    raise StageError(
        f"`shard_map`, reached at {where(context.eqn)}, spreads a function over devices; a staged program is "
        "for one device. Stage the function that it maps, or one without `shard_map`."
    )


def _failed(aval: Any) -> Value:
    return jnp.full(aval.shape, jnp.nan if jnp.issubdtype(aval.dtype, jnp.inexact) else 0, aval.dtype)


def _is_check(callback: Any) -> bool:
    # Equinox's checks call back to raise, never to compute; the callback is a function of that module.
    return getattr(getattr(callback, "callback_func", None), "__module__", "") == "equinox._errors"


def _check_in(branch: Any) -> jec.JaxprEqn | None:
    """Returns the equation of `branch` that calls back to raise, if there is one."""
    calls = (eqn for eqn in closed_jaxpr(branch).jaxpr.eqns if eqn.primitive.name == "pure_callback")
    return next((eqn for eqn in calls if _is_check(eqn.params["callback"])), None)


def _mark_branch(failed: Value, branch: Any, check: Any, operands: Sequence[Value]) -> None:
    """Leaves a marker of the check that `branch` is there for."""
    closed = closed_jaxpr(branch)
    before = closed.jaxpr.eqns[: closed.jaxpr.eqns.index(check)]
    (which,) = interpret(closed, operands, equations=before, results=[check.invars[-1]])
    mark(failed, which, _meanings(check))


def _meanings(check: jec.JaxprEqn) -> list[str]:
    """Returns the messages that a check chooses from."""
    messages = inspect.getclosurevars(check.params["callback"].callback_func).nonlocals.get("msgs", ())
    said = (" ".join(str(message).split()) for message in messages)
    return [message or "a run-time check" for message in said] or ["a run-time check"]
