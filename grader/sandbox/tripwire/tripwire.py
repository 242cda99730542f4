"""Whether a submission has changed what of ours runs beside it, seen from outside.

Before it loads the submission a worker tells where our objects lie. What lies there is read then,
and again while the worker waits or works: pointers of functions, classes and code, instructions,
constants, what names stand for. Some changes leave a trace when they are undone: a dictionary and
a function of CPython each carry a version. What cannot be looked at is no fault: then there is no
tripwire.

Not seen: what only lives while nobody looks, state that honest running changes too (counts, lists,
frames), C code, and messages that a thread of the submission's own writes.
"""

import copy
import ctypes
import os
import platform
import signal
import socket
import struct
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.sandbox.tripwire.layout import (
    HEADER,
    ITEMS,
    TABLE,
    USED,
    WORD,
    Layout,
    entries,
    layout,
    same,
    table,
)
from grader.sandbox.tripwire.process_memory import Gone, Pieces, ProcessMemory, Refused, Unmapped
from grader.sandbox.tripwire.regions import Kind, Piece, Plan, Regions, Space
from grader.wire.own_objects import OwnObject

REPLACED = "the memory in which they lay"
CLOSED = "what lets us look at them"
UNREADABLE = "the kernel does not let us look into a process (process_vm_readv)"
ENDING = 0.25  # seconds that a process may take to end whose memory is another's
TRIES = 4  # to read a dictionary that is changing
MOST_TEXT = 80
TEXT = sys.getsizeof("") - 1  # where the characters of a string begin, if they are ASCII
LENGTH = 16
FREE = "__"  # torch's compiler keeps what it has made under such names, in modules it has seen


Change = tuple[int, int, int]  # of a dictionary: name, what it stood for, and what it stands for


