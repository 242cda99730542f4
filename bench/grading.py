"""What the seconds of a grading go to: ``lab bench grading``."""

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.labs.lab import Lab
from grader.labs.results import Report, TestResult
from grader.proxy.conversation.spent import WAITING

OUTSIDE = "files, start of the session, report"
UNKNOWN = "files, start of the session, the test that was at work"  # of one that was interrupted


@dataclass(frozen=True, slots=True)
class Account:
    """Where a grading's seconds went.

    ``kinds`` are what the session spent them on (``spent``), and what lies outside of it:
    together the whole time. ``tasks`` are the seconds of each task's tests, ``tests`` their number.
    ``alone`` are those for which nobody else could use the GPU. ``report`` is None of a grading
    that was interrupted.
    """

    lab: Lab
    report: Report | None
    kinds: dict[str, float]
    tasks: dict[str, float]
    tests: dict[str, int]
    alone: float = 0.0

    @property
    def seconds(self) -> float:
        """All of them, less the waiting for others who had the GPU."""
        return sum(self.kinds.values()) - self.kinds.get(WAITING, 0.0)

    def to_json(self) -> dict[str, Any]:
        """Return the account for a program; seconds."""
        provenance = self.report.provenance if self.report else {}
        return {
            "lab": self.lab.number,
            "device": provenance.get("device", ""),
            "points": self.report.score if self.report else None,
            "interrupted": self.report is None,
            "seconds": round(self.seconds, 2),
            "alone": round(self.alone, 2),
            "kinds": self.kinds,
            "tasks": self.tasks,
            "tests": self.tests,
        }


def account(lab: Lab, source: Path | None, device: str) -> Account:
    """Grade a submission once, by all its tests, and return what the time went to.

    An interrupt ends the grading, and the account is of what there was until then.
    """
    spent: Counter[str] = Counter()
    alone: list[float] = []
    tests: dict[tuple[str, str], TestResult] = {}

    def hear(event: str, data: Any) -> None:
        if event == "spent":
            spent.update(data)
        elif event == "alone":
            alone.append(data)
        elif event == "test":
            tests[data.suite, data.id] = data

    started = time.monotonic()
    try:
        report = grade(Request(lab, source, device), on_event=hear)
    except KeyboardInterrupt:
        report = None
    whole = report.provenance["seconds"] if report else time.monotonic() - started
    numbers = Counter(test.task for test in tests.values())
    tasks = {
        task: round(sum(test.seconds for test in tests.values() if test.task == task), 3)
        for task in numbers
    }
    named = {what: round(seconds, 3) for what, seconds in spent.items()}
    rest = OUTSIDE if report else UNKNOWN
    kinds = {rest: round(max(0.0, whole - sum(named.values())), 3), **named}
    return Account(lab, report, kinds, tasks, dict(numbers), sum(alone))


def render(found: Account) -> list[Table]:
    """Return two tables: what the seconds went to, and the tasks that they went to."""
    title = f"lab {found.lab.number}: {found.seconds:.1f} s"
    if found.report is None:
        title += " until it was interrupted"
    if found.alone:
        title += f", {found.alone:.1f} of them alone on the GPU"
    kinds = Table(title=title, title_justify="left")
    for name in ("went to", "seconds", "share"):
        kinds.add_column(name, justify="left" if name == "went to" else "right")
    for what, seconds in sorted(found.kinds.items(), key=lambda item: -item[1]):
        share = "" if what == WAITING else f"{seconds / max(found.seconds, 1e-9):.0%}"
        kinds.add_row(what, f"{seconds:.2f}", share)
    tasks = Table()
    for name in ("task", "tests", "seconds"):
        tasks.add_column(name, justify="left" if name == "task" else "right")
    for task, seconds in sorted(found.tasks.items(), key=lambda item: -item[1]):
        tasks.add_row(task, str(found.tests[task]), f"{seconds:.2f}")
    return [kinds, tasks]
