"""What the gradebook's commands do between their options and their exit codes."""

import math
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.table import Table
from rich.text import Text

from grader.course.analysis.changes import Change, compare_runs
from grader.course.config import Course, load_course
from grader.course.database.giving.records import held
from grader.course.database.giving.returns import Returns
from grader.course.database.records import Override, Student
from grader.course.database.store import Store
from grader.course.gradebook.exports import (
    Csv,
    canvas_csv,
    gradescope_files,
    long_csv,
    moodle_csv,
    wide_csv,
)
from grader.course.gradebook.gradebook import Gradebook, read_gradebook
from grader.course.gradebook.marks import SHOWN_COMMIT, UNREAD, Mark
from grader.course.gradebook.pages import points_of, write_pages
from grader.course.gradebook.review import Review, reviews
from grader.course.rosters.people import known_people
from grader.errors import InferlabError, UsageError
from grader.files import check_writable, write_file
from grader.labs.lab import find_lab, find_root, load_lab
from grader.labs.manual import WAITING
from grader.report.formats.forms import STDOUT
from grader.report.formats.terminal import make_console
from grader.text import number, visible_line

FULL = 100.0
CANVAS, MOODLE = "--canvas", "--moodle"
MOST_REVIEWS = 20  # on a screen
MOST_NAMED = 5  # students there
NOT_YET = "collect first: lab collect LAB --from ROSTER"


@dataclass(frozen=True, slots=True)
class Order:
    """A gradebook as asked for; ``form`` is an option such as "--csv long", or empty."""

    course: Path
    labs: tuple[str, ...]  # none: all
    form: str
    output: str
    html: Path | None


@dataclass(frozen=True, slots=True)
class Word:
    """An override as typed."""

    student: str
    lab: str
    points: str
    author: str
    reason: str


def book(order: Order) -> int:
    """Show the gradebook, export it, or write its pages."""
    if order.form not in ("", CANVAS, MOODLE, "--gradescope", *(f"--csv {form}" for form in Csv)):
        raise UsageError(f"there is no {visible_line(order.form)}", f"--csv {' or '.join(Csv)}")
    if not order.form and order.output != STDOUT:
        forms = "--csv long, --csv wide, --canvas, --moodle or --gradescope"
        raise UsageError(f"what is to be written to {order.output}?", forms)
    found = _read(order)
    if order.form:
        _export(found, order)
    if order.html is not None:
        count = write_pages(found, order.html)
        print(f"{count} pages: {order.html / 'index.html'}", file=sys.stderr)
    if not order.form and order.html is None:
        _print(found)
    return 0


def _read(order: Order, student: str | None = None) -> Gradebook:
    course = load_course(order.course)
    labs = [find_lab(text, find_root()).name for text in order.labs]
    with open_store(course) as store:
        if student is not None:
            known_student(store.students(), student)
        found = read_gradebook(course, store, labs, _titles(find_root()), student)
    if not found.students:
        raise UsageError("the gradebook is empty", NOT_YET)
    return found


def _titles(root: Path) -> dict[str, str]:
    """The titles of all labs here; one that cannot be read has none."""
    found: dict[str, str] = {}
    for file in sorted(root.glob("labs/[0-9][0-9]_*/lab.toml")):
        with suppress(InferlabError):
            found[file.parent.name] = load_lab(file.parent).title
    return found


def open_store(course: Course) -> Store:
    """Open the course's database."""
    return Store.open(course.database, course.folder)


def _export(found: Gradebook, order: Order) -> None:
    if order.form == "--gradescope":
        if order.output == STDOUT:
            raise UsageError("--gradescope writes a file per student", "name a folder with -o")
        count = gradescope_files(found, Path(order.output))
        print(f"{count} results in {order.output}", file=sys.stderr)
        return
    if order.form in (CANVAS, MOODLE):
        if told := _waiting(found):
            print(f"note: {told}", file=sys.stderr)
        write = canvas_csv if order.form == CANVAS else moodle_csv
        write_data(order.output, write(found, known_people(found.course.roster)))
        return
    render = {f"--csv {Csv.LONG}": long_csv, f"--csv {Csv.WIDE}": wide_csv}
    write_data(order.output, render[order.form](found))


def write_data(target: str, data: bytes) -> None:
    """Write to a file, or to the screen for "-"."""
    if target == STDOUT:
        sys.stdout.write(data.decode())
        sys.stdout.flush()
    else:
        check_writable(target)
        write_file(Path(target), data)


def _print(found: Gradebook) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("student")
    for lab in found.labs:
        table.add_column(lab[:2], justify="right")  # a row is to fit a terminal
    table.add_column("total", justify="right")
    for student in found.students:
        marks = map(_short, found.of(student.id))
        name = visible_line(f"{student.id}  {student.name}", 40)
        table.add_row(*map(Text, (name, *marks, found.total_shown(student.id))))
    make_console(sys.stdout).print(table)
    _print_reviews(reviews(found))
    _print_remarks(found)
    if told := _waiting(found):
        print(told)


def _short(mark: Mark) -> str:
    if mark.points is None:
        return UNREAD if mark.is_unread else "-"
    return number(mark.points)


