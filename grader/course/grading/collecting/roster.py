"""The class list: a CSV file of a row per student, read whole before anything is done with it.

Every mistake is told with its row, as a spreadsheet counts them: the header is row 1. An id becomes
the name of a folder and part of a branch, so that only plain characters may stand in it. What
Canvas exports under Grades is a roster as it is.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.config import is_branch
from grader.course.database.records import Student
from grader.errors import UsageError
from grader.text import visible_line

REQUIRED = ("id", "name")
COLUMNS = (*REQUIRED, "repository", "branch")
MAX_BYTES = 16 << 20
MAX_FIELD = 400  # characters of a name, a repository or a branch
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_@+-]*(?:\.[A-Za-z0-9_@+-]+)*")
_ID_LENGTH = 64
_EMAIL = re.compile(r"[!-?A-~]{1,64}@[A-Za-z0-9.-]{1,190}")
# Canvas's columns that may be ids here: students know their login best.
CANVAS_NAME = "student"
CANVAS_IDS = ("sis login id", "sis user id", "id")
_CANVAS_ROWS = ("", "points possible", "student, test")  # of no student, by what stands for a name
_HINT = "its first row must be: id,name,repository,branch (the last two may be missing)"


@dataclass(frozen=True, slots=True)
class Roster:
    """The students, in the file's order, and a line about each row that could not be used."""

    students: tuple[Student, ...]
    problems: tuple[str, ...]


def read_roster(
    file: Path,
    remote: str = "",
    branch: str = "student/{id}",
    *,
    by_git: bool = True,
    together: Callable[[str, str], bool] = lambda one, other: False,
) -> Roster:
    """Read a roster. ``remote`` and ``branch`` (with ``{id}``) stand in for what a row leaves open.

    ``by_git``: each student needs a repository, since work is collected from there. ``together``
    tells of two students whether they may share a branch, as a team does.

    Raises UsageError where there is no file, no header or no student at all.
    """
    text, unreadable = _decode(file)
    (_, header, lines), *rows = [*_rows(file, text)] or [(1, [], range(1))]
    canvas = _canvas(header, [fields for _, fields, _ in rows])
    columns = canvas or _columns(file, header)
    students: list[Student] = []
    problems = [f"row 1: {unreadable[line]}" for line in lines if line in unreadable]
    seen = _Seen(together)
    for row, fields, lines in rows:
        if not any(field.strip() for field in fields):
            continue
        if canvas and _field(fields, canvas, "name").casefold() in _CANVAS_ROWS:
            continue
        found = _student(fields, columns, branch)
        problem = next((unreadable[line] for line in lines if line in unreadable), "")
        problem = problem or _extra(fields, columns) or student_problem(found)
        if by_git and not (problem or found.repository or remote):
            problem = 'no repository is given, and course.toml names no "remote" for all'
        problem = problem or seen.problem(row, found)
        if problem:
            problems.append(f"row {row}: {problem}")
        else:
            students.append(found)
    if not students and not problems:
        raise UsageError(f"{file.name} names no student", _HINT)
    return Roster(tuple(students), tuple(problems))


def _decode(file: Path) -> tuple[str, dict[int, str]]:
    """Return the text, and what is wrong with lines that are no UTF-8, by their number."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"the roster {file} cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"the roster {file} is larger than {MAX_BYTES >> 20} MiB")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):  # a spreadsheet's "Unicode text"
        try:
            return data.decode("utf-16"), {}
        except UnicodeDecodeError:
            raise UsageError(f"the roster {file} is neither UTF-8 nor UTF-16", _HINT) from None
    lines = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    bad: dict[int, str] = {}
    for number, line in enumerate(lines.split(b"\n"), 1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            byte = f"byte 0x{line[error.start]:02x} in column {error.start + 1}"
            bad[number] = f"is not UTF-8 ({byte}): save the file as CSV UTF-8"
        if b"\0" in line:
            bad[number] = "holds a zero byte: save the file as CSV UTF-8"
    return lines.decode("utf-8", "replace").replace("\0", ""), bad


def _rows(file: Path, text: str) -> Iterator[tuple[int, list[str], range]]:
    """Give each row with its number and the lines of it; the header decides what separates fields.

    A quoted field may have several lines.
    """
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    row = 0
    while True:
        row, first = row + 1, reader.line_num + 1
        try:
            fields = next(reader)
            yield row, fields, range(first, reader.line_num + 1)
        except StopIteration:
            return
        except csv.Error as error:
            raise UsageError(f"{file.name}, row {row}: {error}", "is a quote left open?") from None


def _columns(file: Path, header: Sequence[str]) -> dict[str, int]:
    names = [name.strip().casefold() for name in header]
    for name in COLUMNS:
        if names.count(name) > 1:
            raise UsageError(f"{file.name}, row 1: two columns are called {name}", _HINT)
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        told = f"{file.name}, row 1: there is no column {' and no column '.join(missing)}"
        raise UsageError(told, _HINT)
    return {name: names.index(name) for name in COLUMNS if name in names} | {"": len(names)}


def _canvas(header: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return the columns of a Canvas export, ids by the first column that all have; else none."""
    names = [name.strip().casefold() for name in header]
    if CANVAS_NAME not in names or "name" in names or "sis login id" not in names:
        return {}
    known = {name: names.index(name) for name in COLUMNS[2:] if name in names}
    known |= {"name": names.index(CANVAS_NAME), "": len(names)}
    students = [row for row in rows if _field(row, known, "name").casefold() not in _CANVAS_ROWS]
    for name in CANVAS_IDS:
        columns = known | {"id": names.index(name)} if name in names else {}
        if columns and all(_field(row, columns, "id") for row in students):
            return columns
    return known | {"id": names.index("sis login id")}


