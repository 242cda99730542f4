"""Workers that are forked behind walls: what they share is ours and stays as it is."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from stand_ins.confined import SPIN, Run, gone, setting_for, worker_of
from stand_ins.expectation import HERE, SUBMISSIONS, find
from stand_ins.isolation import processes_that_see, require_sandbox

from grader.errors import SandboxError, StudentMemory, StudentTimeout
from grader.judge.grade import grade
from grader.sandbox import limits, nursery
from grader.sandbox.nursery import Nursery, unfit
from grader.sandbox.pool import WarmPool
from grader.sandbox.process import Setting, WorkerProcess
from grader.worker import nursery as forking

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
        yield made


@pytest.fixture(scope="module")
def home(setting: Setting) -> Iterator[Nursery]:
    made = Nursery()
    yield made
    assert made.problem == ""
    made.close()


@pytest.fixture(scope="module")
def inside(setting: Setting, home: Nursery) -> Iterator[Run]:
    """Run code in one forked worker that all tests of what can be seen share."""
    with worker_of(setting, make=home.start) as (_, run):
        yield run


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


# -- what forks ------------------------------------------------------------------------------


def test_what_forks_has_one_thread_and_shares_no_memory_that_can_be_written(
    setting: Setting, home: Nursery
) -> None:
    """Such memory would be a way between workers that no wall stands in."""
    with worker_of(setting, make=home.start) as (worker, _):
        forks = parent(parent(worker._process.pid))
        command = Path(f"/proc/{forks}/cmdline").read_bytes()
        maps = Path(f"/proc/{forks}/maps").read_text().splitlines()
        threads = os.listdir(f"/proc/{forks}/task")

    assert b"worker.nursery" in command
    assert [line for line in maps if {*"ws"} <= {*line.split()[1]}] == []
    assert threads == [str(forks)]


def test_what_forks_has_no_rights_but_to_make_namespaces(setting: Setting, home: Nursery) -> None:
    with worker_of(setting, make=home.start) as (worker, _):
        forks = parent(parent(worker._process.pid))
        status = Path(f"/proc/{forks}/status").read_text()

    rights = {line.split()[1] for line in status.splitlines() if line.startswith("Cap")}
    assert rights == {"0" * 16}
    assert "NoNewPrivs:\t1" in status


def test_nothing_is_forked_while_a_thread_runs() -> None:
    config = {name: None for name in forking.PREPARED}
    asked, answers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    hears, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    with asked, answers, hears:
        others = [theirs.dup() for _ in range(forking.FDS)]
        request = json.dumps({"config": config}).encode()
        socket.send_fds(asked, [request], [other.fileno() for other in others])
        never = forking.Nursery(answers, config, {}, lambda birth: None, lambda alive: None)
        born = never.answer()
        refused = json.loads(hears.recv(1000))
    done.set()
    thread.join()
    for other in (theirs, *others):
        other.close()

    assert born == -1
    assert "threads run" in refused["refused"]


def test_gradings_fork_their_workers(tmp_path: Path) -> None:
    lab = find("90_echo")
    file = tmp_path / "echo.py"
    told = 'def scale(*_, **__):\n    raise ValueError(open("/proc/1/cmdline").read())\n'
    file.write_text(f"{(SUBMISSIONS / 'right_plain_lists.py').read_text()}\n\n{told}")

    report = grade(lab, file, device="cpu", sandbox="required", tasks={"scale"})

    messages = " ".join(result.message for result in report.tests)
    assert "worker.nursery" in messages


# -- what a worker sees ----------------------------------------------------------------------


def test_workers_cannot_see_each_other(setting: Setting, home: Nursery) -> None:
    leave = """
        import ctypes, os, socket
        for folder in ("/tmp", "/dev/shm"):
            open(folder + "/left", "w").close()
        kept = socket.socket(socket.AF_UNIX)
        kept.bind("\\0left")
        kept.listen()
        server = socket.create_server(("127.0.0.1", 4711))
        import builtins
        builtins.kept = kept, server
        shared = ctypes.CDLL(None).shmget(4711, 4096, 0o1666)
        out = [shared >= 0, os.getpid(), os.listdir("/folder")]
    """
    look = """
        import builtins, ctypes, os, socket
        out = [os.listdir(f) for f in ("/tmp", "/dev/shm", "/folder")]
        out.append(sorted(name for name in os.listdir("/proc") if name.isdigit()))
        for family, address in ((socket.AF_UNIX, "\\0left"), (socket.AF_INET, ("127.0.0.1", 4711))):
            with socket.socket(family) as sock:
                out.append(sock.connect_ex(address) == 0)
        out.append(ctypes.CDLL(None).shmget(4711, 4096, 0o666) >= 0)
        out.append(hasattr(builtins, "kept"))
    """
    with worker_of(setting, make=home.start) as (one, first):
        (one.folder / "given").mkdir()
        assert first(leave) == [True, 2, ["given"]]
        with worker_of(setting, make=home.start) as (_, second):
            seen = second(look)

    assert seen == [[], [], [], ["1", "2"], False, False, False, False]


def test_a_worker_holds_no_descriptor_of_others(setting: Setting, home: Nursery) -> None:
    code = """
        import contextlib, os
        out = []
        for fd in os.listdir("/proc/self/fd"):
            with contextlib.suppress(FileNotFoundError):  # that of the list itself
                out.append(os.readlink("/proc/self/fd/" + fd).partition(":")[0])
        out.sort()
    """
    with worker_of(setting, make=home.start) as (_, first):
        alone = first(code)
        with worker_of(setting, make=home.start) as (_, second):
            beside = second(code)
    with worker_of(setting) as (_, fresh):
        usual = fresh(code)

    assert alone == beside == usual


def test_workers_draw_numbers_of_their_own(setting: Setting, home: Nursery) -> None:
    code = """
        import random, numpy, tempfile, torch
        out = [torch.rand(1).item(), float(numpy.random.rand()), random.random()]
        out.append(tempfile.mktemp())
    """
    drawn: list[list[object]] = []
    for _ in range(2):
        with worker_of(setting, make=home.start) as (_, run):
            drawn.append(run(code))

    assert all(a != b for a, b in zip(*drawn, strict=True))


def test_mounts_can_neither_be_loosened_nor_taken_away(inside: Run) -> None:
    code = """
        import os
        out = {}
        for line in open("/proc/self/mountinfo"):
            fields = line.split()
            out[fields[4]] = fields[5].split(",")[0], fields[6]  # the last is on top
    """
    seen = inside(code)

    devices = ("null", "zero", "full", "random", "urandom", "tty")
    ours = {"/proc", "/tmp", "/dev/shm", *(f"/dev/{name}" for name in devices)}
    writable = {place for place, (way, _) in seen.items() if way == "rw"}
    assert writable - {place for place in seen if place.startswith("/dev/console")} == ours
    assert {kind for _, kind in seen.values()} == {"-"}  # nothing comes in from elsewhere


def test_first_process_inside_can_neither_be_ended_nor_looked_into(inside: Run) -> None:
    code = """
        import os, signal
        out = []
        for number in range(1, 65):
            if number not in (32, 33):
                os.kill(1, number)
        for name in ("mem", "maps", "environ", "fd", "root", "cwd", "exe", "syscall", "stack"):
            try:
                os.listdir("/proc/1/" + name) if name == "fd" else os.readlink("/proc/1/" + name) \\
                    if name in ("root", "cwd", "exe") else open("/proc/1/" + name, "rb").read(1)
                out.append(name)
            except OSError:
                pass
        status = dict(l.split(":\\t", 1) for l in open("/proc/1/status") if ":\\t" in l)
        out += [status[k].strip() for k in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "State")]
    """
    *_, rights, most, news, filters, state = got = inside(code)

    assert got[:-5] == []
    assert (rights.strip("0"), most.strip("0"), news, filters) == ("", "", "1", "2")
    assert state.startswith("S")


def test_no_namespace_can_be_made_even_without_the_filter(inside: Run) -> None:
    assert inside("out = open('/proc/sys/user/max_user_namespaces').read()") == "0\n"
    code = """
        try:
            open("/proc/sys/user/max_user_namespaces", "w").write("1")
            out = "written"
        except OSError:
            out = ""
    """
    assert inside(code) == ""


def test_loopback_works(inside: Run) -> None:
    code = """
        import socket
        with socket.create_server(("127.0.0.1", 0)) as server:
            with socket.create_connection(server.getsockname(), timeout=5) as sock:
                out = sock.getpeername()[0]
    """
    assert inside(code) == "127.0.0.1"


def test_dispositions_of_signals_are_those_of_a_fresh_interpreter(
    setting: Setting, inside: Run
) -> None:
    code = """
        out = [l.split()[1] for l in open("/proc/self/status") if l[:6] in ("SigBlk", "SigIgn",
               "SigCgt", "SigPnd", "ShdPnd")]
        out.append(open("/proc/self/oom_score_adj").read())
    """
    with worker_of(setting) as (_, alone):
        assert inside(code) == alone(code)


# -- limits and ends -------------------------------------------------------------------------


@pytest.mark.parametrize("cage", CAGES)
def test_memory_of_one_worker_is_no_harm_to_the_others(
    setting: Setting, home: Nursery, cage: str
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
    setting: Setting, home: Nursery
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


def test_worker_without_its_first_process_is_gone(setting: Setting, home: Nursery) -> None:
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
from grader.proxy.conversation import Clock, Conversation
from grader.sandbox.nursery import Nursery
from grader.sandbox.process import Setting
worker = Nursery().start(Setting.from_json(json.loads(sys.argv[1])))
worker.wait_ready()
talk = Conversation(worker, "cpu", Clock(600.0), "")
talk.request({{"op": "load", "file": "/submission/echo.py"}})
print("ready", flush=True)
talk.call(["function", "run"], (sys.argv[2],), {{}})
"""


