"""Workers that are forked: each starts as a fresh one does, and ends as one does."""

import contextlib
import mmap
import shutil
import textwrap
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from stand_ins import expectation
from stand_ins.expectation import RANKS, SUBMISSIONS
from stand_ins.isolation import PATIENCE_SECONDS, require_sandbox
from stand_ins.planted import keep_first_task

from grader.errors import JudgeError, StudentCrashed
from grader.judge.grade import grade, worker_setting
from grader.judge.setup.request import Request
from grader.judge.setup.start import ForkServer
from grader.labs.lab import Lab, load_lab
from grader.labs.results import Report
from grader.prove.forking.forked import Quick, WorkerServer, fork_worker
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.sandbox.confinement.bubblewrap import worker_environment
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting
from grader.sandbox.stage import staged

DEMO, GROUPS = expectation.find("90_echo"), expectation.find("92_ranks")
CODE = b"def run(code):\n    space = {}\n    exec(code, space)\n    return space.get('out')\n"
Run = Callable[[str], Any]


@pytest.fixture(scope="module")
def home() -> Iterator[WorkerServer]:
    made = WorkerServer(DEMO)
    yield made
    made.close()


@pytest.fixture(scope="module")
def setting() -> Iterator[Setting]:
    with staged(DEMO, {}, "none") as stage:
        (stage / "submission").mkdir()
        (stage / "submission" / "echo.py").write_bytes(CODE)
        yield worker_setting(DEMO, stage, {}, "cpu", "none")


@contextlib.contextmanager
def forked(home: WorkerServer, setting: Setting) -> Iterator[tuple[WorkerProcess, Run]]:
    """Fork a worker whose submission runs any code, and kill it at the end."""
    worker = fork_worker(home.fileno(), setting)
    try:
        worker.wait_ready()
        talk = Conversation(worker, "cpu", Clock(60.0), "")
        talk.request({"op": "load", "file": f"{setting.seen('submission')}/echo.py"})
        yield worker, lambda code: talk.call(["function", "run"], (textwrap.dedent(code),), {})
    finally:
        worker.kill()


def in_turn(home: WorkerServer, setting: Setting, *codes: str) -> list[Any]:
    """Run each code in a worker of its own."""
    got: list[Any] = []
    for code in codes:
        with forked(home, setting) as (_, run):
            got.append(run(code))
    return got


# -- a fresh start ---------------------------------------------------------------------------


def test_no_worker_sees_what_another_has_done(home: WorkerServer, setting: Setting) -> None:
    spoil = """
        import os, sys, torch, labs.common
        torch.left = labs.common.left = sys.left = 1
        os.environ["LEFT"] = "1"
        open(os.environ["TMPDIR"] + "/left", "w").close()
        torch.set_default_dtype(torch.float64)
        out = os.listdir(os.environ["TMPDIR"])
    """
    look = """
        import os, sys, torch, labs.common
        found = [hasattr(where, "left") for where in (torch, labs.common, sys)]
        files = os.listdir(os.environ["TMPDIR"])
        out = [*found, "LEFT" in os.environ, files, str(torch.get_default_dtype())]
    """

    before, after = in_turn(home, setting, spoil, look)

    assert before == ["left"]
    assert after == [False, False, False, False, [], "torch.float32"]


def test_workers_draw_numbers_of_their_own(home: WorkerServer, setting: Setting) -> None:
    code = """
        import random, numpy, tempfile, torch
        out = [torch.rand(1).item(), float(numpy.random.rand()), random.random()]
        out.append(tempfile.mktemp())
    """

    first, second = in_turn(home, setting, code, code)

    assert all(a != b for a, b in zip(first, second, strict=True))


def test_a_worker_has_a_folder_an_environment_and_a_session_of_its_own(
    home: WorkerServer, setting: Setting
) -> None:
    code = """
        import gc, os, sys
        limits = [sys.flags.isolated, sys.dont_write_bytecode, gc.isenabled()]
        out = [dict(os.environ), os.getcwd(), os.getsid(0) == os.getpid(), limits]
    """
    with forked(home, setting) as (worker, run):
        environment, folder, leads, flags = run(code)

    assert environment == worker_environment("cpu", str(worker.folder))
    assert folder == str(worker.folder)
    assert leads is True
    assert flags == [1, True, True]
    assert not worker.folder.exists()