class Tripwire:
    """The objects of one worker; any thread may look."""

    def __init__(
        self, pid: int, known: Layout, chart: Regions, own_objects: Sequence[OwnObject] = ()
    ) -> None:
        """Look for the first time; ``own_objects`` are this worker's own, beside the chart's.

        Raises Refused, Gone or Unmapped if that cannot be, ValueError for odd objects.
        """
        self.pid = pid  # as we see it
        self.found = ""  # what was changed, once that has been seen
        self.looks = 0
        self._code = known.code_of_function
        self._chart = chart
        self._own = [piece for piece in Regions(known, own_objects).fixed.pieces]
        self._lock = threading.Lock()
        self._closed = False
        self._peek = ProcessMemory(pid)
        self._spaces = [copy.copy(space) for space in chart.spaces]
        self._begin()

    def _begin(self) -> None:
        """Take what is there for what must stay."""
        self._own_memory = Pieces([(piece.address, piece.size) for piece in self._own])
        self._own_bytes = self._peek.read(self._own_memory)
        self._fixed = Pieces(self._chart.fixed.ranges)
        self._stays = self._read(self._fixed)
        new = [*range(len(self._spaces))]
        if self._chart.moving is not None:  # what differs from the first worker is looked at anew
            self._follow(self._chart.moving)
            differing = self._moving.differing(self._chart.read, self._moves)
            new = [piece.space for piece, *_ in differing]
        for number in {*new}:
            if not self._walk(self._spaces[number], first=True):
                raise Unmapped
        if new:
            self._follow(self._plan())
        if self._chart.moving is None:
            self._chart.moving, self._chart.read = self._moving, self._moves
            self._chart.spaces = [copy.copy(space) for space in self._spaces]

    def _plan(self) -> Plan:
        return Plan.of(piece for n, space in enumerate(self._spaces) for piece in space.pieces(n))

    def _follow(self, plan: Plan) -> None:
        """Read the parts of dictionaries as planned from now on."""
        memory = Pieces(plan.ranges)
        self._moves = self._read(memory)
        self._moving, self._memory = plan, memory

    def _read(self, memory: Pieces) -> Any:
        return np.frombuffer(self._peek.read(memory), np.uint8)

    # -- looking ----------------------------------------------------------------------------

    def look(self) -> str:
        """Return what was changed, or an empty string; of a process that has ended nothing.

        Raises MemoryError where there is none: nothing has been seen then.
        """
        with self._lock:
            if not self.found and not self._closed:
                self.looks += 1
                try:
                    self.found = self._look_at_own() or self._look()
                except Gone:
                    pass
                except Unmapped:  # of one that ends at once its end says more
                    self.found = "" if self._peek.ends_within(ENDING) else REPLACED
                except Refused:
                    self.found = CLOSED
            return self.found

    def _look_at_own(self) -> str:
        now, at = self._peek.read(self._own_memory), 0
        for piece in self._own:
            if now[at : at + piece.size] != self._own_bytes[at : at + piece.size]:
                return piece.label
            at += piece.size
        return ""

    def _look(self) -> str:
        now = self._read(self._fixed)
        for piece, old, new in self._chart.fixed.differing(self._stays, now):
            if not _may_become(piece, old, new):
                return piece.label
        self._stays = now
        return self._look_at_spaces()

    def _look_at_spaces(self) -> str:
        try:
            now = self._read(self._memory)
        except Unmapped:  # a dictionary may lie elsewhere by now, and what it lay in be gone
            moved = {*range(len(self._spaces))}
        else:
            differing = self._moving.differing(self._moves, now)
            moved = {piece.space for piece, *_ in differing}
        for number in moved:
            if not self._walk(self._spaces[number]):
                return self._spaces[number].label
        if moved:
            self._follow(self._plan())
        return ""

    # -- dictionaries -----------------------------------------------------------------------

    def _walk(self, space: Space, *, first: bool = False) -> bool:
        """Look at a dictionary, wherever it lies now; tell whether it holds what it did.

        Of a library's the names that count are read, whatever else happens to it meanwhile: it may
        change honestly for as long as we look. Nobody but us changes one of ours.
        """
        before: list[Change] = []
        for _ in range(TRIES):
            head = HEADER.unpack(self._peek.at(space.address + USED, HEADER.size))
            try:
                found, lies = self._entries(head[2])
            except (ValueError, Unmapped):
                continue  # it is changing
            again = HEADER.unpack(self._peek.at(space.address + USED, HEADER.size))
            if head == again or (head[2] == again[2] and not space.is_ours):
                space.entries = lies
                odd = self._compare(space, found, head[1], first)
                # What a name of a library stood for may have gone before we saw what it was.
                if not odd or space.is_ours or odd == before:
                    return not odd
                before = odd
        return not first and not space.is_ours

    def _entries(self, keys: int) -> tuple[dict[int, tuple[int, int]], tuple[int, int]]:
        head = self._peek.at(keys, TABLE.size)
        start, size, count = table(head, keys)
        return entries(head, keys, self._peek.at), (start, size * count)

    def _compare(
        self, space: Space, found: dict[int, tuple[int, int]], version: int, first: bool
    ) -> list[Change]:
        """Take what a dictionary holds, and return what of it may not be."""
        names = space.names or found.keys()
        values = {name: found[name][0] if name in found else 0 for name in names}
        before, space.places = space.values, {n: found[n][1] for n in names if n in found}
        changes = [
            (name, before.get(name, 0), values.get(name, 0))
            for name in values.keys() | before.keys()
            if before.get(name, 0) != values.get(name, 0)
        ]
        if first:
            changes = []
        elif space.is_ours and version != space.version and not changes:
            return [(0, 0, 0)]  # something was, and is as it was again
        if space.is_ours or first:
            space.values, space.version = values, version
        return [change for change in changes if not self._may_be(space, *change)]

    def _may_be(self, space: Space, name: int, before: int, now: int) -> bool:
        """Tell whether a name may stand for something else than it did."""
        if space.is_ours:
            return not before and self._text(name).startswith(FREE)
        # What our own probes put there, for as long as they run.
        return bool(now) and self._word(now + self._code) in self._chart.codes

    def _word(self, address: int) -> int:
        try:
            return struct.unpack("=Q", self._peek.at(address, WORD))[0]
        except Unmapped:
            return 0

    def _text(self, address: int) -> str:
        """Return the characters of a string, if they are ASCII."""
        try:
            length = self._word(address + LENGTH)
            return self._peek.at(address + TEXT, min(length, MOST_TEXT) or 1).decode("ascii")
        except (Unmapped, UnicodeDecodeError):
            return ""

    def close(self) -> None:
        """Stop looking."""
        with self._lock:
            self._closed = True
            self._peek.close()


def hindrance() -> str:
    """Return why no worker of this judge can be looked at, or an empty string.

    It forks: for a process of one thread.
    """
    if layout() is None:
        return f"it is not known how Python {platform.python_version()} lays its objects out"
    if not hasattr(socket, "SO_PASSCRED"):
        return "the kernel does not tell who sends a message"
    known = ("a", "tuple")
    child = os.fork()
    if not child:
        signal.pause()
    try:
        peek = ProcessMemory(child)
        seen = peek.at(id(known), ITEMS)
        return "" if seen[WORD:] == ctypes.string_at(id(known), ITEMS)[WORD:] else UNREADABLE
    except (Gone, Refused, Unmapped):
        return UNREADABLE
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _may_become(piece: Piece, old: bytes, new: bytes) -> bool:
    """Tell whether honest running changes a piece that belongs to no dictionary like this."""
    match piece.kind:
        case Kind.SPECIALISES:
            return same(old, new)
        case Kind.VERSION:
            return not any(old)
        case _:
            return False
