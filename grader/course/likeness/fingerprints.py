"""Fingerprints of code as copydetect takes them, held and compared within bounds.

Each run of ``NOISE`` characters has one. What is published has no owner, and neither has what most
of a class wrote alike: both are taken away before anything is compared.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from grader.extras import needs

with needs("course"):
    import numpy as np

NOISE = 25  # characters of filtered code: what is shorter than this is no copy
FEWEST = 300  # characters of shared code, below which a likeness means nothing
FEWEST_KINDS = 12  # different fingerprints of these: code that repeats itself has few
_BASE = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Print:
    """The fingerprints of an answer that are its own, by place in the code."""

    values: Any  # [N] uint64, or the numbers that ``numbered`` gives: [N] int32
    places: Any  # [N] int32, increasing
    known: Any  # [M] as ``values``, in order, each once
    tokens: int  # characters of code that they cover


def fingerprints(text: str) -> Any:  # [N] uint64
    """Return the fingerprint of each run of ``NOISE`` characters, the same in every process."""
    data = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    count = len(data) - NOISE + 1
    if count <= 0:
        return np.zeros(0, dtype=np.uint64)
    letters = data.astype(np.uint64) + np.uint64(1)
    letters ^= letters << np.uint64(21)
    found = np.zeros(count, dtype=np.uint64)
    for at in range(NOISE):
        found *= _BASE
        found += letters[at : at + count]
    found ^= found >> np.uint64(29)  # the lower bits of a product know the lower ones alone
    found *= np.uint64(0xBF58476D1CE4E5B9)
    return found ^ (found >> np.uint64(32))


def together(parts: Iterable[str]) -> Any:  # [N] uint64, in order, each once
    """Return all fingerprints of some texts."""
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *map(fingerprints, parts)]))


def print_of(text: str, given: Any) -> Print:
    """Take the fingerprints of a text without those that are given, in order, each once."""
    values = fingerprints(text)
    own = ~is_in(values, given)
    return _print(values[own], np.flatnonzero(own).astype(np.int32))


def without(one: Print, common: Any) -> Print:
    """Take away more of it."""
    own = ~is_in(one.values, common)
    return _print(one.values[own], one.places[own])


def numbered(prints: Sequence[Print]) -> tuple[list[Print], int]:
    """Give each fingerprint that several have a number, so that comparing is looking up.

    Those that one has alone get none; their place in its code still counts. Returns how many.
    """
    every = np.concatenate([np.zeros(0, np.uint64), *(one.known for one in prints)])
    every.sort()
    several = np.unique(every[1:][every[1:] == every[:-1]])
    del every
    found: list[Print] = []
    for one in prints:
        shared = is_in(one.values, several)
        values = np.searchsorted(several, one.values[shared]).astype(np.int32)
        found.append(Print(values, one.places[shared], np.unique(values), one.tokens))
    return found, len(several)


def common(prints: Sequence[Print], fewest: int) -> Any:  # [N] uint64, in order, each once
    """Return the fingerprints that at least so many of these have."""
    every = np.concatenate([np.zeros(0, np.uint64), *(one.known for one in prints)])
    values, counts = np.unique(every, return_counts=True)
    return values[counts >= fewest]


class Table:
    """Which fingerprints one answer has, to look up those of many others."""

    def __init__(self, size: int) -> None:
        self._has = np.zeros(max(size, 1), dtype=bool)
        self._both = np.zeros(max(size, 1), dtype=bool)

    def shared(self, one: Print, others: Sequence[Print]) -> list[tuple[int, int]]:
        """Return how many characters of one's code each other has, and of the other's the one.

        Both are 0 where too little is shared, or where what is shared repeats itself.
        """
        self._has[one.known] = True
        found = [self._pair(one, other) for other in others]
        self._has[one.known] = False
        return found

    def _pair(self, one: Print, other: Print) -> tuple[int, int]:
        both = other.known[self._has[other.known]]
        if len(both) < FEWEST_KINDS:
            return 0, 0
        theirs = covered(other.places[self._has[other.values]])
        self._both[both] = True
        ours = covered(one.places[self._both[one.values]])
        self._both[both] = False
        return (ours, theirs) if ours >= FEWEST else (0, 0)


def covered(places: Any) -> int:
    """Return how many characters lie under fingerprints at some places, in order."""
    if not len(places):
        return 0
    return int(np.minimum(np.diff(places), NOISE).sum()) + NOISE


def is_in(values: Any, known: Any) -> Any:  # [N] bool
    """Tell which of some values are among others that are in order."""
    if not len(known):
        return np.zeros(len(values), dtype=bool)
    at = np.searchsorted(known, values)
    at[at == len(known)] = 0
    return known[at] == values


def _print(values: Any, places: Any) -> Print:
    return Print(values, places, np.unique(values), covered(places))
