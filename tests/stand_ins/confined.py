"""A worker whose submission runs any code: to look around from behind the walls."""

import contextlib
import json
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stand_ins.expectation import HERE
from stand_ins.isolation import processes_that_see

from grader.labs.lab import load_lab
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.sandbox.fork_server import ForkServer, unfit
from grader.sandbox.level import are_divided
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting
from grader.sandbox.stage import staged

LAB = load_lab(HERE / "demo" / "labs" / "90_echo")
CODE = b"def run(code):\n    space = {}\n    exec(code, space)\n    return space.get('out')\n"
MEBI = 1 << 20
WAYS = ("alone", "forked")
Run = Callable[[str], Any]
Make = Callable[[Setting], WorkerProcess]


@contextlib.contextmanager
def setting_for(level: str) -> Iterator[Setting]:
    """Stage that submission."""
    with staged(LAB, {}, level) as stage:
        (stage / "submission").mkdir()
        (stage / "submission" / "echo.py").write_bytes(CODE)
        rlimits = {"NOFILE": 64, "FSIZE": 16 * MEBI, "CORE": 0}
        yield Setting(
            *(stage, {}, ("common",), "cpu", level, 400 * MEBI, 40, rlimits),
            output=16 << 10,
            divided=are_divided(level, "cpu"),
        )


def require_forks(setting: Setting) -> None:
    """Skip a test of forked workers where the tree lies so that there are none, as under /tmp."""
    if why := unfit(setting):
        pytest.skip(f"workers start alone here: {why}")


@contextlib.contextmanager
def made(way: str) -> Iterator[Make]:
    """Return what starts workers of one stage: each alone, or all forked."""
    if way == "alone":
        yield WorkerProcess
        return
    fork_server = ForkServer()

    def fork(setting: Setting) -> WorkerProcess:
        require_forks(setting)
        worker = fork_server.start(setting)
        assert fork_server.problem == ""
        return worker

    with contextlib.closing(fork_server):
        yield fork


@contextlib.contextmanager
def worker_of(
    setting: Setting, seconds: float = 60.0, make: Make = WorkerProcess
) -> Iterator[tuple[WorkerProcess, Run]]:
    """Start a worker, load the submission that runs any code, and kill it at the end."""
    worker = make(setting)
    try:
        worker.wait_ready()
        talk = Conversation(worker, "cpu", Clock(60.0), "")
        talk.request({"op": "load", "file": f"{setting.seen('submission')}/echo.py"})
        talk._clock.call_seconds = seconds
        yield worker, lambda code: talk.call(["function", "run"], (textwrap.dedent(code),), {})
    finally:
        worker.kill()


def gone(folder: Path, seconds: float = 10.0, *, but: int = 0) -> list[str]:
    """Wait until no more than ``but`` processes see a folder; return those that do if more."""
    deadline = time.monotonic() + seconds
    while len(left := processes_that_see(folder)) > but and time.monotonic() < deadline:
        time.sleep(0.05)
    return left if len(left) > but else []


SPIN = """
    import os, signal
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    for _ in range(5):
        if os.fork() == 0:
            os.setsid()
            os.fork()
            while True:
                pass
    while True:
        pass
"""


def gone_with_its_judge(setting: Setting, judge: str) -> list[str]:
    """Kill a judge that has said "ready" while its workers spin; return those that live on."""
    data = {name: getattr(setting, name) for name in setting.__slots__}
    line = [sys.executable, "-c", judge, json.dumps(data, default=str), textwrap.dedent(SPIN)]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.5)
        assert processes_that_see(setting.stage)

        process.send_signal(signal.SIGKILL)

    return gone(setting.stage)
