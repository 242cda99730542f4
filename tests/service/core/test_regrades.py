"""Regrades: graded like everything else, looked at, and then counted or not."""

from datetime import UTC, datetime, timedelta

import pytest
from stand_ins.service_pump import FakeEngine, broken, grade_all, graded, pump_of
from stand_ins.service_room import Classroom

from grader.course.database.records import Kind, Override
from grader.course.grading.jobs import Done, Job
from grader.errors import UsageError
from grader.labs.results import Verdict
from grader.service.core import pump as module
from grader.service.core.regrades import Regrades
from grader.service.domain.records import Role, State, Who
from grader.service.domain.refusals import NotFound

TUTOR = Who("A. Tutor", Role.ASSISTANT)
LAB = "02_batching"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POLL_SECONDS", "BEAT_SECONDS", "SWEEP_SECONDS", "LONGEST_PAUSE"):
        monkeypatch.setattr(module, name, 0.0)


@pytest.fixture
def regrades(room: Classroom) -> Regrades:
    """Of a class in which two have 100 points and one has handed in nothing."""
    for name in ("bob", "ada"):
        room.hand_in(name)
    grade_all(room, FakeEngine())
    room.clock.moment = datetime.now(UTC) + timedelta(minutes=5)  # gradings tell the real time
    return Regrades(room.course, room.store, room.clock)


def ask(room: Classroom, regrades: Regrades, student: str = "") -> str:
    return regrades.ask(TUTOR, room.desk.lab("2"), "cpu", "a test was wrong", student)


def bob_fails(job: Job) -> Done:
    return graded(job, Verdict.FAILED if job.student == "bob" else Verdict.PASSED)


def test_all_work_that_was_graded_is_graded_once_more(room: Classroom, regrades: Regrades) -> None:
    room.hand_in("ada", code=b"newer")
    grade_all(room, FakeEngine())
    run = ask(room, regrades)
    engine = FakeEngine()

    grade_all(room, engine)

    assert [(job.student, job.commit) for job in engine.ended] == [
        ("ada", "handin-2"),
        ("ada", "handin-3"),
        ("bob", "handin-1"),
    ]
    assert regrades.of_run(run).count(State.GRADED) == 3
    assert not regrades.of_run(run).is_running


def test_one_student_is_regraded_alone(room: Classroom, regrades: Regrades) -> None:
    run = ask(room, regrades, "bob")

    assert [item.student for item in room.store.regradings.of_run(run)] == ["bob"]
    assert regrades.of_run(run).run.students == ("bob",)


def test_the_difference_is_known_before_it_counts(room: Classroom, regrades: Regrades) -> None:
    run = ask(room, regrades)
    grade_all(room, FakeEngine(bob_fails))

    [shift] = regrades.shifts(regrades.of_run(run), [])

    assert (shift.student, shift.before.points, shift.after.points) == ("bob", 100.0, 0.0)
    assert shift.gain == -100.0
    [change] = shift.changes
    assert change.tasks == [("pad", 100.0, 0.0)]
    assert change.tests == [("test_a", "passed", "failed")]
    assert len(room.store.attempts()) == 2

    regrades.decide(TUTOR, regrades.of_run(run), Kind.PUBLISHED, "checked by hand")

    assert len(room.store.attempts()) == 4
    ended = regrades.of_run(run).ended
    assert ended is not None
    assert (ended.author, ended.reason, ended.kind) == (
        "A. Tutor",
        "checked by hand",
        Kind.PUBLISHED,
    )
    assert regrades.shifts(regrades.of_run(run), []) == [shift]


def test_a_mark_set_by_hand_stays_and_what_changed_is_told(
    room: Classroom, regrades: Regrades
) -> None:
    word = Override("bob", LAB, 70.0, "B. Boss", "oral exam", room.clock.now())
    run = ask(room, regrades)
    grade_all(room, FakeEngine(bob_fails))

    [shift] = regrades.shifts(regrades.of_run(run), [word])

    assert (shift.before.points, shift.after.points, shift.gain) == (70.0, 70.0, 0.0)
    assert shift.changes[0].tasks == [("pad", 100.0, 0.0)]


