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
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from grader.judge.configuration import Configuration, Run
from grader.judge.start import die_with_parent, serve_forks
from grader.labs.lab import Lab
from grader.sandbox import limits
from grader.sandbox.nursery import Nursery
from grader.sandbox.pool import WarmPool
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting

if TYPE_CHECKING:
    from grader.judge.launches import LaunchPlugin
    from grader.proxy.student import Student
    from grader.timing.stopwatch import Stopwatch

Emit = Callable[[str, Any], None]
PRELOADED = (
    "torch",
    "pytest",
    "grader.judge.plugin",
    "grader.timing.stopwatch",
    "grader.proxy.student",
)


def main(start: Callable[[Setting], WorkerProcess] | None = None) -> None:
    """Read the configuration, run pytest, and end with one line that says so.

    ``start`` starts a worker; None: one of a nursery that is this session's own.
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
    lab, setting = configuration.run.lab, configuration.setting
    # The first workers start before this process imports torch itself.
    nursery = Nursery()
    if start is None:
        pool = WarmPool(
            lambda: nursery.start(setting), instead=lambda error: nursery.instead(setting, error)
        )
    else:
        pool = WarmPool(functools.partial(start, setting))
    pool.expect(len(configuration.run.open_tasks))

    import torch

    from grader.proxy.student import Student
    from grader.timing.stopwatch import Stopwatch

    torch.set_num_threads(1)  # the oracles are small, and the submission wants the cores
    student = Student(lab, setting, pool, configuration.source)
    timed = setting.device != "cpu" and lab.baseline.is_file()
    stopwatch = Stopwatch(lab, student, setting, emit) if timed else None
    with contextlib.ExitStack() as ending:
        ending.callback(pool.close)
        ending.callback(student.end_)
        ending.callback(nursery.close)  # before these: what was forked is gone with it
        if stopwatch is not None:
            ending.callback(stopwatch.close)
        return _run_suites(configuration.run, student, stopwatch, emit)


def _run_suites(run: Run, student: "Student", stopwatch: "Stopwatch | None", emit: Emit) -> int:
    """Run pytest, then tell what was noted beside the tests; return pytest's exit code."""
    from grader.judge.kernels import compile_all
    from grader.judge.launches import LaunchPlugin, tell_metered, tell_tuned

    recording = LaunchPlugin(student.recorded) if run.compiles else None
    if run.meters and run.device == "cpu":
        recording = LaunchPlugin(student.metered)
    code = run_pytest(run, student, emit, stopwatch, recording)
    emit("spent", student.spent_.seconds())
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
    recording: "LaunchPlugin | None" = None,
) -> int:
    """Run a lab's suites with a student and return pytest's exit code; only our settings count."""
    import pytest

    from grader.judge.plugin import JudgePlugin

    plugin = JudgePlugin(run, student, emit, stopwatch)
    plugins = [plugin, *([recording] if recording else [])]
    return int(pytest.main(arguments(run.lab, run.suite), plugins=plugins))


def arguments(lab: Lab, suite: str) -> list[str]:
    """Return the command line of pytest for a lab's suites."""
    from grader.judge.items import suite_files

    return [
        *("-c", os.devnull, "--rootdir", str(lab.root), "--noconftest", "-s"),
        *("-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:logging"),
        *("--assert=plain", "--import-mode=importlib"),
        *map(str, suite_files(lab, suite)),
    ]
