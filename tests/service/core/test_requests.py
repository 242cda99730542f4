"""Requests in the store without a disk: who may ask and answer, and what an answer begins."""

from datetime import UTC, datetime, timedelta

import pytest
from stand_ins.service_pump import FakeEngine, grade_all
from stand_ins.service_room import Classroom

from grader.errors import UsageError
from grader.service.core import pump as module
from grader.service.core.people.requests import Again, Reply, Requests
from grader.service.core.regrades import Regrades
from grader.service.core.views import Views
from grader.service.domain.records import HandIn, Role, Who
from grader.service.domain.refusals import NotFound

ADA, BOB = Who("ada", Role.STUDENT), Who("bob", Role.STUDENT)
TUTOR, BOSS = Who("A. Tutor", Role.ASSISTANT), Who("A. Boss", Role.INSTRUCTOR)
WHY = "the handout says otherwise"


@pytest.fixture
def item(room: Classroom, monkeypatch: pytest.MonkeyPatch) -> HandIn:
    """A hand-in of ada that was graded."""
    for name in ("POLL_SECONDS", "BEAT_SECONDS", "SWEEP_SECONDS", "LONGEST_PAUSE"):
        monkeypatch.setattr(module, name, 0.0)
    found = room.hand_in("ada")
    grade_all(room, FakeEngine())
    room.clock.moment = datetime.now(UTC) + timedelta(minutes=5)  # gradings tell the real time
    return found


@pytest.fixture
def requests(room: Classroom, item: HandIn) -> Requests:
    views = Views(room.course, room.store, room.clock)
    regrades = Regrades(room.course, room.store, room.clock)
    return Requests(room.desk, room.store, room.clock, views, regrades)


def first_task(room: Classroom) -> str:
    return room.desk.lab("2").tasks[0].id


def test_only_the_student_asks_and_withdraws(
    room: Classroom, requests: Requests, item: HandIn
) -> None:
    number = requests.ask(ADA, item, first_task(room), WHY)

    with pytest.raises(NotFound):
        requests.ask(TUTOR, item, first_task(room), WHY)
    with pytest.raises(NotFound):
        requests.withdraw(BOB, number)
    assert requests.withdraw(ADA, number).reason == WHY


def test_a_correction_is_an_instructors_and_an_override(
    room: Classroom, requests: Requests, item: HandIn
) -> None:
    number = requests.ask(ADA, item, first_task(room), WHY)
    reply = Reply("right", points=90.0, before=100.0)

    with pytest.raises(NotFound):
        requests.answer(TUTOR, number, reply, "cpu")
    requests.answer(BOSS, number, reply, "cpu")

    assert [(word.points, word.author) for word in room.store.overrides] == [(90.0, "A. Boss")]
    [asked] = room.store.returns.asked()
    assert requests.outcome(ADA, asked).changes == (("mark", "100", "90"),)


def test_a_grading_by_a_seed_that_nobody_kept_is_refused(
    room: Classroom, requests: Requests, item: HandIn
) -> None:
    number = requests.ask(ADA, item, first_task(room), WHY)

    with pytest.raises(UsageError, match="seed of that grading is not known"):
        requests.answer(TUTOR, number, Reply("again", Again.SAME), "cpu")

    assert requests.find(TUTOR, number).answer is None
    assert room.store.regradings.runs() == []


def test_the_pump_grades_again_by_another_seed(
    room: Classroom, requests: Requests, item: HandIn
) -> None:
    number = requests.ask(ADA, item, first_task(room), WHY)

    requests.answer(TUTOR, number, Reply("again", Again.OTHER), "cpu")

    engine = FakeEngine()
    grade_all(room, engine)
    assert [(job.commit, job.seed) for job in engine.ended] == [(item.key, None)]


def test_the_pump_grades_by_the_seed_that_was_asked_for(
    room: Classroom, requests: Requests, item: HandIn
) -> None:
    regrades, lab = Regrades(room.course, room.store, room.clock), room.desk.lab("2")

    regrades.ask(TUTOR, lab, "cpu", "why not", "ada", item.key, 2**62)

    engine = FakeEngine()
    grade_all(room, engine)
    assert [job.seed for job in engine.ended] == [2**62]
