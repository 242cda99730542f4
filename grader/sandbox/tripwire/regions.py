"""What a tripwire looks at: pieces of a worker's memory, and what may become of each.

Workers that were forked from one process have their objects in the same places, so a chart is drawn
once for all of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Self

import numpy as np

from grader.sandbox.tripwire.layout import HEADER, IN_CELL, ITEMS, SIZE_OF_TUPLE, USED, WORD, Layout
from grader.wire.own_objects import Mark, OwnObject

NEAR = 512  # bytes between pieces that are read as one


class Kind(IntEnum):
    """What may become of a piece."""

    STAYS = 0
    SPECIALISES = 1  # instructions
    VERSION = 2  # none at first, then always the same
    MOVES = 3  # a part of a dictionary, which is looked at as a whole


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes, and what may become of them; ``space`` is the number of a dictionary."""

    address: int
    size: int
    kind: Kind
    label: str
    space: int = -1


@dataclass(slots=True)
class Space:
    """A dictionary; ``names`` are the addresses of those that count, none: all do."""

    address: int
    label: str
    names: frozenset[int]
    values: dict[int, int] = field(default_factory=dict[int, int])  # by name; 0: unknown there
    places: dict[int, int] = field(default_factory=dict[int, int])  # where values lie, by name
    entries: tuple[int, int] = (0, 0)  # address and bytes of all of them
    version: int = 0

    @property
    def is_ours(self) -> bool:
        """Whether nothing may be added to it."""
        return not self.names

    def pieces(self, number: int) -> Iterator[Piece]:
        """Give the pieces that tell whether it changes."""
        yield Piece(self.address + USED, HEADER.size, Kind.MOVES, self.label, number)
        if self.is_ours:
            yield Piece(*self.entries, Kind.MOVES, self.label, number)
            return
        for place in self.places.values():
            yield Piece(place, WORD, Kind.MOVES, self.label, number)


@dataclass(frozen=True, slots=True)
class Plan:
    """How pieces are read: those that lie close as one, for each costs the kernel more than bytes.

    ``places`` says where in what is read each of ``pieces`` begins, ``counts`` which bytes matter.
    """

    pieces: list[Piece]
    ranges: list[tuple[int, int]]
    places: Any
    counts: Any

    @classmethod
    def of(cls, wanted: Iterable[Piece]) -> Self:
        """Plan to read some pieces, each once."""
        known = {piece.address: piece for piece in wanted if piece.size}
        pieces = [known[address] for address in sorted(known)]
        ranges: list[list[int]] = []
        places: list[int] = []
        size = end = 0
        for piece in pieces:
            gap = piece.address - end
            if not ranges or gap > NEAR:
                ranges.append([piece.address, 0])
                gap = 0
            ranges[-1][1] += gap + piece.size
            places.append(size + gap)
            size += gap + piece.size
            end = piece.address + piece.size
        counts = np.zeros(size, bool)
        for place, piece in zip(places, pieces, strict=True):
            counts[place : place + piece.size] = True
        together = [(start, length) for start, length in ranges]
        return cls(pieces, together, np.array(places, int), counts)

    def differing(self, before: Any, now: Any) -> Iterator[tuple[Piece, bytes, bytes]]:
        """Give the pieces that changed between two readings, with what they were and are."""
        changed = np.flatnonzero((now != before) & self.counts)
        for number in np.unique(np.searchsorted(self.places, changed, "right") - 1):
            piece, at = self.pieces[number], int(self.places[number])
            end = at + piece.size
            yield piece, bytes(before[at:end]), bytes(now[at:end])


class Regions:
    """The pieces and dictionaries that own objects stand for; raises ValueError for odd ones."""

    def __init__(self, known: Layout, own_objects: Sequence[OwnObject]) -> None:
        fixed: list[Piece] = []
        self.spaces: list[Space] = []
        self.codes: set[int] = set()  # addresses of ours
        self.moving: Plan | None = None  # of the first worker, when it was new, and what it read
        self.read: Any = None
        label = ""
        for mark, at, size, named, names in own_objects:
            label = named or label
            if mark == Mark.NAMESPACE:
                self.spaces.append(Space(at, label, frozenset(names)))
            else:
                fixed += _pieces(known, Mark(mark), at, size, label)
            if mark == Mark.CODE:
                self.codes.add(at)
        self.fixed = Plan.of(fixed)


def _pieces(known: Layout, mark: Mark, at: int, size: int, label: str) -> Iterator[Piece]:
    ranges: tuple[tuple[int, int], ...] = ()
    match mark:
        case Mark.FUNCTION:
            ranges = known.function
            place, length = known.version
            yield Piece(at + place, length, Kind.VERSION, label)
        case Mark.CODE:
            ranges = known.code
            yield Piece(at + known.instructions, size, Kind.SPECIALISES, label)
        case Mark.TYPE:
            ranges = known.type
        case Mark.TUPLE:
            ranges = ((SIZE_OF_TUPLE, ITEMS - SIZE_OF_TUPLE + size * WORD),)
        case Mark.CELL:
            ranges = ((IN_CELL, WORD),)
        case Mark.BYTES:
            ranges = ((0, size),)
        case Mark.NAMESPACE:
            raise ValueError("a dictionary is no piece")
    for place, length in ranges:
        yield Piece(at + place, length, Kind.STAYS, label)
