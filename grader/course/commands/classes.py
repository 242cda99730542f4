"""What ``lab collect`` does between its options and its exit code."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.course.commands.earlier import with_earlier
from grader.course.commands.progress import Bar
from grader.course.config import Course, load_course
from grader.course.database.records import Frozen, Remark, Student
from grader.course.database.store import Store
from grader.course.grading.batch import only_one
from grader.course.grading.collecting.collect import Collected, collect_class
from grader.course.grading.collecting.fetch import Bounds
from grader.course.grading.collecting.ledger import Collection, Outcome
from grader.course.grading.collecting.lookalikes import Stray
from grader.course.grading.collecting.roster import read_roster
from grader.course.grants import granted
from grader.errors import InferlabError, UsageError
from grader.labs.lab import Lab, find_lab, find_root
from grader.text import visible_line

MOST_STRAYS = 20  # branches that are nobody's
MOST_TOLD = 1000  # characters of what is to be looked at


@dataclass(frozen=True, slots=True)
class CollectOrder:
    """A collection as asked for; ``roster`` None is the course's."""

    lab: str
    course: Path
    roster: Path | None
    late: bool
    refresh: bool
    jobs: int
    timeout: float
    megabytes: int
    dry_run: bool = False  # only tell what would be collected


def collect(order: CollectOrder) -> int:
    """Collect a lab of a class; 1 if there is a student of whom there is nothing to grade."""
    course = load_course(order.course)
    lab = _with_earlier(find_lab(order.lab, find_root()), course)
    if order.late and not course.late.takes_late:
        raise UsageError("the course has no late days", "[late] in course.toml gives some")
    students = _students(order, course)
    found: dict[str, Collected] = {}
    with (
        only_one(course, lab, "collected"),
        Store.open(course.database, course.folder) as store,
        Bar(f"collecting {lab.name}", len(students), sys.stderr) as bar,
    ):
        _tell_roster(course, lab, students, store.students())
        if not order.dry_run:
            store.put_students(students)
        known = {remark.student: remark.text for remark in store.remarks(lab.name)}
        collection = Collection(
            course=granted(course, store.grants()),
            lab=lab,
            now=datetime.now(UTC),
            late=order.late,
            refresh=order.refresh,
            bounds=Bounds(order.timeout, order.megabytes),
            is_kept=not order.dry_run,
        )

        def on_collected(item: Collected) -> None:
            found[item.student.id] = item
            bar.step(f"{item.student.id}: {item.remark or item.outcome}")
            # Whether somebody of their team handed in is known at the end.
            remark = None if item.outcome is Outcome.MISSING else new_remark(item, item.remark)
            keep(item.records, remark)

        def new_remark(item: Collected, text: str) -> Remark | None:
            student = item.student.id
            is_new = item.asked and text != known.get(student, "")
            return Remark(student, lab.name, text, collection.now) if is_new else None

        def keep(records: Sequence[Frozen], remark: Remark | None) -> None:
            if collection.is_kept and (records or remark):
                store.add_frozen(*records, remark=remark)

        before = store.collections(lab.name)
        strays = collect_class(collection, students, before, order.jobs, on_collected)
        by = _handed_in_by(collection, found)
        for student, item in found.items():
            if item.outcome is Outcome.MISSING:
                keep((), new_remark(item, "" if student in by else item.remark))
    return _tell_collected(collection, [found[student.id] for student in students], strays, by)


def _with_earlier(lab: Lab, course: Course) -> Lab:
    """Let a lab know its stubs of earlier publications; a note where they cannot be read."""
    try:
        return with_earlier([lab], course, find_root())[0]
    except InferlabError as error:
        told = f"stubs of earlier publications are not known: {error.message}"
        print(f"note: {visible_line(told, 400)}", file=sys.stderr)
        return lab


