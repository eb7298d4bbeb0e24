"""`to_tensorflow`: from a JAX function to a `tf.function`, for where TensorFlow is and JAX is not."""

import os
import re
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import Any

import jax

from couplax._errors import ExportError
from couplax.export._extra import require_tensorflow
from couplax.export._names import Names, check_names, input_names, output_names
from couplax.export._program import Program, Wanted, program_of
from couplax.export._tensorflow import Tensors, flat_function, spec, tensorflow


def to_tensorflow(
    fn: Callable[..., Any],
    *args: Any,
    inputs: Names = None,
    platforms: Sequence[str] | None = None,
    failures: Any = None,
    gradients: bool = False,
) -> Any:
    """Returns `fn` at `args` as a `tf.function`, which `tf.saved_model.save` writes like any other.

    It takes tensors where `fn` takes arrays, in the same tuples, lists and dicts, and gives them so. Nothing
    of JAX is left in it: what is saved runs where TensorFlow alone is. TensorFlow's own XLA compiles it when
    it is first called.

    Args:
        fn: any JAX function of positional arguments.
        args: arrays, Python numbers or structs, or pytrees of them; a struct, a `jax.ShapeDtypeStruct` or a
            `couplax.struct`, may have names for sizes, which are None to TensorFlow.
        inputs: the names of the flat inputs, as for `to_onnx`; a dot becomes an underscore to TensorFlow.
        platforms: where it is to run, of "cpu", "cuda", "rocm" and "tpu"; by default what JAX runs on here.
        failures: what becomes of a run-time check such as `eqx.error_if`: `"nan"`, the default, `"status"`
            (the function then gives a pair of its result and the status) or `"ignore"`, as for `to_onnx`.
        gradients: whether `tf.GradientTape` can differentiate it, once. To keep the gradient in a file, save
            with `tf.saved_model.SaveOptions(experimental_custom_gradients=True)`.

    Raises:
        MissingExtraError: TensorFlow is not installed.
        StageError: the function holds something that cannot be staged.
        MissingRuleError: it calls foreign code that no JAX function stands for.
        ExportError: it cannot be written, or has no gradient, or the names do not fit.
    """
    require_tensorflow()
    program, flat = _written(fn, args, platforms, failures, gradients)
    names = _parameters(input_names(fn, args, inputs))
    check_names(names, ())
    return _function(program, flat, names)


def save_tensorflow(
    folder: str | os.PathLike[str],
    fn: Callable[..., Any],
    *args: Any,
    inputs: Names = None,
    outputs: Names = None,
    platforms: Sequence[str] | None = None,
    failures: Any = None,
    gradients: bool = False,
) -> None:
    """Writes `fn` at `args` as a SavedModel whose serving signature bears the names of inputs and outputs.

    What is loaded has the function itself too, as `call`.

    Args:
        folder: where it goes.
        fn: as for `to_tensorflow`, as is all else.
        outputs: the names of the flat outputs, as for `to_onnx`.

    Raises:
        CouplaxError: as `to_tensorflow`.
    """
    require_tensorflow()
    program, flat = _written(fn, args, platforms, failures, gradients)
    names = _parameters(input_names(fn, args, inputs)), output_names(fn, program, outputs)
    check_names(*names)
    tf = tensorflow()
    module = tf.Module()
    module.call = _function(program, flat, names[0])
    tf.saved_model.save(
        module,
        os.fspath(folder),
        signatures={"serving_default": _served(program, flat, *names)},
        options=tf.saved_model.SaveOptions(experimental_custom_gradients=gradients),
    )


def _written(
    fn: Callable[..., Any],
    args: Sequence[Any],
    platforms: Sequence[str] | None,
    failures: Any,
    gradients: bool,
) -> tuple[Program, Callable[..., Tensors]]:
    wanted = Wanted(target="TensorFlow", failures=failures, gradients=gradients, portable=True)
    program = program_of(fn, args, wanted)
    return program, flat_function(program, platforms)


def _function(program: Program, flat: Callable[..., Tensors], names: Sequence[str]) -> Any:
    """Returns the `tf.function` of structured arguments."""
    specs = [spec(struct, name) for struct, name in zip(program.inputs, names, strict=True)]
    signature = jax.tree.unflatten(program.in_tree, specs)
    for index, part in enumerate(signature):
        _check_nested(f"args[{index}]", part)

    def call(*taken: Any) -> Any:
        return jax.tree.unflatten(program.out_tree, flat(*jax.tree.leaves(taken)))

    _check_nested("the result", jax.tree.unflatten(program.out_tree, program.outputs))
    if all(map(jax.tree_util.treedef_is_leaf, program.in_tree.children())):
        # TensorFlow takes the names that arguments may be given by from here.
        parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        call.__signature__ = Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]  # what PEP 362 reads
    return tensorflow().function(call, input_signature=signature, autograph=False)


def _parameters(names: Sequence[str]) -> list[str]:
    """Returns `names` as Python may spell parameters, which is how TensorFlow names inputs."""
    plain = [re.sub(r"\W", "_", name) for name in names]
    return [f"{name}_" if iskeyword(name) else name for name in plain]


def _served(
    program: Program, flat: Callable[..., Tensors], inputs: Sequence[str], outputs: Sequence[str]
) -> Any:
    """Returns the `tf.function` of named tensors that a server calls."""
    specs = [spec(struct, name) for struct, name in zip(program.inputs, inputs, strict=True)]

    def serve(*taken: Any) -> dict[str, Any]:
        return dict(zip(outputs, flat(*taken), strict=True))

    return tensorflow().function(serve, input_signature=specs, autograph=False)


def _check_nested(place: str, tree: Any) -> None:
    """Returns nothing; raises where TensorFlow sees no structure in a pytree that JAX does."""
    if len(tensorflow().nest.flatten(tree)) != jax.tree.structure(tree).num_leaves:
        raise ExportError(
            f"TensorFlow takes and gives tuples, lists and dicts of tensors, and {place} is a "
            f"{type(tree).__name__}. Write a function of its arrays."
        )
