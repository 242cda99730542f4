"""The trusted pytest process: run a lab's suites against one submission, one JSON line per event.

It is a process of its own so that a fault in a suite or in torch cannot take the command line down,
and so that nothing of the student's lies on its path.
"""

import contextlib
import dataclasses
import functools
import importlib
import json
import os
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from grader import ROOT
from grader.judge.builds import build_answer
from grader.judge.setup.configuration import Configuration, Run
from grader.judge.setup.start import die_with_parent, serve_forks
from grader.labs.lab import Lab
from grader.sandbox.confinement import limits
from grader.sandbox.fork_server import ForkServer
from grader.sandbox.pool import WarmPool
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting
from grader.sandbox.stage import answer_stage

if TYPE_CHECKING:
    from grader.judge.plugin.ahead import Ahead, Course
    from grader.judge.plugin.retrial import Judging
    from grader.proxy.student import Student
    from grader.timing.stopwatch import Stopwatch

Emit = Callable[[str, Any], None]
THREADS_AHEAD = 3  # of torch in a forerunner: a test's oracle must not hold up its kernels
PRELOADED = (
    "torch",
    "pytest",
    "grader.judge.plugin.plugin",
    "grader.timing.stopwatch",
    "grader.proxy.student",
)


def main(start: Callable[[Setting], WorkerProcess] | None = None) -> None:
    """Read the configuration, run pytest, and end with one line that says so.

    ``start`` starts a worker; None: one of a fork server that is this session's own.
    """
    sys.dont_write_bytecode = True
    die_with_parent()
    told = json.load(sys.stdin)
    # The report goes where standard output went; whatever else prints goes to standard error.
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)

    def emit(event: str, data: Any) -> None:
        out.write(json.dumps([event, data], default=dataclasses.asdict) + "\n")
        out.flush()

    if told["group"]:
        limits.join(told["group"])
    emit("end", run(Configuration.from_json(told), emit, start))


def serve(fd: int) -> None:
    """Import what sessions need, then become one in each process that is forked."""
    die_with_parent()
    preload()
    if serve_forks(socket.socket(fileno=fd)) is not None:
        main()
    os._exit(0)


def preload() -> None:
    """Import what sessions need."""
    for name in PRELOADED:
        importlib.import_module(name)


def collect(lab: Lab) -> None:
    """Import a lab's suites, and with them its oracles; what is wrong with them is told later."""
    import pytest

    pytest.main([*arguments(lab, "all"), "--collect-only"])


