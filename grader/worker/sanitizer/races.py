"""Who touched an element last: races between programs, found as each access happens.

The state of an element is one number: the event that wrote it last, and the first and the last
event that read it since, of ``FIELD`` bits each. A later reader in between is forgotten: whoever
writes in disorder with it does so with one of the others, or they took turns by a lock.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.worker.sanitizer.arguments import Region
from grader.worker.sanitizer.findings import Finding, Findings, place, shown
from grader.worker.sanitizer.order import FIELD, MOST, Order

Values = Callable[[Any], Any]  # of lanes: whether what they write lies there already

AGAIN = (
    " The same value each time, so the result may be right; who stores it should be one program."
)


@dataclass(slots=True)
class Access:
    """Some lanes of one operation, in one region."""

    region: Region
    index: Any  # numpy's, or a slice where lanes lie side by side
    lanes: Any  # of the operation, as numbers; None for all
    line: int

    def at(self, lane: int) -> int:
        """Return the address of a lane."""
        slice_ = isinstance(self.index, slice)
        index = self.index.start + lane if slice_ else int(self.index[lane])
        return self.region.start + index * self.region.unit


class Races:
    """Those of one launch."""

    def __init__(self, order: Order, found: Findings, ids: Callable[[int], tuple[int, ...]]):
        self._order = order
        self._found = found
        self._ids = ids

    def read(self, access: Access, *, atomic: bool = False) -> None:
        """Note that a program reads."""
        region, event = access.region, self._order.event(access.line, atomic=atomic)
        before = region.state[access.index]
        written = before & MOST
        if written.any():
            self._judge(access, written, "read-write", "reads", "has written", atomic=atomic)
        if (before >> (2 * FIELD) == event).all():
            return
        first = (before >> FIELD) & MOST
        first = np.where(first == 0, event, first) if first.any() else event
        region.state[access.index] = written | (first << FIELD) | (event << (2 * FIELD))

    def write(self, access: Access, same: Values | None = None, *, atomic: bool = False) -> None:
        """Note that a program writes; an atomic reads too."""
        region, event = access.region, self._order.event(access.line, atomic=atomic)
        before = region.state[access.index]
        if before.any():
            last, first = before >> (2 * FIELD), (before >> FIELD) & MOST
            for read in (first, last):
                if self._judge(access, read, "read-write", "writes", "has read", atomic=atomic):
                    break
            kind = "read-write" if atomic else "write-write"
            does = "adds to" if atomic else "writes"
            self._judge(access, before & MOST, kind, does, "has written", same, atomic=atomic)
        region.state[access.index] = event

    def lanes(self, access: Access, values: Any) -> None:
        """Find lanes of one store that write different values to one element."""
        if isinstance(access.index, slice):
            return
        state, index = access.region.state, access.index
        if (index[1:] > index[:-1]).all():
            return
        before, numbers = state[index], np.arange(len(index))
        state[index] = numbers
        winner = state[index]
        state[index] = before
        loses = winner != numbers
        if loses.any() and (differ := loses & (values[winner] != values)).any():
            lane = int(differ.argmax())
            tensor, where = access.region.element(access.at(lane))
            ids = self._ids(self._order.program)
            text = (
                f"Lanes of one store write different values to {place(tensor, where)} "
                f"in program {shown(ids)}: which of them stays is not defined."
            )
            count = int(differ.sum())
            self._found.add(
                Finding(
                    "write-write", access.line, text, tensor, where, ids, ids, access.line, count
                )
            )

    def _judge(
        self,
        access: Access,
        events: Any,
        kind: str,
        does: str,
        done: str,
        same: Values | None = None,
        *,
        atomic: bool,
    ) -> bool:
        """Add a finding if a lane is in disorder with what came before it."""
        apart = self._order.apart(events, atomic=atomic)
        if not apart.any():
            return False
        lane = int(apart.argmax())
        other, line = self._order.origin(int(np.broadcast_to(events, apart.shape)[lane]))
        tensor, where = access.region.element(access.at(lane))
        mine, theirs = self._ids(self._order.program), self._ids(other)
        line_of = "the same line" if line == access.line else f"line {line}"
        text = (
            f"Program {shown(mine)} {does} {place(tensor, where)}, which program {shown(theirs)} "
            f"{done} in {line_of}, and nothing orders the two: on a GPU either may come first."
        )
        if same is not None and same(apart).all():
            text += AGAIN
        count = int(apart.sum())
        self._found.add(Finding(kind, access.line, text, tensor, where, mine, theirs, line, count))
        return True
