"""The pytest plugin: fixtures, the manifest, the order of tests, results.

It runs in the trusted session process.
"""

import dataclasses
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from grader.errors import (
    Forbidden,
    NotGraded,
    StudentCrashed,
    StudentTimeout,
    SubmissionFault,
    Unsound,
)
from grader.judge.plugin.aftermath import Aftermath
from grader.judge.plugin.ahead import Ahead
from grader.judge.plugin.blame import Blame
from grader.judge.plugin.fixtures import NO_STOPWATCH, Fixtures
from grader.judge.plugin.gates import GateFailed, Gates
from grader.judge.plugin.gpu_use import GpuUse
from grader.judge.plugin.items import expected_of, needs_of, running_order, takes
from grader.judge.plugin.retrial import Judging, Retrial
from grader.judge.plugin.verdicts import verdict_of
from grader.judge.setup.configuration import Run
from grader.judge.setup.deadline import Deadline
from grader.judge.setup.log import log
from grader.labs.results import RULES, Expected, Measured, TestResult, Verdict
from grader.labs.tiers import Rung
from grader.proxy.loans.budget import hold_to_its_time
from grader.proxy.student import Student
from grader.proxy.values.compare import measuring
from grader.proxy.values.shown import differing, revealing
from grader.reading import rules
from grader.sandbox.pace import PACE
from grader.timing.stopwatch import Stopwatch

FATAL = "twice, under different seeds, the judge itself {} on what the code gave it in this test"
ENDED = {"memory": "ran out of memory", "": "ended"}  # by why it did