def _handed_in_by(collection: Collection, found: Mapping[str, Collected]) -> dict[str, str]:
    """Return who handed in for those of whom there is nothing, by their ids."""
    work = [each for each, item in found.items() if item.outcome is not Outcome.MISSING]
    by: dict[str, str] = {}
    for student in set(found).difference(work):
        team = collection.course.team(student, collection.lab.number)
        others = [each for each in work if each in team]
        if others:
            by[student] = _some(others)
    return by


def _students(order: CollectOrder, course: Course) -> tuple[Student, ...]:
    file = order.roster or course.roster
    roster = read_roster(file, course.remote, course.branch, together=course.is_team)
    for problem in roster.problems:
        print(f"error: {file.name}, {visible_line(problem)}", file=sys.stderr)
    if roster.problems:
        count = len(roster.problems)
        rows = "1 row" if count == 1 else f"{count} rows"
        told = f"{rows} of {file.name} cannot be used"
        raise UsageError(told, "nothing was collected: correct them and run this again")
    return roster.students


def _tell_roster(
    course: Course, lab: Lab, students: Sequence[Student], before: Sequence[Student]
) -> None:
    """Name who is off the roster, or extended without being on it: an id may be mistyped."""
    known = {student.id for student in students}
    gone = [student.id for student in before if student.id not in known]
    if gone:
        told = "no longer on the roster, so in no grading or mark list from now on"
        print(f"note: {told}: {_some(gone)}", file=sys.stderr)
    strange = [name for name, number in course.extensions if number == lab.number]
    strange = [name for name in strange if name not in known]
    if strange:
        keys = "[extensions] or [extra_time]" if course.extra_time else "[extensions]"
        told = f"{keys} of lab {lab.number} name who is not on the roster"
        print(f"note: {told}: {visible_line(_some(strange))}", file=sys.stderr)


def _some(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _tell_strays(strays: Sequence[Stray], told: set[str]) -> None:
    """Name branches that are nobody's, but for those that were told beside a student."""
    rest = [stray for stray in strays if not told.intersection(stray.like)]
    for stray in rest[:MOST_STRAYS]:
        like = (
            f"it looks like {_some(stray.like)}'s" if stray.like else "its id is not on the roster"
        )
        print(visible_line(f"nobody's {stray.branch}: {like}"))
    if len(rest) > MOST_STRAYS:
        print(f"nobody's: {len(rest) - MOST_STRAYS} more branches of the remote")


def _tell_collected(
    collection: Collection,
    found: Sequence[Collected],
    strays: Sequence[Stray],
    by: Mapping[str, str],
) -> int:
    for item in found:
        if item.student.id in by:
            told = f"team {item.student.id} ({item.student.name}): by {by[item.student.id]}"
            print(visible_line(told, MOST_TOLD))
        elif item.remark:
            sign = "missing" if item.outcome is Outcome.MISSING else "look at"
            told = f"{sign} {item.student.id} ({item.student.name}): {item.remark}"
            print(visible_line(told, MOST_TOLD))
    _tell_strays(strays, {item.student.id for item in found if item.asked})
    counts = Counter(item.outcome for item in found if item.student.id not in by)
    told = [f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome]]
    told += [f"{len(by)} by their teams"] if by else []
    recorded = "" if collection.is_kept else "; nothing was recorded"
    print(f"{collection.lab.name}: {', '.join(told)}{recorded}")
    if not collection.is_kept:
        return 1 if counts[Outcome.MISSING] else 0
    due = collection.course.deadlines.get(collection.lab.number)
    if counts[Outcome.FROZEN] and due is None:
        print(
            "note: the lab has no deadline in course.toml, so this is frozen as it is now;"
            " --refresh collects again",
            file=sys.stderr,
        )
    if (counts[Outcome.FROZEN] or counts[Outcome.LATE]) and due is not None:
        print(
            "note: frozen after the deadline by the dates in the commits, which students' own"
            " machines write: what was pushed when, only the server's log can tell",
            file=sys.stderr,
        )
    return 1 if counts[Outcome.MISSING] else 0
