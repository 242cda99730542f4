"""Users of the host: whom workers run as, and what one of them cannot use up for the others."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from stand_ins.confined import WAYS, Make, made, setting_for, worker_of
from stand_ins.expectation import HERE, find
from stand_ins.isolation import require_sandbox

from grader.errors import SandboxError
from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.labs.results import Verdict
from grader.sandbox.confinement import limits, users
from grader.sandbox.fork_server import ForkServer
from grader.sandbox.level import undivided
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting
from grader.worker import fork_server as forking

WATCHES = Path("/proc/sys/fs/epoll/max_user_watches")
FEW_WATCHES = 20_000  # more than anything honest has


@pytest.fixture(scope="module", autouse=True)
def own_temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    require_sandbox()
    if why := undivided():
        pytest.skip(f"users are not divided here: {why}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("stages")))
        yield


@pytest.fixture(scope="module")
def setting() -> Iterator[Setting]:
    with setting_for("bwrap") as made:
        yield made


@contextlib.contextmanager
def few_watches() -> Iterator[None]:
    """Lower a limit of the machine that would take minutes to reach."""
    before = WATCHES.read_text()
    try:
        WATCHES.write_text(str(FEW_WATCHES))
    except OSError:
        pytest.skip("the limit cannot be lowered here")
    try:
        yield
    finally:
        WATCHES.write_text(before)


@pytest.fixture
def one_block(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Leave room for one sandbox, in a range that other judges have not; return its first user."""
    if os.geteuid() != 0:
        pytest.skip("root alone chooses a range")
    first = users.FIRST + users.COUNT
    monkeypatch.setenv(users.RANGE, f"{first}:{users.BLOCK}")
    users.ours.cache_clear()
    yield first
    users.ours.cache_clear()