def test_all_die_with_a_judge_that_is_killed() -> None:
    with setting_for("bwrap") as setting:
        data = {name: getattr(setting, name) for name in setting.__slots__}
        line = [sys.executable, "-c", JUDGE.format(project=str(HERE.parent))]
        line += [json.dumps(data, default=str), textwrap.dedent(SPIN)]
        with subprocess.Popen(line, stdout=subprocess.PIPE) as judge:
            assert judge.stdout is not None
            assert judge.stdout.readline() == b"ready\n"
            time.sleep(0.5)
            assert processes_that_see(setting.stage)

            judge.send_signal(signal.SIGKILL)

        assert gone(setting.stage) == []


def test_close_ends_what_forks_with_all_that_it_has_forked() -> None:
    with setting_for("bwrap") as setting:
        before = len(os.listdir("/proc/self/fd"))
        made = Nursery()
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
        ({"device": "cuda"}, "GPU"),
        ({"ranks": 2}, "ranks"),
    ],
)
def test_workers_start_alone_where_they_cannot_be_forked(
    setting: Setting, change: dict[str, str | int], why: str
) -> None:
    assert unfit(setting) == ""
    assert why in unfit(replace(setting, **change))


def test_workers_start_alone_without_a_filter(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nursery.seccomp.platform, "machine", lambda: "riscv64")

    assert "filter" in unfit(setting)


def test_workers_start_alone_where_python_lies_in_tmp(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nursery, "installation", lambda device: ["/usr", "/tmp/venv"])

    assert "Python" in unfit(setting)


def command_inside(worker: WorkerProcess) -> bytes:
    pids = limits.descendants(worker._process.pid)
    return b"".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids)


def test_a_wall_that_cannot_be_made_is_no_weaker_wall(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nursery, "SCRATCH_BYTES", "no number")
    home = Nursery()
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
    home = Nursery()
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
    with setting_for("bwrap") as setting, contextlib.closing(Nursery()) as home:
        wrong = replace(setting, given=("missing",))
        pool = WarmPool(lambda: home.start(wrong), instead=lambda error: home.instead(wrong, error))

        with pytest.raises(SandboxError, match=r"(?s)did not start: .*missing"):
            pool.take()
        pool.close()

        assert gone(setting.stage) == []
