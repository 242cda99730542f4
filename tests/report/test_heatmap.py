"""Where tensors differ, as a table: read without colour, and harmless whatever a report holds."""

from typing import Any

import pytest
import torch
from stand_ins.sample_reports import report_of, result

from grader.errors import Mismatch
from grader.labs.results import Report, Verdict
from grader.proxy.values.compare import assert_close, assert_equal
from grader.proxy.values.shown import differing, revealing
from grader.report.formats.forms import Form, render
from grader.report.markup.heatmap import difference_of

FAILED = result("norm", Verdict.FAILED)


def recorded(got: torch.Tensor, want: torch.Tensor, *, public: bool = True) -> list[dict[str, Any]]:
    """Return what a comparison that fails records."""
    exact = want.dtype == torch.int64
    expected = (want,) if exact else (want.double(), "matmul")
    with revealing(public), differing() as found, pytest.raises(Mismatch):
        (assert_equal if exact else assert_close)(got, *expected)
    return found


def report_with(entry: Any) -> Report:
    place = {"suite": FAILED.suite, "test": FAILED.id}
    entry = {**place, **entry} if isinstance(entry, dict) else entry
    return report_of(FAILED, extras={"differences": [entry]})


def test_values_around_the_worst_place_are_recorded_with_how_far_they_are_off() -> None:
    want = torch.arange(1.0, 601.0).view(2, 20, 15)
    got = want.clone()
    got[1, 18, 13] += 100.0
    got[1, 17, 13] += 0.3

    (entry,) = recorded(got, want)

    assert (entry["outer"], entry["top"], entry["left"]) == ([1], 12, 7)
    assert entry["got"][6][6] == "684.0"
    assert entry["expected"][6][6] == "584.0"
    assert [entry["off"][5][6], entry["off"][6][6], entry["off"][0][0]] == [1, 3, 0]
    assert {len(row) for row in entry["off"]} == {8} == {len(entry["off"])}


def test_nothing_of_a_hidden_test_is_recorded() -> None:
    assert recorded(torch.ones(3), torch.zeros(3), public=False) == []


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (torch.tensor([1, 2, 3]), torch.tensor([1, 2, 4])),
        (torch.tensor([1.0, float("nan"), 3.0]), torch.tensor([1.0, 2.0, 3.0])),
        (torch.tensor([1.0, float("inf"), 3.0]), torch.tensor([1.0, 2.0, 3.0])),
    ],
)
def test_difference_of_a_row_is_a_table_of_one(got: torch.Tensor, want: torch.Tensor) -> None:
    (entry,) = recorded(got, want)

    difference = difference_of(report_with(entry), FAILED)

    assert difference is not None
    assert difference.place == "columns 0-2 of [3]"
    assert difference.html.count("✗✗✗ ") == 1 + 1  # the value, and the legend
    assert difference.classed in render(report_with(entry), Form.HTML).decode()


@pytest.mark.parametrize(
    "entry",
    [
        None,
        7,
        {},
        {"got": [["1"]], "expected": [["2"]], "off": [[1, 1]]},
        {"got": [["1"], []], "expected": [["2"], []], "off": [[1], []]},
        {"got": [[]], "expected": [[]], "off": [[]]},
        {"got": "1", "expected": "2", "off": "3"},
    ],
)
def test_what_is_no_difference_is_left_out(entry: Any) -> None:
    report = report_with(entry)

    assert difference_of(report, FAILED) is None
    assert b"<h1>" in render(report, Form.HTML)


def test_texts_of_a_difference_are_escaped() -> None:
    bad = "<script>\x1b[2J"
    entry = {"what": bad, "got": [[bad]], "expected": [[bad]], "off": [["x"]], "shape": [bad]}

    for off in ("x", 1e300, -5, True):
        difference = difference_of(report_with({**entry, "off": [[off]]}), FAILED)
        assert difference is not None
        assert "<script" not in difference.html
        assert "\x1b" not in difference.html
