"""The proxy that suites talk to: deadlines, expected exceptions, given code, one worker a task."""

import re
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from stand_ins.expectation import HERE
from stand_ins.threaded import SOURCE, Thread, serve_source

from grader.errors import Mismatch, StudentCrashed, StudentError, StudentTimeout
from grader.labs.lab import Lab, all_labs, load_lab
from grader.proxy.student import Student
from grader.proxy.values.compare import assert_new, assert_unmodified
from grader.sandbox.pace import PACE
from grader.sandbox.setting import Setting

LAB = load_lab(HERE / "demo" / "labs" / "90_echo")


class Pool:
    """A pool whose workers are threads of ours; each takes a while to start."""

    def __init__(self) -> None:
        self.taken: list[Thread] = []
        self.seconds = 0.0
        self.expected = 0

    def expect(self, count: int) -> None:
        self.expected = count

    def take(self) -> Thread:
        time.sleep(self.seconds)
        worker = Thread(serve_source)
        worker.output = lambda: "printed\n"  # type: ignore[attr-defined]
        worker.forget_output = lambda: None  # type: ignore[attr-defined]
        self.taken.append(worker)
        return worker


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool()
    yield made
    for worker in made.taken:
        worker.join()


@pytest.fixture
def student(tmp_path: Path, pool: Pool) -> Student:
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "echo.py").write_text(SOURCE)
    setting = Setting(tmp_path, {}, (), "cpu", "none", 1 << 30, 10, {}, 1 << 10, cage="watch")
    return Student(LAB, setting, pool, SOURCE)  # type: ignore[arg-type]


def begin(student: Student, seconds: float = 30.0) -> None:
    now = PACE.now()
    student.begin_(now + seconds, now + 100, 0)


def test_slow_start_of_a_worker_is_not_the_submissions_time(student: Student, pool: Pool) -> None:
    pool.seconds = 1.0
    begin(student, seconds=0.5)

    assert student.same(1) == 1


def test_all_calls_of_a_test_share_its_time(student: Student) -> None:
    begin(student, seconds=0.6)

    student.nap(0.4)
    with pytest.raises(StudentTimeout, match="of this test together"):
        student.nap(0.4)


def test_shorter_limit_ends_with_its_block(student: Student) -> None:
    begin(student)
    with student.time_limit(30), pytest.raises(StudentTimeout, match=r"limit of 0\.1 s"):
        with student.time_limit(0.1):
            student.nap(0.5)
    begin(student)
    student.nap(0.2)


def test_worker_is_kept_within_a_task_and_replaced_after_a_fault(
    student: Student, pool: Pool
) -> None:
    begin(student)
    student.same(1)
    begin(student)
    student.same(2)
    assert len(pool.taken) == 1

    with pytest.raises(StudentTimeout), student.time_limit(0.1):
        student.nap(0.5)
    with pytest.raises(StudentCrashed, match="stopped earlier"):
        student._talk.request({"op": "get", "object": 1, "name": "x"})  # type: ignore[union-attr]
    begin(student)
    assert student.same(3) == 3
    assert len(pool.taken) == 2

    student.retire_()
    assert pool.taken[-1].killed
    assert student.same(4) == 4
    assert len(pool.taken) == 3


def test_loan_ends_with_its_test(student: Student) -> None:
    seen: list[Any] = []
    begin(student)
    student.keep(student.lend(seen.append, keep=True))
    student.use_kept()
    begin(student)

    with pytest.raises(StudentError, match="only during the call"):
        student.use_kept()
    assert seen == [5]


def test_raises_takes_the_kind_its_children_and_the_word(student: Student) -> None:
    begin(student)
    with student.raises(ValueError, naming="WIDTH"):
        student.bad()
    with student.raises(Exception):
        student.bad()
    with (
        pytest.raises(Mismatch, match="should name height"),
        student.raises(ValueError, naming="height"),
    ):
        student.bad()
    with pytest.raises(Mismatch, match="nothing was raised"), student.raises(ValueError):
        student.same(1)
    with pytest.raises((Mismatch, StudentError)), student.raises(KeyError):
        student.bad()


def test_import_that_fails_fails_every_test_with_one_worker(
    student: Student, pool: Pool, tmp_path: Path
) -> None:
    (tmp_path / "submission" / "echo.py").write_text("import no_such_module\n")
    for _ in range(3):
        begin(student)
        with pytest.raises(StudentError, match="no_such_module"):
            student.same(1)

    assert len(pool.taken) == 1


def test_probes_count_calls_in_their_block(student: Student) -> None:
    begin(student)
    with student.largest_tensor() as largest:
        student.multiply(torch.ones(3, 50), torch.ones(50, 7))
    with student.flops() as flops:
        student.multiply(torch.ones(3, 5), torch.ones(5, 7))
    with student.guard():
        student.multiply(torch.ones(2, 2), torch.ones(2, 2))

    assert (largest.elements, flops.total) == (21, 210)


def test_guard_names_what_was_called(student: Student) -> None:
    begin(student)
    with pytest.raises(Mismatch, match=r"forbids: .*torch\.mul"), student.guard():
        student.forbidden(torch.ones(2))


def test_output_is_taken_once(student: Student) -> None:
    assert student.printed_() == ""
    begin(student)
    student.same(1)
    assert student.printed_() == "printed\n"


def test_a_class_can_be_had_uncalled_and_handed_over(student: Student) -> None:
    begin(student)
    box = student.handle("Box")

    assert box(4).get() == 4
    assert student.use(box, 7).get() == 7
    assert student.handle("same")(3) == 3


def test_a_classmethod_is_called_on_the_class_itself(student: Student) -> None:
    begin(student)

    assert student.handle("Box").of_two(3, 4).get() == 7


