"""Regrades on trial: what counting one would change, and the word that lets it count, or not."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from grader.course.commands.marks.book import check_said, open_store
from grader.course.commands.marks.policies import tell_changes
from grader.course.config import load_course
from grader.course.database.decisions import decide, decisions
from grader.course.database.records import REGRADE, Attempt, Decision, Kind
from grader.course.database.store import Store
from grader.course.gradebook.gradebook import Records, read_gradebook
from grader.errors import UsageError
from grader.text import moment_text, visible_line


@dataclass(frozen=True, slots=True)
class Word:
    """What somebody says of a regrade, as typed."""

    run: str
    kind: Kind
    author: str
    reason: str


class Counting:
    """A course's records as they would be if a run on trial counted."""

    def __init__(self, store: Store, run: str) -> None:
        self._store, self._run = store, run

    def attempts(self, lab: str | None = None, student: str | None = None) -> Sequence[Attempt]:
        """The attempts that count, and those of the run, in the order of their recording."""
        found = self._store.attempts(lab, student)
        found += self._store.attempts(lab, student, self._run)
        return sorted(found, key=lambda attempt: attempt.row or 0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def show_trial(course_file: Path, run: str, *, nobody_loses: bool) -> int:
    """Show each mark and total that a run on trial would change; 1 if somebody was not to lose."""
    course, now = load_course(course_file), datetime.now(UTC)
    with open_store(course) as store:
        said = _said(store, run)
        if len(said) > 1:
            ended = said[-1]
            told = f"by {ended.author} on {moment_text(ended.made, course.zone)}: {ended.reason}"
            raise UsageError(f"run {run} was {ended.kind} {visible_line(told)}", "--diff compares")
        before = read_gradebook(course, store, now=now)
        after = read_gradebook(course, cast(Records, Counting(store, run)), now=now)
        graded = len({a.student for a in store.attempts(run=run) if not a.infra})
    print(f"run {run} of {graded} students, on trial for {visible_line(said[0].reason)}:")
    return tell_changes(before, after, f"by run {run}", nobody_loses=nobody_loses)


def say(course_file: Path, word: Word) -> int:
    """Let a run on trial count, or never count."""
    check_said(word.author, word.reason)
    with open_store(load_course(course_file)) as store:
        _said(store, word.run)
        made = (word.author.strip(), word.reason.strip(), datetime.now(UTC))
        if not decide(store, Decision(word.run, word.kind, *made)):
            said = [each.kind for each in decisions(store, word.run)]
            told = f"it was {said[-1]} already" if len(said) > 1 else "it is still being graded"
            raise UsageError(f"run {word.run} cannot be {word.kind}: {told}")
    what = "its gradings count" if word.kind is Kind.PUBLISHED else "it counts for nothing"
    print(f"run {word.run} was {word.kind}: {what}")
    return 0


def _said(store: Store, run: str) -> list[Decision]:
    """Return what was said of a run on trial; raises UsageError if it is none."""
    runs = [each for each in store.runs() if each.note == REGRADE]
    if run not in [each.id for each in runs]:
        known = ", ".join(f"{each.id} ({each.lab})" for each in runs) or "none"
        raise UsageError(f"there is no run {run!r} on trial", f"runs on trial: {known}")
    return decisions(store, run)
