"""Whose turn it is, and what becomes of a grading that failed: the same rules in every store."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

from grader.service.domain.records import HandIn, Regrading, State, Work

LATELY = timedelta(hours=1)  # within which a student's gradings count when turns are given

Graded = TypeVar("Graded", HandIn, Regrading)


def taken(work: Work, path: str, number: int) -> HandIn:
    """Return work as a hand-in that waits."""
    return HandIn(
        number=number,
        student=work.student,
        lab=work.lab,
        sha256=work.sha256,
        received=work.received,
        origin=work.origin,
        device=work.device,
        note=work.note,
        commit=work.commit,
        path=path,
        state=State.WAITING,
    )


def beginning(item: HandIn) -> tuple[datetime, int]:
    """Return by what hand-ins that were begun are sorted."""
    assert item.started is not None  # since it was begun
    return item.started, item.number


def in_turn(
    waiting: Iterable[HandIn], begun: Mapping[str, int], running: Collection[str]
) -> list[HandIn]:
    """Sort what waits as it will run, on each device, if one grading ends before the next begins.

    ``begun`` counts gradings of late by student. Who has something ``running`` comes last.
    """
    ahead: Counter[tuple[str, str]] = Counter()
    turns: list[tuple[bool, int, int, HandIn]] = []
    for item in sorted(waiting, key=lambda item: item.number):
        had = begun.get(item.student, 0) + ahead[item.student, item.device]
        ahead[item.student, item.device] += 1
        turns.append((item.student in running, had, item.number, item))
    turns.sort(key=lambda turn: turn[:3])
    return [item for *_, item in turns]


def tried(item: Graded, why: str, now: datetime, most: int) -> Graded:
    """Return what a failure of ours leaves: it waits again, or is held after ``most`` tries."""
    if item.tries < most:
        return replace(item, state=State.WAITING, failure=why)
    return replace(item, state=State.HELD, failure=why, ended=now)


def superseded(item: HandIn, by: datetime) -> HandIn:
    """Return a hand-in in whose place another one runs, which came at that moment."""
    return replace(item, state=State.SUPERSEDED, ended=by)


def abandoned(item: HandIn | Regrading, now: datetime, silence: timedelta, *, gone: bool) -> str:
    """Return why a grading is taken from its worker, "" if it keeps it."""
    assert item.beat is not None  # since it runs
    name = item.worker.partition("@")[0]  # what follows is for machines
    if gone:
        return f"{name} has ended"
    if item.beat > now - silence:
        return ""
    return f"{name} was not heard of for {int(silence.total_seconds())} s"
