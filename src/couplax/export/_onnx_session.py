"""`onnx_session`: a file that calls foreign codes, run in Python."""

import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from couplax._errors import ForeignError, close_matches, quoted
from couplax.export._extra import require_extensions, require_onnx
from couplax.export._names import FOREIGN
from couplax.export._operators import DOMAIN
from couplax.export._session import Operator, Session
from couplax.foreign._operator import Described, bound, hosts_of

if TYPE_CHECKING:
    import onnx


def onnx_session(
    proto: "onnx.ModelProto | bytes | str | PathLike[str]", foreign: Sequence[Any] = ()
) -> Session:
    """Returns a session of ONNX Runtime for a file, with foreign codes as its custom operators.

    It is used like `onnxruntime.InferenceSession`: `session.run(None, {"x": x})`. ONNX Runtime is in a
    process of its own, which asks this one for each call of a foreign code; these are the calls that JAX
    would make, and are counted as such. A file that calls none runs in the same way.

    Args:
        proto: the model, its bytes, or the path of its file.
        foreign: the foreign codes that the file calls, as it was made with `foreign="custom_op"`.

    Raises:
        MissingExtraError: a package of the extra `onnx-operators` is not installed.
        ForeignError: a code is missing, or is not the one that the file calls.
        ExportError: ONNX Runtime does not load the file.
    """
    require_onnx()
    return session_of(proto, hosts_of(foreign))


def session_of(proto: Any, hosts: Mapping[str, Any]) -> Session:
    """Returns a session for a file, with the codes of these hosts, by their names."""
    from couplax.export._file import loadable, metadata_of

    operators = json.loads(metadata_of(proto).get(FOREIGN, "{}"))
    if operators:
        require_extensions()
    return Session(loadable(proto), [_operator(name, about, hosts) for name, about in operators.items()])


def _operator(name: str, about: Described, hosts: Mapping[str, Any]) -> Operator:
    code, places = about["code"], tuple(about["called_at"])
    if code not in hosts:
        raise _missing(name, code, places, hosts)
    return Operator(
        name=f"{DOMAIN}::{name}",
        code=code,
        places=places,
        takes=tuple(entry["dtype"] for entry in about["inputs"]),
        gives=tuple(entry["dtype"] for entry in about["outputs"]),
        call=bound(about, hosts[code]),
    )


def _missing(name: str, code: str, places: Iterable[str], hosts: Mapping[str, Any]) -> ForeignError:
    close = close_matches(code, hosts)
    hint = f" Close: {quoted(close)}." if close else ""
    return ForeignError(
        f"The file calls foreign code `{code}` (operator `{name}`, from {' or '.join(places)}), and what "
        f"came is {quoted(hosts)}.{hint} Pass it: couplax.onnx_session(file, foreign=[{code}])."
    )
