"""Every mark of drawn histories is what the rule of docs/course.md says, computed here anew.

One example is a student: commits to a branch, a deadline that may be extended, and the instructor's
commands in any order. The rule below knows nothing of collections and attempts as they are kept.
"""

import math
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("sqlalchemy", reason='needs the extra "course"')

from stand_ins.class_of import LAB, report
from stand_ins.fuzzing import fuzz
from stand_ins.remotes import Remote

from grader.course.config import Course, LateRule, MarkRule
from grader.course.database.records import Student
from grader.course.database.store import Store
from grader.course.gradebook.marks import mark
from grader.course.grading.batch import Batch, plan, run_batch, spool_of
from grader.course.grading.collecting.collect import collect_class
from grader.course.grading.collecting.ledger import Collection
from grader.course.grading.jobs import Done, Job
from grader.labs.results import Verdict

ADA = Student("ada", "Ada", "", "student/ada")
START = datetime(2026, 10, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
WORK = {"right": 100.0, "half": 50.0, "poor": 20.0, "broken": 0.0}  # points by code
END = 120  # hours; no command comes later


@dataclass(frozen=True)
class Commit:
    """What a student commits at an hour: code, pseudocode, or something beside them."""

    hour: int
    code: str | None = None
    words: str | None = None
    place: str = "90_echo"


@dataclass(frozen=True)
class Command:
    """What an instructor does at an hour; ``extended`` is the deadline of ada from then on."""

    hour: float
    name: str  # "collect", "late", "refresh" or "grade"
    extended: int | None = None


@dataclass(frozen=True)
class Term:
    """One student's whole course."""

    due: int
    late_days: int
    per_day: float
    rule: MarkRule
    commits: tuple[Commit, ...]
    commands: tuple[Command, ...]


@st.composite
def terms(draw: st.DrawFn) -> Term:
    hours = draw(st.lists(st.integers(1, END - 1), min_size=1, max_size=6, unique=True))
    changes = st.one_of(
        st.builds(Commit, st.just(0), code=st.sampled_from([*WORK])),
        st.builds(Commit, st.just(0), words=st.sampled_from(["a", "b"])),
        st.just(Commit(0)),  # notes
        st.builds(Commit, st.just(0), st.sampled_from([*WORK]), place=st.just("labs/90_echo")),
    )
    commits = tuple(replace(draw(changes), hour=hour) for hour in sorted(hours))
    due = draw(st.integers(24, 72))
    moments = sorted(draw(st.lists(st.integers(0, END), min_size=1, max_size=5, unique=True)))
    extended: int | None = None
    commands: list[Command] = []
    for moment in moments:
        extended = draw(st.sampled_from([extended, extended, due + 5, due + 30]))
        name = draw(st.sampled_from(["collect", "collect", "late", "late", "refresh", "grade"]))
        commands.append(Command(moment + 0.5, name, extended))
    return Term(
        due=due,
        late_days=draw(st.integers(0, 3)),
        per_day=draw(st.sampled_from([0.1, 0.5])),
        rule=draw(st.sampled_from(MarkRule)),
        commits=commits,
        commands=tuple(commands),
    )


# -- the rule, from the history alone ----------------------------------------------------------


def files_after(term: Term) -> list[tuple[int, tuple[str, str] | None]]:
    """What the lab's files are after each commit: code and words, or None without code."""
    trees: dict[str, dict[str, str]] = {"90_echo": {}, "labs/90_echo": {}}
    found: list[tuple[int, tuple[str, str] | None]] = []
    for commit in term.commits:
        if commit.code is not None:
            trees[commit.place]["code"] = commit.code
        if commit.words is not None:
            trees[commit.place]["words"] = commit.words
        tree = next((tree for tree in trees.values() if "code" in tree), None)
        found.append((commit.hour, (tree["code"], tree.get("words", "")) if tree else None))
    return found


def handed_in(term: Term, limit: float) -> tuple[tuple[str, str], int] | None:
    """The files of the last commit up to an hour, and since when they were as they are."""
    line = [item for item in files_after(term) if item[0] <= limit]
    if not line or line[-1][1] is None:
        return None
    since = line[-1][0]
    for hour, files in reversed(line):
        if files != line[-1][1]:
            break
        since = hour
    return line[-1][1], since


def expected(term: Term) -> float | None:
    attempts: set[tuple[tuple[str, str], int]] = set()
    for command in term.commands:
        due = command.extended or term.due
        if command.name == "grade":
            continue
        in_time = handed_in(term, min(due, command.hour))
        attempts |= {in_time} - {None}
        if command.name == "late" and command.hour >= due:
            late = handed_in(term, min(due + 24 * term.late_days, command.hour))
            if late and (in_time is None or late[0] != in_time[0]):
                attempts.add(late)
    due = term.commands[-1].extended or term.due
    worth = {
        (since, code, words): value(term, due, code, since) for (code, words), since in attempts
    }
    if not worth:
        return None
    if term.rule is MarkRule.BEST:
        return max(worth.values())
    groups = [[key for key in worth if (key[0] > due) is is_late] for is_late in (False, True)]
    return max(worth[max(group)] for group in groups if group)


def value(term: Term, due: int, code: str, since: int) -> float:
    days = max(0, math.ceil((since - due) / 24))
    if days > term.late_days:
        return 0.0
    return WORK[code] * max(0, 1 - term.per_day * days)


# -- the same by the program ---------------------------------------------------------------------


class Grader:
    """An engine that knows what each code earns."""

    places = 1

    def submit(self, job: Job) -> None:
        self._job = job

    def wait(self) -> Done:
        earned = WORK[self._job.files["echo.py"].decode()]
        found = report(Verdict.PASSED)
        tasks = tuple(replace(task, score=earned) for task in found.tasks)
        return Done(self._job, 0.1, replace(found, tasks=tasks))

    def close(self) -> None:
        pass


@contextmanager
def opened(term: Term) -> Iterator[tuple[Remote, Course, Store]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        remote = Remote(folder / "class.git")
        (folder / "course").mkdir()
        course = Course(
            folder=folder / "course",
            title="T",
            roster=folder / "roster.csv",
            remote=str(remote.folder),
            deadlines={90: START + term.due * HOUR},
            late=LateRule(term.per_day, term.late_days),
            mark=term.rule,
        )
        with Store.open(f"sqlite:///{folder}/course.db") as store:
            store.put_students([ADA])
            yield remote, course, store


def observed(term: Term) -> float | None:
    with opened(term) as (remote, course, store):
        hashes = commit_all(remote, term.commits)
        for command in term.commands:
            if command.extended is not None:
                moment = START + command.extended * HOUR
                course = replace(course, extensions={("ada", 90): moment})
            pushed = [name for hour, name in hashes if hour <= command.hour]
            if pushed:
                ref = remote.folder / "refs" / "heads" / "student" / "ada"
                ref.parent.mkdir(exist_ok=True)
                ref.write_text(f"{pushed[-1]}\n")
            run(command, course, store)
        grade(course, store)
        return mark(store.attempts(), [], course, "ada", LAB.name).points


def commit_all(remote: Remote, commits: Sequence[Commit]) -> list[tuple[int, str]]:
    """Commit everything to a branch that nobody collects; return each hash with its hour."""
    stream: list[tuple[dict[str, str], datetime]] = []
    for commit in commits:
        wanted = {"echo.py": commit.code, "PSEUDOCODE.md": commit.words}
        files = {f"{commit.place}/{name}": text for name, text in wanted.items() if text}
        files = files or {"notes.md": f"at {commit.hour}"}
        stream.append((files, START + commit.hour * HOUR))
    names = remote.history("all", *stream)
    return [(commit.hour, name) for commit, name in zip(commits, names, strict=True)]


def run(command: Command, course: Course, store: Store) -> None:
    if command.name == "grade":
        return grade(course, store)
    now = START + command.hour * HOUR
    late, refresh = command.name == "late", command.name == "refresh"
    order = Collection(course, LAB, now, late=late, refresh=refresh)
    for item in collected(order, store):
        for frozen in item.records:
            store.add_frozen(frozen)
    return None


def collected(order: Collection, store: Store) -> list:
    found: list = []
    collect_class(order, [ADA], store.collections(LAB.name), 1, found.append)
    return found


def grade(course: Course, store: Store) -> None:
    batch = Batch(course, LAB)
    if not store.frozen(LAB.name):
        return
    spool = spool_of(course, store)
    spool.open()
    try:
        run_batch(batch, plan(batch, store), Grader(), spool, lambda *_: None)
    finally:
        spool.close()


def term(
    *commits: Commit,
    commands: str,
    rule: MarkRule = MarkRule.BEST,
    late_days: int = 2,
    per_day: float = 0.1,
) -> Term:
    """A deadline at hour 24, and commands from hour 80 on."""
    line = tuple(Command(80.5 + 2 * place, name) for place, name in enumerate(commands.split()))
    return Term(24, late_days, per_day, rule, commits, line)


@example(term(Commit(1, "right"), Commit(30), commands="collect late grade"))
@example(term(Commit(1, "right"), Commit(30, "broken"), commands="collect late grade"))
@example(term(Commit(1, "right"), Commit(30, "broken"), commands="late"))
@example(term(Commit(1, "broken"), Commit(30, "right"), Commit(60), commands="collect late"))
@example(term(Commit(75, "right"), commands="late", late_days=3, per_day=0.5))
@example(term(Commit(1, "right"), Commit(30), commands="late", rule=MarkRule.LAST))
@example(
    term(
        *(Commit(1, "right"), Commit(30, "broken"), Commit(31, "right")),
        commands="late",
        rule=MarkRule.LAST,
    )
)
@fuzz(60)
@given(terms())
def test_mark_is_what_the_rule_says_of_the_history(term: Term) -> None:
    found, wanted = observed(term), expected(term)

    assert (found is None) == (wanted is None)
    assert found == pytest.approx(wanted) if wanted is not None else True