def test_what_failed_by_our_fault_changes_nothing_and_may_be_tried_anew(
    room: Classroom, regrades: Regrades
) -> None:
    run = ask(room, regrades)
    grade_all(room, FakeEngine(lambda job: broken(job) if job.student == "bob" else graded(job)))
    [held] = regrades.held(regrades.of_run(run))
    assert (held.student, held.tries) == ("bob", module.MOST_TRIES)
    assert "SIGKILL" in held.failure
    assert regrades.shifts(regrades.of_run(run), []) == []

    regrades.again(regrades.of_run(run))
    grade_all(room, FakeEngine())

    assert regrades.of_run(run).count(State.GRADED) == 2
    with pytest.raises(UsageError, match="nothing of run"):
        regrades.again(regrades.of_run(run))


def test_a_second_regrade_waits_for_the_word_on_the_first(
    room: Classroom, regrades: Regrades
) -> None:
    run = ask(room, regrades)

    with pytest.raises(UsageError, match="not decided yet"):
        ask(room, regrades)

    regrades.decide(TUTOR, regrades.of_run(run), Kind.DISCARDED, "a mistake")
    assert ask(room, regrades) != run


def test_what_cannot_be_is_refused(room: Classroom, regrades: Regrades) -> None:
    with pytest.raises(UsageError, match="was graded yet"):
        regrades.ask(TUTOR, room.desk.lab("3"), "cpu", "why not")
    with pytest.raises(NotFound):
        ask(room, regrades, "nobody")
    with pytest.raises(NotFound):
        regrades.of_run("7")
    run = ask(room, regrades)
    with pytest.raises(UsageError, match="still being graded"):
        regrades.decide(TUTOR, regrades.of_run(run), Kind.PUBLISHED, "now")
    regrades.decide(TUTOR, regrades.of_run(run), Kind.DISCARDED, "a mistake")
    with pytest.raises(UsageError, match="discarded already"):
        regrades.decide(TUTOR, regrades.of_run(run), Kind.PUBLISHED, "after all")


def test_hand_ins_go_before_what_is_graded_once_more(room: Classroom, regrades: Regrades) -> None:
    ask(room, regrades)
    room.hand_in("eve")
    engine = FakeEngine()

    grade_all(room, engine)

    assert [job.student for job in engine.ended] == ["eve", "ada", "bob"]


def test_students_hear_nothing_of_it(room: Classroom, regrades: Regrades) -> None:
    events, items = room.store.events(1), room.store.hand_ins()
    ask(room, regrades)

    grade_all(room, FakeEngine(bob_fails))

    assert room.store.events(1) == events
    assert room.store.hand_ins() == items


def test_a_regrading_whose_pump_died_is_made_by_another_once(
    room: Classroom, regrades: Regrades
) -> None:
    run = ask(room, regrades, "bob")
    silent, engine = pump_of(room, "silent"), FakeEngine()

    def meanwhile(job: Job) -> Done:
        room.clock.moment += module.SILENCE + timedelta(seconds=1)
        grade_all(room, FakeEngine(bob_fails), "other")
        return graded(job)

    engine.answer, engine.idle = meanwhile, silent.stop
    silent.run(engine)

    assert [attempt.points for attempt in room.store.attempts(run=run)] == [0.0]


def test_a_shutdown_gives_a_regrading_back(room: Classroom, regrades: Regrades) -> None:
    run = ask(room, regrades, "bob")
    pump = pump_of(room)

    class Endless(FakeEngine):
        def poll(self, seconds: float) -> Done | None:
            pump.stop()
            return None

    pump.run(Endless(), grace=lambda: False)

    [item] = room.store.regradings.of_run(run)
    assert (item.state, item.tries) == (State.WAITING, 0)
