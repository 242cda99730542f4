"""Changes of what of ours runs beside a submission are seen, and honest running is none."""

import contextlib
import ctypes
import os
import textwrap
import time
from collections.abc import Callable, Iterator
from unittest.mock import Mock

import pytest
from stand_ins.confined import CODE, LAB

from grader.errors import StudentCrashed, SubmissionFault, Tampered
from grader.judge.grade import worker_setting
from grader.prove.forking.forked import WorkerServer, fork_worker
from grader.proxy.conversation import spot_checks
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.conversation.spot_checks import SPOT_CHECKS, SpotChecks
from grader.sandbox.setting import Setting
from grader.sandbox.stage import staged
from grader.sandbox.tripwire import tripwire
from grader.sandbox.tripwire.layout import instructions, layout, same
from grader.sandbox.tripwire.process_memory import ProcessMemory, Refused
from grader.sandbox.tripwire.tripwire import hindrance

Run = Callable[[str], object]
CODEC = 'import sys; codec = sys.modules["grader.wire.codec"]; pack = codec.Packer.pack;'
# A thread that goes on while the judge looks.
CHURN = """
import threading, warnings
def work():
    while True:
        {}
threading.Thread(target=work, daemon=True).start()
"""
STORAGE = 'import sys; storage = sys.modules["grader.wire.storage"];'

pytestmark = pytest.mark.skipif(layout() is None, reason="this interpreter is not known")


@pytest.fixture(scope="module")
def home() -> Iterator[WorkerServer]:
    made = WorkerServer(LAB)
    yield made
    made.close()


@pytest.fixture(scope="module")
def setting() -> Iterator[Setting]:
    with staged(LAB, {}, "none") as stage:
        (stage / "submission").mkdir()
        (stage / "submission" / "echo.py").write_bytes(CODE)
        yield worker_setting(LAB, stage, {}, "cpu", "none")


@pytest.fixture
def talk(home: WorkerServer, setting: Setting) -> Iterator[Conversation]:
    worker = fork_worker(home.fileno(), setting)
    with contextlib.closing(contextlib.ExitStack()) as stack:
        stack.callback(worker.kill)
        worker.wait_ready()
        talk = Conversation(worker, "cpu", Clock(60.0), "")
        talk.load(f"{setting.seen('submission')}/echo.py")
        if talk._lookout._tripwire is None:
            pytest.skip("the kernel does not let us look into a process")
        yield talk


def run(talk: Conversation, code: str) -> None:
    talk.call(["function", "run"], (textwrap.dedent(code),), {})


def run_and_look(talk: Conversation, code: str) -> None:
    run(talk, code)
    talk.look()


@pytest.mark.parametrize(
    "code",
    [
        "import torch; [torch.ones(3) * 2 for _ in range(3000)]",
        "import torch; torch.set_default_dtype(torch.float64); torch.Tensor.mine = 1",
        "import warnings; warnings.warn('a'); import sys; sys.setrecursionlimit(2000)",
        "import torch, builtins; builtins.mine = torch.mine = 1; del builtins.mine, torch.mine",
        CHURN.format("with warnings.catch_warnings(): warnings.simplefilter('ignore')"),
        "import torch; vars(torch).update({f'mine{n}': n for n in range(20_000)})",
    ],
)
def test_honest_running_changes_nothing_of_ours(talk: Conversation, code: str) -> None:
    run_and_look(talk, code)
    for _ in range(60):  # enough for the interpreter to specialise what it runs
        run_and_look(talk, "")


@pytest.mark.parametrize(
    "code",
    [
        f"{CODEC} codec.Packer.pack = lambda self, value, depth=0: pack(self, value, depth)",
        f"{CODEC} codec.Packer.pack = len; codec.Packer.pack = pack",
        f"{CODEC} code = pack.__code__; pack.__code__ = code.replace(co_name='a')",
        f"{CODEC} codec.Packer.mine = 1",
        f"{STORAGE} storage.held_bytes, kept = len, storage.held_bytes; storage.held_bytes = kept",
        f"{STORAGE} storage.len = lambda _: 0",
        "import gc; gc.get_objects = lambda: []",
        "import torch; torch.Tensor.untyped_storage = lambda self: None",
        "import builtins; builtins.isinstance = lambda a, b, old=isinstance: old(a, b)",
    ],
)
def test_change_of_ours_is_seen(talk: Conversation, code: str) -> None:
    with pytest.raises(Tampered):
        run_and_look(talk, code)


