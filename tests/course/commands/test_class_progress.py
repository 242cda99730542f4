"""What an instructor sees while a class is graded: a bar, or in a log a line for each."""

import io
from datetime import UTC, datetime

import pytest

from grader.course.commands.progress import Bar, Mean, duration
from grader.course.database.records import Attempt

WHEN = datetime(2026, 10, 1, tzinfo=UTC)


def attempt(points: float, code: int = 0) -> Attempt:
    return Attempt("ada", "90_echo", "1", "c", WHEN, WHEN, 1.0, points, 100.0, code, {})


def test_log_has_a_line_for_each_with_mean_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((0.0, 30.0, 60.0, 90.0))
    monkeypatch.setattr("grader.course.commands.progress.time.monotonic", lambda: next(clock))
    stream, mean = io.StringIO(), Mean()

    with Bar("grading", 3, stream) as bar:
        for student, result in (
            ("ada", attempt(90)),
            ("b\x1bob", attempt(0, 3)),
            ("cat", attempt(45.5)),
        ):
            mean.add(result)
            bar.step(f"{student}: [red]{result.points:g}", str(mean))

    assert stream.getvalue().splitlines() == [
        "[1/3] ada: [red]90 (mean 90, 1 min left)",
        "[2/3] b\\x1bob: [red]0 (mean 90, 1 not gradable, 30 s left)",
        "[3/3] cat: [red]45.5 (mean 67.75, 1 not gradable)",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_terminal_has_one_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()

    with Bar("grading 90_echo", 2, stream) as bar:
        for _ in range(2):
            bar.step("ada: 90", "mean 90")

    text = stream.getvalue()
    assert "grading 90_echo" in text
    assert "2/2" in text
    assert "mean 90" in text
    assert "ada" not in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (59.0, "59 s"),
        (100.0, "2 min"),
        (3599.0, "1 h 00 min"),
        (7500.0, "2 h 05 min"),
    ],
)
def test_duration_as_a_person_writes_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text
