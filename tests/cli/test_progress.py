"""What is drawn while a lab is graded, on a terminal and elsewhere."""

import io
from dataclasses import replace

import pytest
from stand_ins.sample_reports import HOSTILE

from grader.cli.terminal.progress import GradingProgress
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


def ended(stream: io.StringIO, *verdicts: Verdict) -> list[str]:
    """Return the lines that a task of so many tests leaves, told twice as after a death."""
    with GradingProgress("01_llama", stream) as progress:
        for _ in range(2):
            names = [str(number) for number in range(len(verdicts))]
            progress.on_event("manifest", [Expected(name, "norm", "hidden") for name in names])
            for name, verdict in zip(names, verdicts, strict=True):
                progress.on_event("test", outcome(name, verdict))
    return stream.getvalue().splitlines()


def test_a_log_has_a_line_for_each_task_as_it_ends() -> None:
    lines = ended(io.StringIO(), Verdict.PASSED, Verdict.FAILED, Verdict.SKIPPED)

    assert lines[:2] == ["grading 01_llama …", "  norm: 1 of 3 tests passed"]


def test_what_is_not_graded_is_no_failure() -> None:
    lines = ended(io.StringIO(), Verdict.PASSED, Verdict.NOT_GRADED, Verdict.INFRA)

    assert lines[1] == "  norm: 1 of 1 tests passed, 2 not graded"


def test_a_terminal_has_that_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")

    drawn = "\n".join(ended(Terminal(), Verdict.PASSED))

    assert "norm: 1 of 1 tests passed" in drawn


def test_a_task_that_has_not_ended_has_no_line() -> None:
    stream = io.StringIO()

    with GradingProgress("01_llama", stream) as progress:
        progress.on_event("manifest", [Expected(name, "norm", "hidden") for name in "ab"])
        progress.on_event("test", outcome("a", Verdict.PASSED))

    assert stream.getvalue() == "grading 01_llama …\n"


def test_a_rule_that_is_kept_counts_as_no_test() -> None:
    stream = io.StringIO()
    rule = Expected("rules[norm]", "norm", "rules")
    with GradingProgress("01_llama", stream) as progress:
        test = Expected("a", "norm", "x")
        progress.on_event("manifest", [rule, replace(rule, task="rope"), test])
        for task in ("norm", "rope"):
            progress.on_event("test", TestResult("rules[norm]", task, "rules", Verdict.PASSED))
        progress.on_event("test", TestResult("a", "norm", "x", Verdict.FAILED))

    assert stream.getvalue().splitlines()[1:] == ["  norm: 0 of 1 tests passed"]
