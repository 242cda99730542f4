"""The sandbox, seen from inside: what a confined worker can read, write, reach and survive."""

import contextlib
import errno
import os
import platform
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from stand_ins.confined import (
    SPIN,
    WAYS,
    Make,
    Run,
    gone,
    gone_with_its_judge,
    made,
    setting_for,
    worker_of,
)
from stand_ins.expectation import HERE
from stand_ins.isolation import require_sandbox

from grader.errors import (
    SandboxError,
    StudentCrashed,
    StudentError,
    StudentMemory,
    StudentTimeout,
    SubmissionFault,
)
from grader.sandbox import level
from grader.sandbox.confinement import launcher, limits, seccomp
from grader.sandbox.confinement.bubblewrap import worker_environment
from grader.sandbox.confinement.users import NOBODY
from grader.sandbox.launch import BOOT
from grader.sandbox.level import choose_level
from grader.sandbox.pool import WarmPool
from grader.sandbox.process import WorkerProcess, folders_of
from grader.sandbox.setting import Setting
from grader.sandbox.stage import PACKAGES, sweep

PROJECT = HERE.parent
SECRET = "canary-8b1d7e60c2f94a35"


@pytest.fixture(scope="module", autouse=True)
def own_temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    require_sandbox()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("stages")))
        patch.setenv("INFERLAB_SECRET", SECRET)
        yield


@pytest.fixture(scope="module")
def setting() -> Iterator[Setting]:
    with setting_for("bwrap") as made:
        yield made


@pytest.fixture(scope="module", params=WAYS)
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Start workers as a grading does, and as it does where they cannot be forked."""
    with made(request.param) as start:
        yield start


@pytest.fixture(scope="module")
def inside(setting: Setting, make: Make) -> Iterator[Run]:
    """Run code in one confined worker that all tests of what can be seen share."""
    with worker_of(setting, make=make) as (_, run):
        yield run


def text(inside: Run, path: str) -> str:
    return inside(f"out = open({path!r}, 'rb').read().decode(errors='replace')")


# -- what can be read ------------------------------------------------------------------------


def test_environment_is_ours_alone(inside: Run) -> None:
    got = inside("import os; out = dict(os.environ)")

    ours = worker_environment("cpu", "/tmp")
    assert {key: value for key, value in got.items() if key in ours} == ours
    assert set(got) - set(ours) <= {"PWD", "LC_CTYPE"}


def test_garbage_is_collected_as_usual(inside: Run) -> None:
    assert inside("import gc; out = gc.isenabled()") is True


def test_what_a_host_sets_for_nccl_holds_on_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_NVLS_ENABLE", "0")
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "eth0")

    kept = worker_environment("cuda", "/tmp")

    assert kept["NCCL_NVLS_ENABLE"] == "0"
    assert kept["NCCL_SOCKET_IFNAME"] == "lo"  # no other is there
    assert SECRET not in "".join(kept.values())
    assert "NCCL_NVLS_ENABLE" not in worker_environment("cpu", "/tmp")


def test_inductor_compiles_in_the_worker_itself() -> None:
    name = "TORCHINDUCTOR_COMPILE_THREADS"  # by default as many processes as there are cores
    assert worker_environment("cuda", "/tmp")[name] == "1"
    assert name not in worker_environment("cpu", "/tmp")


def test_no_process_in_view_tells_of_the_judge(inside: Run) -> None:
    code = """
        import glob
        out = {}
        for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
            try:
                out[path] = open(path, "rb").read().decode(errors="replace")
            except OSError:
                out[path] = ""
    """
    seen = inside(code)

    assert "/proc/1/cmdline" in seen
    assert len(seen) <= 2 * 4  # bubblewrap's first process and the worker
    for path, content in seen.items():
        for secret in (SECRET, tempfile.gettempdir(), "suites", "solutions", "INFERLAB"):
            assert secret not in content, path
    assert seen["/proc/1/environ"].strip("\0") in ("", "PWD=/")


def test_nothing_of_the_project_is_in_view(inside: Run) -> None:
    """Of the project's tree only the environment, of our packages only what a worker imports."""
    code = f"""
        import os
        names = ("90_echo", "01_llama", "test_90_echo.py", "test_01_llama.py")
        out = []
        for folder, below, files in os.walk("/"):
            if folder in ("/proc", "/sys"):
                below.clear()
            paths = [os.path.join(folder, name) for name in (*below, *files)]
            inside = folder.startswith({str(PROJECT)!r}) and not folder.startswith({sys.prefix!r})
            out += [p for p in paths if p.endswith(names) or p.startswith("/judge/") or inside]
    """
    found = set(inside(code)) - {sys.prefix, "/judge/grader"}

    folders = [PROJECT / "grader" / name for name in PACKAGES]
    ours = [*folders, *(path for folder in folders for path in folder.rglob("*"))]
    ours = [path for path in ours if "__pycache__" not in path.parts]
    assert found == {f"/judge/{file.relative_to(PROJECT)}" for file in ours}


