"""The gradebook for other programs: CSV long and wide, Canvas, Moodle, Gradescope.

A name that a spreadsheet would take for a formula gets an apostrophe in front, as OWASP advises.
Canvas: the columns are those that its gradebook importer asks for, in its order.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from grader.course.database.records import Student
from grader.course.gradebook.folders import make_folder, plain_name
from grader.course.gradebook.gradebook import Gradebook
from grader.course.gradebook.marks import Mark
from grader.course.gradebook.review import reviews_of
from grader.course.rosters.people import FORMULA, Person
from grader.files import write_file
from grader.report.formats.gradescope import render_gradescope
from grader.text import encodable, visible_line

LONG = (
    *("student", "name", "lab", "points", "possible", "late_days", "commit", "submitted"),
    *("graded", "run", "override_author", "override_reason", "why", "review", "look_at"),
)
TOTAL = ("possible", "percent", "why")  # behind the total, where the course has a rule for it
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
CANVAS_POINTS = "Points Possible"
MOODLE = {"number": "ID number", "login": "Username", "email": "Email address"}
FULL = 100.0  # points of every lab's own tasks


class Csv(StrEnum):
    """A form of CSV: a row per student and lab, or a row per student."""

    LONG = "long"
    WIDE = "wide"


def long_csv(book: Gradebook) -> bytes:
    """A row per student and lab, with where the mark comes from; no points: nothing graded."""
    rows = (_long(book, student, mark) for student in book.students for mark in book.of(student.id))
    return csv_of([LONG, *rows])


def wide_csv(book: Gradebook) -> bytes:
    """A row per student, a column per lab, and the sum; what the course's rule says comes last."""
    rows = (
        (student.id, student.name, *_points(book, student), *_total(book, student))
        for student in book.students
    )
    return csv_of(
        [("student", "name", *book.labs, "total", *(TOTAL if book.totals else ())), *rows]
    )


def canvas_csv(book: Gradebook, people: Mapping[str, Person]) -> bytes:
    """What Canvas imports under Grades: a column per assignment, named as the lab's folder.

    A student is found by what the roster knows of Canvas's own ids; where it knows none, by the id
    here as SIS user ID or login. A lab without a mark stays as it is there.
    """
    full = (_full(book, lab) for lab in book.labs)
    possible = (f"    {CANVAS_POINTS}", *[""] * (len(CANVAS) - 1), *full)
    rows = (
        (student.name, *_in_canvas(student, people), *_points(book, student))
        for student in book.students
    )
    return csv_of([(*CANVAS, *book.labs), possible, *rows])


def moodle_csv(book: Gradebook, people: Mapping[str, Person]) -> bytes:
    """What Moodle imports under Grades: a column per lab, behind those by which it finds students.

    Where the roster knows nothing of a student, the id here stands for ID number and username. Who
    has no mark is left out: an empty cell could take one back there.
    """
    persons = {student.id: _in_moodle(student, people) for student in book.students}
    names = [name for name in MOODLE if any(getattr(p, name) for p in persons.values())]
    head = (*(MOODLE[name] for name in names), "Full name", *book.labs)
    marks = {student: [*_points(book, student)] for student in book.students}
    rows = (
        (*(getattr(persons[student.id], name) for name in names), student.name, *points)
        for student, points in marks.items()
        if any(point != "" for point in points)
    )
    return csv_of([head, *rows])


def _full(book: Gradebook, lab: str) -> float:
    """Return the most that a lab can give: questions may give points beside its own."""
    return max([FULL, *(book.marks[student.id, lab].possible for student in book.students)])


def _in_canvas(student: Student, people: Mapping[str, Person]) -> Sequence[str]:
    person = people.get(student.id, Person(student.id, student.name))
    if person.canvas or person.number or person.login:
        return (person.canvas, person.number, person.login, person.section)
    return ("", student.id, student.id, person.section)


def _in_moodle(student: Student, people: Mapping[str, Person]) -> Person:
    person = people.get(student.id, Person(student.id, student.name))
    if person.number or person.login or person.email:
        return person
    return replace(person, number=student.id, login=student.id)


def gradescope_files(book: Gradebook, folder: Path) -> int:
    """Write LAB/STUDENT.json, each a ``results.json`` with the mark as score; return how many."""
    count = 0
    for lab in book.labs:
        make_folder(folder / lab)
        for student in book.students:
            mark = book.marks[student.id, lab]
            file = folder / lab / f"{plain_name(student.id)}.json"
            if mark.points is None:
                file.unlink(missing_ok=True)  # of an earlier export: a mark that was taken back
            else:
                data = json.dumps(encodable(_gradescope(mark)), indent=2, allow_nan=False)
                write_file(file, data.encode())
                count += 1
    return count


def _long(book: Gradebook, student: Student, mark: Mark) -> Sequence[object]:
    attempt, override = mark.attempt, mark.override
    graded = (
        (attempt.commit, attempt.submitted, attempt.graded, attempt.run) if attempt else [""] * 4
    )
    said = (override.author, override.reason) if override else ("", "")
    points = "" if mark.points is None else mark.points
    return (
        *(student.id, student.name, mark.lab, points, mark.possible, mark.late_days),
        *graded,
        *said,
        mark.why,
        "; ".join(item.line for item in reviews_of(book, student.id, mark.lab)),
        book.remark(student.id, mark.lab),
    )


def _points(book: Gradebook, student: Student) -> Iterator[object]:
    for mark in book.of(student.id):
        yield "" if mark.points is None else mark.points


def _total(book: Gradebook, student: Student) -> Iterator[object]:
    yield book.total(student.id)
    if found := book.totals.get(student.id):
        yield from (found.possible, found.percent, found.why)


def csv_of(rows: Iterable[Sequence[object]]) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file).writerows([_cell(value) for value in row] for row in rows)
    return file.getvalue().encode("utf-8", "replace")


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case float():
            return f"{value:.4f}".rstrip("0").rstrip(".")
        case str():
            return safe_cell(value)
        case _:
            return str(value)


def safe_cell(text: str) -> str:
    """One line of text that a spreadsheet shows and does not compute."""
    line = visible_line(text, 2000)
    return f"'{line}" if line.lstrip().startswith(FORMULA) else line


def _gradescope(mark: Mark) -> dict[str, Any]:
    if mark.attempt is None:
        return {"score": mark.points, "output": visible_line(mark.why), "output_format": "text"}
    results = render_gradescope(mark.report)
    said = f"{visible_line(mark.why, 1000)}\n{results['output']}"
    return results | {"score": mark.points, "output": said}
