"""What was measured between ranks: on a terminal, as Markdown, as JSON, and as a picture."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from bench.network.run import Layer, Moved
from grader.report.facts.speed import significant
from grader.report.markup.chart import Line, draw
from grader.report.markup.web import facts_list, figures, page, table

SCHEMA = 1
TITLE = "Collectives"
HEAD = ("collective", "ranks", "bytes", "time", "algorithm", "bus")
LAYER_HEAD = ("E x F", "tokens", "ranks", "time", "speed-up", "efficiency")
HEADS = (HEAD, LAYER_HEAD)
UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def cells(item: Moved) -> tuple[str, ...]:
    """The cells below ``HEAD``."""
    rates = map(_rate, (item.algorithm, item.bus))
    return (item.kind, str(item.world), size_of(item.bytes), _time(item.seconds), *rates)


def layer_cells(item: Layer, whole: float | None) -> tuple[str, ...]:
    """The cells below ``LAYER_HEAD``; ``whole`` is the seconds of the MLP that is not split."""
    gain = whole / item.seconds if whole and item.world else None
    return (
        f"{item.width} x {item.inner}",
        str(item.tokens),
        str(item.world) if item.world else "whole",
        _time(item.seconds),
        "-" if gain is None else f"{gain:.2f}",
        "-" if gain is None else f"{100 * gain / item.world:.0f} %",
    )


def line(item: Moved | Layer) -> str:
    """What is told of a measurement while others go on."""
    return "  ".join(cells(item) if isinstance(item, Moved) else layer_cells(item, None))


def size_of(count: int) -> str:
    """Return a number of bytes in the largest unit of which there is one."""
    for unit, name in UNITS:
        if count >= unit:
            return f"{significant(count / unit)} {name}"
    return f"{count} B"


def _rate(rate: float) -> str:
    return f"{significant(rate)} GB/s" if rate >= 0.1 else f"{significant(rate * 1e3)} MB/s"


def _time(seconds: float) -> str:
    return f"{significant(seconds * 1e6)} µs"


def _rows(found: Sequence[Moved | Layer]) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    whole = {x.tokens: x.seconds for x in found if isinstance(x, Layer) and not x.world}
    moved = [cells(item) for item in found if isinstance(item, Moved)]
    return moved, [layer_cells(x, whole.get(x.tokens)) for x in found if isinstance(x, Layer)]


def render_terminal(found: Sequence[Moved | Layer]) -> list[Table]:
    """Two tables: collectives, and the MLP whole and split."""
    tables: list[Table] = []
    for head, rows in zip(HEADS, _rows(found), strict=True):
        shown = Table(*head)
        for column in shown.columns[1:]:
            column.justify = "right"
        for row in rows:
            shown.add_row(*row)
        tables += [shown] if rows else []
    return tables


def render_markdown(found: Sequence[Moved | Layer], machine: Mapping[str, str]) -> str:
    """The machine as a list, then the tables."""
    lines = [f"- {key}: {value}" for key, value in machine.items()]
    for head, rows in zip(HEADS, _rows(found), strict=True):
        if rows:
            lines += ["", _row(head), _row(("---", *["---:"] * (len(head) - 1)))]
            lines += [_row(row) for row in rows]
    return "\n".join([*lines, ""])


def _row(found: Iterable[str]) -> str:
    return f"| {' | '.join(found)} |"


def render_json(found: Sequence[Moved | Layer], machine: Mapping[str, str]) -> str:
    """Everything measured, as strict JSON."""
    moved: list[dict[str, Any]] = [
        {**asdict(x), "algorithm_gbs": x.algorithm, "bus_gbs": x.bus}
        for x in found
        if isinstance(x, Moved)
    ]
    split = [asdict(item) for item in found if isinstance(item, Layer)]
    data = {"schema": SCHEMA, "machine": dict(machine), "collectives": moved, "mlp": split}
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def render_html(found: Sequence[Moved | Layer], machine: Mapping[str, str]) -> str:
    """One page: a plot of the bus bandwidth of each collective, the tables, the machine."""
    body = [f"<h1>{TITLE}</h1>", *figures(_plots([x for x in found if isinstance(x, Moved)]))]
    body += [table(head, rows) for head, rows in zip(HEADS, _rows(found), strict=True) if rows]
    return page(TITLE, [*body, *facts_list("Measured on", machine)])


def _plots(moved: Sequence[Moved]) -> list[dict[str, str]]:
    """A figure for each kind: the largest group, and the next smaller one beside it."""
    plots: list[dict[str, str]] = []
    for kind in dict.fromkeys(item.kind for item in moved):
        worlds = sorted({item.world for item in moved if item.kind == kind})[-2:]
        lines = [
            Line(
                f"{world} ranks",
                "yours" if world == worlds[-1] else "base",
                [(x.bytes / 1e6, x.bus) for x in moved if (x.kind, x.world) == (kind, world)],
            )
            for world in worlds
        ]
        title = f"{kind}: bus bandwidth in GB/s by size"
        plots.append({"title": title, "svg": draw("GB/s", "size in MB", lines)})
    return plots
