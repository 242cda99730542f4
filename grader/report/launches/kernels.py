"""Compiled kernels for a person at a terminal: a table for each, and what has no table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.labs.cards import CARDS, Occupancy, occupancy
from grader.labs.compiled import Compiled
from grader.text import number, visible_line

HEAD = ("target", "registers", "spills", "shared", "blocks", "warps", "limit", "B/load", "tl.dot")
MOST_LAUNCH = 150


@dataclass(frozen=True, slots=True)
class Made:
    """A compiled kernel, the launch that it is for in words, and how many launches there were."""

    compiled: Compiled
    launch: str
    launches: int

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """Rebuild what crossed from the session."""
        facts: dict[str, Any] = {f.name: data[f.name] for f in fields(Compiled)}
        facts["loads"] = {int(size): count for size, count in facts["loads"].items()}
        facts["matrix"] = tuple(facts["matrix"])
        return cls(Compiled(**facts), data["launch"], data["of"])

    @property
    def occupancy(self) -> Occupancy:
        """What of it fits onto its card."""
        made = self.compiled
        return occupancy(CARDS[made.target], made.registers, made.shared, max(1, made.warps))

    def more_json(self) -> dict[str, Any]:
        """Return what JSON has beside the figures of the compiler."""
        fit = self.occupancy
        card = CARDS[self.compiled.target].name
        more: dict[str, Any] = {"card": card, "launch": self.launch, "launches": self.launches}
        if not self.compiled.error:
            more |= {"blocks_per_sm": fit.blocks, "warps_per_sm": fit.warps, "limit": fit.limit}
        return more


def render_kernels(made: Sequence[Made]) -> Group:
    """Return all kernels, each with its launch, a row a target, and its errors."""
    names = dict.fromkeys((one.compiled.kernel, _first_line(made, one)) for one in made)
    parts: list[RenderableType] = []
    for name, line in names:
        parts += _of_kernel(name, line, [one for one in made if one.compiled.kernel == name])
    return Group(*parts)


def _first_line(made: Sequence[Made], one: Made) -> int:
    """Return the line of a kernel: that of an error may lie anywhere in it."""
    good = (m.compiled for m in made if m.compiled.kernel == one.compiled.kernel)
    return next((each.line for each in good if not each.error), 0)


def _of_kernel(name: str, line: int, made: list[Made]) -> Iterable[RenderableType]:
    kinds = len({one.launch for one in made})
    where = f", line {line}" if line else ""
    done = "tried" if all(one.compiled.error for one in made) else "compiled"
    ways = "one way" if made[0].launches == 1 else f"{made[0].launches} ways, {kinds} {done}"
    launches = f"launched in {ways}"
    yield Text.assemble((visible_line(name), "bold"), f"{where}: {launches}")
    yield Padding(Text(visible_line(made[0].launch, MOST_LAUNCH), style="dim"), (0, 0, 0, 2))
    shown = [one for one in made if one.launch == made[0].launch]
    rows = [one for target in CARDS for one in shown if one.compiled.target == target]
    good = [one for one in rows if not one.compiled.error]
    if good:
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
        for title in HEAD:
            table.add_column(title, justify="left" if title in ("target", "limit") else "right")
        for one in good:
            table.add_row(*map(Text, _row(one)))
        yield Padding(table, (0, 0, 0, 2))
    yield from (Padding(text, (0, 0, 0, 2)) for text in _errors(made))
    yield Text()


def _row(one: Made) -> tuple[str, ...]:
    made, fit = one.compiled, one.occupancy
    few = dict.fromkeys(str(least(made.loads)) for least in (min, max)) if made.loads else ()
    loads = " to ".join(few) or ("TMA" if made.bulk else "none")
    multiplies = ", ".join(name.partition(".")[0] for name in made.matrix)
    dot = multiplies or ("no" if made.dot else "none")
    return (
        *(made.target, str(made.registers), f"{made.spills} B", _size(made.shared)),
        *(str(fit.blocks), str(fit.warps), fit.limit, loads, dot),
    )


def _size(count: int) -> str:
    return f"{number(round(count / 1024, 1))} KiB" if count >= 1024 else f"{count} B"


def _errors(made: list[Made]) -> Iterable[Text]:
    """Return each error once, with the targets that have it."""
    found: dict[tuple[int, str], dict[str, None]] = {}
    for one in made:
        if one.compiled.error:
            place = one.compiled.line, one.compiled.error
            found.setdefault(place, {})[one.compiled.target] = None
    for (line, text), targets in found.items():
        yield Text(f"line {line}: {visible_line(text)} ({', '.join(targets)})", style="red")
    for one in made:
        fit = one.occupancy
        if not one.compiled.error and not fit.blocks:
            card = CARDS[one.compiled.target].name
            text = f"{one.compiled.target}: no block fits on an {card}: {fit.limit}"
            yield Text(text, style="red")