def test_a_worker_holds_no_descriptor_of_others(home: WorkerServer, setting: Setting) -> None:
    code = """
        import os
        links = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")[:-1]]
        out = sorted(link.partition(":")[0] for link in links)
    """
    with forked(home, setting) as (_, first):
        alone = first(code)
        with forked(home, setting) as (_, second):
            beside = second(code)

    assert beside == alone
    assert alone.count("socket") == 1


def test_a_worker_sees_no_more_of_ours_than_any_other(home: WorkerServer, setting: Setting) -> None:
    with forked(home, setting) as (_, forked_run):
        code = "import sys; out = sorted(name for name in sys.modules if name[:7] == 'grader.')"
        seen = set(forked_run(code))
    fresh = WorkerProcess(setting)
    try:
        fresh.wait_ready()
        talk = Conversation(fresh, "cpu", Clock(60.0), "")
        talk.request({"op": "load", "file": f"{setting.seen('submission')}/echo.py"})
        usual = set(talk.call(["function", "run"], (code,), {}))
    finally:
        fresh.kill()

    ours = {
        *("grader.prove", "grader.prove.forking"),
        "grader.prove.forking.fork_server",
        "grader.worker.fork_server",
        "grader.worker.confinement",
    }
    assert seen - usual == ours
    assert usual <= seen


# -- the end ---------------------------------------------------------------------------------


def test_what_ends_is_told_as_of_any_worker(home: WorkerServer, setting: Setting) -> None:
    for code, said in (("os._exit(3)", "status 3"), ("os.abort()", "SIGABRT")):
        with (
            pytest.raises(StudentCrashed, match=said),
            forked(home, setting) as (_, run),
        ):
            run(f"import os; {code}")


@pytest.mark.parametrize("way", ["a child", "a session of its own", "an orphan", "one of the dead"])
def test_what_a_worker_has_started_dies_with_it(
    home: WorkerServer, setting: Setting, way: str
) -> None:
    code = f"""
        import os, subprocess, sys, time
        line = [sys.executable, "-c", "import time; time.sleep(600)"]
        if {way!r} == "an orphan" or {way!r} == "one of the dead":
            reader, writer = os.pipe()
            if os.fork() == 0:
                os.write(writer, str(subprocess.Popen(line).pid).encode())
                os._exit(0)
            out = int(os.read(reader, 20))
            os.wait()
        else:
            out = subprocess.Popen(line, start_new_session={way!r} != "a child").pid
    """
    with forked(home, setting) as (_, run):
        pid = run(code)
        assert Path(f"/proc/{pid}").exists()
        if way == "one of the dead":
            with contextlib.suppress(StudentCrashed):
                run("import os; os._exit(0)")

    gone = threading.Event()
    threading.Thread(target=lambda: wait_for(pid, gone), daemon=True).start()
    assert gone.wait(PATIENCE_SECONDS)


def wait_for(pid: int, gone: threading.Event) -> None:
    while Path(f"/proc/{pid}").exists() and "Z" not in state(pid):
        gone.wait(0.05)
    gone.set()


