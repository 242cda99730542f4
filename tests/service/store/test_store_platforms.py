"""What is kept of a learning platform, the same in memory, on SQLite and on PostgreSQL."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from stand_ins.classroom import ADA, BOB, CYD, LAB, NOON, after
from stand_ins.handed_in import OTHER_LAB, emptied

from grader.course.database.store import Store
from grader.service.adapters.database.launches import DatabasePlatforms
from grader.service.adapters.memory_launches import MemoryPlatforms
from grader.service.domain.platforms import Context, Sent
from grader.service.ports.launches import Platforms

CLASS = [ADA, BOB, CYD]

HERE = Context("1", "course 3", "Inference", "https://lms/members", "https://lms/items", NOON)
MARK = Sent("ada", LAB, 80.0, 100.0, "in run 1", NOON)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def platforms(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Platforms]:
    if request.param == "memory":
        yield MemoryPlatforms()
        return
    place = f"sqlite:///{tmp_path}/course.db"
    if request.param == "postgresql":
        place = emptied(request.getfixturevalue("server"))
    with Store.open(place) as store:
        store.put_students(CLASS)
        yield DatabasePlatforms(store)


def test_newer_launch_tells_what_it_knows_and_leaves_the_rest(platforms: Platforms) -> None:
    other = replace(HERE, id="course 4")
    platforms.note_context(other)
    platforms.note_context(HERE)

    platforms.note_context(Context("1", "course 3", "Renamed", "", "https://lms/new", after(1)))

    told = replace(HERE, title="Renamed", items="https://lms/new", seen=after(1))
    assert platforms.contexts() == [told, other]


def test_newest_mark_of_a_student_and_lab_is_known(platforms: Platforms) -> None:
    assert platforms.sent("ada", LAB) is None
    platforms.begin_sending(MARK)
    platforms.begin_sending(replace(MARK, lab=OTHER_LAB, points=1.0))
    platforms.begin_sending(replace(MARK, points=90.0, made=after(1)))

    platforms.end_sending("ada", LAB, NOON)
    assert platforms.sent("ada", LAB) == replace(MARK, points=90.0, made=after(1))

    platforms.end_sending("ada", LAB, after(1))
    assert platforms.sent("ada", LAB) == replace(MARK, points=90.0, made=after(1), done=True)
    assert platforms.sent("ada", OTHER_LAB) == replace(MARK, lab=OTHER_LAB, points=1.0)
    assert platforms.sent("bob", LAB) is None
