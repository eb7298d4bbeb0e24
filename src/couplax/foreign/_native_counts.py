"""Calls that programs made of native routines: counted in the extension, collected for the tally."""

from weakref import WeakKeyDictionary

from couplax.foreign._extension import extension
from couplax.foreign._host import Host


class Counters:
    """Counters of the extension, one for each purpose of a call."""

    def __init__(self) -> None:
        counter = extension().Counter
        self.values, self.probes, self.tangents, self.adjoints = counter(), counter(), counter(), counter()


_counters: "WeakKeyDictionary[Host, Counters]" = WeakKeyDictionary()


def counters_of(host: Host) -> Counters:
    """Returns the counters of `host`'s code."""
    if host not in _counters:
        _counters[host] = Counters()
    return _counters[host]


def collect(host: Host) -> None:
    """Moves what was counted in programs into the tally of `host`."""
    counters = _counters.get(host)
    if counters is not None:
        host.tally.values += counters.values.take()
        host.tally.probes += counters.probes.take()
        host.tally.tangents += counters.tangents.take()
        host.tally.adjoints += counters.adjoints.take()
