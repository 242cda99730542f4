"""All that a course keeps of one student, as a ZIP archive that the student may have."""

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader.course.config import Course
from grader.course.database.store import Store
from grader.course.gradebook.gradebook import read_gradebook
from grader.course.persons.files import folders_of, lines_of, waiting_of
from grader.course.persons.rows import Owned, Row, owned, plain
from grader.course.persons.words import ANOTHER, Known, Words
from grader.course.rosters.people import known_people
from grader.text import encodable, moment_text

SECRET = ("hash", "csrf", "token_id", "worker")  # columns that say nothing of a student
README = """\
All that the course "{title}" keeps of {name} ({id}), as of {made}.

student.json         name, id, repository and branch, and what the roster says beside them;
                     extensions and extra time in course.toml
marks.json           each mark, and where it comes from, as the gradebook has it now
database/TABLE.json  each row of the course database that belongs to this person:
{tables}
reports/             the report of each grading that database/attempts.json names by its file
files/               work as it was collected (collected/) and handed in (hand-ins/), and results
                     that wait for the database (.inferlab/spool/)
log.txt              lines of the log files that were searched ({logs})

Moments are in UTC. Of tokens and sessions there is when they were made and ended, and never
a secret or its hash. Other students are "{another}" wherever a text named one: what
belongs to them is theirs. Words of staff (comments, reasons) stand as they were written.
"""
TABLES = {
    "students": "the person on the roster",
    "frozen": "what was collected, and why something could not be",
    "remarks": "what a collection gave the staff to look at",
    "attempts": "each grading: points, when, of which commit",
    "overrides": "marks that staff set by hand, with the reason",
    "grants": "extensions and waivers, with the reason",
    "likenesses": "answers that were found alike",
    "hand_ins": "what was handed in to the service, and how that went",
    "events": "steps of these gradings",
    "comments": "comments of staff on what was handed in",
    "regradings": "work that was graded once more",
    "tokens": "rights to come in to the service",
    "sessions": "browsers that came in",
    "aliases": "names on leaderboards",
    "platform_marks": "marks that the learning platform was sent",
}


@dataclass(frozen=True, slots=True)
class Given:
    """What an archive holds."""

    data: bytes
    rows: Mapping[str, int]  # by table
    files: int


def data_of(course: Course, store: Store, id: str, logs: Sequence[Path] = ()) -> Given:
    """Return a ZIP archive with everything that is kept of a student, and nothing of others."""
    known = known_people(course.roster)
    with store.reading() as session:
        found = owned(session.connection(), id)
    everybody = [
        Known(student.id, student.name, known[student.id].email if student.id in known else "")
        for student in store.students()
        if student.id != id
    ]
    others = Words(everybody, ANOTHER)
    made = datetime.now(UTC)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        packer = _Packer(archive, made)
        name = next((row["name"] for row in found.rows["students"].values()), id)
        about = {
            "database": [_row(row, others) for row in found.rows["students"].values()],
            "roster": _fields(known[id]) if id in known else None,
            **_terms(course, id),
        }
        packer.json("student.json", about)
        packer.json("marks.json", _marks(course, store, id))
        for table, rows in _tables(found, id, others, packer):
            packer.json(f"database/{table}.json", rows)
        handed_in = [str(row["path"]) for row in found.rows["hand_ins"].values()]
        for place in (*folders_of(course, id, handed_in), *waiting_of(course, id)):
            packer.below(place, course.folder)
        lines = [others.without(line) for log in logs for line in lines_of(log, Words([Known(id)]))]
        packer.text("log.txt", "".join(f"{line}\n" for line in lines))
        tables = "\n".join(
            f"                       {table}: {TABLES.get(table, 'rows that refer to the person')}"
            for table in found.counts
        )
        said = ", ".join(log.name for log in logs) or "none"
        told = {"title": course.title, "name": name, "id": id, "made": moment_text(made)}
        packer.text("README.txt", README.format(**told, tables=tables, logs=said, another=ANOTHER))
    return Given(out.getvalue(), found.counts, packer.count)


@dataclass(slots=True)
class _Packer:
    archive: zipfile.ZipFile
    made: datetime
    count: int = 0

    def add(self, name: str, data: bytes) -> None:
        """Add a file that its owner alone may read."""
        entry = zipfile.ZipInfo(name, self.made.timetuple()[:6])
        entry.external_attr = 0o600 << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.archive.writestr(entry, data)
        self.count += 1

    def text(self, name: str, text: str) -> None:
        """Add a text."""
        self.add(name, text.encode("utf-8", "replace"))

    def json(self, name: str, value: Any) -> None:
        """Add a value as JSON that people can read."""
        self.text(name, json.dumps(encodable(value), indent=2, ensure_ascii=False) + "\n")

    def below(self, place: Path, top: Path) -> None:
        """Add the regular files at or below a place."""
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.is_file() and not file.is_symlink():
                self.add(f"files/{file.relative_to(top).as_posix()}", file.read_bytes())


def _tables(
    found: Owned, id: str, others: Words, packer: _Packer
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Give each table's rows; reports go to files of their own."""
    for table in found.tables:
        rows: list[dict[str, Any]] = []
        for row in found.rows[table.name].values():
            said = _row(row, others)
            if table.name == "attempts":
                name = f"reports/{said['lab']}-{said['id']}.json"
                packer.json(name, said["report"])
                said["report"] = name
            theirs = ("other",) if said.get("is_student") else ()
            for name in ("student", "owner", *theirs):
                if said.get(name, id) != id:
                    said[name] = ANOTHER
            rows.append(said)
        if rows:
            yield table.name, rows


def _row(row: Row, others: Words) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for name, value in row.items():
        if name not in SECRET:
            told = plain(value)
            said[name] = others.without(told) if isinstance(told, str) else others.out_of(told)
    return said


def _fields(person: Any) -> dict[str, str]:
    return {name: getattr(person, name) for name in person.__dataclass_fields__}


def _terms(course: Course, id: str) -> dict[str, Any]:
    longer = {lab: moment for (student, lab), moment in course.extensions.items() if student == id}
    return {
        "extensions": {str(lab): moment.isoformat() for lab, moment in longer.items()},
        "extra_time_percent": course.extra_time.get(id),
    }


def _marks(course: Course, store: Store, id: str) -> list[dict[str, Any]]:
    if id not in {student.id for student in store.students()}:
        return []  # no longer on the roster: nobody has a mark then
    book = read_gradebook(course, store, [], {}, id)
    total = book.totals.get(id)
    marks: list[dict[str, Any]] = [
        {"lab": mark.lab, "points": mark.points, "possible": mark.possible, "why": mark.why}
        for mark in book.told(id)
    ]
    return [*marks, {"total": total.line}] if total else marks
