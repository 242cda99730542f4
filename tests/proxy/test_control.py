"""An answer of ours comes through wherever a lab is graded, and fails as a submission would."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

import pytest
import torch
from stand_ins.expectation import find
from stand_ins.isolation import require_sandbox
from stand_ins.kernel_worker import fresh_student

from grader import ROOT
from grader.errors import StudentCrashed, StudentTimeout
from grader.judge.grade import find_checkpoints, worker_setting
from grader.proxy.control import Control
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.conversation.failed import MOST_BYTES, MOST_TENSORS, Failed, Place, failed
from grader.proxy.student import Student
from grader.sandbox.fork_server import ForkServer
from grader.sandbox.pool import WarmPool
from grader.sandbox.stage import staged
from grader.wire.codec import Record
from grader.wire.memory import CudaError, SharedMemory
from grader.wire.ring import Layout, Spec

LABS = sorted(folder.name for folder in (ROOT / "labs").glob("[0-9]*_*"))
CALL = {"op": "call", "target": ["function", "f"]}
LAYOUT = Layout((Spec(torch.float32, (8, 4)),), (Spec(torch.float32, (8, 4)),), 3)
SOURCE = """
import os
import time

import triton
import triton.language as tl


def softmax(x):
    os.abort()


def sleep(x):
    print("asleep")
    time.sleep(100)


@triton.jit
def stays_kernel(x):
    i = 0
    while i < 2:
        i = i * 1
    tl.store(x, i)


def stay(x):
    stays_kernel[(1,)](x)
    return x


def twice(x):
    return x + x
