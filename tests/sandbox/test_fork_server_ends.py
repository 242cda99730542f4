"""How forked workers end, and that workers start alone where they cannot be forked."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from stand_ins.confined import (
    SPIN,
    gone,
    gone_with_its_judge,
    require_forks,
    setting_for,
    worker_of,
)
from stand_ins.expectation import HERE
from stand_ins.isolation import processes_that_see, require_sandbox

from grader.errors import SandboxError, StudentMemory, StudentTimeout
from grader.sandbox import fork_server
from grader.sandbox.confinement import limits
from grader.sandbox.confinement.bubblewrap import worker_environment
from grader.sandbox.fork_server import ForkServer, unfit
from grader.sandbox.pool import WarmPool
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting

CAGES = sorted({limits.detect(), "watch"})


@pytest.fixture(scope="module", autouse=True)
def own_temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    require_sandbox()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("stages")))
        yield


@pytest.fixture(scope="module")
def setting() -> Iterator[Setting]:
    with setting_for("bwrap") as made:
        require_forks(made)
        yield made


@pytest.fixture(scope="module")
def home(setting: Setting) -> Iterator[ForkServer]:
    made = ForkServer()
    yield made
    assert made.problem == ""
    made.close()


# -- limits and ends -------------------------------------------------------------------------


@pytest.mark.parametrize("cage", CAGES)
def test_memory_of_one_worker_is_no_harm_to_the_others(
    setting: Setting, home: ForkServer, cage: str
) -> None:
    grow = "kept = []\nwhile True:\n    kept.append(b'a' * (8 << 20))"
    with worker_of(setting, make=home.start) as (_, other):
        with (
            worker_of(replace(setting, cage=cage), 60.0, home.start) as (_, run),
            pytest.raises(StudentMemory, match="400 MiB"),
        ):
            run(grow)

        assert other("out = 1") == 1
        with worker_of(setting, make=home.start) as (_, later):
            assert later("out = 2") == 2


def test_kill_ends_all_that_a_worker_started_and_nothing_else(
    setting: Setting, home: ForkServer
) -> None:
    with worker_of(setting, make=home.start) as (_, other):
        before = len(processes_that_see(setting.stage))
        with (
            pytest.raises(StudentTimeout),
            worker_of(setting, 1.0, home.start) as (_, run),
        ):
            run(SPIN)

        assert gone(setting.stage, but=before) == []
        assert other("out = 1") == 1


def test_worker_without_its_first_process_is_gone(setting: Setting, home: ForkServer) -> None:
    with worker_of(setting, make=home.start) as (worker, run):
        run("import os\nif os.fork() == 0:\n    while True: pass")
        before = limits.descendants(worker._process.pid)
        assert len(before) == 3

        os.kill(worker._process.pid, signal.SIGKILL)

        assert worker._process.wait(10) == 128 + signal.SIGKILL
        assert not any(Path(f"/proc/{pid}").exists() for pid in before)


JUDGE = """
import json, sys
sys.path[:0] = [{project!r}]
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.sandbox.fork_server import ForkServer
from grader.sandbox.setting import Setting
home = ForkServer()  # whose end is its workers'
worker = home.start(Setting.from_json(json.loads(sys.argv[1])))
worker.wait_ready()
talk = Conversation(worker, "cpu", Clock(600.0), "")
talk.request({{"op": "load", "file": "/submission/echo.py"}})
print("ready", flush=True)
talk.call(["function", "run"], (sys.argv[2],), {{}})
"""


def test_all_die_with_a_judge_that_is_killed() -> None:
    with setting_for("bwrap") as setting:
        assert gone_with_its_judge(setting, JUDGE.format(project=str(HERE.parent))) == []


def test_close_ends_what_forks_with_all_that_it_has_forked() -> None:
    with setting_for("bwrap") as setting:
        before = len(os.listdir("/proc/self/fd"))
        made = ForkServer()
        workers = [made.start(setting) for _ in range(3)]
        workers[0].wait_ready()

        made.close()
        for worker in workers:
            worker.kill()

        assert gone(setting.stage) == []
        del made, worker, workers
        assert len(os.listdir("/proc/self/fd")) <= before


# -- where workers cannot be forked ----------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"level": "none"}, "no sandbox"),
        ({"ranks": 2}, "ranks"),
    ],
)
def test_workers_start_alone_where_they_cannot_be_forked(
    setting: Setting, change: dict[str, str | int], why: str
) -> None:
    assert unfit(setting) == ""
    assert why in unfit(replace(setting, **change))


def test_workers_that_drive_a_gpu_are_forked(setting: Setting) -> None:
    assert unfit(replace(setting, device="cuda")) == ""


PREPARED = """
import os, sys, torch
from grader.worker import boot
config = {"threads": 1, "ranks": 1, "given_path": ".", "given": [], "compiles": False}
boot.prepare({**config, "preload": ["torch._dynamo"], "device": "cuda", "triton": True})
sys.exit(len(os.listdir("/proc/self/task")) - 1 + torch.cuda.is_initialized())
"""


def test_what_is_forked_for_a_gpu_has_touched_none() -> None:
    env = {**worker_environment("cuda", "/tmp"), "PYTHONPATH": str(HERE.parent)}
    done = subprocess.run([sys.executable, "-c", PREPARED], env=env, check=False)

    assert done.returncode == 0


def test_workers_start_alone_without_a_filter(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_server.seccomp.platform, "machine", lambda: "riscv64")

    assert "filter" in unfit(setting)


def test_workers_start_alone_where_python_lies_in_tmp(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_server, "installation", lambda device: ["/usr", "/tmp/venv"])

    assert "Python" in unfit(setting)


def command_inside(worker: WorkerProcess) -> bytes:
    pids = limits.descendants(worker._process.pid)
    return b"".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids)


def test_a_wall_that_cannot_be_made_is_no_weaker_wall(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_server, "SCRATCH_BYTES", "no number")
    home = ForkServer()
    with contextlib.closing(home):
        pool = WarmPool(
            lambda: home.start(setting), instead=lambda error: home.instead(setting, error)
        )
        pool.expect(3)
        workers = [pool.take() for _ in range(3)]
        commands = [command_inside(worker) for worker in workers]
        for worker in workers:
            worker.kill()
        pool.close()

    assert "Invalid argument: '/tmp'" in home.problem
    assert all(b"worker.boot" in command for command in commands)


def test_a_nursery_that_dies_is_done_without(setting: Setting) -> None:
    home = ForkServer()
    with contextlib.closing(home), worker_of(setting, make=home.start):
        assert home._process is not None
        home._process.kill()
        pool = WarmPool(
            lambda: home.start(setting), instead=lambda error: home.instead(setting, error)
        )
        pool.expect(1)
        worker = pool.take()
        worker.kill()
        pool.close()

    assert "did not start" in home.problem


def test_what_is_our_fault_is_told_as_of_workers_alone() -> None:
    with setting_for("bwrap") as setting, contextlib.closing(ForkServer()) as home:
        wrong = replace(setting, given=("missing",))
        pool = WarmPool(lambda: home.start(wrong), instead=lambda error: home.instead(wrong, error))

        with pytest.raises(SandboxError, match=r"(?s)did not start: .*missing"):
            pool.take()
        pool.close()

        assert gone(setting.stage) == []
