"""The trusted pytest process: run a lab's suites against one submission, one JSON line per event.

It is a process of its own so that a fault in a suite or in torch cannot take the command line down,
and so that nothing of the student's lies on its path.
"""

import dataclasses
import functools
import importlib
import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from grader.judge.start import die_with_parent, serve_forks
from grader.labs.lab import PSEUDOCODE, Lab, load_lab
from grader.sandbox import limits
from grader.sandbox.nursery import Nursery
from grader.sandbox.pool import WarmPool
from grader.sandbox.process import Setting, WorkerProcess

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
    config = json.load(sys.stdin)
    # The report goes where standard output went; whatever else prints goes to standard error.
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)

    def emit(event: str, data: Any) -> None:
        out.write(json.dumps([event, data], default=dataclasses.asdict) + "\n")
        out.flush()

    emit("end", run(config, emit, start))


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


def run(config: dict[str, Any], emit: Any, start: Callable[[Setting], WorkerProcess] | None) -> int:
    """Run the suites and return pytest's exit code."""
    if config["group"]:
        limits.join(config["group"])
    lab = load_lab(Path(config["lab"]))
    setting = Setting.from_json(config["setting"])
    # The first workers start before this process imports torch itself.
    nursery = Nursery()
    if start is None:
        pool = WarmPool(
            lambda: nursery.start(setting), instead=lambda error: nursery.instead(setting, error)
        )
    else:
        pool = WarmPool(functools.partial(start, setting))
    chosen = frozenset(config["tasks"])
    tasks = (chosen or {task.id for task in lab.tasks}) - {*config["closed"]} - {PSEUDOCODE}
    pool.expect(len(tasks))

    import torch

    from grader.judge.kernels import compile_all
    from grader.judge.launches import LaunchPlugin, tell_metered, tell_tuned
    from grader.proxy.student import Student
    from grader.timing.stopwatch import Stopwatch

    torch.set_num_threads(1)  # the oracles are small, and the submission wants the cores
    student = Student(lab, setting, pool, config["source"])
    timed = setting.device != "cpu" and lab.baseline.is_file()
    stopwatch = Stopwatch(lab, student, setting, emit) if timed else None
    compiles, meters = config["compiles"], config["meters"]
    recording = LaunchPlugin(student.recorded) if compiles else None
    if meters and setting.device == "cpu":
        recording = LaunchPlugin(student.metered)
    try:
        code = run_pytest(
            lab,
            student,
            device=setting.device,
            seed=config["seed"],
            suite=config["suite"],
            closed=config["closed"],
            emit=emit,
            stopwatch=stopwatch,
            until_lost=config["until_lost"],
            tasks=chosen,
            fatal=config["fatal"],
            recording=recording,
        )
        emit("spent", student.spent_.seconds())
        if meters:
            tell_metered(recording.launches if recording else [], emit)
            tell_tuned(student, emit)
        if compiles and recording is not None:
            student.close_()
            compile_all(recording.launches, student, emit)
        return code
    finally:
        if stopwatch is not None:
            stopwatch.close()
        nursery.close()  # first: what was forked is gone with it
        student.close_()
        pool.close()


def run_pytest(
    lab: Lab,
    student: Any,
    *,
    device: str,
    seed: int,
    suite: str,
    closed: dict[str, str],
    emit: Callable[[str, Any], None],
    stopwatch: Any = None,
    until_lost: bool = False,
    tasks: frozenset[str] = frozenset(),
    fatal: Mapping[str, str] = MappingProxyType({}),
    recording: Any = None,
) -> int:
    """Run a lab's suites with a student and return pytest's exit code; only our settings count."""
    import pytest

    from grader.judge.plugin import JudgePlugin

    plugin = JudgePlugin(
        lab,
        student,
        device=device,
        seed=seed,
        closed=closed,
        emit=emit,
        stopwatch=stopwatch,
        until_lost=until_lost,
        tasks=tasks,
        fatal=fatal,
    )
    plugins = [plugin, *([recording] if recording else [])]
    return int(pytest.main(arguments(lab, suite), plugins=plugins))


def arguments(lab: Lab, suite: str) -> list[str]:
    """Return the command line of pytest for a lab's suites."""
    from grader.judge.items import suite_files

    return [
        *("-c", os.devnull, "--rootdir", str(lab.root), "--noconftest", "-s"),
        *("-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:logging"),
        *("--assert=plain", "--import-mode=importlib"),
        *map(str, suite_files(lab, suite)),
    ]
