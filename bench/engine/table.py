"""The table of ``lab bench engine``: on a terminal, as Markdown, as JSON."""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from rich.text import Text

from bench.engine.lines import Line
from grader.report.facts.speed import significant
from grader.text import visible_line

SCHEMA = 1
TITLE = "The reference engine"
HEAD = ("peer", "tokens/s", "spread", "of roof", "ratio", "spread")
WIDTHS = (10, 8, 8, 7, 8)  # of the columns after the first, on a terminal


def cells(line: Line) -> tuple[str, ...]:
    """The cells below ``HEAD``; a problem stands in the place of the rate."""
    if line.problem or line.rate is None:
        return (line.peer, line.problem, "", "", "", "")
    return (
        line.peer,
        significant(line.rate),
        _per_cent(line.spread),
        _per_cent(line.share),
        "-" if line.ratio is None else f"{line.ratio:.2f}",
        "-" if line.peer == line.baseline else _per_cent(line.ratio_spread),
    )


def _per_cent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def groups(lines: Sequence[Line]) -> list[tuple[str, list[Line]]]:
    """The lines of each case below a title that says what its ratios refer to."""
    found: list[tuple[str, list[Line]]] = []
    for case, members in itertools.groupby(lines, lambda line: line.case):
        each = list(members)
        baseline = next((line.baseline for line in each if line.baseline), "")
        found.append((case + f"; ratio to {baseline}" * bool(baseline), each))
    return found


def render_terminal(lines: Sequence[Line], machine: Mapping[str, str]) -> Text:
    """The table for ``Console.print``, 80 columns wide, the machine in a line below it."""
    shown = Text()
    for title, members in groups(lines):
        shown.append(f"\n{visible_line(title)}\n", style="bold")
        shown.append(_columns(HEAD), style="dim")
        for line in members:
            shown.append(_columns(cells(line)), style="yellow" if line.problem else "")
            if line.note:
                shown.append(f"    {visible_line(line.note)}\n", style="dim")
    facts = " · ".join(f"{key} {value}" for key, value in machine.items())
    return shown.append(f"\n{visible_line(facts, 2000)}", style="dim")


def _columns(found: Sequence[str]) -> str:
    name, *numbers = map(visible_line, found)
    if not any(numbers[1:]):
        return f"  {name:<22} {numbers[0]}\n"  # a problem, as long as it is
    wide = (f"{text:>{width}}" for text, width in zip(numbers, WIDTHS, strict=True))
    return f"  {name:<22} {' '.join(wide)}\n"


def render_markdown(lines: Sequence[Line], machine: Mapping[str, str]) -> str:
    """The machine as a list, then the table."""
    facts = [f"- {key}: {_plain(value)}" for key, value in machine.items()]
    head = [_row(("case", *HEAD)), _row(("---", "---", *["---:"] * 5))]
    rows = [
        _row(map(_plain, ("" if index else title, *_noted(line))))
        for title, members in groups(lines)
        for index, line in enumerate(members)
    ]
    return "\n".join([*facts, "", *head, *rows, ""])


def _noted(line: Line) -> tuple[str, ...]:
    peer, *others = cells(line)
    return (f"{peer} ({line.note})" if line.note else peer, *others)


def _row(found: Iterable[str]) -> str:
    return f"| {' | '.join(found)} |"


def _plain(text: str) -> str:
    return visible_line(text, 2000).replace("|", "\\|").replace("<", "&lt;")


def render_json(lines: Sequence[Line], machine: Mapping[str, str]) -> str:
    """Everything measured, as strict JSON; ``share`` is of the roof."""
    shown = [asdict(line) | {"share": line.share} for line in lines]
    data = {"schema": SCHEMA, "machine": dict(machine), "lines": shown}
    return json.dumps(data, indent=2, allow_nan=False) + "\n"
