"""What a probe says of a block. A worker may lie, so a reading must have the form that ours has."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from grader.errors import Mismatch
from grader.labs.metered import Metered
from grader.wire.channel import MAX_COLLECTIVES, MAX_OPERATORS

UNCOUNTED = "the cost could not be counted"
MAX_LAUNCHES = 500


@dataclass(slots=True)
class Count:
    """What a counter read; 0 until its block has ended."""

    total: int = 0

    @property
    def elements(self) -> int:
        """The reading, under the name that suits ``largest_tensor``."""
        return self.total

    def take(self, reading: list[Any], there: Sequence[int] = ()) -> None:
        """Take what the conversation's ``probe`` has left, or raise Mismatch.

        What was counted ``there``, on the device, holds if it is more.
        """
        if not reading or type(reading[0]) is not int or reading[0] < 0:
            raise Mismatch(UNCOUNTED)
        self.total = max(reading[0], *there, 0)


@dataclass(slots=True)
class Operators:
    """Which aten operators ran, each with the most elements of a tensor that it took or made."""

    seen: dict[str, int] = field(default_factory=dict[str, int])

    def take(self, reading: list[Any], there: Sequence[dict[str, int]] = ()) -> None:
        """Take what the conversation's ``probe`` has left, and the device's; or raise Mismatch."""
        value = reading[0] if reading else None
        if type(value) is not dict or len(cast(dict[Any, Any], value)) > MAX_OPERATORS:
            raise Mismatch(UNCOUNTED)
        sizes = cast(dict[str, Any], value)  # the wire lets only str be a key
        if not all(type(size) is int and size >= 0 for size in sizes.values()):
            raise Mismatch(UNCOUNTED)
        for counted in (sizes, *there):
            for name, size in counted.items():
                self.seen[name] = max(size, self.seen.get(name, 0))


@dataclass(slots=True)
class Shadow:
    """What became of numbers that only kernels could see.

    ``notes`` say how else they were asked for, ``fault`` what of ours went wrong, ``dug`` how the
    submission looked for them, ``unsound`` what kernels did there that no GPU forgives.
    """

    launches: int = 0
    notes: list[str] = field(default_factory=list[str])
    fault: str = ""
    dug: list[str] = field(default_factory=list[str])
    unsound: str = ""

    def take(self, reading: list[Any]) -> None:
        """Take what the conversation's ``probe`` has left, or raise Mismatch."""
        match reading:
            case [
                {"launches": int(n), "notes": list(notes), "fault": str(fault), "dug": list(dug)}
            ]:
                self.launches, self.fault = n, fault[:200]
                self.notes = [str(note)[:60] for note in cast(list[Any], notes)[:5]]
                self.dug = [str(what)[:60] for what in cast(list[Any], dug)[:5]]
            case _:
                raise Mismatch(UNCOUNTED)


@dataclass(slots=True)
class Recorded:
    """The launches of Triton kernels, as ``metering/launches`` tells them; each kind once."""

    launches: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def take(self, reading: list[Any]) -> None:
        """Take what the conversation's ``probe`` has left, or raise Mismatch.

        An argument is a list of plain values that begins with its kind. What that is is not looked
        at: it goes to a process as confined.
        """
        match reading:
            case [list(launches)]:
                self.launches = [_launch(item) for item in cast(list[Any], launches)[:MAX_LAUNCHES]]
            case _:
                raise Mismatch(UNCOUNTED)


@dataclass(slots=True)
class Meter:
    """What launches of Triton kernels moved and computed, as ``worker/metering/meter`` tells it.

    Each with the launch, as ``Recorded`` has it.
    """

    launches: list[tuple[dict[str, Any], Metered]] = field(
        default_factory=list[tuple[dict[str, Any], Metered]]
    )

    def take(self, reading: list[Any]) -> None:
        """Take what the conversation's ``probe`` has left, or raise Mismatch."""
        match reading:
            case [list(launches)]:
                told = [(_launch(item), item) for item in cast(list[Any], launches)[:MAX_LAUNCHES]]
            case _:
                raise Mismatch(UNCOUNTED)
        try:
            self.launches = [(launch, Metered.of(item)) for launch, item in told]
        except ValueError:
            raise Mismatch(UNCOUNTED) from None


@dataclass(slots=True)
class Apart:
    """What became of numbers that only the device had.

    ``launches``, ``notes`` and ``found`` are the device's: what ran there, what did not, and what
    kernels read beside its memory. ``left`` is the submission's worker's word: by what numbers were
    asked for, with the most elements of each.
    """

    launches: int = 0
    notes: list[str] = field(default_factory=list[str])
    found: list[Any] = field(default_factory=list[Any])
    left: dict[str, int] = field(default_factory=dict[str, int])

    @staticmethod
    def sent(reading: list[Any]) -> int:
        """Return how many messages the device was sent, or raise Mismatch."""
        match reading:
            case [{"sent": int(sent)}]:
                return sent
            case _:
                raise Mismatch(UNCOUNTED)

    def take(self, reading: list[Any], done: dict[str, Any]) -> None:
        """Take what the worker's probe has left, and what the device has done."""
        match reading:
            case [{"left": dict(left)}]:
                known = [*cast(dict[Any, Any], left).items()][:5]
                if not all(type(name) is str and type(n) is int for name, n in known):
                    raise Mismatch(UNCOUNTED)
                self.left = {name[:60]: count for name, count in known}
            case _:
                raise Mismatch(UNCOUNTED)
        self.launches, self.found = done["launches"], done["found"]
        self.notes = [*dict.fromkeys((*done["notes"], *self.left))][:5]

    @property
    def doors(self) -> str:
        """What left, in words."""
        return ", ".join(f"{name} of {count:,} elements" for name, count in self.left.items())


@dataclass(slots=True)
class Sent:
    """The collectives that each rank of a group began, in order: kind, bytes of the full tensor."""

    per_rank: list[list[tuple[str, int]]] = field(default_factory=list[list[tuple[str, int]]])

    def take(self, readings: Sequence[Any]) -> None:
        """Take what each rank's worker has noted, or raise Mismatch."""
        for reading in readings:
            if type(reading) is not list or len(cast(list[Any], reading)) > MAX_COLLECTIVES:
                raise Mismatch(UNCOUNTED)
            self.per_rank.append([_collective(item) for item in cast(list[Any], reading)])


def _launch(item: Any) -> dict[str, Any]:
    match item:
        case {"kernel": str(kernel), "line": int(line), "args": list(args), "kwargs": dict(named)}:
            every = [*cast(list[Any], args), *cast(dict[str, Any], named).values()]
            if all(_is_argument(value) for value in every):
                return {"kernel": kernel[:60], "line": line, "args": args, "kwargs": named}
        case _:
            pass
    raise Mismatch(UNCOUNTED)


def _is_argument(value: Any) -> bool:
    match value:
        case [str(), *rest]:
            return _is_plain(rest)
        case _:
            return False


def _is_plain(value: Any) -> bool:
    if type(value) is list:
        return all(map(_is_plain, cast(list[Any], value)))
    return value is None or type(value) in (bool, int, str)


def _collective(item: Any) -> tuple[str, int]:
    match item:
        case [str(kind), int(count)]:
            return kind[:50], count
        case _:
            raise Mismatch(UNCOUNTED)