"""


@pytest.fixture
def student() -> Iterator[Student]:
    with fresh_student("cpu", SOURCE) as student:
        yield student


@contextmanager
def control_of(name: str, device: str = "cpu") -> Iterator[Control]:
    lab = find(name)
    with staged(lab, checkpoints := find_checkpoints(lab), "bwrap") as stage:
        (stage / "submission").mkdir()
        setting = worker_setting(lab, stage, checkpoints, device, "bwrap")
        fork_server = ForkServer()
        pool = WarmPool(lambda: fork_server.start(setting))
        with closing(fork_server), closing(pool), closing(Control(setting, pool.take)) as control:
            yield control


def place_in(name: str, device: str = "cpu") -> Place:
    asked = Failed(CALL, (torch.ones(300, 200), torch.tensor([3, 1])), 2.0)
    size = min(find(name).limits.ranks, torch.cuda.device_count() if device == "cuda" else 4)
    if size == 1:
        return Place(asked)
    backend = "gloo" if device == "cpu" else "nccl"
    return Place(size=size, backend=backend, ranks=(asked, None, *[asked] * (size - 2)))


@pytest.mark.in_turn
@pytest.mark.parametrize("name", [*LABS, "90_echo", "92_ranks"])
def test_answer_of_ours_comes_through_within_the_limits_of_a_lab(name: str) -> None:
    require_sandbox()

    with control_of(name) as control:
        found = [control.trouble(place_in(name)) for _ in range(2)]

    assert found == ["", ""]


@pytest.mark.parametrize("name", ["01_llama", "06_layernorm", "08_tp_linear", "11_compiled"])
@pytest.mark.gpu
def test_answer_of_ours_comes_through_on_a_gpu(name: str) -> None:
    if find(name).limits.ranks > 1 > torch.cuda.device_count() - 1:
        pytest.skip("needs two GPUs")

    with control_of(name, "cuda") as control:
        found = [control.trouble(place_in(name, "cuda")) for _ in range(2)]

    assert found == ["", ""]


def test_arguments_are_taken_out_of_what_holds_them() -> None:
    x, y, z = torch.ones(2), torch.ones(3), torch.ones(4)

    taken = failed(CALL, ((x, [3, {"y": y}]), {"config": Record("C", {"z": z})}), 1.0)

    assert [*map(id, taken.tensors)] == [*map(id, (x, y, z))]


def test_what_a_submission_has_returned_is_left_out_where_it_is_large() -> None:
    large, small = torch.empty(MOST_BYTES, dtype=torch.uint8), torch.ones(5)

    assert [t.shape for t in failed(CALL, (small, large), 1.0).tensors] == [(5,)]
    assert len(failed(CALL, [small] * 5000, 1.0).tensors) == MOST_TENSORS


def test_late_call_is_the_submissions_and_what_it_printed_is_kept(student: Student) -> None:
    with pytest.raises(StudentTimeout), student.time_limit(3.0):
        student.sleep(torch.ones(3))

    student.give_up_()

    assert student.control_() == ""
    assert student.printed_() == "asleep\n"


@pytest.mark.parametrize(("late", "loads"), [(1, 2), (9, 2)])
def test_late_import_is_tried_once_more(
    student: Student, monkeypatch: pytest.MonkeyPatch, late: int, loads: int
) -> None:
    workers: list[Conversation] = []
    load = Conversation.load

    def slow(
        talk: Conversation, file: str, seconds: float, libraries: Sequence[str], *, alone: bool
    ) -> None:
        workers.append(talk)
        assert seconds == (600.0 if len(workers) > 1 else 0.0)
        if len(workers) > late:
            return load(talk, file, seconds, libraries, alone=alone)
        raise StudentTimeout("load did not end within its time limit of 10 s")

    monkeypatch.setattr(Conversation, "load", slow)
    for _ in range(2):
        with pytest.raises(StudentTimeout) if late > 1 else nullcontext():
            assert student.tuned_() == []

    assert len({*map(id, workers)}) == len(workers) == loads


def stay_on_the_device(student: Student) -> None:
    x = torch.ones(3)
    with pytest.raises(StudentTimeout, match="kernels"), student.time_limit(1.0), student.decoys(0):
        student.stay(student.hide(x, x * 2))
    student.give_up_()


def die_on_the_device(student: Student) -> None:
    x = torch.ones(3)
    with pytest.raises(StudentCrashed, match="SIGKILL"), student.torch_alone():
        student.twice(killed(student).veil(x))
    student.give_up_()


def killed(student: Student) -> Student:
    worker = student._device._worker
    assert worker is not None
    os.kill(worker.channel.sender, signal.SIGKILL)
    return student


@pytest.mark.parametrize("fail", [stay_on_the_device, die_on_the_device])
def test_fault_of_the_device_is_held_against_who_had_it_once_ours_came_through(
    student: Student, fail: Callable[[Student], None]
) -> None:
    fail(student)

    assert student._place.elsewhere
    assert student.control_() == ""


@pytest.mark.parametrize("fail", [stay_on_the_device, die_on_the_device])
def test_fault_of_the_device_that_meets_ours_too_is_ours(
    student: Student, fail: Callable[[Student], None]
) -> None:
    fail(student)
    (student._setting.stage / "judge" / "grader" / "worker" / "device" / "kernels.py").unlink()
    student._pool.close()

    assert "an answer of ours, without the submission, has failed too" in student.control_()


def test_what_failed_beside_the_device_is_not_asked_of_one(student: Student) -> None:
    die_on_the_device(student)
    now = time.monotonic()
    student.begin_(now + 300, now + 300, 1)

    with pytest.raises(StudentCrashed):
        student.softmax(torch.ones(3))
    student.give_up_()

    assert not student._place.elsewhere


def ended_race(student: Student) -> None:
    memory = SharedMemory.make(LAYOUT.size, torch.device("cpu"))
    student.share_(memory.fd, memory.size, LAYOUT)
    with pytest.raises(StudentCrashed, match="SIGABRT"):
        student.race_("softmax", 2, {}, 30.0)
    memory.close()
    student.give_up_()


def test_race_that_a_submission_ends_is_its_own(student: Student) -> None:
    ended_race(student)

    assert student.control_() == ""


def test_ring_that_cannot_be_had_is_ours(student: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    ended_race(student)

    def refuse(size: int, device: torch.device) -> SharedMemory:
        raise CudaError(f"cuMemCreate: {size} bytes are not free on {device}")

    monkeypatch.setattr(SharedMemory, "make", refuse)

    assert "cuMemCreate: 3072 bytes are not free on cpu" in student.control_()


def test_folder_that_is_gone_is_ours(student: Student) -> None:
    with pytest.raises(StudentCrashed):
        student.softmax(torch.ones(3))
    student.give_up_()
    folder: Path = student._setting.stage / "judge"
    folder.rename(folder.with_name("gone"))
    student._pool.close()

    assert "a worker did not start" in student.control_()
