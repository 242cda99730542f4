"""Stores of each kind: in memory, on SQLite, on a PostgreSQL server of these tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra course")

from stand_ins import postgres
from stand_ins.classroom import ADA, BOB, CYD
from stand_ins.handed_in import emptied, opened

from grader.service.adapters.memory import MemoryStore
from grader.service.ports.store import Store

CLASS = [ADA, BOB, CYD]


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    why = postgres.missing()
    if why:
        pytest.skip(why)
    with postgres.server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty course database that several processes can use."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/course.db"
    return emptied(request.getfixturevalue("server"))


@pytest.fixture
def shared(url: str) -> Iterator[Store]:
    """A store that several processes can use, with a roster of three."""
    with opened(url, CLASS) as store:
        yield store


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store of each kind, with a roster of three."""
    if request.param == "memory":
        yield MemoryStore(CLASS)
        return
    place = f"sqlite:///{tmp_path}/course.db"
    if request.param == "postgresql":
        place = emptied(request.getfixturevalue("server"))
    with opened(place, CLASS) as found:
        yield found
