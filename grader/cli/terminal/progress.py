"""What a person sees while a lab is graded: tests done of all, and the task at work.

Both classes draw only where their stream (standard error) is a terminal; elsewhere, in a log or
a pipe, plain lines say what goes on.
"""

from typing import Any, TextIO, cast

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.progress import Task as Bar
from rich.text import Text

from grader.labs.results import RULES, Expected, TestResult, Verdict
from grader.languages.language import labelled, say
from grader.report.formats.terminal import make_console
from grader.text import visible_line


class GradingProgress:
    """A context manager; ``on_event`` is what ``grade`` calls with each event."""

    def __init__(self, title: str, stream: TextIO, line: str = "") -> None:
        """``line`` is what a log says; by default that ``title`` is being graded."""
        self._line = line or say(f"grading {title} …")
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
        self._bar = self._progress.add_task(say("getting ready"), total=None, lost="")
        self._verdicts: dict[str, Verdict] = {}
        self._of_task: dict[str, dict[tuple[str, str], Verdict]] = {}
        self._left: dict[str, set[tuple[str, str]]] = {}  # tests to come, by task

    def __enter__(self) -> "GradingProgress":
        if self._live:
            self._progress.start()
        else:
            self._console.print(self._line)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live:
            self._progress.stop()

    @property
    def bar(self) -> Bar:
        """The bar as rich holds it: completed, total and description."""
        return self._progress.tasks[0]

    def on_event(self, kind: str, payload: Any) -> None:
        """Take what ``grade`` tells: "manifest", then "begin" and "test" for each test.

        Where kernels are compiled, "compiling" and "compiled" follow.
        """
        match kind, payload:
            case "manifest", list():
                self._expect(cast(list[Expected], payload))
            case "begin", Expected():
                self._progress.update(self._bar, description=visible_line(payload.task, 40))
            case "test", TestResult():
                self._count(payload)
            case "compiling", int():
                self._progress.update(
                    self._bar, description=say("compiling"), completed=0, total=payload, lost=""
                )
            case "compiled", _:
                self._progress.advance(self._bar)
            case _:
                pass

    def _expect(self, tests: list[Expected]) -> None:
        self._progress.update(self._bar, total=len(tests))
        for test in tests:
            self._left.setdefault(test.task, set()).add((test.suite, test.id))

    def _count(self, result: TestResult) -> None:
        # By id, since a result that came before the manifest is told again after it.
        self._verdicts[result.id] = result.verdict
        lost = sum(v not in (Verdict.PASSED, Verdict.NOT_GRADED) for v in self._verdicts.values())
        self._progress.update(
            self._bar,
            completed=len(self._verdicts),
            description=visible_line(result.task, 40),
            lost=say(f"{lost} not passed") if lost else "",
        )
        self._of_task.setdefault(result.task, {})[result.suite, result.id] = result.verdict
        left = self._left.get(result.task)
        if left and not left - {*self._of_task[result.task]}:
            left.clear()  # said once
            self._say_ended(result.task)

    def _say_ended(self, task: str) -> None:
        """Say how a task came out, in a line that stays."""
        told = self._of_task[task].items()  # a rule that is kept is no work done: reports say so
        verdicts = [v for (suite, _), v in told if suite != RULES or v is not Verdict.PASSED]
        if not verdicts:
            return
        ungraded = sum(verdict in (Verdict.NOT_GRADED, Verdict.INFRA) for verdict in verdicts)
        passed = sum(verdict is Verdict.PASSED for verdict in verdicts)
        tests = say(f"{passed} of {len(verdicts) - ungraded} tests passed")
        here = say(f", {ungraded} not graded") if ungraded else ""
        told = labelled(visible_line(task, 40), tests + here)
        self._progress.console.print(Text(f"  {told}"))


class CheckProgress:
    """What a person sees while labs are proven: a line that changes, or in a log a line each."""

    def __init__(self, stream: TextIO) -> None:
        self._console = make_console(stream)
        self._live = self._console.is_terminal and not self._console.is_dumb_terminal
        self._status = self._console.status(Text("getting ready"))

    def __enter__(self) -> "CheckProgress":
        if self._live:
            self._status.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live:
            self._status.stop()

    def on_progress(self, done: int, total: int, label: str) -> None:
        """Take what ``check_labs`` tells after each grading."""
        line = Text(f"[{done}/{total}] {visible_line(label)}")
        if self._live:
            self._status.update(line)
        else:
            self._console.print(line)
