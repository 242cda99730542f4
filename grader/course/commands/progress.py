"""What a person sees while a class is collected or graded.

A bar with the running mean and the time left where standard error is a terminal; elsewhere, in a
log or a pipe, a line for each student.
"""

import time
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from grader.course.database.records import Attempt
from grader.report.formats.terminal import make_console
from grader.text import number, visible_line


class Bar:
    """A context manager; ``step`` counts one more and says what is known now."""

    def __init__(self, title: str, total: int, stream: TextIO) -> None:
        self._console: Console = make_console(stream)
        self._live = self._console.is_terminal and not self._console.is_dumb_terminal
        self._progress = Progress(
            TextColumn(title, markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[told]}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._live,
        )
        self._total = total
        self._bar = self._progress.add_task("", total=total, told="")
        self._done = 0
        self._started = time.monotonic()

    def __enter__(self) -> "Bar":
        if self._live:
            self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live:
            self._progress.stop()

    def step(self, line: str, summary: str = "") -> None:
        """Count one student; ``line`` is for a log, ``summary`` for both."""
        self._done += 1
        left = (time.monotonic() - self._started) / self._done * (self._total - self._done)
        told = ", ".join(filter(None, (summary, f"{duration(left)} left" if left else "")))
        self._progress.update(self._bar, completed=self._done, told=told)
        if not self._live:
            told = f" ({told})" if told else ""
            line = f"[{self._done}/{self._total}] {visible_line(line)}{told}"
            self._console.print(line, markup=False, soft_wrap=True)


class Mean:
    """The running mean of a class, of what could be graded."""

    def __init__(self) -> None:
        self._points: list[float] = []
        self._failed = 0

    def add(self, attempt: Attempt) -> None:
        """Count an attempt; one that failed by our fault has no points."""
        if attempt.infra:
            self._failed += 1
        else:
            self._points.append(attempt.points)

    def __str__(self) -> str:
        told = [f"mean {number(sum(self._points) / len(self._points))}"] if self._points else []
        told += [f"{self._failed} not gradable"] if self._failed else []
        return ", ".join(told)


def duration(seconds: float) -> str:
    """Write seconds as a person does: 40 s, 4 min, 2 h 05 min."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
