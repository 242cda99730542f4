"""What tests share, and what is no test here: the demo course's suites, and submissions.

We never run those.
"""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from stand_ins.programs import Programs

from grader.judge.start import ForkServer

HERE = Path(__file__).parent
collect_ignore = ["clock", "demo", "exploits", "ranks", "submissions"]

# The files that take longest come first, so that no process is alone with one at the end.
LONGEST = (
    "course/commands/test_classes.py",
    "judge/test_judge.py",
    "judge/test_grade.py",
    "course/publishing/test_leak.py",
    "sandbox/test_process.py",
    "course/grading/test_cluster.py",
    "proxy/test_groups.py",
    "prove/test_forked.py",
    "timing/test_stopwatch.py",
    "course/publishing/test_publish.py",
    "curriculum/test_chat.py",
    "curriculum/test_quantization_kernels.py",
    "curriculum/test_speculate.py",
    "course/database/test_store.py",
    "judge/test_start.py",
    "bench/test_network.py",
    "reading/test_rules.py",
    "course/grading/test_engines.py",
    "labs/test_fuzz_files.py",
    "timing/test_speed_tasks.py",
    "bench/test_direct.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest; ``make test`` lets this order stand."""
    places = {HERE / name: place for place, name in enumerate(LONGEST)}
    assert all(file.is_file() for file in places)
    items.sort(key=lambda item: places.get(item.path, len(places)))


def pytest_collection_finish() -> None:
    """Let no collection of garbage look through thousands of tests again: they stay."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def sessions() -> Iterator[ForkServer]:
    """Forks the judge's sessions, for gradings that are not about how a session starts."""
    server = ForkServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def programs() -> Iterator[Programs]:
    """Forks programs, for tests that are not about how a process starts."""
    made = Programs()
    yield made
    made.close()
