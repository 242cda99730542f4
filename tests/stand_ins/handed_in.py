"""A class that hands in to the service: its work, its attempts, and stores of each kind."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import create_engine, text
from stand_ins import classroom
from stand_ins.classroom import LAB, NOON

from grader.course.database.connection import located
from grader.course.database.records import Attempt, Student
from grader.course.database.store import Store as CourseStore
from grader.service.adapters.database.database import DatabaseStore
from grader.service.domain.records import HandIn, Origin, Work
from grader.service.ports.store import Store

OTHER_LAB = "02_batching"
HOUR = timedelta(hours=1)
MOST = 3  # tries


def minutes(count: float) -> datetime:
    """So many minutes after noon."""
    return NOON + timedelta(minutes=count)


def work(student: str, lab: str = LAB, **given: Any) -> Work:
    """Work received at noon from the terminal, unless told otherwise."""
    values: dict[str, Any] = {"received": NOON, "origin": Origin.TERMINAL, **given}
    return Work(student, lab, {"llama.py": b"x = 1\n"}, "5ha", **values)


def anything(_: Sequence[HandIn]) -> None:
    """A check that allows all."""


def hand_in(store: Store, student: str, lab: str = LAB, **given: Any) -> HandIn:
    return store.receive(work(student, lab, **given), f"hand-ins/{lab}/{student}", anything)


def claim(store: Store, worker: str = "w", now: datetime = NOON, device: str = "cpu") -> HandIn:
    """Claim what must be there."""
    found = store.claim(worker, device, now, HOUR)
    assert found is not None
    return found


def graded(item: HandIn, points: float = 50.0) -> Attempt:
    """A grading of a hand-in, as a worker would record it."""
    return classroom.attempt(
        item.student, points, lab=item.lab, run="", commit=item.key, submitted=item.received
    )


def finish(store: Store, item: HandIn, now: datetime = NOON, points: float = 50.0) -> bool:
    return store.finish(item.number, item.worker, graded(item, points), now)


@contextmanager
def opened(url: str, students: Sequence[Student] = ()) -> Iterator[DatabaseStore]:
    """Open the service's store in a course database, with a roster if one is given."""
    with CourseStore.open(url) as course:
        if students:
            course.put_students(students)
        yield DatabaseStore(course)


def emptied(url: str) -> str:
    """Take everything out of a PostgreSQL database, and return its URL."""
    engine = create_engine(located(url, None))
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return url