def state(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return "Z"


def test_a_server_forks_for_labs_that_get_the_same_only(
    home: WorkerServer, setting: Setting
) -> None:
    other = worker_setting(GROUPS, setting.stage, {}, "cpu", "none")

    with pytest.raises(JudgeError, match="prepared with another given, ranks"):
        fork_worker(home.fileno(), other)


def test_a_nursery_that_is_gone_is_our_fault(setting: Setting) -> None:
    home = WorkerServer(DEMO)
    with forked(home, setting) as (worker, _):
        home._process.kill()
        assert worker._process.wait(PATIENCE_SECONDS) == -9
        with pytest.raises(JudgeError, match="the fork server is gone"):
            fork_worker(home.fileno(), setting)
    home.close()


# -- verdicts --------------------------------------------------------------------------------

RIGHT = (SUBMISSIONS / "right_plain_lists.py").read_text()
ALL_AT_ONCE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
HURT = {
    "it crashes": ("scale", "import os; os._exit(7)", "crashed"),
    "it is killed": ("scale", "import ctypes; ctypes.string_at(0)", "crashed"),
    "it hangs": ("scale", "import time; time.sleep(600)", "timeout"),
    "it grows": ("scale", f"import mmap; mmap.mmap(-1, 1 << 31, {ALL_AT_ONCE})", "memory"),
}


@pytest.fixture(scope="module")
def quick() -> Iterator[Quick]:
    made = Quick([DEMO, GROUPS])
    yield made
    made.close()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Quick, Lab]]:
    """The demo lab with its first task alone; what it is forked from has read no other suite."""
    root = Path(shutil.copytree(expectation.COURSE, tmp_path_factory.mktemp("small") / "course"))
    keep_first_task(root)
    lab = load_lab(root / "labs" / DEMO.name)
    made = Quick([lab])
    yield made, lab
    made.close()


FILES = {file.stem: file for file in (*SUBMISSIONS.glob("*.py"), *RANKS.glob("*.py"))}


@pytest.fixture(scope="module")
def asked() -> dict[str, dict[str, list[str]]]:
    """What each submission was asked for, by task; ``gradings`` fill it."""
    return {}


@pytest.fixture(scope="module")
def gradings(
    quick: Quick, small: tuple[Quick, Lab], asked: dict[str, dict[str, list[str]]]
) -> dict[str, Report]:
    def graded(name: str) -> Report:
        def hear(event: str, data: Any) -> None:
            if event == "asked":
                asked[name] = data

        file = FILES[name]
        way, lab = (quick, GROUPS) if file.parent == RANKS else (quick, DEMO)
        if len(expectation.read(file).verdicts) == 1:
            way, lab = small
        return way.judge(lab)(Request(lab, file, "cpu", 3, "none"), on_event=hear)

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(FILES, pool.map(graded, FILES), strict=True))


@pytest.mark.parametrize("name", FILES)
def test_submission_gets_what_it_earns(name: str, gradings: dict[str, Report]) -> None:
    odd = expectation.problems(gradings[name], expectation.read(FILES[name]))

    assert not odd, "\n".join((*odd, expectation.failures(gradings[name])))
    assert gradings[name].provenance["sandbox"] == "none"


@pytest.mark.usefixtures("gradings")
def test_what_the_ranks_were_asked_for_is_told(asked: dict[str, dict[str, list[str]]]) -> None:
    assert {task: "Part" in names for task, names in asked["right"].items()} == {
        "total": False,
        "part": True,
    }


@pytest.mark.parametrize(("function", "body", "verdict"), HURT.values(), ids=HURT)
def test_what_hurts_has_the_same_verdicts_the_whole_way(
    quick: Quick,
    sessions: ForkServer,
    tmp_path: Path,
    function: str,
    body: str,
    verdict: str,
) -> None:
    require_sandbox()
    file = tmp_path / "echo.py"
    tasks = {function}  # all others need it
    file.write_text(f"{RIGHT}\n\ndef {function}(*args, **kwargs):\n    {body}\n")

    ways = [
        quick.judge(DEMO)(Request(DEMO, file, device="cpu", seed=3, sandbox="none", tasks=tasks)),
        grade(
            Request(DEMO, file, device="cpu", seed=3, sandbox="required", tasks=tasks),
            start=sessions,
        ),
    ]

    forked, confined = ([(test.id, test.verdict) for test in way.tests] for way in ways)
    assert forked == confined
    assert verdict in {test.verdict for test in ways[0].tests}


def test_a_lab_that_was_not_prepared_has_no_quick_way(quick: Quick) -> None:
    assert quick.judge(expectation.find("91_softmax")) is None