def test_a_name_of_a_given_module_can_be_had_uncalled(student: Student) -> None:
    begin(student)
    linear = student.handle("Linear", given="layers")

    layer = student.use(linear, 5, 3)

    assert layer.kind_ == "Linear"
    assert layer(torch.zeros(2, 5)).shape == (2, 3)


def test_public_names_that_were_called_are_known_until_they_are_taken(student: Student) -> None:
    begin(student)
    student.same(1)
    box = student.handle("Box")
    box.of_two(3, 4).get()
    student.handle("Linear", given="layers")
    student.together("reuse", (torch.zeros(2),))
    with pytest.raises(StudentError):
        student.absent()

    assert student.asked_() == {"same", "Box", "reuse", "absent"}
    assert student.asked_() == set()


def test_a_name_that_is_not_there_is_the_submissions_fault(student: Student) -> None:
    begin(student)

    with pytest.raises(StudentError, match="Crate"):
        student.handle("Crate")


def test_a_name_that_is_a_plain_value_is_not_taken_for_a_class(student: Student) -> None:
    begin(student)

    with pytest.raises(Mismatch, match="LIMIT"):
        student.handle("LIMIT")


@pytest.mark.parametrize("lab", all_labs(HERE.parent), ids=lambda lab: lab.name)
def test_no_name_of_a_lab_is_one_of_the_proxys_own(lab: Lab) -> None:
    functions = {name for task in lab.tasks for name in task.functions}
    suite = lab.hidden_suite.read_text(encoding="utf-8") + lab.public_suite.read_text("utf-8")
    # A suite that takes a function by its name means the submission's.
    handled = {*re.findall(r'student\.handle\("(\w+)"\)', suite)}

    assert functions & {*dir(Student)} <= handled
    assert not [name for name in handled & {*dir(Student)} if f"student.{name}(" in suite]


def test_held_bytes_counts_what_the_submission_keeps(student: Student) -> None:
    begin(student)
    before = student.held_bytes()

    student.keep(torch.ones(3, 1000))
    student.calls_().clear()  # the worker is a thread of ours here: our arguments count too
    kept = student.held_bytes()
    student.keep_rows()
    views = student.held_bytes()
    student.forget()

    assert kept - before == 4 * 3000
    assert views == kept  # three rows of it, kept too, share its storage
    assert student.held_bytes() == before


def test_results_asked_for_together_show_what_shares_memory(student: Student) -> None:
    begin(student)
    first, second = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])

    shared = student.together("reuse", (first,), (second,))
    apart = student.together("same", (first,), (second,))

    assert [x.tolist() for x in shared] == [[3.0, 4.0], [3.0, 4.0]]
    assert [x.tolist() for x in apart] == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("way", ["each", "together", "gradients_together"])
def test_no_frame_holds_another_case_or_what_came_of_it(student: Student, way: str) -> None:
    begin(student)
    student._clock.call_seconds = 60.0  # the first backward of a process imports for a while
    numbers = [771_001.0, 771_002.0, 771_003.0]
    cases = [torch.tensor([number]) for number in numbers]
    one = torch.ones(1)

    match way:
        case "each":
            got = student.each("seen", (), *cases)
        case "together":
            got = student.together("seen", *((case,) for case in cases))
        case _:
            got = student.gradients_together("seen", *(((case,), one) for case in cases))

    assert len(got) == 3
    assert student.told() == [[number] for number in numbers]


def test_each_of_many_calls_has_arguments_of_its_own(student: Student) -> None:
    begin(student)

    got = student.each("add_in_place", (torch.zeros(2), [1]), 5.0, 6.0)

    assert [(x.tolist(), n) for x, n in got] == [([5.0, 5.0], [1, 1]), ([6.0, 6.0], [1, 1])]
    assert student.each("add_in_place", (torch.zeros(2), [1])) == []


def test_a_case_that_fails_ends_the_series(student: Student) -> None:
    begin(student)

    with pytest.raises(StudentError, match="value must not be None"):
        student.each("set_box", (), 1, None, 2)

    assert student.each("same", (), 3, 4) == [3, 4]


def test_what_is_written_over_shows_what_shares_memory(student: Student) -> None:
    begin(student)
    for name, shares in (("same", True), ("double", False)):
        given = student.watch(torch.tensor([1.0, 2.0]))

        got = student.overwritten(name, given)

        assert got.tolist() == ([1.0, 2.0] if shares else [2.0, 4.0])
        with pytest.raises(Mismatch, match="shares memory with x") if shares else nullcontext():
            assert_new(given, "x")


def test_a_generator_of_the_worker_goes_on(student: Student) -> None:
    begin(student)
    one, another = student.generator(7), student.generator(7)

    draws = [student.throw(each) for each in (one, another, one, another)]

    assert draws[0] == draws[1] != draws[2] == draws[3]
    assert student.throw(torch.Generator().manual_seed(7)) == draws[0]


def test_arguments_of_every_kind_are_watched(student: Student) -> None:
    begin(student)
    for spend, value in (
        ("same", {"w": torch.ones(2), "n": [1]}),
        ("empty", {"w": torch.ones(2)}),
        ("empty", {"n": 3}),
        ("fill", {"w": torch.ones(2)[:1]}),
    ):
        watched = student.watch(value)

        getattr(student, spend)(watched)

        changed = spend != "same"
        with pytest.raises(Mismatch, match="was modified") if changed else nullcontext():
            assert_unmodified(watched)


def test_gradients_of_several_calls(student: Student) -> None:
    begin(student)
    x, factor, one = torch.tensor([2.0]), torch.tensor([5.0]), torch.ones(1)

    got = student.gradients_together("cube", ((x, factor), one), ((factor, x), one))

    assert [[g.item() for g in pair] for pair in got] == [[60.0, 8.0], [150.0, 125.0]]