class JudgePlugin(Fixtures):
    """One grading: hands out fixtures, orders the tests, turns outcomes into results."""

    def __init__(
        self,
        run: Run,
        student: Student,
        emit: Callable[[str, Any], None],
        stopwatch: Stopwatch | None = None,
        ahead: Ahead | None = None,
        model: Callable[[], Judging] | None = None,
    ) -> None:
        """``ahead`` compiles kernels before their tests, on a GPU; ``model`` starts ours."""
        super().__init__(run, student, emit, stopwatch)
        self._lab = run.lab
        self._ahead = ahead
        self._gpu = GpuUse(student, ahead) if run.device != "cpu" else None
        self._blame = Blame(student, self._gpu)
        self._retrial = Retrial(run, student, model)
        self._aftermath = Aftermath(run, student)
        self._gates = Gates(run.closed)
        self._needed: dict[str, set[str]] = {}  # what tests of a task that earn points need
        self._barrier = ""  # why the test at hand does not run
        self._expected: dict[str, Expected] = {}  # by node id
        self._deadline = Deadline(run.lab.limits.total_seconds)
        self._late = StudentTimeout("the grading ran past its time limit")  # of all that are left
        self._outcome: tuple[Verdict, str] | None = None
        self._halves = False  # whether the test at hand found what a GPU does not forgive
        self._function = ""  # that the last call of the test at hand was about
        self._current_task = ""
        self._tasks_left: set[str] = set()  # a worker each is still to come
        self._asked: dict[str, set[str]] = {}  # by task: what its tests called
        self._measured: list[dict[str, Any]] = []  # by test: what came closest to its limit

    # -- collection -------------------------------------------------------------------------

    def pytest_configure(self, config: pytest.Config) -> None:
        """Declare the marker, and let pytest quote no code: to find it costs as much as a test."""
        config.option.tbstyle = "native"
        config.addinivalue_line("markers", "task(id, weight=1.0, gate=False): part of a task")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make a test of each tier of the ladder that a speed test names."""
        if "tier" not in metafunc.fixturenames:
            return
        marker = metafunc.definition.get_closest_marker("task")
        name = marker.kwargs.get("tiers") if marker else ""
        if not marker or not name:
            raise pytest.UsageError(f"{metafunc.function.__name__} takes a tier but names no tiers")
        ladder = self._lab.task(marker.args[0]).ladder(name)
        rungs = [Rung(marker.args[0], ladder, tier) for tier in ladder.tiers]
        metafunc.parametrize("tier", rungs, ids=str)

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
        """Keep off standard error what our own hooks meet: a traceback has lines of suites."""
        log(self._lab.root, "between tests", excinfo.value)
        return True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Say on standard error why a suite cannot be read."""
        if report.failed:
            print(report.longreprtext, file=sys.stderr)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Order the tests: task by task, gates first, what is timed last; then announce them."""
        order = running_order(self._lab.tasks)
        for item in items:
            expected = expected_of(self._lab, item)
            if expected.task not in order:
                raise pytest.UsageError(f"{item.nodeid} belongs to no task of the lab")
            numbers = {contract.number for contract in self._lab.task(expected.task).contracts}
            if expected.contract not in {0, *numbers}:
                problem = f"{expected.task} has no contract {expected.contract} in lab.toml"
                raise pytest.UsageError(f"{item.nodeid}: {problem}")
            self._expected[item.nodeid] = expected
            if expected.weight > 0:
                self._needed.setdefault(expected.task, set()).update(needs_of(item))
        chosen = [item for item in items if self._run.chooses(self._expected[item.nodeid])]
        items[:] = chosen or items

        def key(item: pytest.Item) -> tuple[int, bool, bool]:
            expected = self._expected[item.nodeid]
            return order.index(expected.task), not expected.gate, takes(item, "tier")

        items.sort(key=key)
        open_items = (self._expected[item.nodeid].task for item in items)
        self._tasks_left = {task_id for task_id in open_items if not self._gates.is_closed(task_id)}
        self._tasks_left -= {*self._run.ungraded}
        self._emit("manifest", [self._expected[item.nodeid] for item in items])
        if self._ahead is not None:
            self._ahead.expect(items)

    # -- running ----------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Give each task its own worker and each test its deadline; report when it has ended."""
        expected = self._expected[item.nodeid]
        self._barrier = self._find_barrier(item, expected)
        if self._gpu is not None and not self._barrier:
            self._deadline.extend(self._gpu.take(expected.task, item))
        if expected.task != self._current_task:
            self._student.turn_to_(self._lab.task(expected.task))
            self._current_task = expected.task
            self._tasks_left -= {expected.task}
        self._outcome, self._halves, self._function = None, False, ""
        started = time.monotonic()
        deadline = PACE.now() + self._lab.limits.test_seconds
        self._student.begin_(deadline, self._deadline.at, len(self._tasks_left))
        self._emit("begin", expected)

        with (
            measuring() as measured,
            differing() as differences,
            revealing(expected.suite == "public"),
        ):
            done = yield

        self._keep_closest(expected, measured)
        verdict, message = self._ended()
        self._gates.note(expected, verdict, halves=self._halves)
        seconds = round(time.monotonic() - started, 3)
        output = self._student.printed_()
        self._asked.setdefault(expected.task, set()).update(self._student.asked_())
        suite, task_id = expected.suite, expected.task
        passed = verdict in (Verdict.PASSED, Verdict.SKIPPED)
        function = "" if passed else self._function
        result = TestResult(
            *(expected.id, task_id, suite, verdict, message, seconds, output),
            *(expected.contract, function, self._halves),
        )
        if verdict is Verdict.FAILED and differences:
            self._emit("difference", {"suite": suite, "test": expected.id, **differences[0]})
        self._emit("test", result)
        return done

    def pytest_sessionfinish(self) -> None:
        """Tell what tests measured, and which public names those of each task called.

        Neither is in a report: how close an answer was to a limit is for the proof of a suite. Nor
        is how long the GPU was taken alone.
        """
        alone = self._gpu.alone_seconds if self._gpu is not None else None
        if alone is not None:
            self._emit("alone", round(alone, 3))
        self._emit("measured", self._measured)
        self._emit("asked", {task: sorted(names) for task, names in self._asked.items()})

    def _keep_closest(self, expected: Expected, measured: Sequence[Measured]) -> None:
        """Keep the comparison of a test that came closest to its limit, or went furthest past."""
        if measured:
            closest = max(measured, key=lambda item: item.share)
            place = {"suite": expected.suite, "test": expected.id}
            self._measured.append({**place, "closest": dataclasses.asdict(closest)})

    def _ended(self) -> tuple[Verdict, str]:
        return self._outcome or (Verdict.INFRA, "the test did not run")

    def _find_barrier(self, item: pytest.Item, expected: Expected) -> str:
        """Say what failed that the test depends on, or return an empty string."""
        task_id = expected.task
        try:
            self._gates.check(task_id, self._lab.task(task_id).requires, needs_of(item))
            if self._run.until_lost:
                self._gates.check_not_lost(task_id, self._needed.get(task_id, ()))
        except GateFailed as closed:
            return str(closed)
        return ""

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Stop a test whose task, or a task that it requires, failed a gate.

        What this machine cannot judge stays so, whatever failed before it.
        """
        expected = self._expected[item.nodeid]
        if expected.task in self._run.ungraded:
            raise NotGraded(self._run.ungraded[expected.task])
        if self._stopwatch is None and takes(item, "stopwatch"):
            raise NotGraded(NO_STOPWATCH)
        if self._barrier:
            raise GateFailed(self._barrier)
        why = self._run.fatal.get(expected.place)
        if why is not None:
            raise StudentCrashed(FATAL.format(ENDED[why]))
        if self._deadline.is_over:
            # Without a worker: starting one for each test that is left could take an hour.
            raise self._late

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Let a test take so much of the judge's time; on a GPU the races spin through theirs."""
        if self._run.device != "cpu":
            return None
        names = pyfuncitem._fixtureinfo.argnames  # pyright: ignore[reportPrivateUsage]
        given = {name: pyfuncitem.funcargs[name] for name in names}
        hold_to_its_time(lambda: pyfuncitem.obj(**given))
        return True

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Note the first failure of a test, or that its body ended."""
        if self._outcome is not None and self._outcome[0] is not Verdict.PASSED:
            return
        if call.excinfo is not None:
            error = call.excinfo.value
            if call.when == "call":
                with self._deadline.given_back():
                    error = self._retrial.settled(item, error)
            self._outcome = self._judge(item, error)
        elif call.when == "call":
            self._outcome = self._inspected(item)

    def _inspected(self, item: pytest.Item) -> tuple[Verdict, str]:
        """Look once more at what ran beside the submission of a test that it has passed."""
        try:
            self._student.inspect_()
        except SubmissionFault as fault:
            return self._judge(item, fault)
        return Verdict.PASSED, ""

    def _judge(self, item: pytest.Item, error: BaseException) -> tuple[Verdict, str]:
        self._halves |= isinstance(error, Unsound)
        if isinstance(error, GateFailed):
            return Verdict.SKIPPED, str(error)
        if isinstance(error, Forbidden):
            self._close(self._expected[item.nodeid].task, str(error))
        if isinstance(error, SubmissionFault):
            with self._deadline.given_back():
                trouble = self._blame.trouble(error)
            if trouble:
                return Verdict.INFRA, trouble
        calls = self._student.calls_()
        self._function = calls.function
        verdict, message = verdict_of(item, error, calls.lines())
        with self._deadline.given_back():
            site = self._aftermath.told(item, error)
        return verdict, f"{message}\n{site}" if site else message

    def _close(self, task_id: str, message: str) -> None:
        """Fail the gate of the rules, which the code alone had passed."""
        if not self._gates.is_closed(task_id):
            gate = rules.rule_of(task_id)
            self._gates.close(task_id, gate)
            self._emit("test", TestResult(gate, task_id, RULES, Verdict.FAILED, message))
