"""What tests share, and what is no test here: the demo course's suites, and submissions.

We never run those.
"""

import gc
import itertools
import re
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from stand_ins.programs import Programs

from grader.judge.setup.start import ForkServer
from grader.prove.sample import lot, turns
from grader.proxy.loans.watchdog import Overtime

HERE = Path(__file__).parent
BEGUN = time.monotonic()
collect_ignore = ["clock", "demo", "exploits", "ranks", "submissions"]

# The files that take longest come first, so that no process is alone with one at the end. Where
# time may be too short for all they come last: thousands of quick tests have their turn every day.
LONGEST = (HERE / "longest.txt").read_text().split()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the options of ``lab check`` that say what a day leaves to others."""
    parser.addoption("--share", type=int, default=1, metavar="N", help="one in N cases `in_turn`")
    told = "after which no case `in_turn` begins, and after twice as many no test at all"
    parser.addoption("--within", type=float, metavar="SECONDS", help=told)
    parser.addoption("--sample-date", metavar="DATE", help="the day whose turn it is: today")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Settle the date: processes side by side must not disagree at midnight."""
    config.option.sample_date = config.option.sample_date or f"{datetime.now(UTC):%Y-%m-%d}"
    sys.unraisablehook = overtime_in_a_finalizer_passes(sys.unraisablehook)


Hook = Callable[["sys.UnraisableHookArgs"], object]


def overtime_in_a_finalizer_passes(hook: Hook) -> Hook:
    """Return what reports errors of finalizers but ours: the watchdog raises it again."""
    return lambda lost: None if lost.exc_type is Overtime else hook(lost)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes longest, or end with it; ``make test`` lets this order stand."""
    places = {HERE / name: place for place, name in enumerate(LONGEST)}
    assert all(file.is_file() for file in places)
    anew = re.compile(rf" at 0x|{str(int(time.time()))[:5]}\d{{5}}")  # an address, or the time
    named_anew = [item.nodeid for item in items if anew.search(item.nodeid)]
    assert not named_anew, f"each process would name these otherwise: {named_anew}"
    left = others(items, config.option.sample_date, config.option.share)
    config.hook.pytest_deselected(items=left)
    deselected = {*left}
    items[:] = [item for item in items if item not in deselected]
    skip_without_gpu([item for item in items if item.get_closest_marker("gpu")])
    if config.option.within:
        # No file is always the last: the order is another each day.
        date = config.option.sample_date
        drawn = {file: lot(date, str(file)) for file in {item.path for item in items}}
        items.sort(key=lambda item: (item.path in places, drawn[item.path]))
    else:
        items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave a test to another day where there is no time left for it: cases `in_turn` first."""
    within = item.config.option.within
    patience = 1 if item.get_closest_marker("in_turn") else 2
    if within and time.monotonic() > BEGUN + patience * within:
        pytest.skip("no time is left for it today")


def skip_without_gpu(items: list[pytest.Item]) -> None:
    """Skip tests that need a GPU where there is none."""
    if items:
        import torch

        if not torch.cuda.is_available():
            for item in items:
                item.add_marker(pytest.mark.skip(reason="needs a GPU"))


def others(items: list[pytest.Item], date: str, share: int) -> list[pytest.Item]:
    """Return what other days try: of each test `in_turn` all cases but one in ``share``."""
    cases = [item for item in items if item.get_closest_marker("in_turn")]
    due = turns([item.nodeid.partition("[")[0] for item in cases], date, share)
    return [*itertools.compress(cases, (not turn for turn in due))]


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