def _waiting(found: Gradebook) -> str:
    """Say how many marks are not there yet because nobody has read the work."""
    count = sum(found.marks[s.id, lab].is_unread for s in found.students for lab in found.labs)
    many = "1 mark is" if count == 1 else f"{count} marks are"
    return f"{many} {WAITING}: no mark yet, and in no total" if count else ""


def _print_remarks(found: Gradebook) -> None:
    """Say whose collected work is to be looked at, and where the reasons stand."""
    names = [s.id for s in found.students if any(found.remark(s.id, lab) for lab in found.labs)]
    if names:
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        told = f"what was collected of {', '.join(names[:MOST_NAMED])}{more}"
        print(f"look at {told}: lab gradebook --student {names[0]} says why, --csv long of all")


def _print_reviews(waiting: Sequence[Review]) -> None:
    """Name what a person has to decide, and the command by which they do."""
    for review in waiting[:MOST_REVIEWS]:
        print(f"to review: {review.line}")
    if len(waiting) > MOST_REVIEWS:
        print(f"to review: {len(waiting) - MOST_REVIEWS} more: --csv long has all")
    if waiting:
        print(f"  you decide, also where the points stay as they are: {waiting[0].decided_by}")


def show_student(order: Order, name: str) -> int:
    """Show one student's marks and where each comes from."""
    if order.form or order.html is not None:
        raise UsageError("--student shows one student's marks on the screen", "leave out the rest")
    found = _read(order, name)
    student = found.students[0]
    with open_store(found.course) as store:
        back = held(Returns(store).holds(student.id))
    print(visible_line(f"{student.id}  {student.name}"))
    for mark in found.told(student.id):
        print(f"  {mark.lab}: {points_of(mark)}: {visible_line(mark.why, 1000)}")
        if word := back.get((student.id, mark.lab)):
            print(f"    held back by {visible_line(f'{word.author}: {word.reason}', 1000)}")
        if remark := found.remark(student.id, mark.lab):
            print(f"    look at: {visible_line(remark, 1000)}")
    if total := found.totals.get(name):
        print(f"  total: {visible_line(total.line, 2000)}")
    _print_reviews(reviews(found))
    return 0


def known_student(students: Sequence[Student], name: str) -> Student:
    """Return a student of the roster; raises UsageError where there is none of the name."""
    for student in students:
        if student.id == name:
            return student
    raise UsageError(f"there is no student {name!r} on the roster", "lab gradebook lists them")


def show_diff(course_file: Path, before: str, after: str) -> int:
    """Show whose points and tests differ between two runs; 1 if any do."""
    with open_store(load_course(course_file)) as store:
        found = compare_runs(store, before, after)
        names = {student.id: student.name for student in store.students()}
    for change in found.changes:
        print(visible_line(_change_line(change, names.get(change.student, "")), 200))
        for test, old, new in change.tests:
            print(f"    {visible_line(test)}: {old} -> {new}")
    if found.left_out:
        many = len(found.left_out)
        told = "1 student was" if many == 1 else f"{many} students were"
        print(f"{told} in one of the runs only, since the other was started with --student")
    print(_diff_line(found.changes, before, after))
    return 1 if found.changes else 0


def _diff_line(changes: Sequence[Change], before: str, after: str) -> str:
    if not changes:
        return f"runs {before} and {after} agree"
    counts = {kind: sum(change.kind == kind for change in changes) for kind in ("up", "down")}
    students = len({change.student for change in changes})
    many = "1 student differs" if students == 1 else f"{students} students differ"
    return f"{many}: {counts['up']} earn more in run {after}, {counts['down']} less"


def _change_line(change: Change, name: str) -> str:
    old, new = (
        "not graded" if points is None else number(points)
        for points in (change.before, change.after)
    )
    commit = change.commit[:SHOWN_COMMIT]
    return f"{change.student}  {name}, {commit}: {old} -> {new}"


def override(course_file: Path, word: Word) -> int:
    """Set a mark by hand."""
    course = load_course(course_file)
    lab = find_lab(word.lab, find_root())
    check_said(word.author, word.reason)
    points = points_typed(word.points)
    with open_store(course) as store:
        student = known_student(store.students(), word.student)
        now = datetime.now(UTC)
        store.add_override(
            Override(student.id, lab.name, points, word.author.strip(), word.reason.strip(), now)
        )
        mark = read_gradebook(course, store, [lab.name]).marks[student.id, lab.name]
    print(f"{student.id}, {lab.name}: {points_of(mark)}: {visible_line(mark.why, 1000)}")
    return 0


def check_said(author: str, reason: str) -> None:
    """Refuse a word on a mark without who says it and why."""
    for name, text in (("author", author), ("reason", reason)):
        if not text.strip():
            raise UsageError(f"--{name} is empty", "it stands beside the mark")


def points_typed(text: str) -> float | None:
    """Return points as typed, None for "none"; raises UsageError."""
    if text == "none":
        return None
    try:
        points = float(text)
    except ValueError:
        points = math.nan
    if not 0 <= points <= FULL:
        raise UsageError(f"{text!r} are no points", "0 to 100, or none to take an override back")
    return points
