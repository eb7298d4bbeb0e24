"""What programs do with native routines: calls are counted and points remembered in the extension."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal
from weakref import WeakKeyDictionary

from couplax.foreign._extension import extension
from couplax.foreign._host import Host
from couplax.foreign._tally import Tally

Purpose = Literal["values", "probes", "tangents", "adjoints"]


@dataclass(frozen=True, slots=True)
class Book:
    """Where the calls of one plan for one purpose are written down.

    Attributes:
        calls, hits: counters of calls, and of points that were remembered.
        memos: the last points; the first memo is also written to.
    """

    calls: Any
    hits: Any
    memos: tuple[Any, ...]


_LOOKED_UP: dict[Purpose, tuple[Purpose, ...]] = {
    "values": ("values",),
    "probes": ("probes", "values"),
    "tangents": (),
    "adjoints": (),
}


class Ledger:
    """The books of one code."""

    def __init__(self, host: Host) -> None:
        counter = extension().Counter
        self.counters: dict[Purpose, Any] = {
            "values": counter(),
            "probes": counter(),
            "tangents": counter(),
            "adjoints": counter(),
        }
        self.hits = counter()
        self._size = host.code.memo
        self._memos: dict[tuple[Purpose, Hashable], Any] = {}

    def book(self, purpose: Purpose, plan: Hashable) -> Book:
        """Returns the book for calls of `plan`; probes are looked for among the values too."""
        looked = _LOOKED_UP[purpose] if self._size > 0 else ()
        memos = tuple(self._memo(kind, plan) for kind in looked)
        return Book(self.counters[purpose], self.hits, memos)

    def _memo(self, purpose: Purpose, plan: Hashable) -> Any:
        key = (purpose, plan)
        if key not in self._memos:
            self._memos[key] = extension().Memo(self._size)
        return self._memos[key]

    def forget(self) -> None:
        """Forgets all points, and all calls that were not collected."""
        for memo in self._memos.values():
            memo.clear()
        for counter in (*self.counters.values(), self.hits):
            counter.take()


_ledgers: "WeakKeyDictionary[Host, Ledger]" = WeakKeyDictionary()


def ledger_of(host: Host) -> Ledger:
    """Returns the books of `host`'s code, which its tally collects from and forgets with the rest."""
    ledger = _ledgers.get(host)
    if ledger is None:
        ledger = _ledgers[host] = Ledger(host)
        forget = host.tally.forget

        def forget_both(ledger: Ledger = ledger) -> None:
            forget()
            ledger.forget()

        host.tally.forget = forget_both
        host.tally.collect = partial(_collect, ledger, host.tally)
    return ledger


def _collect(ledger: Ledger, tally: Tally) -> None:
    """Moves what was counted in programs into the tally."""
    tally.values += ledger.counters["values"].take()
    tally.probes += ledger.counters["probes"].take()
    tally.tangents += ledger.counters["tangents"].take()
    tally.adjoints += ledger.counters["adjoints"].take()
    tally.memo_hits += ledger.hits.take()
