"""What a person sees while a lab is graded: tests done of all, and the task at work.

It writes to standard error, and draws only where that is a terminal; elsewhere (a log, a pipe)
one line says that the grading began.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Any, TextIO, cast

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.progress import Task as Bar

from grader.report_terminal import make_console
from grader.results import Expected, TestResult, Verdict
from grader.text import visible_line


class GradingProgress:
    """A context manager; ``on_event`` is what ``grade`` calls with each event."""

    def __init__(self, title: str, stream: TextIO) -> None:
        self._title = title
        self._console = make_console(stream)
        self._live = self._console.is_terminal and not self._console.is_dumb_terminal
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[lost]}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._live,
        )
        self._bar = self._progress.add_task("getting ready", total=None, lost="")
        self._lost = 0

    def __enter__(self) -> "GradingProgress":
        if self._live:
            self._progress.start()
        else:
            self._console.print(f"grading {self._title} …")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live:
            self._progress.stop()

    @property
    def bar(self) -> Bar:
        """The bar as rich holds it: completed, total and description."""
        return self._progress.tasks[0]

    def on_event(self, kind: str, payload: Any) -> None:
        """Take "manifest" with the expected tests, then "test" with each result."""
        if kind == "manifest":
            expected = cast(Sequence[Expected], payload)
            self._progress.update(self._bar, total=len(expected))
        elif kind == "test":
            self._count(cast(TestResult, payload))

    def _count(self, result: TestResult) -> None:
        self._lost += result.verdict not in (Verdict.PASSED, Verdict.NOT_GRADED)
        self._progress.update(
            self._bar,
            advance=1,
            description=visible_line(result.task, 40),
            lost=f"{self._lost} not passed" if self._lost else "",
        )
