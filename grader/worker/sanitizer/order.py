"""Which accesses of a launch are ordered, though its programs run in any order on a GPU.

The interpreter runs one program after another. An access is an event, numbered as they happen; a
program's own are ordered, and those of another program up to the event at which it released
something that this one has acquired since. So a program needs one number for each other program.
"""

from typing import Any

import numpy as np

FIELD = 21  # bits of an event's number: three of them lie in a state
MOST = (1 << FIELD) - 1
MOST_SIGNS = 1 << 25  # numbers in all that releases may keep


class Order:
    """The events of one launch."""

    def __init__(self, programs: int) -> None:
        self._programs = programs
        self._owner: Any = np.zeros(1024, np.int32)
        self._atomic: Any = np.zeros(1024, bool)
        self._sites: list[int] = [0]  # the line of each event
        self._known: dict[tuple[int, bool], int] = {}
        self._signs: list[Any] = [None]
        self._seen: Any = None  # of each other program, the last event that comes before
        self._acquired: set[int] = set()
        self._last_sign = 0
        self.program = 0
        self.full = False  # too much happened: what follows counts as ordered

    def begin(self, program: int) -> None:
        """Go on with another program."""
        self.program = program
        self._owner[0] = program  # no event is ordered with all
        self._known.clear()
        self._seen = None
        self._acquired.clear()
        self._last_sign = 0

    def event(self, line: int, *, atomic: bool = False) -> int:
        """Return the number of an access of this program."""
        known = self._known.get((line, atomic))
        if known is not None:
            return known
        number = len(self._sites)
        if number > MOST:
            self.full = True
            return 0
        if number == len(self._owner):
            self._owner = np.concatenate((self._owner, self._owner))
            self._atomic = np.concatenate((self._atomic, self._atomic))
        self._owner[number], self._atomic[number] = self.program, atomic
        self._sites.append(line)
        self._known[line, atomic] = number
        self._last_sign = 0
        return number

    def origin(self, event: int) -> tuple[int, int]:
        """Return the program and the line of an event."""
        return int(self._owner[event]), self._sites[event]

    def apart(self, events: Any, *, atomic: bool) -> Any:
        """Tell of each event whether nothing orders it before the access that happens now.

        Two atomics need no order.
        """
        owners = self._owner[events]
        apart = owners != self.program
        if not apart.any() or self.full:
            return np.zeros_like(apart)
        if atomic:
            apart &= ~self._atomic[events]
        if self._seen is not None:
            apart &= events > self._seen[owners]
        return apart

    def release(self, over: Any) -> int:
        """Return a sign of what this program has done and seen, and of the signs it replaces."""
        new = [sign for sign in _distinct(over) if sign and sign not in self._acquired]
        if self._last_sign and not [sign for sign in new if sign != self._last_sign]:
            return self._last_sign
        if len(self._signs) * self._programs > MOST_SIGNS:
            self.full = True
            return 0
        clock = np.zeros(self._programs, np.int32) if self._seen is None else self._seen.copy()
        for sign in new:
            np.maximum(clock, self._signs[sign], out=clock)
        clock[self.program] = len(self._sites) - 1
        self._signs.append(clock)
        self._known.clear()  # what follows is not covered
        self._last_sign = len(self._signs) - 1
        return self._last_sign

    def acquire(self, signs: Any) -> None:
        """Let what came before these signs be ordered before what this program does from now."""
        for sign in _distinct(signs):
            if sign and sign not in self._acquired:
                self._acquired.add(sign)
                if self._seen is None:
                    self._seen = np.zeros(self._programs, np.int32)
                np.maximum(self._seen, self._signs[sign], out=self._seen)
                self._last_sign = 0


def _distinct(signs: Any) -> list[int]:
    """Return each sign once; most atomics are of one element, and need no sort."""
    return signs.tolist() if signs.size == 1 else np.unique(signs).tolist()
