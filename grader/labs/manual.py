"""A lab that people grade (``grading = "manual"``): collected, read and commented, never run.

Its lab.toml names the files that are handed in; points come of its rubric, or by hand.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from grader.labs.results import MANUAL, Report, TaskResult, TestResult
from grader.labs.task import Task
from grader.labs.toml import Table

JUDGE = "judge"
MOST_FILES = 20
PEOPLE = "people"  # the suite of an attempt that no test judged and no test will
FILES = "files"  # the suite of what is looked at before work is handed in
WAITING = "waiting for a reader"
READ = "read"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_FOR_TESTS = ("imports", "preload", "reads", "limits", "rules")  # of lab.toml


def read_files(top: Table) -> tuple[str, ...]:
    """Return the files that are handed in of a manual lab; none where the judge grades.

    Raises ``LabError``.
    """
    grading, files = top.text("grading", JUDGE), top.texts("files", ())
    if grading not in (JUDGE, MANUAL):
        raise top.error("grading", f'is "{JUDGE}" or "{MANUAL}", not {grading!r}')
    if grading == JUDGE:
        if files:
            raise top.error("files", f'needs grading = "{MANUAL}"')
        return ()
    if not files:
        raise top.error("files", "is missing: which files are handed in of a manual lab")
    if len(files) > MOST_FILES:
        raise top.error("files", f"holds {len(files)} names: at most {MOST_FILES}")
    for name in files:
        if _NAME.fullmatch(name) is None:
            raise top.error("files", f"{name!r} is no plain name of a file")
        if name.casefold() in ("readme.md", "lab.toml"):
            raise top.error("files", f"{name!r} is the lab's own file")
    if len({name.casefold() for name in files}) < len(files):
        raise top.error("files", "holds two names that differ by case alone")
    return files


def manual_problems(
    tasks: Sequence[Task], data: dict[str, Any], *, is_tested: bool, has_code: bool
) -> Iterator[str]:
    """Say what of a manual lab is for a judge.

    ``has_code``: its code file is handed in, ``is_tested``: it has public tests.
    """
    for task in tasks:
        of_judge = {
            "tiers": task.ladders,
            "contracts": task.contracts,
            "requires": task.requires,
            "order": task.order,
            "names": task.names,
            "example": task.example,
        }
        for key in (key for key, value in of_judge.items() if value):
            yield f"tasks.{key}: {task.id!r} has it for a judge, and people grade this lab"
    if is_tested and not has_code:
        yield "files: there are public tests, and the code that they test is not handed in"
    for key in _FOR_TESTS if not has_code else ():
        if key in data:
            yield f"{key}: is for tests of code, and of this manual lab none is handed in"


def unread(
    number: int,
    topic: str,
    tasks: Sequence[Task],
    tests: Sequence[TestResult] = (),
    status: str = WAITING,
) -> Report:
    """Return the report of work that nobody has read: no task of it is graded."""
    rows = tuple(TaskResult(task.id, task.title, task.points, 0.0, False) for task in tasks)
    told = {"grading": MANUAL, "status": status}
    return Report(number, topic, rows, tuple(tests), extras=told)
