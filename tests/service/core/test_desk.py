"""Handing in: what is kept, what the policy refuses, and when it would not."""

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from stand_ins.service_room import NOON, Classroom

from grader.course.config import LateRule
from grader.course.database.records import Grant, GrantKind
from grader.course.policy import Hidden, ServicePolicy
from grader.errors import CannotGrade
from grader.labs.documents.submission import fingerprint
from grader.service.domain.records import Origin, Role, State, Who
from grader.service.domain.refusals import BadWork, NotFound, NotNow


def test_a_receipt_names_number_hash_and_time(room: Classroom) -> None:
    item = room.hand_in(code=b"one")

    lab = room.desk.lab("2")
    files = {lab.code_name: b"one", "PSEUDOCODE.md": b"# Pseudocode\n"}
    assert (item.number, item.student, item.lab) == (1, "ada", "02_batching")
    assert (item.sha256, item.received) == (fingerprint(files), NOON)
    assert (item.state, item.key) == (State.WAITING, "handin-1")


def test_files_are_the_courses_alone_to_read(room: Classroom) -> None:
    item = room.hand_in(code=b"one")

    folder = room.folder / item.path
    assert (folder / "batching.py").read_bytes() == b"one"
    for path in (*folder.iterdir(), folder, folder.parent, folder.parent.parent):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_each_hand_in_has_a_folder_of_its_own(room: Classroom) -> None:
    paths = {room.hand_in(code=b"one").path, room.hand_in(code=b"two").path}

    assert len(paths) == 2


@pytest.mark.parametrize("name", ["mallory", "ADA", "", "ada\0"])
def test_only_students_of_the_roster_hand_in(room: Classroom, name: str) -> None:
    with pytest.raises(NotFound):
        room.hand_in(name)


@pytest.mark.parametrize("role", [Role.ASSISTANT, Role.INSTRUCTOR])
def test_staff_hand_in_nothing(room: Classroom, role: Role) -> None:
    lab = room.desk.lab("2")

    with pytest.raises(NotFound):
        room.desk.take(Who("ada", role), lab, {lab.code_name: b""}, Origin.WEB)


@pytest.mark.parametrize("name", ["4", "02_BATCHING", "../02_batching", "", "2 "])
def test_a_lab_that_the_course_has_not_is_not_found(room: Classroom, name: str) -> None:
    with pytest.raises(NotFound):
        room.desk.lab(name)


@pytest.mark.parametrize("name", ["2", "02", "02_batching"])
def test_a_lab_has_three_names(room: Classroom, name: str) -> None:
    assert room.desk.lab(name).number == 2


def test_work_without_the_code_is_refused_and_nothing_is_kept(room: Classroom) -> None:
    lab = room.desk.lab("2")

    with pytest.raises(BadWork, match=r"batching\.py is not among the files"):
        room.desk.take(Who("ada", Role.STUDENT), lab, {"PSEUDOCODE.md": b""}, Origin.WEB)

    assert not (room.folder / "hand-ins").exists()


def test_quota_is_of_a_day_in_the_courses_zone(room: Classroom) -> None:
    room.set(ServicePolicy(per_day=2), zone=ZoneInfo("Asia/Shanghai"))
    room.clock.moment = datetime(2026, 10, 1, 15, 30, tzinfo=UTC)  # 23:30 in Shanghai
    room.hand_in()
    room.hand_in()

    with pytest.raises(NotNow, match="handed in lab 2 2 times today") as raised:
        room.hand_in()
    assert raised.value.again == datetime(2026, 10, 1, 16, tzinfo=UTC)
    assert raised.value.hint == "again from 2026-10-02 00:00 CST"
    room.hand_in("bob")
    room.hand_in(lab=3)
    room.clock.moment = raised.value.again
    room.hand_in()


def test_cooldown_says_until_when(room: Classroom) -> None:
    room.set(ServicePolicy(cooldown=timedelta(minutes=20)))
    room.hand_in()
    room.clock.after(minutes=19, seconds=59)

    with pytest.raises(NotNow, match="you handed in lab 2 at 2026-10-01 12:00 UTC") as raised:
        room.hand_in()
    assert raised.value.again == NOON + timedelta(minutes=20)
    room.hand_in(lab=3)
    room.clock.after(seconds=1)
    room.hand_in()