def _field(fields: Sequence[str], columns: dict[str, int], name: str) -> str:
    place = columns.get(name, len(fields))
    return fields[place].strip() if place < len(fields) else ""


def _extra(fields: Sequence[str], columns: dict[str, int]) -> str:
    if len(fields) > columns[""]:
        return f"has {len(fields)} fields, the first row {columns['']}: quote a comma in a field"
    return ""


def _student(fields: Sequence[str], columns: dict[str, int], branch: str) -> Student:
    student = _field(fields, columns, "id")
    own = _field(fields, columns, "branch") or branch.replace("{id}", student)
    name = " ".join(_field(fields, columns, "name").split())  # a quoted field may hold a line break
    return Student(student, name, _field(fields, columns, "repository"), own)


def read_emails(file: Path) -> dict[str, str]:
    """Return the ids of students by their e-mail addresses, in lower case: the column ``email``.

    Raises UsageError without such a column, and where an address is no plain one or stands twice.
    """
    text, _ = _decode(file)
    (_, header, _), *rows = [*_rows(file, text)] or [(1, [], range(1))]
    names = [name.strip().casefold() for name in header]
    if "email" not in names:
        told = f"{file.name} has no column email"
        raise UsageError(told, "by it students sign in with their accounts, and get mail")
    columns = {name: names.index(name) for name in ("id", "email") if name in names}
    found: dict[str, str] = {}
    for row, fields, _ in rows:
        email, id = _field(fields, columns, "email").lower(), _field(fields, columns, "id")
        if not email:
            continue
        if not is_email(email):
            shown = visible_line(email, 60)
            raise UsageError(f"{file.name}, row {row}: {shown!r} is no plain e-mail address")
        if found.setdefault(email, id) != id:
            raise UsageError(f"{file.name}, row {row}: {email} is that of {found[email]} too")
    return found


def is_id(text: str) -> bool:
    """True for what names a student, and a folder."""
    return len(text) <= _ID_LENGTH and _ID.fullmatch(text) is not None


def is_email(text: str) -> bool:
    """True for a plain e-mail address."""
    return _EMAIL.fullmatch(text) is not None


def student_problem(student: Student) -> str:
    """Return what is wrong with one row by itself, or an empty string."""
    if not student.id:
        return "the id is missing"
    if not is_id(student.id):
        told = f"the id {visible_line(student.id, 40)!r} cannot name a folder"
        return f"{told}: up to {_ID_LENGTH} letters, digits and . _ @ + -, a letter or digit first"
    if student.id.casefold().endswith((".git", ".lock")):
        return f"the id {student.id!r} ends like a file of git's"
    if not student.name:
        return "the name is missing"
    for name, text in (("repository", student.repository), ("branch", student.branch)):
        if len(text) > MAX_FIELD:
            return f"the {name} has {len(text)} characters"
    if student.repository and (told := repository_problem(student.repository)):
        return f"the repository {visible_line(student.repository, 60)!r} {told}"
    if not is_branch(student.branch):
        return f"{visible_line(student.branch, 60)!r} cannot be the name of a branch"
    return ""


def repository_problem(text: str) -> str:
    """Return why git must not be given this URL or path, or an empty string."""
    if text.startswith("-"):
        return "starts with a dash"
    if "::" in text.split("/", 1)[0]:
        return "names a program of git's (helper::…), not a URL"
    if any(not char.isprintable() for char in text):
        return "holds characters that do not print"
    return ""


class _Seen:
    """Remembers rows, to find what may stand in one row only."""

    def __init__(self, together: Callable[[str, str], bool]) -> None:
        self._rows: dict[tuple[str, ...], tuple[int, str]] = {}
        self._together = together

    def problem(self, row: int, student: Student) -> str:
        """Return what an earlier row has already, or an empty string."""
        # Folders that differ in case alone are one folder on some file systems.
        told = {
            ("id", student.id.casefold()): f"the id {student.id!r} is that of row",
            ("place", student.repository, student.branch): "repository and branch are those of row",
        }
        for key, text in told.items():
            other, id = self._rows.setdefault(key, (row, student.id))
            if other != row and not (key[0] == "place" and self._together(id, student.id)):
                return f"{text} {other}"
        return ""
