"""Metered launches for a person at a terminal: what moves, what is computed, how fast at best."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.labs.cards import ROOFS, Roof, Times, times
from grader.labs.metered import Metered, Tuned
from grader.report.facts.quantities import amount, duration
from grader.report.facts.speed import significant
from grader.text import visible_line

MOST_LAUNCH = 150
MOST_CONFIGS = 12  # that are listed
ONCE = 1.005  # times that are told as one
TENSOR_HEAD = ("tensor", "loaded", "stored", "atomic", "at least", "requested")
CARD_HEAD = ("card", "memory", "float32", "tensor", "special", "at least", "bound by", "uncached")
MEANS = (
    "at least: each byte that a launch has to read or write, once.",
    "Times: what a card needs at the peaks that its maker publishes: for the bytes at least, for"
    " FLOPs outside of tensor cores and on them, for special functions.",
    "The longest of them is the least that the launch takes; uncached is the memory's time if every"
    " request went there.",
)


@dataclass(frozen=True, slots=True)
class Gauged:
    """A metered launch, and the launch in words."""

    metered: Metered
    launch: str

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """Rebuild what crossed from the session."""
        return cls(Metered.of(data), str(data["launch"]))

    def times(self, roof: Roof, *, uncached: bool = False) -> Times:
        """What each part of a card needs for it."""
        made = self.metered
        moved = made.requested if uncached else made.least
        return times(roof, moved, made.flops, made.dots, sum(made.special.values()))

    @property
    def size(self) -> tuple[int, int]:
        """By what the largest launch of a kernel is chosen: what it is about, then its work.

        A block of which masks leave little computes as much as a full one.
        """
        return self.metered.least, self.metered.requested + self.metered.operations

    @property
    def intensity(self) -> float:
        """FLOPs for each byte that has to move; 0 where none does."""
        return self.metered.operations / self.metered.least if self.metered.least else 0.0

    @property
    def requested_intensity(self) -> float:
        """FLOPs for each byte that is asked for."""
        asked = self.metered.requested
        return self.metered.operations / asked if asked else 0.0

    @property
    def often(self) -> str:
        """How many times as many bytes are asked for as must move, in words."""
        return often(self.metered.requested, self.metered.least)

    def to_json(self) -> dict[str, Any]:
        """Return all of it, with the times of each card in seconds."""
        cards: dict[str, Any] = {}
        for roof in ROOFS:
            own, uncached = self.times(roof), self.times(roof, uncached=True)
            parts = {field.name: getattr(own, field.name) for field in fields(Times)}
            more = {"least": own.least, "bound": own.bound, "uncached": uncached.memory}
            cards[roof.name] = parts | more
        made = self.metered
        sums = {"requested": made.requested, "least": made.least, "operations": made.operations}
        return {**made.to_json(), **sums, "launch": self.launch, "cards": cards}


def largest(gauged: Sequence[Gauged]) -> list[Gauged]:
    """Return of each kernel its largest launch, in the order of their lines."""
    found: dict[tuple[int, str], Gauged] = {}
    for one in gauged:
        key = one.metered.line, one.metered.kernel
        if key not in found or one.size > found[key].size:
            found[key] = one
    return [found[key] for key in sorted(found)]


def render_rooflines(gauged: Sequence[Gauged], tuned: Sequence[Tuned]) -> Group:
    """Return each kernel with its largest launch, and what the autotuner may choose."""
    parts: list[RenderableType] = []
    for number, one in enumerate(largest(gauged), 1):
        name, line = one.metered.kernel, one.metered.line
        alike = [
            each for each in gauged if (each.metered.kernel, each.metered.line) == (name, line)
        ]
        parts += [*_head(number, one, alike), *_of_launch(one), Text()]
    return Group(*parts, render_tuned(tuned), Text(" ".join(MEANS), style="dim"))


def render_tuned(tuned: Sequence[Tuned]) -> Group:
    """Return the kernels that are left to the autotuner, each with what it may choose."""
    return Group(*(part for kernel in tuned for part in (*_of_tuned(kernel), Text())))


def _head(number: int, one: Gauged, alike: Sequence[Gauged]) -> Iterable[RenderableType]:
    made = one.metered
    launched = sum(each.metered.times for each in alike)
    kinds = f" in {len(alike)} ways, the largest:" if len(alike) > 1 else ""
    often = "once" if launched == 1 else f"{launched:,} times"
    yield Text.assemble(
        (f"{number} {visible_line(made.kernel)}", "bold"),
        f", line {made.line}: launched {often}{kinds}",
    )
    words = f"{visible_line(one.launch, MOST_LAUNCH)}; grid {grid_of(made)}"
    yield Padding(Text(words, style="dim"), (0, 0, 0, 2))


def grid_of(made: Metered) -> str:
    """Return the grid without the axes behind it that have one program."""
    axes = max((n + 1 for n, size in enumerate(made.grid) if size != 1), default=1)
    return " x ".join(map(str, made.grid[:axes]))


def _of_launch(one: Gauged) -> Iterable[RenderableType]:
    yield Padding(_table(TENSOR_HEAD, tensor_rows(one.metered), left=("tensor",)), (0, 0, 0, 2))
    yield Padding(Text(computed(one)), (0, 0, 0, 2))
    if one.metered.partial:
        text = "some lanes point outside of every tensor that was passed, or into one of 2 GiB and"
        yield Padding(
            Text(f"{text} more: what must move at least is not known whole"), (0, 0, 0, 2)
        )
    yield Padding(_table(CARD_HEAD, card_rows(one), left=("card", "bound by")), (0, 0, 0, 2))


def tensor_rows(made: Metered) -> Iterable[tuple[str, ...]]:
    for tensor in made.tensors:
        least = tensor.read_once + tensor.written_once
        asked = tensor.loaded + tensor.stored + 2 * tensor.atomic
        moved = (tensor.loaded, tensor.stored, tensor.atomic, least)
        name = visible_line(tensor.name, 24)
        yield (name, *(amount(n, "B") if n else "-" for n in moved), often(asked, least))
    if len(made.tensors) > 1:
        moved = (made.loaded, made.stored, made.atomic, made.least)
        ratio = often(made.requested, made.least)
        yield ("all", *(amount(n, "B") if n else "-" for n in moved), ratio)


def often(asked: int, least: int) -> str:
    """Say how many times as many bytes are asked for as must move."""
    if not least:
        return "-"
    return "once" if asked < ONCE * least else f"{significant(asked / least)} times"


def computed(one: Gauged) -> str:
    """Say in a sentence what a launch computes."""
    made = one.metered
    parts = [f"{amount(n, 'FLOP')} ({kind})" for kind, n in made.flops.items()]
    parts += [f"{amount(n, 'FLOP')} in tl.dot ({kind})" for kind, n in made.dots.items()]
    parts += [f"{amount(n, '')} {name}" for name, n in made.special.items()]
    text = ", ".join(visible_line(part, 60) for part in parts) or "no arithmetic on floats"
    if made.operations and made.least:
        text += f"; {significant(one.intensity)} FLOP for each byte that must move"
    return text


def card_rows(one: Gauged) -> Iterable[tuple[str, ...]]:
    for roof in ROOFS:
        own, uncached = one.times(roof), one.times(roof, uncached=True)
        parts = (own.memory, own.vector, own.matrix, own.special, own.least)
        shown = (duration(part) if part else "-" for part in parts)
        yield (roof.name, *shown, own.bound or "-", duration(uncached.memory))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for title in head:
        table.add_column(title, justify="left" if title in left else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _of_tuned(kernel: Tuned) -> Iterable[RenderableType]:
    keys = ", ".join(visible_line(key, 40) for key in kernel.keys) or "nothing"
    count = len(kernel.configs)
    yield Text.assemble(
        (visible_line(kernel.kernel), "bold"),
        f", line {kernel.line}: the autotuner chooses among {count}, anew for each {keys}",
    )
    for config in kernel.configs[:MOST_CONFIGS]:
        yield Padding(Text(visible_line(config, 200)), (0, 0, 0, 2))
    if count > MOST_CONFIGS:
        yield Padding(Text(f"… and {count - MOST_CONFIGS} more"), (0, 0, 0, 2))
