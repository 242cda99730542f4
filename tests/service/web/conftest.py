"""A class on the web for each test, on a copy of one database."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from stand_ins.web_class import WebClass, filled_database, web_class

Open = Callable[..., WebClass]


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course database with a roster and nothing else."""
    return filled_database(tmp_path_factory.mktemp("database"))


@pytest.fixture
def open_class(tmp_path: Path, database: Path) -> Iterator[Open]:
    """Opens a class under a policy."""
    with ExitStack() as opened:

        def made(**policy: Any) -> WebClass:
            return opened.enter_context(web_class(tmp_path, database, **policy))

        yield made


@pytest.fixture
def lesson(open_class: Open) -> WebClass:
    """A class under the plain policy."""
    return open_class()
