"""Plots that a suite records: drawn in the page, told in a line, and never in the way."""

import base64
import io
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console
from stand_ins.sample_reports import mixed, report_of

from grader.judge.plugin.recorder import Recorder
from grader.report.formats.html import render_html
from grader.report.formats.terminal import render_terminal
from grader.report.markup.plots import plots_of

COSTS: dict[str, Any] = {
    "title": "cost of a step",
    "axis": "tokens so far",
    "unit": "FLOPs",
    "yours": [[8, 11.0], [16, 12.0], [24, 13.0]],
    "other": [[8, 90.0], [16, 180.0], [24, 280.0]],
    "other_name": "no cache",
}


def pictures(extras: dict[str, Any]) -> list[str]:
    page = render_html(report_of(*mixed().tests, extras=extras))
    found = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page)
    return [base64.b64decode(data).decode() for data in found]


def terminal(extras: dict[str, Any]) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(render_terminal(report_of(*mixed().tests, extras=extras)))
    return console.export_text()


def test_what_is_recorded_is_what_the_report_reads():
    events: list[tuple[str, Any]] = []
    record = Recorder(lambda event, data: events.append((event, data)))

    record("t", axis="a", unit="u", yours=[(2, 5.0), (1, 4.0)], other=[(1, 9)], other_name="o")

    ((event, data),) = events
    (plot,) = plots_of(report_of(*mixed().tests, extras={"plots": [data]}))
    assert event == "plot"
    assert (plot.title, plot.axis, plot.unit, plot.other_name) == ("t", "a", "u", "o")
    assert plot.yours == ((1, 4.0), (2, 5.0))
    assert plot.other == ((1, 9.0),)


def test_nothing_is_recorded_without_points():
    events: list[str] = []

    Recorder(lambda event, _: events.append(event))(
        "t", axis="a", unit="u", yours=[], other=[(1, 9)], other_name="o"
    )

    assert events == []


def test_the_page_shows_both_lines():
    (svg,) = pictures({"plots": [COSTS]})

    root = ElementTree.fromstring(svg)
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"yours", "no cache", "FLOPs", "tokens so far"} <= set(texts)
    lines = [e.attrib["points"].split() for e in root.iter() if e.tag.endswith("polyline")]
    assert [len(line) for line in lines] == [3, 3]
    other, yours = ([float(p.split(",")[1]) for p in line] for line in lines)
    assert all(y > o for y, o in zip(yours, other, strict=True))  # down is less


def test_the_terminal_tells_the_last_point():
    shown = terminal({"plots": [COSTS]})

    assert "cost of a step, at 24 tokens so far: 13 (no cache: 280)" in shown


NONSENSE: dict[str, Any] = {
    "a word": "plots",
    "entries": [None, 3, "x", [], {}],
    "no points": [COSTS | {"yours": []}],
    "wrong points": [COSTS | {"yours": [None, 4, [], [1], ["a", "b"], [0, 1], [1, -2], [True, 2]]}],
    "not finite": [COSTS | {"yours": [[1.0, float("nan")], [float("inf"), 2.0]]}],
}


@pytest.mark.parametrize("plots", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_not_shown(plots: Any):
    assert pictures({"plots": plots}) == []
    assert "cost of a step" not in terminal({"plots": plots})


@pytest.mark.parametrize(
    "changes",
    [
        {"other": []},
        {"other": "x", "title": 3, "axis": None},
        {"yours": [[5, 0]], "other": []},
        {"title": "</svg><script>", "other_name": "<b>&"},
        {"yours": [[5, 1.0], [5, 2.0]]},
    ],
    ids=str,
)
def test_odd_plots_are_drawn_all_the_same(changes: dict[str, Any]):
    (svg,) = pictures({"plots": [COSTS | changes]})

    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert terminal({"plots": [COSTS | changes]})