def run(
    configuration: Configuration, emit: Emit, start: Callable[[Setting], WorkerProcess] | None
) -> int:
    """Run the suites and return pytest's exit code."""
    on_gpu = configuration.run.device != "cpu"
    _find_labs(configuration.run.lab)
    fork_server = ForkServer()
    pool = _pool(configuration.setting, fork_server, start)
    # The first workers start before this process imports torch itself: alone what forks them where
    # this process is to be forked too, since who waits for a worker is a thread.
    if on_gpu:
        fork_server.begin(configuration.setting)
    else:
        pool.expect(len(configuration.run.open_tasks))

    import torch

    from grader.judge.plugin.ahead import Ahead, pays

    torch.set_num_threads(1)  # the oracles are small, and the submission wants the cores
    with contextlib.ExitStack() as ending:
        ending.callback(pool.close)
        student, stopwatch = _judging(configuration, pool, emit, ending)
        model = _model(configuration, start, ending)
        ending.callback(fork_server.close)  # before these: what was forked is gone with it
        ahead = None
        if on_gpu and pays(configuration.setting):
            ahead = Ahead(student, configuration.setting.stage / "ahead")
            ending.callback(ahead.close)
            collect(configuration.run.lab)  # once for all that are forked
            forerun = functools.partial(_forerun, configuration, fork_server)
            count = ahead.start(configuration.run, forerun)
            # Where this grading has the machine to itself, its oracles are the longest wait.
            torch.set_num_threads(1 + count // 2)
        if on_gpu:
            pool.expect(len(configuration.run.open_tasks))
        return _run_suites(configuration.run, student, stopwatch, emit, ahead, model)


def _find_labs(lab: Lab) -> None:
    """Let suites import ``labs`` where these lie elsewhere than the judge: it was installed."""
    if lab.root != ROOT and str(lab.root) not in sys.path:
        sys.path.append(str(lab.root))


def _pool(
    setting: Setting,
    fork_server: ForkServer,
    start: Callable[[Setting], WorkerProcess] | None = None,
    most: int = 1 << 16,
) -> WarmPool:
    if start is not None:
        return WarmPool(functools.partial(start, setting))
    return WarmPool(
        lambda: fork_server.start(setting),
        instead=lambda error: fork_server.instead(setting, error),
        most=most,
    )


def _judging(
    configuration: Configuration,
    pool: WarmPool,
    emit: Emit,
    ending: contextlib.ExitStack,
    *,
    races: bool = True,
) -> "tuple[Student, Stopwatch | None]":
    """Return the proxy of the submission, and a stopwatch where there is something to time."""
    from grader.proxy.student import Student
    from grader.timing.stopwatch import Stopwatch

    lab, setting = configuration.run.lab, configuration.setting
    student = Student(lab, setting, pool, configuration.source)
    ending.callback(student.end_)
    timed = setting.device != "cpu" and lab.baseline.is_file()
    stopwatch = Stopwatch(lab, student, setting, emit, races=races) if timed else None
    if stopwatch is not None:
        ending.callback(stopwatch.close)
    return student, stopwatch


def _model(
    configuration: Configuration,
    start: Callable[[Setting], WorkerProcess] | None,
    ending: contextlib.ExitStack,
) -> "Callable[[], Judging] | None":
    """Return what starts the lab's model answer as a submission is; None where there is none."""
    lab, setting = configuration.run.lab, configuration.setting
    answer = lab.solutions / lab.code_name
    if not answer.is_file():
        return None

    def begin() -> "Judging":
        own = replace(setting, stage=answer_stage(lab, setting.stage, answer))
        build_answer(lab, own)
        fork_server = ForkServer()
        pool = _pool(own, fork_server, start, most=1)
        ending.callback(pool.close)
        source = answer.read_text(encoding="utf-8")
        ours = replace(configuration, setting=own, source=source)
        judging = _judging(ours, pool, _tell_nobody, ending, races=False)
        ending.callback(fork_server.close)
        return judging

    return begin


def _forerun(
    configuration: Configuration, fork_server: ForkServer, run: Run, course: "Course"
) -> None:
    """Run the tests of a course in workers of its own; nobody hears what comes of them."""
    import torch

    with contextlib.ExitStack() as ending:
        pool = _pool(configuration.setting, fork_server, most=1)
        ending.callback(pool.close)
        torch.set_num_threads(THREADS_AHEAD)
        student, stopwatch = _judging(configuration, pool, _tell_nobody, ending, races=False)
        course.student = student
        run_pytest(run, student, _tell_nobody, stopwatch, [course])


def _tell_nobody(event: str, data: Any) -> None:
    """Hear an event."""


def _run_suites(
    run: Run,
    student: "Student",
    stopwatch: "Stopwatch | None",
    emit: Emit,
    ahead: "Ahead | None",
    model: "Callable[[], Judging] | None",
) -> int:
    """Run pytest, then tell what was noted beside the tests; return pytest's exit code."""
    from grader.judge.observers.kernels import compile_all
    from grader.judge.observers.launches import LaunchPlugin, tell_metered, tell_tuned

    recording = LaunchPlugin(student.recorded) if run.compiles else None
    if run.meters and run.device == "cpu":
        recording = LaunchPlugin(student.metered)
    others: list[object] = [recording] if recording is not None else []
    if run.repeats and run.suite == "public":
        # Imported here: no grading needs it.
        from grader.judge.observers.repeated import RepeatPlugin

        others.append(RepeatPlugin(run, student, emit))

    def tell(event: str, data: Any) -> None:
        emit(event, data)
        if event == "test":  # at once: what is interrupted has an account too
            emit("spent", student.spent_.new())

    code = run_pytest(run, student, tell, stopwatch, others, ahead, model)
    emit("spent", student.spent_.new())
    if run.meters:
        tell_metered(recording.launches if recording else [], emit)
        tell_tuned(student, emit)
    if run.compiles and recording is not None:
        student.close_()
        compile_all(recording.launches, student, emit)
    return code


def run_pytest(
    run: Run,
    student: Any,
    emit: Emit,
    stopwatch: Any = None,
    others: Sequence[object] = (),
    ahead: "Ahead | None" = None,
    model: "Callable[[], Judging] | None" = None,
) -> int:
    """Run a lab's suites with a student and return pytest's exit code; only our settings count.

    ``others`` are pytest plugins beside the judge's; ``model`` starts the lab's own answer.
    """
    import pytest

    from grader.judge.plugin.plugin import JudgePlugin

    plugin = JudgePlugin(run, student, emit, stopwatch, ahead, model)
    return int(pytest.main(arguments(run.lab, run.suite), plugins=[plugin, *others]))


def arguments(lab: Lab, suite: str) -> list[str]:
    """Return the command line of pytest for a lab's suites."""
    from grader.judge.plugin.items import suite_files

    return [
        *("-c", os.devnull, "--rootdir", str(lab.root), "--noconftest", "-s"),
        *("-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:logging"),
        *("-p", "no:faulthandler"),  # which writes a traceback to standard error
        *("--assert=plain", "--import-mode=importlib"),
        *map(str, suite_files(lab, suite)),
    ]
