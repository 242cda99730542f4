"""Work of ours past its deadline is interrupted, once it is in Python, and nothing else ever is."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from grader.proxy.loans import watchdog
from grader.proxy.loans.watchdog import WATCHDOG, Overtime
from grader.sandbox.pace import PACE

ROOT = Path(__file__).resolve().parents[2]


def spin(seconds: float) -> int:
    """Keep a loop of Python busy."""
    end, turns = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        turns += 1
    return turns


def test_work_in_time_returns_what_it_does() -> None:
    assert WATCHDOG.run(PACE.now() + 60, lambda: 7) == 7


def test_a_loop_past_its_deadline_is_interrupted() -> None:
    started = time.monotonic()

    with pytest.raises(Overtime):
        WATCHDOG.run(PACE.now() + 0.2, lambda: spin(30))

    assert time.monotonic() - started < 5


def test_what_handles_errors_does_not_swallow_it() -> None:
    def stubborn() -> None:
        while True:
            try:
                spin(30)
            except Exception:
                continue

    with pytest.raises(Overtime):
        WATCHDOG.run(PACE.now() + 0.1, stubborn)


def test_what_is_lost_in_a_finalizer_is_raised_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "AGAIN_SECONDS", 0.1)

    lost: list[bool] = []

    class Slow:
        def __del__(self) -> None:
            try:
                spin(30)
            except Overtime:
                lost.append(True)

    def work() -> None:
        Slow()
        spin(30)

    with pytest.raises(Overtime):
        WATCHDOG.run(PACE.now() + 0.1, work)
    assert lost == [True]


def test_nothing_is_raised_once_the_work_has_ended() -> None:
    """Deadlines that pass just as the work ends are the ones that could strike late."""
    struck = 0
    for turn in range(60):
        try:
            WATCHDOG.run(PACE.now() + turn / 1000, lambda: time.sleep(watchdog.LOOK_SECONDS))
        except Overtime:
            struck += 1
        spin(0.002)
    spin(3 * watchdog.LOOK_SECONDS)
    assert WATCHDOG._limits == {}
    assert struck > 0


def test_work_inside_that_is_none_of_it_is_not_interrupted() -> None:
    def work() -> int:
        return WATCHDOG.pause(lambda: spin(0.5))

    deadline = PACE.now() + 0.1
    with pytest.raises(Overtime):
        WATCHDOG.run(deadline, lambda: (work(), spin(30)))
    assert PACE.now() - deadline >= 0.4


def test_processor_time_alone_counts_where_it_is_the_limit() -> None:
    assert WATCHDOG.run_for(0.3, lambda: time.sleep(1)) is None
    with pytest.raises(Overtime):
        WATCHDOG.run_for(0.3, lambda: spin(30))


def test_work_inside_of_other_work_has_its_own_limit() -> None:
    def outer() -> str:
        with pytest.raises(Overtime):
            WATCHDOG.run(PACE.now() + 0.1, lambda: spin(30))
        return "went on"

    assert WATCHDOG.run_for(20, outer) == "went on"
    assert WATCHDOG._limits == {}


def test_work_inside_with_a_limit_of_its_own_does_not_count() -> None:
    def outer() -> int:
        return WATCHDOG.run(PACE.now() + 60, lambda: spin(1.0))

    assert WATCHDOG.run_for(0.5, outer)
    with pytest.raises(Overtime):
        WATCHDOG.run_for(0.5, lambda: (outer(), spin(30)))


def test_pause_without_work_around_it_does_as_it_is_told() -> None:
    assert WATCHDOG.pause(lambda: 7) == 7


def test_only_the_thread_that_is_late_is_interrupted() -> None:
    ended: dict[str, bool] = {}

    def run(name: str, deadline: float, seconds: float) -> None:
        try:
            WATCHDOG.run(deadline, lambda: spin(seconds))
            ended[name] = True
        except Overtime:
            ended[name] = False

    now = PACE.now()
    threads = [
        threading.Thread(target=run, args=args)
        for args in (("late", now + 0.1, 30.0), ("early", now + 60, 1.0))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert ended == {"late": False, "early": True}


PROFILED = """
import sys, threading
from grader.proxy.loans.watchdog import WATCHDOG, Overtime, PACE

def spin():
    while True:
        pass

WATCHDOG.run(PACE.now() + 60, int)
try:
    WATCHDOG.run(PACE.now() + 0.1, spin)
except Overtime:
    pass
threading.setprofile(lambda *_: sys.setprofile(None))
thread = threading.Thread(target=int)
thread.start()
thread.join()
"""


def test_the_interpreter_does_not_go_on_looking_for_what_was_raised() -> None:
    """Where it does, a thread that is profiled never begins (CPython 3.11)."""
    subprocess.run([sys.executable, "-c", PROFILED], cwd=ROOT, timeout=60, check=True)


HOPELESS = """
from grader.proxy.loans import watchdog

watchdog.HARD_SECONDS = 0.5
watchdog.WATCHDOG.run(watchdog.PACE.now() + 0.1, lambda: sum(range(1 << 40)))
"""


def test_a_call_of_c_without_an_end_ends_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", HOPELESS], cwd=ROOT, timeout=60, check=False)

    assert done.returncode == -signal.SIGPROF
