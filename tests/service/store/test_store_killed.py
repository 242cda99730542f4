"""Processes that use the store are killed at any moment: nothing is lost or doubled."""

import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path

from stand_ins.classroom import ADA, BOB, CYD
from stand_ins.hand_in_loop import (
    LABS,
    STUDENTS,
    end_regrading,
    start,
    start_and_die,
    start_regrading,
)
from stand_ins.handed_in import HOUR, finish, hand_in, opened

from grader.course.database.records import Decision, Kind
from grader.course.database.store import Store as CourseStore
from grader.service.domain.records import State
from grader.service.ports.store import Store

Start = Callable[[str, str, Path], BaseProcess]
KILLS = 16
BESIDE = 3
STEPS = 4  # that are noted between two kills
SECONDS = 0.02  # after which the next kill comes, at most: within some transaction or between two


def test_processes_that_are_killed_again_and_again_lose_and_double_nothing(
    url: str, tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    with opened(url, [ADA, BOB, CYD]):
        pass
    stop_many(url, journal)

    told = [line.split() for line in journal.read_text().splitlines()]
    assert all(len(line) == 2 for line in told)
    taken, claimed, graded = (
        {int(number) for kind, number in told if kind == wanted}
        for wanted in ("taken", "claimed", "graded")
    )
    assert len(taken) > KILLS
    assert claimed - graded
    with opened(url) as store:
        drain(store)
        items = {item.number: item for item in store.hand_ins()}
        assert taken <= items.keys()
        assert {item.state for item in items.values()} <= {State.GRADED, State.SUPERSEDED}
        ended = {item.key for item in items.values() if item.state is State.GRADED}
        assert graded <= {number for number, item in items.items() if item.key in ended}
        assert Counter(attempt.commit for attempt in store.attempts()) == Counter(ended)
        assert any("was not heard of" in item.failure for item in items.values())
        for item in items.values():
            newer = [i for i in store.hand_ins(item.student, item.lab) if i.number > item.number]
            assert item.state is State.GRADED or newer
    with CourseStore.open(url) as course:
        collected = Counter(item.commit for lab in LABS for item in course.collections(lab))
        assert collected == Counter(item.key for item in items.values())
        assert len(course.runs()) == len({run.lab for run in course.runs()})
    if url.startswith("sqlite"):
        with sqlite3.connect(tmp_path / "course.db") as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_regrade_whose_processes_are_killed_grades_all_of_it_once(
    url: str, tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    work = [(student, f"c{number}") for number in range(60) for student in STUDENTS]
    asked = Decision("", Kind.ASKED, "A. Teacher", "a test was wrong", datetime.now(UTC))
    with opened(url, [ADA, BOB, CYD]) as store:
        run = store.regradings.ask(LABS[0], work, "cpu", asked)

    stop_many(url, journal, start_regrading)

    with opened(url) as store:
        now = datetime.now(UTC) + timedelta(hours=1)
        store.regradings.sweep(now, timedelta(minutes=1), 1000)
        while (item := store.regradings.claim("last", "cpu", now, HOUR)) is not None:
            end_regrading(store, item, 1.0, now)
        assert store.regradings.counts(run) == {State.GRADED: len(work)}
        found = Counter((each.student, each.commit) for each in store.attempts(run=run))
        assert found == Counter(work)
        assert store.attempts() == []
        assert any(item.tries > 1 for item in store.regradings.of_run(run))


def stop_many(url: str, journal: Path, start: Start = start) -> None:
    """Keep some processes at it, and kill one after the other."""
    draw = random.Random(5)
    running = [start(url, f"w{number}", journal) for number in range(BESIDE)]
    for number in range(BESIDE, KILLS + BESIDE):
        wait_for(journal, STEPS * (number - BESIDE + 1))
        time.sleep(draw.uniform(0, SECONDS))
        victim = running.pop(draw.randrange(BESIDE))
        victim.kill()
        victim.join(30)
        assert victim.exitcode == -signal.SIGKILL
        running.append(start(url, f"w{number}", journal))
    for process in running:
        process.kill()
        process.join(30)


def wait_for(journal: Path, lines: int) -> None:
    """Wait until so much was noted."""
    until = time.monotonic() + 60
    while not journal.exists() or len(journal.read_text().splitlines()) < lines:
        assert time.monotonic() < until
        time.sleep(0.005)


def drain(store: Store) -> None:
    """Take back what the dead had begun, and grade everything."""
    now = datetime.now(UTC) + timedelta(hours=1)
    store.sweep(now, timedelta(minutes=1), 1000)
    while (item := store.claim("last", "cpu", now, HOUR)) is not None:
        assert finish(store, item, now)


def test_a_process_that_is_killed_while_it_takes_work_in_has_taken_nothing(url: str) -> None:
    with opened(url, [ADA]) as store:
        before = hand_in(store, "ada")

        dead = start_and_die(url)
        dead.join(60)

        assert dead.exitcode == -signal.SIGKILL
        assert store.hand_ins() == [before]
        assert hand_in(store, "ada").state is State.WAITING