def test_process_that_is_replaced_is_seen(
    talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk._clock.limits.append(3.0)  # it never answers, on a connection that stays open
    monkeypatch.setattr(SPOT_CHECKS, "is_drawn", lambda _share: True)
    code = """
        import os
        for number in os.listdir("/proc/self/fd"):
            if os.path.exists(f"/proc/self/fd/{number}"):
                os.set_inheritable(int(number), True)
        os.execv("/bin/sleep", ["sleep", "60"])
    """
    with pytest.raises(Tampered):
        run(talk, code)


def test_process_that_is_replaced_by_one_that_ends_has_ended(
    talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = talk._lookout._tripwire
    assert wire is not None
    monkeypatch.setattr(SPOT_CHECKS, "is_drawn", lambda _share: True)
    for name in ("FIRST", "NEXT"):
        monkeypatch.setattr(spot_checks, name, (0.01, 0.011))
    code = "import os; os.execv('/bin/sleep', ['sleep', '0.15'])"

    with pytest.raises(StudentCrashed, match="ended itself with status 0"):
        run(talk, code)

    assert wire.looks > 1
    assert not wire.found


def test_instructions_that_are_written_over_are_seen(talk: Conversation) -> None:
    code = f"""
        {CODEC}
        import ctypes
        place = id(pack.__code__) + type(pack.__code__).__basicsize__ + 40
        ctypes.c_ubyte.from_address(place).value ^= 0xFF
        ctypes.c_ubyte.from_address(place + 1).value ^= 0xFF
    """
    with pytest.raises(SubmissionFault):  # it may also break the worker first, or its reply
        run_and_look(talk, code)
    if not talk.over:
        with pytest.raises(Tampered):
            talk.look()

    assert talk.over


def test_another_process_that_answers_is_noticed(talk: Conversation) -> None:
    with pytest.raises(Tampered, match="another process"):
        run(talk, "import os, time\nif os.fork(): time.sleep(60)")


def test_process_of_ours_that_has_ended_is_no_tampering(talk: Conversation) -> None:
    wire = talk._lookout._tripwire
    assert wire is not None
    talk.worker.kill()

    assert wire.look() == ""


@pytest.mark.parametrize("is_there_still", [False, True])
def test_what_has_gone_meanwhile_is_no_tampering(talk: Conversation, is_there_still: bool) -> None:
    """A probe ends while we look: what a name stood for is no function any more."""
    wire = talk._lookout._tripwire
    assert wire is not None
    space = next(space for space in wire._spaces if not space.is_ours)
    odd = [(1, 2, 3)]
    wire._compare = Mock(side_effect=[odd, odd if is_there_still else []])  # type: ignore[method-assign]

    assert wire._walk(space) is not is_there_still


def test_look_without_memory_has_seen_nothing(
    talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = talk._lookout._tripwire
    assert wire is not None
    run(talk, "import torch; torch.mine = 1")
    with monkeypatch.context() as patched:
        patched.setattr(ProcessMemory, "at", Mock(side_effect=MemoryError))
        with pytest.raises(MemoryError):
            wire.look()

    assert wire.look() == ""


def test_judge_goes_on_looking_once_there_is_memory_again() -> None:
    wire = Mock(look=Mock(side_effect=[MemoryError, MemoryError, *[""] * 1000]))

    with SpotChecks().during(wire, 1.0):
        ends = time.monotonic() + 30
        while wire.look.call_count < 3 and time.monotonic() < ends:
            time.sleep(0.01)

    assert wire.look.call_count >= 3


def test_worker_that_cannot_be_looked_at_has_no_tripwire() -> None:
    gone = os.fork()
    if gone == 0:
        os._exit(0)
    os.waitpid(gone, 0)

    assert SPOT_CHECKS.tripwire(gone, ("x", "[]", "[]")) is None
    assert SPOT_CHECKS.tripwire(0, ("x", "[]", "[]")) is None


def test_specialised_instructions_are_the_same_code() -> None:
    def add(count: int) -> int:
        total = 0
        for number in range(count):
            total = total + len(str(number))
        return total

    def read() -> bytes:
        known = layout()
        assert known is not None
        return ctypes.string_at(id(code) + known.instructions, len(code.co_code))

    code = add.__code__
    before = read()
    add(5000)
    after = read()
    if (plain := instructions(after)) is None:
        pytest.skip("instructions of this interpreter are not known")

    assert before != after
    assert same(before, after)
    assert bytes(plain) == code.co_code
    other = after[:2] + bytes((after[2], after[3] ^ 3)) + after[4:]
    assert not same(before, other)


def test_what_keeps_workers_from_being_looked_at_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hindrance() == ""

    monkeypatch.setattr(ProcessMemory, "at", Mock(side_effect=Refused))
    assert "process_vm_readv" in hindrance()
    monkeypatch.setattr(tripwire, "layout", lambda: None)
    assert "lays its objects out" in hindrance()
