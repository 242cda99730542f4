"""A process that hands in, claims and ends gradings until it is killed, and notes what it was told.

Forked from one that has imported all of it, so that many can be started.
"""

import multiprocessing
import os
import random
import signal
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path

from stand_ins.classroom import attempt
from stand_ins.handed_in import HOUR, anything, graded, opened, work

from grader.service.domain.records import HandIn, Regrading
from grader.service.ports.store import Store

LABS = ("01_llama", "02_batching")
STUDENTS = ("ada", "bob", "cyd")
SILENCE = timedelta(seconds=0.3)
MOST = 1000  # tries: here workers die all the time
FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["stand_ins.hand_in_loop"])


def start(url: str, worker: str, journal: Path) -> BaseProcess:
    """Start one; it is to be killed."""
    process = FORKED.Process(target=_loop, args=(url, worker, str(journal)), daemon=True)
    process.start()
    return process


def start_regrading(url: str, worker: str, journal: Path) -> BaseProcess:
    """Start one that grades once more what is asked for; it is to be killed."""
    process = FORKED.Process(target=_regrade, args=(url, worker, str(journal)), daemon=True)
    process.start()
    return process


def start_and_die(url: str) -> BaseProcess:
    """Start a process that is killed in the middle of taking work in."""
    process = FORKED.Process(target=_die, args=(url,), daemon=True)
    process.start()
    return process


def _loop(url: str, worker: str, journal: str) -> None:
    draw = random.Random(worker)
    handle = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with opened(url) as store:
        while True:
            _step(store, worker, draw, handle)


def _step(store: Store, worker: str, draw: random.Random, journal: int) -> None:
    now = datetime.now(UTC)
    for _ in range(draw.randrange(3)):
        given = work(draw.choice(STUDENTS), draw.choice(LABS), received=now)
        taken = store.receive(given, f"hand-ins/{now.timestamp()}", anything)
        os.write(journal, f"taken {taken.number}\n".encode())
    item = store.claim(worker, "cpu", now, HOUR)
    if item is not None:
        os.write(journal, f"claimed {item.number}\n".encode())
        store.tell(item.number, "begun", {}, now)
        store.beat(item.number, worker, now)
        _end(store, item, draw.random(), journal)
    if draw.random() < 0.3:
        store.sweep(now, SILENCE, MOST)


def _regrade(url: str, worker: str, journal: str) -> None:
    draw = random.Random(worker)
    handle = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with opened(url) as store:
        while True:
            now = datetime.now(UTC)
            item = store.regradings.claim(worker, "cpu", now, HOUR)
            if item is not None:
                os.write(handle, f"claimed {item.number}\n".encode())
                end_regrading(store, item, draw.random(), now)
            store.regradings.sweep(now, SILENCE, MOST)


def end_regrading(store: Store, item: Regrading, chance: float, now: datetime) -> None:
    """End what a worker has claimed, in one of the ways in which it can end."""
    made = attempt(item.student, 50.0, lab=item.lab, run="", commit=item.commit)
    if chance < 0.1:
        store.regradings.fail(item.number, item.worker, "disk", now, MOST)
    elif chance < 0.2:
        store.regradings.release(item.number, item.worker)
    else:
        store.regradings.finish(item.number, item.worker, made, now)


def _end(store: Store, item: HandIn, chance: float, journal: int) -> None:
    now = datetime.now(UTC)
    if chance < 0.1:
        store.fail(item.number, item.worker, "disk", now, MOST)
    elif chance < 0.2:
        store.release(item.number, item.worker)
    elif store.finish(item.number, item.worker, graded(item), now):
        os.write(journal, f"graded {item.number}\n".encode())


def _die(url: str) -> None:
    def die(_: Sequence[HandIn]) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with opened(url) as store:
        store.receive(work("ada"), "hand-ins/x", die)
