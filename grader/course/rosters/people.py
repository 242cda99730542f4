"""People as another program knows them, each with the id that they have in this course."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from grader.course.database.records import Student
from grader.course.grading.collecting.roster import is_email, student_problem
from grader.course.rosters.forms import Form, Kind, form_of, is_nobody
from grader.course.rosters.sheet import Sheet, read_sheet
from grader.errors import UsageError
from grader.text import visible_line

IDS = ("login", "number", "canvas", "email")  # what may become the id here, the likeliest first
# Excel reads a formula behind these, some programs behind the wide forms too.
FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
STUDENT_ROLES = ("student", "teilnehmer/in", "étudiant", "estudiante", "learner", "participant")


@dataclass(frozen=True, slots=True)
class Person:
    """One student, and what other programs call them; what is not known is empty."""

    id: str
    name: str
    email: str = ""  # in lower case
    number: str = ""  # SIS User ID of Canvas, ID number of Moodle
    login: str = ""  # SIS Login ID of Canvas, username of Moodle
    canvas: str = ""  # Canvas's own number
    section: str = ""  # of Canvas, or groups of Moodle
    lti: str = ""  # the platform's own name by LTI
    repository: str = ""
    branch: str = ""


@dataclass(frozen=True, slots=True)
class People:
    """A list of students as it was read, and a line about each row that cannot be used."""

    persons: tuple[Person, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]  # what it was taken for, and who was left out
    kind: Kind
    others: tuple[str, ...] = ()  # columns of ours that nobody here knows, kept as they are
    kept: Mapping[str, Mapping[str, str]] | None = None  # their cells, by id


def read_people(file: Path, id_from: str = "") -> People:
    """Read the students of an export, or of a roster of ours.

    ``id_from`` (of ``IDS``) says which of their names becomes the id; without it, the first that
    all have. Raises UsageError if the file cannot be read, is nobody's export or names nobody.
    """
    sheet = read_sheet(file)
    name = visible_line(file.name, 80)
    form = form_of(name, sheet.header)
    rows, notes = _students(form, sheet)
    if not rows:
        raise UsageError(f"{name} names no student", f"it was read as {form.kind}, {sheet.written}")
    wanted = _id_of(form, [row for _, row in rows], id_from)
    many = "1 student" if len(rows) == 1 else f"{len(rows)} students"
    took = f"{form.kind}, {sheet.written}; {many}"
    took += "" if wanted == "id" else f", ids are {_called(form, sheet, wanted)}"
    persons: list[Person] = []
    problems: list[str] = []
    seen = _Seen()
    for number, row in rows:
        found = _person(form, row, wanted)
        told = _problem(form, row, found) or seen.problem(number, found)
        if told:
            problems.append(f"row {number}: {told}")
        else:
            persons.append(found)
    others, kept = _others(form, sheet, [row for _, row in rows])
    return People(
        tuple(persons), tuple(problems), (f"{name}: {took}", *notes), form.kind, others, kept
    )


def known_people(roster: Path) -> dict[str, Person]:
    """Return what the roster tells of each student beyond id and name; nothing where it cannot."""
    with suppress(UsageError):
        return {person.id: person for person in read_people(roster).persons}
    return {}


def _students(form: Form, sheet: Sheet) -> tuple[list[tuple[int, tuple[str, ...]]], list[str]]:
    """Return the rows of students, and a note of those that are of others."""
    rows = [(number, row) for number, row in sheet.rows if not is_nobody(form, row)]
    found = [(number, row) for number, row in rows if _is_student(form, row)]
    gone = len(rows) - len(found)
    many = "1 row is" if gone == 1 else f"{gone} rows are"
    why = "of people who are no students (teachers, or deleted accounts)"
    return found, [f"{many} {why}, and left out"] if gone else []


def _is_student(form: Form, row: Sequence[str]) -> bool:
    roles = form.cell(row, "roles").casefold()
    status = form.cell(row, "status").casefold()
    named = any(role.strip() in STUDENT_ROLES for role in roles.split(","))
    return status not in ("deleted", "suspended") and (not roles or named)


def _id_of(form: Form, rows: Sequence[Sequence[str]], wanted: str) -> str:
    if form.kind is Kind.PLAIN and not wanted:
        return "id"
    there = [name for name in IDS if name in form.places]
    if wanted and wanted not in there:
        known = ", ".join(there) or "none of them"
        raise UsageError(f"{form.kind} without {wanted}", f"--id may be what it has: {known}")
    if not there:
        raise UsageError(
            f"{form.kind} tells nothing that could be an id",
            "export it with usernames, ID numbers or e-mail addresses",
        )
    whole = [name for name in there if all(form.cell(row, name) for row in rows)]
    return wanted or (whole or there)[0]


def _called(form: Form, sheet: Sheet, name: str) -> str:
    return visible_line(f"their {sheet.header[form.places[name]]}", 60)


def _person(form: Form, row: Sequence[str], wanted: str) -> Person:
    cells = {
        name: form.cell(row, name)
        for name in ("name", "number", "login", "canvas", "section", "lti", "repository", "branch")
    }
    parts = (form.cell(row, "first"), form.cell(row, "last"))
    cells["name"] = cells["name"] or " ".join(part for part in parts if part)
    email = form.cell(row, "email").lower()
    return Person(id=email if wanted == "email" else form.cell(row, wanted), email=email, **cells)


def _problem(form: Form, row: Sequence[str], person: Person) -> str:
    if len(row) > form.width:
        many = f"has {len(row)} cells, the first row {form.width}"
        return f"{many}: a delimiter in a cell must be quoted"
    for cell in row:
        # A number below zero is no formula; an apostrophe in front keeps a spreadsheet from it.
        if cell.startswith(FORMULA) and not _is_number(cell):
            return f"{visible_line(cell, 40)!r} looks like a formula: put an apostrophe before it"
    branch = person.branch or "student/0"
    told = student_problem(Student(person.id, person.name, person.repository, branch))
    if not told and person.email and not is_email(person.email):
        return f"{visible_line(person.email, 60)!r} is no plain e-mail address"
    return told


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", ".").rstrip("% "))
    except ValueError:
        return cell == "-"  # as Moodle writes a grade that is not there
    return True


class _Seen:
    """Remembers rows, to find what may stand in one of them only."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], int] = {}

    def problem(self, row: int, person: Person) -> str:
        """Return what an earlier row has already, or an empty string."""
        unique = {"id": person.id, "e-mail address": person.email, "number": person.number}
        for name, text in unique.items():
            other = self._rows.setdefault((name, text.casefold()), row) if text else row
            if other != row:
                return f"the {name} {visible_line(text, 60)!r} is that of row {other}"
        return ""


def _others(
    form: Form, sheet: Sheet, rows: Iterable[Sequence[str]]
) -> tuple[tuple[str, ...], dict[str, dict[str, str]]]:
    """Return the columns of a roster of ours that say what no one else reads, and their cells."""
    if form.kind is not Kind.PLAIN:
        return (), {}
    known = {*form.places.values()}
    names = {place: name for place, name in enumerate(sheet.header) if place not in known and name}
    cells = {
        form.cell(row, "id"): {
            name: row[place] for place, name in names.items() if place < len(row)
        }
        for row in rows
    }
    return tuple(names.values()), cells


def merged(old: Person, new: Person) -> Person:
    """Return what is known of a student by a newer list: what that leaves open stays."""
    return replace(
        new,
        email=new.email or old.email,
        number=new.number or old.number,
        login=new.login or old.login,
        canvas=new.canvas or old.canvas,
        section=new.section or old.section,
        lti=new.lti or old.lti,
        repository=new.repository or old.repository,
        branch=new.branch or old.branch,
    )
