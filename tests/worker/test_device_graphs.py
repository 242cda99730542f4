"""Graphs that are lent: captured, replayed and counted on the device, where alone they compute."""

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from stand_ins.expectation import HERE
from stand_ins.kernel_worker import fresh_student
from stand_ins.memory_search import holds
from torch import Tensor

from grader import ROOT
from grader.errors import Mismatch, StudentError, WrongNumbers
from grader.labs.lab import load_lab
from grader.proxy.student import Student
from grader.proxy.values.compare import check

SOURCE = (HERE / "stand_ins" / "runners.py").read_text()
LAB = load_lab(ROOT / "labs" / "11_compiled")
VOCAB, WIDTH, SLOTS = 7, 6, 5
STEPS = [([3, 1], [0, 4]), ([6], [4]), ([2, 5, 0, 1], [1, 0, 3, 4]), ([4, 4, 4], [4, 2, 0])]
FEW = 8 * 4 * VOCAB  # elements beside replays

HONEST = (
    *("plain", "by_numpy", "by_items", "by_index_copy", "by_arithmetic", "by_out"),
    *("tensors_apart", "written_by_the_graph", "by_index_select", "by_mask", "by_stack"),
    *(
        "by_a_sum",
        "by_deepcopy",
        "into_new_memory",
        "by_double",
        "into_a_buffer",
        "looked_at",
        "warmed_up",
    ),
    *("without_gradients", "when_needed", "after_a_failure", "of_a_compiled_step"),
    *("of_a_traced_step", "of_attention", "with_changed_shapes", "by_two_graphs"),
)
CHEATS = (
    *("eager", "eager_beside", "eager_by_elements", "empty", "numpys"),
    *("never_replayed", "by_a_patched_tape"),
)


@pytest.fixture(scope="module")
def runners() -> Iterator[Student]:
    with fresh_student("cpu", SOURCE, LAB) as made:
        yield made


@pytest.fixture
def student(runners: Student) -> Student:
    now = time.monotonic()
    runners.begin_(now + 200, now + 200, 0)
    return runners


class Truth:
    """What the decoder of ``runners`` should say."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight.double()
        self._memory = torch.zeros(SLOTS, WIDTH, dtype=torch.float64)

    def step(self, tokens: list[int], slots: list[int]) -> Tensor:
        x = self.weight[tokens] + self._memory[slots] / 2
        self._memory[slots] = x
        return torch.tanh(x @ self.weight.t()).float()


def drawn() -> Tensor:
    return torch.randn(VOCAB, WIDTH, generator=torch.Generator().manual_seed(5)) / 2


@pytest.mark.parametrize("name", HONEST)
def test_steps_by_graphs_are_right_in_any_style(student: Student, name: str) -> None:
    truth = Truth(drawn())

    with student.graphs(FEW) as graphs:
        step = getattr(student, name)(student.veil(drawn()), graphs.argument)
        for lists in STEPS:
            torch.testing.assert_close(step(*lists), truth.step(*lists))
        replayed, captured = graphs.replayed, graphs.captured

    both = name == "by_two_graphs"
    assert (graphs.made, captured) == (1 + both, 1 + both)
    assert replayed == ([2, 1] if both else [1]) * len(STEPS) or replayed == [1, 2] * len(STEPS)


@pytest.mark.parametrize("name", CHEATS)
def test_what_graphs_do_not_compute_is_wrong(student: Student, name: str) -> None:
    truth = Truth(drawn())

    with student.graphs(FEW) as graphs:
        step = getattr(student, name)(student.veil(drawn()), graphs.argument)
        for lists in STEPS:
            got, want = step(*lists), truth.step(*lists)
            assert not torch.allclose(got, want, rtol=0.1)
        if name in ("eager", "never_replayed", "by_a_patched_tape"):
            assert graphs.replayed == []


def test_a_replay_has_the_weights_of_now_and_the_numbers_of_then(student: Student) -> None:
    with student.graphs(FEW) as graphs:
        step = student.plain(student.veil(drawn()), graphs.argument)
        step([1], [0])
        student.assign(step, "weight", torch.zeros(VOCAB, WIDTH))  # another: the graph has its own

        got = step([3], [2])

    torch.testing.assert_close(got, Truth(drawn()).step([3], [2]))


def test_a_capture_leaves_nan_until_it_is_replayed(student: Student) -> None:
    with student.graphs(FEW) as graphs:
        assert student.unread(student.veil(drawn()), graphs.argument).isnan().all()
        assert (graphs.captured, graphs.replayed) == (1, [])


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        *(("read_in_a_capture", (look,), "reads values") for look in ("item", "tolist", "numpy")),
        ("captured_twice", (), "captured once"),
        ("replayed_before", (), "nothing was captured"),
        ("replayed_in_a_capture", (), "while another is captured"),
        ("captured_in_a_capture", (), "while another is captured"),
        ("own_operator", (), "torch's own operators"),
    ],
)
def test_what_no_graph_can_do_is_refused(
    student: Student, name: str, options: Any, says: str
) -> None:
    with pytest.raises(StudentError, match=says), student.graphs(FEW) as graphs:
        getattr(student, name)(student.veil(drawn()), graphs.argument, *options)


def test_a_mismatch_says_what_was_left_undone(student: Student) -> None:
    said = r"it is wrong \(left undone outside of replays: torch's mm; read as noise: numpy\)"

    def fail() -> None:
        with student.graphs(FEW) as graphs:
            student.eager_beside(student.veil(drawn()), graphs.argument)([1], [0])
            student.numpys(student.veil(drawn()), graphs.argument)([1], [0])
            raise WrongNumbers("it is wrong")

    with pytest.raises(WrongNumbers, match=said):
        fail()


def test_what_is_not_of_numbers_says_nothing_of_it(student: Student) -> None:
    def fail() -> None:
        with student.graphs(FEW) as graphs:
            student.eager_beside(student.veil(drawn()), graphs.argument)([1], [0])
            check(False, "it is too long")

    with pytest.raises(Mismatch, match=r"it is too long$"):
        fail()


def test_nobody_replays_to_compute_more(student: Student) -> None:
    with student.graphs(FEW) as graphs:
        step = student.by_a_sum(student.veil(drawn()), graphs.argument)
        got = [step([1], [0]) for _ in range(2 * 41)]

    assert got[39].any()
    assert not got[-1].any()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to look into a worker")
@pytest.mark.parametrize("name", ["plain", "warmed_up", "eager", "of_a_compiled_step"])
def test_no_true_number_is_in_the_process_of_the_submission(student: Student, name: str) -> None:
    weight = drawn()
    pattern = weight.numpy().tobytes()[:64]
    pid = student._conversation().worker.channel.sender  # pyright: ignore[reportPrivateUsage]

    with student.graphs(FEW) as graphs:
        step = getattr(student, name)(student.veil(weight), graphs.argument)
        first = step([3, 1], [0, 4])
        assert not holds(pid, pattern)
        assert not first.any() or not holds(pid, first.numpy().tobytes())
    assert not holds(pid, pattern)
