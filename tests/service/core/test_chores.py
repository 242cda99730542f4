"""What the service does by itself: after a deadline, and to what is old."""

from datetime import timedelta

import pytest
from stand_ins.service_pump import FakeEngine, broken, grade_all, graded
from stand_ins.service_room import NOON, Classroom

from grader.course.config import LateRule
from grader.course.gradebook.marks import mark
from grader.course.grading.jobs import Done, Job
from grader.course.policy import Hidden, ServicePolicy
from grader.labs.lab import Lab
from grader.labs.results import Verdict
from grader.service.core import pump as module
from grader.service.core.chores import COMPARE_EVERY, FORGET_EVERY, KEPT, Chores
from grader.service.domain.records import State

LAB = "02_batching"
HIDDEN = ServicePolicy(hidden=Hidden.AFTER_DEADLINE)
DEADLINE = NOON + timedelta(hours=1)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POLL_SECONDS", "BEAT_SECONDS", "SWEEP_SECONDS", "LONGEST_PAUSE"):
        monkeypatch.setattr(module, name, 0.0)


def chores_of(room: Classroom, compared: list[str] | None = None) -> Chores:
    def compare(lab: Lab) -> None:
        if compared is not None:
            compared.append(lab.name)

    return Chores(room.desk, room.store, room.clock, compare)


def by_public_alone(job: Job) -> Done:
    """Answer as a submission that passes the tests it could see."""
    return graded(job, Verdict.PASSED if job.suite == "public" else Verdict.FAILED)


def points(room: Classroom, student: str = "ada") -> float | None:
    return mark(room.store.attempts(), [], room.course, student, LAB).points


@pytest.fixture
def due(room: Classroom) -> Classroom:
    """A lab in which ada has handed in twice, and bob, who has more time, once."""
    later = DEADLINE + timedelta(days=1)
    room.set(HIDDEN, deadlines={2: DEADLINE}, extensions={("bob", 2): later})
    for name, code in (("ada", b"one"), ("ada", b"two"), ("bob", b"three")):
        room.clock.after(minutes=1)
        room.hand_in(name, code=code)
        grade_all(room, FakeEngine(by_public_alone))
    return room


def test_before_the_deadline_nothing_is_queued(due: Classroom) -> None:
    due.clock.moment = DEADLINE

    chores_of(due).turn()

    assert due.store.regradings.counts() == {}
    assert points(due) == 100.0


def test_after_it_the_last_hand_in_is_judged_by_all_tests_once(due: Classroom) -> None:
    due.clock.moment = DEADLINE + timedelta(seconds=1)
    engine = FakeEngine(by_public_alone)
    for _ in range(2):
        chores = chores_of(due)  # as after a restart
        for _ in range(2):
            chores.turn()
            grade_all(due, engine)

    assert [(job.commit, job.suite) for job in engine.ended] == [("handin-2", "all")]
    assert points(due) == 0.0
    assert points(due, "bob") == 100.0


def test_who_has_more_time_is_judged_when_it_is_over(due: Classroom) -> None:
    due.clock.moment = DEADLINE + timedelta(days=1, seconds=1)
    engine = FakeEngine(by_public_alone)

    chores_of(due).turn()
    grade_all(due, engine)

    assert sorted(job.commit for job in engine.ended) == ["handin-2", "handin-3"]
    assert points(due, "bob") == 0.0


def test_what_still_runs_at_the_deadline_is_waited_for(due: Classroom) -> None:
    last = due.hand_in("ada", code=b"four")
    due.store.claim("slow", "cpu", due.clock.now(), module.LATELY)
    due.clock.moment = DEADLINE + timedelta(seconds=1)
    chores = chores_of(due)

    chores.turn()
    assert due.store.regradings.counts() == {}

    due.store.release(last.number, "slow")
    engine = FakeEngine(by_public_alone)
    grade_all(due, engine)
    chores.turn()
    assert due.store.regradings.counts() == {}
    assert [(job.commit, job.suite) for job in engine.ended] == [("handin-4", "all")]


def test_what_is_held_does_not_stand_in_the_way(due: Classroom) -> None:
    item = due.hand_in("ada", code=b"four")
    grade_all(due, FakeEngine(broken))
    found = due.store.hand_in(item.number)
    assert found is not None
    assert found.state is State.HELD
    due.clock.moment = DEADLINE + timedelta(seconds=1)

    chores_of(due).turn()

    assert due.store.regradings.judged_hidden(LAB) == {("ada", "handin-2")}


def test_where_hidden_tests_always_run_nothing_is_queued(room: Classroom) -> None:
    room.set(ServicePolicy(), deadlines={2: DEADLINE})
    room.hand_in()
    grade_all(room, FakeEngine())
    room.clock.moment = DEADLINE + timedelta(days=1)

    chores_of(room).turn()

    assert room.store.regradings.counts() == {}


def test_late_work_is_no_concern_of_it(room: Classroom) -> None:
    room.set(HIDDEN, deadlines={2: NOON - timedelta(minutes=1)}, late=LateRule(0.1, 2))
    room.hand_in()
    engine = FakeEngine()
    grade_all(room, engine)

    chores_of(room).turn()

    assert [job.suite for job in engine.ended] == ["all"]
    assert room.store.regradings.counts() == {}


def test_old_steps_and_deliveries_are_forgotten_each_hour(room: Classroom) -> None:
    item = room.hand_in()
    grade_all(room, FakeEngine())
    room.store.first_delivery("old", room.clock.now())
    chores = chores_of(room)
    chores.turn()
    assert len(room.store.events(item.number)) == 2

    room.clock.moment += KEPT
    chores.turn()
    assert len(room.store.events(item.number)) == 2
    room.clock.moment += FORGET_EVERY
    chores.turn()

    assert room.store.events(item.number) == []
    assert room.store.first_delivery("old", room.clock.now())


def test_answers_are_compared_when_there_are_new_ones(room: Classroom) -> None:
    compared: list[str] = []
    chores = chores_of(room, compared)
    room.hand_in("ada")
    chores.turn()
    assert compared == []

    for expected in (1, 1, 2):
        room.hand_in("bob", code=b"new" * expected)
        room.clock.moment += COMPARE_EVERY
        chores.turn()
        assert compared == [LAB] * expected
