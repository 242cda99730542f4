"""The gradings: each hand-in ends once, whatever the engine, the database or a shutdown does."""

import threading
from datetime import timedelta
from pathlib import Path

import pytest
from stand_ins.service_pump import FakeEngine, broken, grade_all, graded, pump_of
from stand_ins.service_room import NOON, Classroom

from grader.course.grading.jobs import Done, Job, Step
from grader.course.policy import Hidden, ServicePolicy
from grader.errors import CannotGrade, StoreError
from grader.labs.results import Verdict
from grader.service.core import pump as module
from grader.service.domain.records import HandIn, State


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pauses, and every turn looks at everything."""
    for name in ("POLL_SECONDS", "BEAT_SECONDS", "SWEEP_SECONDS", "LONGEST_PAUSE"):
        monkeypatch.setattr(module, name, 0.0)


def now(room: Classroom, item: HandIn) -> HandIn:
    found = room.store.hand_in(item.number)
    assert found is not None
    return found


def kinds(room: Classroom, item: HandIn) -> list[str]:
    return [event.kind for event in room.store.events(item.number)]


def test_a_hand_in_is_graded_and_stands_in_the_gradebook(room: Classroom) -> None:
    item = room.hand_in(code=b"one")
    room.clock.after(minutes=1)
    engine = FakeEngine()

    grade_all(room, engine)

    [attempt] = room.store.attempts("02_batching")
    assert (attempt.student, attempt.commit, attempt.submitted) == ("ada", "handin-1", NOON)
    assert (attempt.points, attempt.exit_code) == (100.0, 0)
    assert engine.ended[0].files["batching.py"] == b"one"
    assert (now(room, item).state, now(room, item).tries) == (State.GRADED, 1)
    assert kinds(room, item) == ["begun", "graded"]


def test_what_fails_by_our_fault_is_graded_again(room: Classroom) -> None:
    item = room.hand_in()
    answers = iter([broken, graded])

    grade_all(room, FakeEngine(lambda job: next(answers)(job)))

    assert now(room, item).state is State.GRADED
    assert len(room.store.attempts()) == 1
    assert kinds(room, item) == ["begun", "again", "begun", "graded"]


def test_what_fails_again_and_again_is_held_and_costs_nothing(room: Classroom) -> None:
    item = room.hand_in()

    grade_all(room, FakeEngine(broken))

    assert now(room, item).state is State.HELD
    assert now(room, item).tries == module.MOST_TRIES
    assert "SIGKILL" in now(room, item).failure
    assert room.store.attempts() == []


def test_a_test_that_broke_by_our_fault_is_no_verdict(room: Classroom) -> None:
    item = room.hand_in()

    grade_all(room, FakeEngine(lambda job: graded(job, Verdict.INFRA)))

    assert now(room, item).state is State.HELD
    assert room.store.attempts() == []


def test_files_that_are_gone_are_our_fault(room: Classroom) -> None:
    item = room.hand_in()
    for file in (room.folder / item.path).iterdir():
        file.unlink()

    grade_all(room, FakeEngine())

    assert (now(room, item).state, now(room, item).failure) == (State.HELD, "its files are gone")


def test_a_database_that_is_away_loses_no_verdict(
    room: Classroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = room.hand_in()
    finish, away = room.store.finish, iter([True, True, True])

    def sometimes(*arguments: object) -> bool:
        if next(away, False):
            raise StoreError("the course database is locked by another program")
        return finish(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(room.store, "finish", sometimes)
    engine = FakeEngine()

    grade_all(room, engine)

    assert now(room, item).state is State.GRADED
    assert (len(engine.ended), len(room.store.attempts())) == (1, 1)


def test_a_pump_that_was_silent_records_nothing_that_is_anothers(room: Classroom) -> None:
    item = room.hand_in()
    silent, engine = pump_of(room, "silent"), FakeEngine()

    def meanwhile(job: Job) -> Done:
        room.clock.moment += module.SILENCE + timedelta(seconds=1)
        grade_all(room, FakeEngine(lambda again: graded(again, Verdict.FAILED)), "other")
        return graded(job)

    engine.answer, engine.idle = meanwhile, silent.stop
    silent.run(engine)

    [attempt] = room.store.attempts()
    assert attempt.points == 0.0
    assert now(room, item).worker == "other"


def test_a_shutdown_gives_back_what_has_not_ended(room: Classroom) -> None:
    item = room.hand_in()
    pump = pump_of(room)

    class Endless(FakeEngine):
        def poll(self, seconds: float) -> Done | None:
            pump.stop()
            return None

    pump.run(Endless(), grace=lambda: False)

    assert (now(room, item).state, now(room, item).tries) == (State.WAITING, 0)


def test_a_shutdown_waits_for_what_ends_in_its_grace(room: Classroom) -> None:
    first, second = room.hand_in(), room.hand_in("bob")
    pump = pump_of(room)

    def stop_and_grade(job: Job) -> Done:
        pump.stop()
        return graded(job)

    pump.run(FakeEngine(stop_and_grade))

    assert [now(room, item).state for item in (first, second)] == [State.GRADED, State.WAITING]


def test_what_can_be_graded_nowhere_ends_the_pump_and_waits(room: Classroom) -> None:
    item = room.hand_in()

    class Gone(FakeEngine):
        def poll(self, seconds: float) -> Done | None:
            raise CannotGrade("no GPU is left to grade on")

    with pytest.raises(CannotGrade):
        pump_of(room).run(Gone())

    assert (now(room, item).state, now(room, item).tries) == (State.WAITING, 0)


def test_no_more_run_at_a_time_than_there_are_places(room: Classroom) -> None:
    for name in ("ada", "bob", "eve"):
        room.hand_in(name)
    most = 0

    class Counting(FakeEngine):
        def poll(self, seconds: float) -> Done | None:
            nonlocal most
            most = max(most, len(self.jobs))
            return super().poll(seconds)

    grade_all(room, Counting(places=2))

    assert most == 2
    assert len(room.store.attempts()) == 3


def test_steps_are_told_to_who_watches(room: Classroom) -> None:
    item = room.hand_in()
    pump, engine = pump_of(room), FakeEngine()

    def telling(job: Job) -> Done:
        thread = threading.Thread(target=pump.hear, args=(job, Step("pad", 3, 3, 2)))
        thread.start()
        thread.join()
        return graded(job)

    engine.answer, engine.idle = telling, pump.stop
    pump.run(engine)

    [task] = [event for event in room.store.events(item.number) if event.kind == "task"]
    assert task.data == {"task": "pad", "tests": 3, "ended": 3, "passed": 2}


def test_failures_in_a_row_slow_a_pump_down(
    room: Classroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_PAUSE", 3600.0)
    for name in ("ada", "bob", "eve"):
        room.hand_in(name)
    engine = FakeEngine(broken)

    grade_all(room, engine)

    assert len(engine.ended) == module.IN_A_ROW


def test_until_the_deadline_public_tests_alone_are_run_where_the_course_says_so(
    room: Classroom,
) -> None:
    room.set(ServicePolicy(hidden=Hidden.AFTER_DEADLINE), deadlines={2: NOON})
    room.hand_in()
    engine = FakeEngine()

    grade_all(room, engine)

    assert engine.ended[0].suite == "public"


def test_a_lab_that_the_course_dropped_is_our_fault(room: Classroom, tmp_path: Path) -> None:
    item = room.hand_in()
    room.labs = room.labs[1:]
    room.set(ServicePolicy())

    grade_all(room, FakeEngine())

    assert now(room, item).failure == "there is no lab 02_batching"


def test_kills_alone_hold_nothing_for_a_long_while(room: Classroom) -> None:
    item = room.hand_in()
    for turn in range(module.MOST_ABANDONED - 1):
        room.store.claim(f"killed {turn}", "cpu", room.clock.now(), module.LATELY)
        room.clock.moment += module.SILENCE + timedelta(seconds=1)
        room.store.sweep(room.clock.now(), module.SILENCE, module.MOST_ABANDONED)

    grade_all(room, FakeEngine())

    assert now(room, item).state is State.GRADED
