"""Workers that are forked behind walls: what they share is ours and stays as it is."""

import json
import os
import re
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from stand_ins.confined import Run, require_forks, setting_for, worker_of
from stand_ins.expectation import SUBMISSIONS, find
from stand_ins.isolation import require_sandbox

from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.sandbox.confinement import limits, users
from grader.sandbox.fork_server import ForkServer
from grader.sandbox.setting import Setting
from grader.worker import fork_server as forking

BECOME = 1 << 6 | 1 << 7  # CAP_SETGID, CAP_SETUID
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


@pytest.fixture(scope="module")
def inside(setting: Setting, home: ForkServer) -> Iterator[Run]:
    """Run code in one forked worker that all tests of what can be seen share."""
    with worker_of(setting, make=home.start) as (_, run):
        yield run


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


# -- what forks ------------------------------------------------------------------------------


def test_what_forks_has_one_thread_and_shares_no_memory_that_can_be_written(
    setting: Setting, home: ForkServer
) -> None:
    """Such memory would be a way between workers that no wall stands in."""
    with worker_of(setting, make=home.start) as (worker, _):
        forks = parent(parent(worker._process.pid))
        command = Path(f"/proc/{forks}/cmdline").read_bytes()
        maps = Path(f"/proc/{forks}/maps").read_text().splitlines()
        threads = os.listdir(f"/proc/{forks}/task")

    assert b"worker.fork_server" in command
    assert [line for line in maps if {*"ws"} <= {*line.split()[1]}] == []
    assert threads == [str(forks)]


def test_what_forks_may_make_namespaces_and_become_who_is_in_its_own_alone(
    setting: Setting, home: ForkServer
) -> None:
    with worker_of(setting, make=home.start) as (worker, _):
        forks = parent(parent(worker._process.pid))
        status = Path(f"/proc/{forks}/status").read_text()
        known = [
            Path(f"/proc/{forks}/{name}").read_text().split() for name in ("uid_map", "gid_map")
        ]

    divided = setting.divided
    rights = {line.split()[1] for line in status.splitlines() if line.startswith("Cap")}
    assert rights <= {f"{BECOME if divided else 0:016x}", "0" * 16}
    assert "NoNewPrivs:\t1" in status
    user = re.search(r"^Uid:\t(\d+)", status, re.MULTILINE)
    assert user is not None
    assert [seen[1:] for seen in known] == [[user[1], str(users.BLOCK if divided else 1)]] * 2


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
        never = forking.ForkServer(answers, config, {}, lambda birth: None, lambda alive: None)
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

    report = grade(Request(lab, file, device="cpu", sandbox="required", tasks={"scale"}))

    messages = " ".join(result.message for result in report.tests)
    assert "worker.fork_server" in messages


# -- what a worker sees ----------------------------------------------------------------------


def test_workers_cannot_see_each_other(setting: Setting, home: ForkServer) -> None:
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


def test_a_worker_holds_no_descriptor_of_others(setting: Setting, home: ForkServer) -> None:
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


def test_workers_draw_numbers_of_their_own(setting: Setting, home: ForkServer) -> None:
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


def test_forked_workers_begin_as_those_do_that_start_alone(setting: Setting, inside: Run) -> None:
    code = """
        import os, signal, socket, sys, threading
        status = [line.split() for line in open("/proc/self/status")]
        kept = ("Umask", "Uid", "Gid", "Groups", "Sig", "Shd", "Cap", "NoNew", "Secc", "Threads")
        folders = ("/", "/dev", "/dev/pts", "/etc", "/given", "/judge", "/folder", "/submission")
        out = {
            "status": [line for line in status if line[0].startswith(kept)],
            "limits": open("/proc/self/limits").read(),
            "oom": open("/proc/self/oom_score_adj").read(),
            "environment": dict(os.environ),
            "folders": {name: sorted(os.listdir(name)) for name in folders},
            "devices": {n: os.stat("/dev/" + n).st_rdev for n in ("null", "zero", "random", "tty")},
            "place": [os.getcwd(), os.getpid(), os.getppid()],
            "nice": [os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)],
            "cores": sorted(os.sched_getaffinity(0)),
            "names": [socket.gethostname(), socket.if_nameindex()],
            "python": [repr(sys.flags), sys.path, sys.argv[0], len(sys.argv)],
            "dumpable": os.stat("/proc/self/mem").st_uid,
            "threads": [thread.name for thread in threading.enumerate()],
            "handlers": [repr(signal.getsignal(n)) for n in range(1, 32)],
        }
    """
    with worker_of(setting) as (_, alone):
        usual, got = alone(code), inside(code)

    # Any name of a signal handler holds an address, and the only one is Python's own.
    for seen in (usual, got):
        seen["handlers"] = [name.split(" at ")[0] for name in seen["handlers"]]
    assert {name: value for name, value in got.items() if usual[name] != value} == {}