def test_judge_cannot_be_imported(inside: Run) -> None:
    code = """
        import importlib.util
        names = ("grader.suites", "grader.proxy.student", "reference", "solutions", "labs.llama")
        out = []
        for name in names:
            try:
                out += [name] if importlib.util.find_spec(name) else []
            except ImportError:
                pass
    """
    assert inside(code) == []


def test_stage_shows_only_what_is_given(inside: Run) -> None:
    code = "import os; out = {p: sorted(os.listdir(p)) for p in ('/submission', '/given/labs')}"

    assert inside(code) == {"/submission": ["echo.py"], "/given/labs": ["checkpoints", "common.py"]}


def test_hosts_own_files_are_out_of_view(inside: Run) -> None:
    paths = ["/etc/passwd", "/etc/shadow", "/root/.bashrc", "/home", "/var", "/run", "/boot"]
    code = f"import os; out = [p for p in {paths} if os.path.exists(p)]"

    assert inside(code) == []


def test_open_descriptors_are_the_conversation_alone(inside: Run) -> None:
    code = """
        import os
        out = {}
        for fd in os.listdir("/proc/self/fd"):
            try:
                out[fd] = os.readlink("/proc/self/fd/" + fd)
            except OSError:
                pass
    """
    kinds = {target.split(":[")[0] for target in inside(code).values()}

    assert kinds == {"/dev/null", "pipe", "socket", "/memfd:arena (deleted)"}


def test_arenas_cannot_be_resized(inside: Run) -> None:
    code = """
        import os, sys
        out = []
        for fd in map(int, sys.argv[2:4]):
            for size in (0, 1 << 31):
                try:
                    os.ftruncate(fd, size)
                    out.append(size)
                except OSError:
                    pass
    """
    assert inside(code) == []


# -- what can be written ---------------------------------------------------------------------


def test_only_the_private_tmpfs_can_be_written(inside: Run) -> None:
    code = """
        import os
        out = []
        for folder, below, files in os.walk("/"):
            if folder.startswith("/proc"):
                below.clear()
                continue
            try:
                open(os.path.join(folder, "written"), "w").close()
                out.append(folder)
            except OSError:
                pass
    """
    # A Python under /tmp is bound there again; the folders above it lie on the private tmpfs too.
    found = {folder for folder in inside(code) if not folder.startswith("/tmp/")}
    assert found == {"/tmp", "/dev/shm"}


def test_files_in_view_cannot_be_changed(inside: Run) -> None:
    code = """
        import glob, os
        out = []
        for path in ["/submission/echo.py", "/given/labs/common.py", *glob.glob("/judge/grader/**"),
                     "/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern",
                     "/proc/sysrq-trigger", os.__file__]:
            for action in (lambda: open(path, "a"), lambda: os.chmod(path, 0o777),
                           lambda: os.rename(path, path + "x")):
                try:
                    action()
                    out.append(path)
                except OSError:
                    pass
    """
    assert inside(code) == []


def test_private_tmpfs_is_sized(inside: Run) -> None:
    code = """
        import os
        out = [os.statvfs(p).f_blocks * os.statvfs(p).f_frsize for p in ("/tmp", "/dev/shm")]
    """
    assert inside(code) == [1 << 30, 1 << 30]


def test_folder_of_the_worker_can_be_filled_by_us_alone(setting: Setting, make: Make) -> None:
    with worker_of(setting, make=make) as (worker, run):
        (worker.folder / "config.json").write_text("hello")

        assert run("out = open('/folder/config.json').read()") == "hello"
        with pytest.raises(StudentError, match="Read-only"):
            run("open('/folder/mine', 'w')")


# -- what can be reached ---------------------------------------------------------------------


