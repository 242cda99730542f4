"""What is drawn while a lab is graded, on a terminal and elsewhere."""

import io

import pytest
from stand_ins.sample_reports import HOSTILE

from grader.cli.progress import GradingProgress
from grader.labs.results import Expected, TestResult, Verdict


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def outcome(name: str, verdict: Verdict) -> TestResult:
    return TestResult(name, "norm", "hidden", verdict)


def test_the_bar_counts_each_test_once() -> None:
    with GradingProgress("01_llama", io.StringIO()) as progress:
        progress.on_event("test", outcome("early", Verdict.FAILED))  # known before the manifest
        progress.on_event("manifest", [Expected(name, "norm", "hidden") for name in "abc"])
        progress.on_event("test", outcome("early", Verdict.FAILED))
        progress.on_event("test", outcome("a", Verdict.PASSED))
        progress.on_event("begin", Expected("b", "rope", "hidden"))

    assert (progress.bar.completed, progress.bar.total) == (2, 3)
    assert progress.bar.description == "rope"
    assert progress.bar.fields["lost"] == "1 not passed"


def test_nothing_is_drawn_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    with GradingProgress("01_llama", stream) as progress:
        progress.on_event("test", outcome("a", Verdict.PASSED))
    assert stream.getvalue() == "grading 01_llama …\n"


def test_a_terminal_gets_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()

    with GradingProgress("01_llama", stream) as progress:
        progress.on_event("manifest", [Expected("a", HOSTILE, "hidden")])
        progress.on_event("begin", Expected("a", HOSTILE, "hidden"))

    drawn = stream.getvalue()
    assert "0/1" in drawn
    assert "\x1b[?25l" in drawn  # the cursor is hidden meanwhile
    assert "\x1b[?25h" in drawn
    assert "\x1b]0;" not in drawn
