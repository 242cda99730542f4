"""Public tests in plain pytest, and so in an editor's test explorer: the judge runs them.

``labs/conftest.py`` brings these hooks. Each test stands below its task, as below a class. The
first test of a lab that is to run has the judge grade the tasks of all that were chosen of this
lab, as ``make grade`` does; each test then reports what the judge says of it. Nothing of the
submission runs in pytest's own process.
"""

import threading
from pathlib import Path
from typing import Any

import pytest

from grader.errors import InferlabError
from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.labs.lab import Lab, load_lab
from grader.labs.results import RULES, TestResult, Verdict
from grader.report.facts.summary import AT_FAULT

KEY = pytest.StashKey["Gradings"]()
MARKER = "task(id): the task of a lab whose points a test decides"
UNTOLD = "the judge has not run it"


class Task:
    """What stands for any task in an explorer, which knows files, classes and tests."""


class Grading:
    """One grading of some public tests of a lab, in a thread: results come as tests end."""

    def __init__(self, lab: Lab, tasks: frozenset[str]) -> None:
        self._request = Request(lab, suite="public", tasks=tasks)
        self._results: dict[str, TestResult] = {}
        self._broken: dict[str, TestResult] = {}  # rules, by the task that they close
        self._ended = ""  # why no more results come
        self._turn = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    def wait(self, test: str) -> TestResult | str:
        """Return the result of a test, or why there is none."""
        with self._turn:
            self._turn.wait_for(lambda: test in self._results or self._ended)
            found = self._results.get(test)
            rule = self._broken.get(found.task) if found is not None else None
            return self._ended if found is None else rule or found

    def _run(self) -> None:
        ended = UNTOLD
        try:
            report = grade(self._request, on_event=self._hear)
            for result in report.tests:  # those that were never run are told by it alone
                self._hear("test", result)
        except InferlabError as error:
            ended = error.line
        except BaseException as error:  # or a test would wait for ever
            ended = f"the judge failed with {type(error).__name__}"
            raise
        finally:
            with self._turn:
                self._ended = ended
                self._turn.notify_all()

    def _hear(self, event: str, data: Any) -> None:
        if event != "test":
            return
        with self._turn:
            if data.suite == "public":
                self._results.setdefault(data.id, data)
            elif data.suite == RULES and data.verdict in AT_FAULT:
                self._broken.setdefault(data.task, data)
            self._turn.notify_all()


class Gradings:
    """Those of one run of pytest, by lab."""

    def __init__(self) -> None:
        self._begun: dict[Path, Grading] = {}

    def of(self, item: pytest.Item) -> Grading:
        """Return the grading that a test is part of, begun with all that were chosen."""
        folder = item.path.parent
        if folder not in self._begun:
            chosen = [other for other in item.session.items if other.path == item.path]
            tasks = frozenset(task for other in chosen for task in _tasks(other))
            self._begun[folder] = Grading(load_lab(folder), tasks)
        return self._begun[folder]


def _tasks(item: pytest.Item) -> list[str]:
    return [str(marker.args[0]) for marker in item.iter_markers("task")]


def _is_public(item: pytest.Item) -> bool:
    folder = item.path.parent
    return (folder / "lab.toml").is_file() and bool(_tasks(item))


def pytest_configure(config: pytest.Config) -> None:
    """Know the marker that tests carry."""
    config.addinivalue_line("markers", MARKER)
    config.stash[KEY] = Gradings()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let each public test stand below its task; what it is called, and so its id, stays."""
    tasks: dict[tuple[Path, str], pytest.Class] = {}
    for item in items:
        if not _is_public(item) or not isinstance(item.parent, pytest.Module):
            continue
        name = _tasks(item)[0]
        if (item.path, name) not in tasks:
            tasks[item.path, name] = pytest.Class.from_parent(item.parent, name=name, obj=Task)
        item.parent = tasks[item.path, name]


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Report what the judge says of a public test; leave all others alone."""
    if not _is_public(item):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    try:
        told = item.config.stash[KEY].of(item).wait(item.nodeid.partition("::")[2])
    except InferlabError as error:  # of lab.toml
        told = error.line
    for when in ("setup", "call", "teardown"):
        report = _report(item, when, told)
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _report(item: pytest.Item, when: Any, told: TestResult | str) -> pytest.TestReport:
    """Return a part of what pytest reports of a test: all there is to say is said of the call."""
    outcome: Any = "passed"
    text: Any = None
    seconds, sections = 0.0, list[tuple[str, str]]()
    if when == "call":
        outcome, text = _outcome(item, told)
    if when == "call" and isinstance(told, TestResult):
        seconds = told.seconds
        sections = [("Captured stdout call", told.output)] if told.output else []
    keywords: dict[str, Any] = dict.fromkeys(item.keywords, 1)
    return pytest.TestReport(
        *(item.nodeid, item.location, keywords, outcome, text, when),
        sections=sections,
        duration=seconds,
    )


def _outcome(item: pytest.Item, told: TestResult | str) -> tuple[str, Any]:
    if isinstance(told, str):
        return "failed", told
    match told.verdict:
        case Verdict.PASSED:
            return "passed", None
        case Verdict.SKIPPED | Verdict.NOT_GRADED | Verdict.INFRA:
            path, line, _ = item.location
            kind = "" if told.verdict is not Verdict.INFRA else "could not be judged: "
            return "skipped", (path, line, f"{kind}{told.message}")
        case _:
            return "failed", told.message