def test_process_is_nobody_without_rights(setting: Setting, inside: Run) -> None:
    status = dict(
        line.split(":\t", 1)
        for line in text(inside, "/proc/self/status").splitlines()
        if "\t" in line
    )

    nobody = setting.divided or os.geteuid() == 0
    assert set(status["Uid"].split()) == {str(NOBODY if nobody else os.geteuid())}
    assert {status[f"Cap{kind}"].strip("0") for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {""}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_namespaces_are_its_own(inside: Run) -> None:
    names = ("user", "pid", "net", "ipc", "uts", "mnt")
    got = inside(f"import os; out = [os.readlink('/proc/self/ns/' + n) for n in {names}]")

    ours = [os.readlink(f"/proc/self/ns/{name}") for name in names]
    assert not set(got) & set(ours)
    assert inside("import socket; out = socket.gethostname()") == "worker"


def test_network_is_loopback_without_anybody(inside: Run) -> None:
    name = f"\0inferlab-test-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(name)
        unix.listen()
        code = f"""
            import socket
            out = {{"interfaces": [n for _, n in socket.if_nameindex()]}}
            for family, address in ((socket.AF_INET, ("127.0.0.1", {server.getsockname()[1]})),
                                    (socket.AF_INET, ("1.1.1.1", 53)),
                                    (socket.AF_UNIX, {name!r})):
                with socket.socket(family) as sock:
                    sock.settimeout(2)
                    out[str(address)] = sock.connect_ex(address)
            try:
                socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
                out["raw"] = 0
            except PermissionError:
                out["raw"] = 1
        """
        got = inside(code)

    assert got.pop("interfaces") == ["lo"]
    assert all(got.values()), got


@pytest.mark.skipif(platform.machine() not in seccomp.ARCHITECTURES, reason="no numbers")
def test_denied_system_calls_are_refused(inside: Run) -> None:
    column = seccomp.ARCHITECTURES[platform.machine()][0]
    table = seccomp.DENIED | seccomp.DENIED_ON_CPU
    numbers = {name: pair[column] for name, pair in table.items() if pair[column] is not None}
    code = f"""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        out = {{}}
        for name, number in {numbers!r}.items():
            result = libc.syscall(number, 0, 0, 0, 0, 0, 0)
            out[name] = ctypes.get_errno() if result == -1 else 0
    """
    got = inside(code)

    assert {name: code for name, code in got.items() if code != errno.EPERM} == {}


def test_sockets_are_of_families_that_the_namespace_divides(inside: Run) -> None:
    code = """
        import contextlib, socket
        out = set()
        for family in range(64):
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
                with contextlib.suppress(OSError), socket.socket(family, kind):
                    out.add(family)
        out = sorted(out)
    """
    names = ("AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK")
    assert set(inside(code)) <= {getattr(socket, name) for name in names}


@pytest.mark.skipif(platform.machine() not in seccomp.ARCHITECTURES, reason="no numbers")
@pytest.mark.parametrize("cuda", [False, True])
def test_socket_of_any_other_family_is_refused_by_the_filter(cuda: bool) -> None:
    program = seccomp.program(cuda=cuda)
    assert program is not None
    column, audit = seccomp.ARCHITECTURES[platform.machine()]

    def outcome(number: int, argument: int = 0) -> int:
        return run_filter(program, struct.pack("IIQQ", number, audit, 0, argument))

    for pair in seccomp.SOCKETS.values():
        allowed = {f for f in range(100) if outcome(pair[column], f) == seccomp.ALLOW}
        assert allowed == set(seccomp.FAMILIES)
        assert outcome(pair[column], socket.AF_UNIX | 7 << 32) == seccomp.ALLOW
    denied = {pair[column] for pair in seccomp.DENIED.values()} - {None}
    denied |= set() if cuda else {pair[column] for pair in seccomp.DENIED_ON_CPU.values()}
    others = set(range(500)) - {pair[column] for pair in seccomp.SOCKETS.values()}
    assert {n for n in others if outcome(n) == seccomp.REFUSE} == denied
    assert {n for n in others if outcome(n) == seccomp.ALLOW} == others - denied


def run_filter(program: bytes, data: bytes) -> int:
    """Return what a filter says of a system call, as the kernel would run it."""
    lines = list(struct.iter_unpack("HBBI", program))
    at, word = 0, 0
    while True:
        code, if_true, if_false, value = lines[at]
        if code == seccomp.RETURN:
            return value
        if code == seccomp.LOAD:
            (word,) = struct.unpack_from("I", data, value)
        else:
            holds = word == value if code == seccomp.EQUAL else word >= value
            at += if_true if holds else if_false
        at += 1


def test_no_terminal_can_be_taken(inside: Run) -> None:
    code = """
        import os
        out = os.listdir("/dev/pts")
        try:
            out += os.openpty()
        except OSError:
            pass
        try:
            open("/dev/pts/file", "w")
            out.append("file")
        except OSError:
            pass
    """
    assert inside(code) == []


def test_no_new_user_namespace_by_another_call(inside: Run) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("numbers of x86-64")
    code = """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        out = []
        for number in (56, 56 | 0x40000000, 39 | 0x40000000):  # clone, and calls of x32
            result = libc.syscall(number, 0x10000000 | 17, 0, 0, 0, 0)
            if result == 0 and number == 56:
                os._exit(0)
            out.append(result)
    """
    assert inside(code) == [-1, -1, -1]


def test_processes_outside_cannot_be_signalled(inside: Run) -> None:
    code = f"""
        import os
        out = []
        for pid in {{ {os.getpid()}, {os.getppid()} }} - {{1}}:  # 1 is somebody else in there
            try:
                os.kill(pid, 0)
                out.append(pid)
            except OSError:
                pass
    """
    assert inside(code) == []


# -- limits ----------------------------------------------------------------------------------


def test_open_files_and_file_size_are_limited(inside: Run) -> None:
    code = """
        import errno, os
        out, kept = [], []
        try:
            while True:
                kept.append(os.open("/dev/null", os.O_RDONLY))
        except OSError as error:
            out.append(errno.errorcode[error.errno])
        for fd in kept:
            os.close(fd)
        out.append(len(kept) < 64)
        try:
            with open("/tmp/large", "wb") as file:
                while True:
                    file.write(b"a" * (1 << 20))
        except OSError as error:
            out.append(errno.errorcode[error.errno])
        out.append(os.path.getsize("/tmp/large") <= 16 << 20)
        os.remove("/tmp/large")
    """
    assert inside(code) == ["EMFILE", True, "EFBIG", True]


CAGES = sorted({limits.detect(), "watch"})


def fault_of(
    setting: Setting, code: str, seconds: float = 20.0, make: Make = WorkerProcess
) -> SubmissionFault:
    with worker_of(setting, seconds, make) as (worker, run):
        with pytest.raises(SubmissionFault) as caught:
            run(code)
        assert worker.channel._sock.fileno() == -1
    return caught.value


@pytest.mark.parametrize("cage", CAGES)
def test_memory_is_limited(setting: Setting, make: Make, cage: str) -> None:
    fault = fault_of(
        replace(setting, cage=cage),
        """
        import time
        kept = []
        while True:
            kept.append(b"a" * (8 << 20))
            time.sleep(0.005)
        """,
        make=make,
    )

    assert isinstance(fault, StudentMemory)
    assert "400 MiB" in str(fault)


@pytest.mark.parametrize("cage", CAGES)
def test_limit_of_memory_can_be_raised_and_lowered(setting: Setting, make: Make, cage: str) -> None:
    take = "kept = b'a' * (500 << 20); out = len(kept)"
    with worker_of(replace(setting, cage=cage), make=make) as (worker, run):
        before = worker.used()
        worker.allow(600 << 20)
        assert run(take) == 500 << 20
        worker.allow(-600 << 20)

        with pytest.raises(StudentMemory):
            run(f"{take}; import time; time.sleep(1)")

    assert 0 <= before < 400 << 20


@pytest.mark.parametrize("cage", CAGES)
def test_memory_of_children_counts(setting: Setting, make: Make, cage: str) -> None:
    fault = fault_of(
        replace(setting, cage=cage),
        """
        import os, time
        for _ in range(5):
            if os.fork() == 0:
                kept = b"a" * (150 << 20)
                time.sleep(100)
        time.sleep(100)
        """,
        seconds=5.0,
        make=make,
    )

    # The kernel may choose a child: then the worker waits for it until its deadline.
    assert isinstance(fault, StudentMemory | StudentTimeout)


def test_processes_are_limited_by_a_group(setting: Setting, make: Make) -> None:
    if setting.cage == "watch":
        pytest.skip("no control group can be made here")
    code = """
        import os, time
        out = 0
        try:
            while out < 200:
                if os.fork() == 0:
                    time.sleep(100)
                out += 1
        except OSError:
            pass
    """
    with worker_of(setting, make=make) as (_, run):
        assert 0 < run(code) < 40


def test_processes_are_limited_by_watching(setting: Setting, make: Make) -> None:
    code = "import os, time\nfor _ in range(60):\n    os.fork() or time.sleep(100)\ntime.sleep(100)"

    fault = fault_of(replace(setting, cage="watch"), code, make=make)

    assert isinstance(fault, StudentCrashed)
    assert "more than 40 processes" in str(fault)


def test_output_is_kept_up_to_its_limit(setting: Setting, make: Make) -> None:
    with worker_of(setting, make=make) as (worker, run):
        run("print('hello'); out = 1")
        assert worker.output() == "hello\n"
        worker.forget_output()

        run("import os; [os.write(1, b'\\xff' * 4096) for _ in range(1000)]")

        assert len(worker.output()) <= 16 << 10


def test_output_is_whole_as_soon_as_the_call_has_ended(
    setting: Setting, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that reads it may be anywhere between taking and keeping a piece."""

    def slow(fd: int, size: int, read: Callable[[int, int], bytes] = os.read) -> bytes:
        piece = read(fd, size)
        time.sleep(0.05)
        return piece

    with worker_of(setting, make=make) as (worker, run):
        monkeypatch.setattr(os, "read", slow)
        for n in range(3):
            run(f"print('line', {n}); out = 1")
            assert worker.output() == f"line {n}\n"
            worker.forget_output()


def test_output_without_end_does_not_hold_up_the_judge(setting: Setting, make: Make) -> None:
    flood = "import os, threading\ndef flood():\n    while True: os.write(1, b'x' * 65536)\n"
    with worker_of(setting, make=make) as (worker, run):
        run(f"{flood}threading.Thread(target=flood, daemon=True).start(); out = 1")
        deadline = time.monotonic() + 5
        while not (told := worker.output()):
            assert time.monotonic() < deadline
        assert len(told) <= 16 << 10


# -- endings -----------------------------------------------------------------------------------


def test_kill_ends_all_that_a_spinning_worker_started() -> None:
    with setting_for("bwrap") as setting:
        fault = fault_of(setting, SPIN, seconds=1.0)

        assert isinstance(fault, StudentTimeout)
        assert gone(setting.stage) == []
        assert list(folders_of(setting).iterdir()) == []


def test_kill_ends_children_without_a_sandbox() -> None:
    with setting_for("none") as setting, worker_of(setting) as (worker, run):
        code = "import os, time\nout = os.fork()\nif out == 0:\n    time.sleep(1000)"
        child = run(code)

        worker.kill()

        deadline = time.monotonic() + 5
        while Path(f"/proc/{child}/stat").exists() and time.monotonic() < deadline:
            if Path(f"/proc/{child}/stat").read_text().split(") ")[1][0] == "Z":
                break
            time.sleep(0.05)
        else:
            assert not Path(f"/proc/{child}/stat").exists()


JUDGE = """
import json, sys, time
sys.path[:0] = [{project!r}]
from pathlib import Path
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.sandbox.process import WorkerProcess, folders_of
from grader.sandbox.setting import Setting
worker = WorkerProcess(Setting.from_json(json.loads(sys.argv[1])))
worker.wait_ready()
talk = Conversation(worker, "cpu", Clock(600.0), "")
talk.request({{"op": "load", "file": "/submission/echo.py"}})
print("ready", flush=True)
talk.call(["function", "run"], (sys.argv[2],), {{}})
"""


def test_worker_dies_with_a_judge_that_is_killed() -> None:
    with setting_for("bwrap") as setting:
        assert gone_with_its_judge(setting, JUDGE.format(project=str(PROJECT))) == []


def test_stage_of_a_dead_judge_is_swept() -> None:
    with subprocess.Popen(["/bin/true"]) as process:
        pass
    dead = Path(tempfile.mkdtemp(prefix=f"inferlab-{process.pid}-"))
    alive = Path(tempfile.mkdtemp(prefix=f"inferlab-{os.getpid()}-"))
    other = Path(tempfile.mkdtemp(prefix="inferlab-report-x"))

    sweep()

    assert [p.exists() for p in (dead, alive, other)] == [False, True, True]
    alive.rmdir()
    other.rmdir()


@pytest.mark.parametrize("orphan", [True, False])
def test_launcher_that_nobody_waits_for_is_ended(orphan: bool) -> None:
    with subprocess.Popen(
        [
            "bash",
            "-c",
            'exec -a bwrap bash -c "read -t 60 <> <(:)" "$0" & echo $!; "$@"',
            BOOT,
            *(["true"] if orphan else ["read"]),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as shell:
        assert shell.stdout is not None
        pid = int(shell.stdout.readline())
        if orphan:
            shell.wait()
        deadline = time.monotonic() + 5
        while not Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"bwrap\0"):
            assert time.monotonic() < deadline

        sweep()

        deadline = time.monotonic() + (5 if orphan else 0.2)
        while (alive := has_command(pid)) and time.monotonic() < deadline:
            time.sleep(0.01)
        if alive:
            os.kill(pid, signal.SIGKILL)
        assert alive is not orphan


def has_command(pid: int) -> bool:
    """False for a process that is gone or a zombie."""
    with contextlib.suppress(FileNotFoundError):
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    return False


def test_worker_that_cannot_start_is_our_fault() -> None:
    with setting_for("bwrap") as setting:
        worker = WorkerProcess(replace(setting, given=("missing",)))

        with pytest.raises(SandboxError, match=r"(?s)did not start: .*missing"):
            worker.wait_ready()

        assert gone(setting.stage) == []


def test_pool_keeps_workers_warm_and_kills_the_unused() -> None:
    with setting_for("bwrap") as setting:
        pool = WarmPool(lambda: WorkerProcess(setting), size=1)
        pool.expect(2)
        before = len(os.listdir("/proc/self/fd"))
        one = pool.take()
        two = pool.take()
        one.kill()
        two.kill()
        pool.expect(1)
        pool.close()

        assert one is not two
        assert gone(setting.stage) == []
        del one, two
        assert len(os.listdir("/proc/self/fd")) <= before


# -- choosing a level ------------------------------------------------------------------------


@pytest.fixture
def without_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    level.probe.cache_clear()
    monkeypatch.setattr(launcher, "find", lambda: None)
    monkeypatch.setattr(launcher, "strange", lambda: "")
    yield
    level.probe.cache_clear()


def test_level_is_bwrap_where_it_works() -> None:
    assert choose_level("auto") == choose_level("required") == ("bwrap", "")
    assert choose_level("none") == ("none", "--sandbox none was asked for")


@pytest.mark.usefixtures("without_bubblewrap")
def test_without_bubblewrap_auto_says_so_and_required_refuses() -> None:
    assert choose_level("auto") == ("none", "bubblewrap is not installed")
    with pytest.raises(SandboxError, match="cannot isolate submissions") as caught:
        choose_level("required")
    assert "apt-get install bubblewrap" in caught.value.hint


def test_bubblewrap_that_fails_is_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    level.probe.cache_clear()
    monkeypatch.setattr(launcher.shutil, "which", lambda name: "/bin/false")
    chosen, why = choose_level("auto")
    level.probe.cache_clear()

    assert chosen == "none"
    assert why.startswith("bubblewrap does not work here")


# -- control groups --------------------------------------------------------------------------


def test_groups_are_removed_and_those_of_the_dead_are_swept() -> None:
    kind = limits.detect()
    if kind == "watch":
        pytest.skip("no control group can be made here")
    with subprocess.Popen(["/bin/true"]) as process:
        pass
    group = limits.Cgroup(kind, None, 1 << 30, 10)
    dead = [f.with_name(f"inferlab-{process.pid}-dead") for f in group._folders]
    for folder in dead:
        folder.mkdir()

    limits.sweep()

    assert all(folder.exists() for folder in group._folders)
    assert not any(folder.exists() for folder in dead)
    group.close()
    assert not any(folder.exists() for folder in group._folders)


def test_two_groups_of_one_judge_do_not_collide() -> None:
    kind = limits.detect()
    if kind == "watch":
        pytest.skip("no control group can be made here")
    groups = [limits.Cgroup(kind, None, 1 << 30, 10) for _ in range(3)]

    assert len({group._folders[0] for group in groups}) == 3
    for group in groups:
        group.close()
