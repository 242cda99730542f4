"""Where two tensors differ, as a table that can be read without colour: values, marks, places.

Only public tests record it, whose values everyone may see. A report of another version, or one
written by hand, may hold anything under ``extras["differences"]``: it never breaks a page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.labs.results import Report, TestResult
from grader.languages.language import say
from grader.report.facts.measured import listed, number_of, table_of, text_of
from grader.report.markup.web import escaped

MOST_SIDE = 16
MARKS = ("", "✗", "✗✗", "✗✗✗")  # by how far a value is off
LEGEND = "✗ off, up to 10 times what is allowed; ✗✗ up to 100 times; ✗✗✗ more, or not at all equal"
_CELL = "padding:.15rem .5rem;border:1px solid #8884;text-align:right;white-space:nowrap"
_RULES = {
    "difference": "overflow-x:auto",
    "values": "border-collapse:collapse;width:auto;font-size:.85em",
    "same": _CELL,
    "off-1": f"{_CELL};background:#d9822b26",
    "off-2": f"{_CELL};background:#d9822b66",
    "off-3": f"{_CELL};background:#b3261e80",
}
_KINDS = ("same", "off-1", "off-2", "off-3")
STYLE = "".join(
    f".{kind} {{ {rule} }}\n" for kind, rule in _RULES.items()
)  # for what ``classed`` returns


@dataclass(frozen=True, slots=True)
class Difference:
    """A part of a tensor beside what was expected; all lists have the same rows and columns."""

    what: str
    place: str  # "rows 0-3, columns 2-9 of [2, 4, 16] at [1]"
    top: int
    left: int
    got: Sequence[Sequence[str]]
    expected: Sequence[Sequence[str]]
    off: Sequence[Sequence[int]]  # 0 to 3, as an index into MARKS

    @property
    def html(self) -> str:
        """The table, each value that is off with its mark and with what was expected.

        It carries its own style, for a place that takes no sheet.
        """
        return self._drawn({kind: f'style="{rule}"' for kind, rule in _RULES.items()})

    @property
    def classed(self) -> str:
        """The same by classes, which ``STYLE`` is for."""
        return self._drawn({kind: f'class="{kind}"' for kind in _RULES})

    def _drawn(self, kinds: Mapping[str, str]) -> str:
        columns = range(self.left, self.left + max(map(len, self.got)))
        head = "".join(f"<th {kinds['same']}>{column}</th>" for column in columns)
        lines = [f"<tr><th {kinds['same']}></th>{head}</tr>"]
        for at, cells in enumerate(zip(self.got, self.expected, self.off, strict=True)):
            row = "".join(_cell(*cell, kinds) for cell in zip(*cells, strict=True))
            lines.append(f"<tr><th {kinds['same']}>{self.top + at}</th>{row}</tr>")
        what, place = self.what, say(self.place)
        title = say(f"got, and below it what was expected where that differs: {what}, {place}")
        return (
            f"<div {kinds['difference']}><p>{escaped(title)}</p>"
            f"<table {kinds['values']}>{''.join(lines)}</table>"
            f"<p><small>{escaped(say(LEGEND))}</small></p></div>"
        )


def difference_of(report: Report, test: TestResult) -> Difference | None:
    """Return what a failed test recorded, None if it recorded nothing that can be shown."""
    for entry in map(table_of, listed(report.extras.get("differences"))):
        if (entry.get("suite"), entry.get("test")) == (test.suite, test.id):
            return _difference(entry)
    return None


def _cell(got: str, expected: str, off: int, kinds: Mapping[str, str]) -> str:
    kind = kinds[_KINDS[off]]
    if not off:
        return f"<td {kind}>{escaped(got)}</td>"
    text = f"{escaped(MARKS[off])} {escaped(got)}<br><small>{escaped(expected)}</small>"
    return f"<td {kind}>{text}</td>"


def _difference(entry: Mapping[str, Any]) -> Difference | None:
    got, expected = (_rows(entry.get(key), text_of) for key in ("got", "expected"))
    off = _rows(entry.get("off"), _level)
    shapes = {tuple(map(len, rows)) for rows in (got, expected, off)}
    if len(shapes) != 1 or not got or len({*map(len, got)}) != 1 or not got[0]:
        return None
    top, left = (int(number_of(entry.get(key)) or 0) for key in ("top", "left"))
    shape, outer = (
        [int(number_of(item) or 0) for item in listed(entry.get(key))[:10]]
        for key in ("shape", "outer")
    )
    bottom, right = top + len(got) - 1, left + len(got[0]) - 1
    place = f"columns {left}-{right} of {shape}"
    if len(shape) > 1:
        place = f"rows {top}-{bottom}, columns {left}-{right} of {shape}"
    at = f" at {outer}" if outer else ""
    return Difference(text_of(entry.get("what")), place + at, top, left, got, expected, off)


def _rows(value: object, of: Any) -> list[list[Any]]:
    return [[of(item) for item in listed(row)[:MOST_SIDE]] for row in listed(value)[:MOST_SIDE]]


def _level(value: object) -> int:
    number = number_of(value)
    return min(3, max(0, int(number))) if number is not None else 0