def test_what_failed_by_our_fault_costs_no_attempt(room: Classroom) -> None:
    room.set(ServicePolicy(per_day=1, cooldown=timedelta(hours=1)))
    item = room.hand_in()
    room.store.claim("w", "cpu", room.clock.now(), timedelta(hours=1))
    room.store.fail(item.number, "w", "disk", room.clock.now(), most=1)

    assert room.hand_in().number == 2


def test_a_lab_opens_and_closes(room: Classroom) -> None:
    opens, due = NOON + timedelta(hours=1), NOON + timedelta(days=1)
    room.set(ServicePolicy(opens={2: opens}), deadlines={2: due}, late=LateRule(0.1, 2))

    with pytest.raises(NotNow, match="lab 2 opens 2026-10-01 13:00 UTC") as raised:
        room.hand_in()
    assert raised.value.again == opens
    for moment, late in ((opens, False), (due, False), (due + timedelta(days=2), True)):
        room.clock.moment = moment
        assert room.desk.allowance("ada", room.desk.lab("2")).late is late
        room.hand_in()
    room.clock.after(seconds=1)
    with pytest.raises(NotNow, match="lab 2 closed 2026-10-04 12:00 UTC"):
        room.hand_in()


def test_an_extension_is_a_deadline_of_ones_own(room: Classroom) -> None:
    due = NOON - timedelta(hours=1)
    longer = {("ada", 2): NOON + timedelta(hours=1)}
    room.set(ServicePolicy(), deadlines={2: due}, extensions=longer)

    room.hand_in("ada")
    with pytest.raises(NotNow):
        room.hand_in("bob")


def test_an_extension_by_command_holds_at_once(room: Classroom) -> None:
    due = NOON - timedelta(hours=1)
    room.set(ServicePolicy(), deadlines={2: due})
    with pytest.raises(NotNow):
        room.hand_in()
    until = NOON + timedelta(hours=1)
    word = Grant("ada", "02_batching", GrantKind.EXTENSION, until, True, "A. T.", "ill", NOON)

    room.store.granted.append(word)

    assert room.desk.allowance("ada", room.desk.lab("2")).deadline == until
    assert room.hand_in().student == "ada"


def test_hidden_tests_wait_for_the_deadline_where_the_course_says_so(room: Classroom) -> None:
    lab = room.desk.lab("2")
    room.set(ServicePolicy(hidden=Hidden.AFTER_DEADLINE), deadlines={2: NOON})

    assert room.desk.suite("ada", lab) == "public"
    room.clock.after(seconds=1)
    assert room.desk.suite("ada", lab) == "all"


def test_allowance_counts_what_is_left(room: Classroom) -> None:
    lab = room.desk.lab("2")
    room.set(ServicePolicy(per_day=2))

    assert room.desk.allowance("ada", lab).left == 2
    room.hand_in()
    assert room.desk.allowance("ada", lab).left == 1
    room.hand_in()
    found = room.desk.allowance("ada", lab)
    assert found.left == 0
    assert found.refusal is not None


def test_a_full_disk_is_ours_and_leaves_no_hand_in(
    room: Classroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)

    with pytest.raises(CannotGrade, match="No space left on device"):
        room.hand_in()
    assert room.store.hand_ins() == []


def test_a_folder_that_is_no_folder_is_ours(room: Classroom, tmp_path: Path) -> None:
    (tmp_path / "hand-ins").write_text("")

    with pytest.raises(CannotGrade, match="the hand-in cannot be kept"):
        room.hand_in()


def test_a_teams_attempts_are_counted_together(room: Classroom) -> None:
    pair = ("ada", "bob")
    room.set(ServicePolicy(per_day=2), teams={(each, 2): pair for each in pair})

    room.hand_in("ada")
    room.hand_in("bob")

    for each in pair:
        with pytest.raises(NotNow, match="2 times today"):
            room.hand_in(each)
    assert room.hand_in("ada", lab=3).number == 3
    assert room.hand_in("eve").number == 4
