"""The clock of deadlines: what the machine takes does not count, what the code takes does."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from stand_ins.expectation import HERE

from grader.errors import StudentTimeout
from grader.labs.lab import load_lab
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.sandbox.pace import BEAT_SECONDS, Pace, Reading, lost_between
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting
from grader.sandbox.stage import staged

LAB = load_lab(HERE / "demo" / "labs" / "90_echo")
CODE = b"def run(code):\n    space = {}\n    exec(code, space)\n    return space.get('out')\n"
HOGS = 6 * (os.cpu_count() or 1)


def lost(passed: float, *threads: tuple[float, float]) -> float:
    """Return what was lost while threads ran and waited for so many seconds."""
    before = Reading(100.0, {number: (5.0, 7.0) for number in range(len(threads))})
    after = {number: (5.0 + ran, 7.0 + waited) for number, (ran, waited) in enumerate(threads)}
    return lost_between(before, Reading(100.0 + passed, after))


@pytest.mark.parametrize(
    ("passed", "threads", "want"),
    [
        pytest.param(1, [(1, 0)], 0, id="a core of its own"),
        pytest.param(1, [(0.1, 0.9)], 0.9, id="a tenth of a core"),
        pytest.param(1, [(0.6, 0.4)], 0, id="more than half of one"),
        pytest.param(1, [(0, 0)], 0, id="it sleeps"),
        pytest.param(1, [(0.05, 0.2)], 0.2, id="it sleeps, and waits for a core a little"),
        pytest.param(1, [(0.02, 0.98)] * 100, 0, id="its own threads take the cores"),
        pytest.param(1, [(0, 0), (0.1, 0.9)], 0.9, id="one thread waits for another that is kept"),
        pytest.param(26, [(0, 0)], 26 - BEAT_SECONDS, id="everything stood still"),
        pytest.param(26, [(25, 1)], 0, id="only we stood still"),
        pytest.param(1, [], 0, id="no accounts"),
    ],
)
def test_what_counts_as_lost(
    passed: float, threads: list[tuple[float, float]], want: float
) -> None:
    assert lost(passed, *threads) == pytest.approx(want, abs=1e-9)


def test_threads_that_came_or_ended_take_nothing_from_what_ran() -> None:
    before = Reading(0.0, {1: (50.0, 0.0), 2: (1.0, 1.0)})
    after = Reading(1.0, {2: (1.1, 1.9), 3: (0.0, 40.0)})

    assert lost_between(before, after) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("known", "found", "want"),
    [
        pytest.param({1: 11, 2: 12}, {1: 11, 2: 12}, 0.9, id="the same"),
        pytest.param({1: 11, 2: 12}, {1: 11, 2: 12, 3: 13, 4: 14}, 0.9, id="two came"),
        pytest.param({1: 11, 2: 12}, {1: 11, 2: 12, 4: 14}, 0, id="one came and ended unseen"),
        pytest.param({1: 11, 2: 12}, {1: 11}, 0, id="one ended"),
        pytest.param({1: 11, 2: 12}, {1: 11, 3: 13}, 0, id="one ended and another came"),
        pytest.param({1: 0, 2: 0}, {1: 0, 2: 0, 3: 0}, 0.9, id="no namespace of its own"),
    ],
)
def test_nothing_is_lost_where_one_that_ended_may_have_had_the_core(
    known: dict[int, int], found: dict[int, int], want: float
) -> None:
    before = Reading(0.0, {thread: (1.0, 1.0) for thread in known}, {7: known})
    after = {thread: (1.0, 1.9) if thread in known else (0.0, 0.0) for thread in found}

    assert lost_between(before, Reading(1.0, after, {7: found})) == pytest.approx(want)


def test_time_in_which_everything_stood_still_is_lost_whoever_ended() -> None:
    before = Reading(0.0, {1: (1.0, 1.0)}, {7: {1: 11}})

    assert lost_between(before, Reading(9.0, {}, {7: {}})) == pytest.approx(9 - BEAT_SECONDS)


def test_clock_runs_with_the_monotonic_one_while_nothing_is_watched() -> None:
    pace = Pace()
    before = time.monotonic() - pace.now()

    pace.count()

    assert time.monotonic() - pace.now() == pytest.approx(before, abs=0.01)


@contextmanager
def hogs() -> Iterator[None]:
    """Keep every core busy several times over.

    Where the kernel shares cores among sessions, those of one would count as one.
    """
    line = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(line, start_new_session=True) for _ in range(HOGS)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def talk(seconds: float) -> Iterator[Conversation]:
    """Talk with a worker whose calls have this limit; ``run`` executes what it is given."""
    with staged(LAB, {}, "none") as stage:
        (stage / "submission").mkdir()
        (stage / "submission" / "echo.py").write_bytes(CODE)
        setting = Setting(
            *(stage, {}, ("common",), "cpu", "none", 1 << 30, 100, {"CORE": 0}), output=1 << 14
        )
        worker = WorkerProcess(setting)
        try:
            worker.wait_ready()
            clock = Clock(60.0)
            talk = Conversation(worker, "cpu", clock, "")
            talk.request({"op": "load", "file": f"{setting.seen('submission')}/echo.py"})
            clock.call_seconds = seconds
            yield talk
        finally:
            worker.kill()


SPIN = """
import time
end = time.process_time() + {seconds}
while time.process_time() < end:
    pass
out = True
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="no accounts of threads")
def test_right_code_beside_hogs_is_in_time() -> None:
    """0.8 s of computing, with a limit of 2 s, where it gets a sixth of a core."""
    with talk(2.0) as conversation, hogs():
        began = time.monotonic()
        assert conversation.call(["function", "run"], (SPIN.format(seconds=0.8),), {}) is True

    assert time.monotonic() - began > 2.0  # else the machine had cores to spare


@pytest.mark.parametrize(
    "code",
    ["while True: pass", "import time; time.sleep(60)"],
    ids=["computing", "sleeping"],
)
def test_code_without_an_end_has_one(code: str) -> None:
    with talk(1.0) as conversation:
        began = time.monotonic()
        with pytest.raises(StudentTimeout, match="1 s"):
            conversation.call(["function", "run"], (code,), {})

    assert time.monotonic() - began < 20


CROWD = """
import os
for _ in range(20):
    if not os.fork():
        break
while True:
    pass
"""


def test_code_that_takes_the_cores_from_itself_gains_nothing() -> None:
    with talk(1.0) as conversation:
        began = time.monotonic()
        with pytest.raises(StudentTimeout):
            conversation.call(["function", "run"], (CROWD,), {})

    assert time.monotonic() - began < 30