@pytest.fixture(scope="module", params=WAYS)
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Start workers as a grading does, and as it does where they cannot be forked."""
    with made(request.param) as start:
        yield start


@pytest.fixture(scope="module", params=(*WAYS, "forked elsewhere"))
def neighbours(request: pytest.FixtureRequest) -> Iterator[tuple[Make, Make]]:
    """Start two workers that are beside each other: of one grading, or each of its own."""
    way, _, elsewhere = request.param.partition(" ")
    with made(way) as one, made(way) as other:
        yield one, other if elsewhere else one


def hosts_users(worker: WorkerProcess) -> set[int]:
    """Return whom the processes of a worker run as on the host, users and groups.

    What waits outside of a sandbox that starts alone is the judge's.
    """
    found: set[str] = set()
    for pid in limits.descendants(worker._process.pid):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        found |= {n for line in lines if line.startswith(("Uid", "Gid")) for n in line.split()[1:]}
    return {*map(int, found)} - {os.geteuid(), os.getegid()}


# -- whom a worker runs as -------------------------------------------------------------------


def test_a_worker_has_a_user_of_its_own(setting: Setting, neighbours: tuple[Make, Make]) -> None:
    ours = users.ours()
    one, other = neighbours
    with worker_of(setting, make=one) as (a, _), worker_of(setting, make=other) as (b, _):
        seen = [hosts_users(worker) for worker in (a, b)]

    assert [len(found) for found in seen] == [1, 1]
    assert seen[0] != seen[1]
    assert seen[0] | seen[1] <= {*range(ours.first, ours.first + ours.count)}


def test_a_worker_can_become_nobody_else(setting: Setting, neighbours: tuple[Make, Make]) -> None:
    one, other = neighbours
    with worker_of(setting, make=one) as (a, run), worker_of(setting, make=other) as (b, _):
        hosts = [user for worker in (a, b) for user in hosts_users(worker)]
        near = {user + step for user in hosts for step in range(-70, 71)}
        wanted = [0, 1, users.NOBODY - 1, *near]
        code = f"""
            import contextlib, os
            out = []
            for user in {wanted}:
                for way in (os.setuid, os.setgid, lambda user: os.setgroups([user]),
                            lambda user: os.setresuid(-1, user, -1),
                            lambda user: os.setresgid(-1, user, -1)):
                    with contextlib.suppress(OSError):
                        way(user)
                        out.append(user)
            out.append(os.getresuid() + os.getresgid())
            out += [l for n in ("uid_map", "gid_map") for l in open("/proc/self/" + n)]
        """
        own, *maps = run(code)

    assert own == (users.NOBODY,) * 6
    assert [line.split()[::2] for line in maps] == [[str(users.NOBODY), "1"]] * 2


def test_a_worker_may_write_to_its_own_folders(setting: Setting, make: Make) -> None:
    code = """
        import os
        out = []
        for folder in ("/tmp", "/dev/shm"):
            with open(folder + "/mine", "w") as file:
                out.append(os.fstat(file.fileno()).st_uid)
    """
    with worker_of(setting, make=make) as (_, run):
        assert run(code) == [users.NOBODY] * 2


# -- who else may have it --------------------------------------------------------------------


def test_a_block_is_taken_once_and_free_as_soon_as_its_sandbox_has_ended(
    setting: Setting, one_block: int
) -> None:
    with worker_of(setting) as (worker, run):
        assert hosts_users(worker) == {one_block}
        with pytest.raises(SandboxError, match="are taken"):
            WorkerProcess(setting)
        assert run("out = 1") == 1

    block = taken_soon()
    os.close(block.lock)
    assert block.first == one_block


def taken_soon(seconds: float = 10.0) -> users.Block:
    deadline = time.monotonic() + seconds
    while True:
        try:
            return users.take()
        except SandboxError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


JUDGE = """
import sys, time
sys.path[:0] = [{project!r}]
from grader.sandbox.confinement import users
print(users.take().first, flush=True)
time.sleep(100)
"""


def test_a_judge_that_is_killed_leaves_no_block_behind(one_block: int) -> None:
    line = [sys.executable, "-c", JUDGE.format(project=str(HERE.parent))]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as judge:
        assert judge.stdout is not None
        assert int(judge.stdout.readline()) == one_block
        with pytest.raises(SandboxError, match="are taken"):
            users.take()
        judge.kill()

    os.close(users.take().lock)


def test_a_block_is_not_taken_while_one_of_its_users_is_alive(one_block: int) -> None:
    stranger = [*users.become(one_block + users.BLOCK - 1), "sleep", "100"]
    with subprocess.Popen(stranger) as process:
        deadline = time.monotonic() + 10
        while not users.is_alive(one_block + users.BLOCK - 1):
            assert time.monotonic() < deadline
        with pytest.raises(SandboxError, match="are taken"):
            users.take()
        process.kill()

    os.close(users.take().lock)


def test_nothing_of_a_block_stays_open(one_block: int) -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    block = users.take(forks=True)
    for fd in block.descriptors:
        os.close(fd)

    assert sorted(os.listdir("/proc/self/fd")) == before
    os.close(users.take().lock)


def test_workers_start_alone_where_no_namespace_can_be_made(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(users, "become", lambda user: ["false"])
    with pytest.raises(SandboxError, match="cannot make a user namespace"):
        users.take(forks=True)
    assert len(os.listdir("/proc/self/fd")) == before
    monkeypatch.setattr(users, "_namespace", lambda first, enter: os.close(-1))

    with pytest.raises(SandboxError, match="no users of its own"):
        users.take(forks=True)
    assert len(os.listdir("/proc/self/fd")) == before
    monkeypatch.undo()
    monkeypatch.setattr(users, "_namespace", lambda first, enter: os.close(-1))
    with contextlib.closing(ForkServer()) as home, worker_of(setting, make=home.start) as (_, run):
        assert run("out = 1") == 1
        assert "no users of its own" in home.problem


@pytest.mark.parametrize("wanted", ["", "5", "a:b", "0:65536", "-5:70", "1000:63", "1:2:3"])
def test_a_range_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    monkeypatch.setenv(users.RANGE, wanted)

    with pytest.raises(SandboxError, match=users.RANGE) as caught:
        users.bounds()
    assert "FIRST:COUNT" in caught.value.hint


@pytest.mark.usefixtures("one_block")
def test_users_that_a_container_has_not_divide_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(users.RANGE, f"{(1 << 32) - 10}:64")

    assert "in this container" in users.obstacle.__wrapped__()


def test_forks_take_turns_and_two_never_share_a_user() -> None:
    home = forking.ForkServer(None, {}, {}, lambda _: None, lambda _: None, deque([7, 8, 9]))
    drawn = [home._user() for _ in range(4)]

    home.alive = {20: (100, 7, None), 21: (101, 9, None)}
    beside = [home._user() for _ in range(2)]
    home.alive[22] = 102, 8, None

    assert (drawn, beside, home._user()) == ([7, 8, 9, 7], [8, 8], None)


# -- what is counted by user -----------------------------------------------------------------

# Of each: what takes as much as it gets and says how much, what an honest worker does, and gets.
COUNTED = {
    "descriptors in flight": (
        """
        import builtins, os, socket
        kept = builtins.__dict__.setdefault("kept", [])
        out = 0
        try:
            while True:
                kept.append(socket.socketpair())
                kept[-1][0].setblocking(False)
                try:
                    while True:
                        socket.send_fds(kept[-1][0], [b"x"], [0] * 200)
                        out += 200
                except BlockingIOError:
                    pass
        except OSError:
            pass
        """,
        """
        import socket
        ours, theirs = socket.socketpair()
        socket.send_fds(ours, [b"x"], [0])
        out = len(socket.recv_fds(theirs, 1, 1)[1])
        """,
        1,
    ),
    "memory of pipes": (
        """
        import builtins, fcntl, os
        SET_SIZE = 1031
        kept = builtins.__dict__.setdefault("kept", [])
        out, pages = 0, 256
        while pages >= 16:
            kept.append(os.pipe())
            try:
                fcntl.fcntl(kept[-1][1], SET_SIZE, pages << 12)
                out += pages
            except PermissionError:
                pages >>= 1
        """,
        """
        import fcntl, os
        GET_SIZE = 1032
        out = fcntl.fcntl(os.pipe()[1], GET_SIZE)
        """,
        1 << 16,
    ),
    "signals that wait": (
        """
        import ctypes, os, signal
        queue = ctypes.CDLL(None).sigqueue
        signal.pthread_sigmask(signal.SIG_BLOCK, [40])
        out = 0
        while queue(os.getpid(), 40, None) == 0:
            out += 1
        """,
        """
        import ctypes, os, signal
        signal.pthread_sigmask(signal.SIG_BLOCK, [41])
        out = ctypes.CDLL(None).sigqueue(os.getpid(), 41, None)
        signal.sigtimedwait([41], 0)
        """,
        0,
    ),
    "watches": (
        """
        import builtins, os, select
        targets = [os.pipe()[0] for _ in range(200)]
        kept = builtins.__dict__.setdefault("kept", [])
        out = 0
        try:
            while True:
                kept.append(select.epoll())
                for target in targets:
                    kept[-1].register(target, 0)
                    out += 1
        except OSError:
            pass
        """,
        """
        import os, select
        select.epoll().register(os.pipe()[0])
        out = 1
        """,
        1,
    ),
    "processes": (
        """
        import os, time
        out = 0
        try:
            while True:
                if os.fork() == 0:
                    time.sleep(1000)
                out += 1
        except OSError:
            pass
        """,
        """
        import os
        if (child := os.fork()) == 0:
            os._exit(7)
        out = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        """,
        7,
    ),
}


# What a hog gets at least, so that it is one: without users of their own, all that there is.
LEAST = {
    "descriptors in flight": 1000,
    "memory of pipes": 16_000,
    "signals that wait": 1000,
    "watches": FEW_WATCHES - 1000,
    "processes": 20,
}


@pytest.mark.parametrize("counted", COUNTED)
def test_who_takes_all_that_a_user_gets_takes_it_from_nobody_else(
    setting: Setting, neighbours: tuple[Make, Make], counted: str
) -> None:
    take, work, wanted = COUNTED[counted]
    rlimits = {"NOFILE": 1024, "FSIZE": 1 << 20, "NPROC": 30, "CORE": 0}
    greedy = replace(setting, rlimits=rlimits)
    with (
        few_watches() if counted == "watches" else contextlib.nullcontext(),
        worker_of(greedy, make=neighbours[0]) as (_, hog),
        worker_of(greedy, make=neighbours[1]) as (_, honest),
    ):
        assert honest(work) == wanted
        assert hog(take) >= LEAST[counted]

        assert honest(work) == wanted


def test_ranks_do_their_work_beside_who_takes_all_that_a_user_gets(setting: Setting) -> None:
    lab = find("08_tp_linear")
    rlimits = {"NOFILE": 4096, "FSIZE": 1 << 20, "NPROC": 30, "CORE": 0}
    with few_watches(), worker_of(replace(setting, rlimits=rlimits)) as (_, hog):
        for counted, (take, _, _) in COUNTED.items():
            assert hog(take) >= LEAST[counted]

        answer = lab.solutions / lab.code_name
        report = grade(Request(lab, answer, device="cpu", sandbox="required", tasks={"column"}))

    assert {test.verdict for test in report.tests if test.task == "column"} == {Verdict.PASSED}


def test_no_queue_of_messages_can_be_made(setting: Setting, make: Make) -> None:
    code = """
        import ctypes, os
        out = ctypes.CDLL("librt.so.1").mq_open(b"/queue", os.O_CREAT | os.O_RDWR, 0o600, None)
    """
    with worker_of(setting, make=make) as (_, run):
        assert run(code) == -1
