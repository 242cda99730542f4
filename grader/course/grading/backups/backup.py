"""A course in one file: its database, what was collected or handed in, and results on their way.

A backup may be made while a class is collected or graded: the spool is read before the database and
files of students after it, so that nothing is missing that a row names.
"""

import gzip
import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from grader import __version__
from grader.course.config import Course
from grader.course.database.connection import connect, explained, located, migrate
from grader.course.database.dump import revision_of, rows_of
from grader.course.database.records import HAND_INS
from grader.course.database.store import WAIT_SECONDS
from grader.course.grading.batch import SPOOL
from grader.course.grading.collecting.ledger import FOLDER as COLLECTED
from grader.errors import CannotGrade, UsageError
from grader.labs.standing import FOLDER as OWN

SCHEMA = 1
MANIFEST = "backup.json"  # the last member: it names all others
ROWS = "rows.jsonl"
FILES = "course/"
COURSE_FILE = "course.toml"
WORK = (COLLECTED, HAND_INS)  # folders with files of students
ROSTERS = (".csv", ".tsv", ".txt")  # a restore writes no other file that course.toml may name


@dataclass(frozen=True, slots=True)
class Contents:
    """What a backup holds."""

    title: str
    made: datetime
    revision: str  # of the database's schema
    rows: Mapping[str, int]  # by table
    files: Mapping[str, str]  # sha256 by name in the archive


def back_up(course: Course, course_file: Path, target: Path) -> Contents:
    """Write a course to a file that does not exist yet; all of it or nothing."""
    if target.exists():
        raise UsageError(f"{target} exists already", "name a new file: a backup replaces none")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.absolute().parent)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}") from None
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
                contents = _write(course, course_file, packed)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, target)  # unlike a rename, this never replaces anything
    except FileExistsError:
        raise UsageError(f"{target} exists already", "name a new file") from None
    except OSError as error:
        raise CannotGrade(f"{target} cannot be written: {error.strerror or error}") from None
    finally:
        draft.unlink(missing_ok=True)
    return contents


@dataclass(slots=True)
class _Packer:
    archive: tarfile.TarFile
    names: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, name: str, data: bytes) -> None:
        """Add a file by its content, which may have changed since it was listed."""
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = len(data), 0o600
        self.archive.addfile(entry, io.BytesIO(data))
        self.names[name] = hashlib.sha256(data).hexdigest()

    def add_below(self, folder: Path, top: Path) -> None:
        """Add the regular files below a folder by their paths from ``top``."""
        for file in sorted(folder.rglob("*")):
            if file.is_file() and not file.is_symlink() and not _is_draft(file):
                try:
                    data = file.read_bytes()
                except FileNotFoundError:
                    continue  # a result that the database has by now
                self.add(f"{FILES}{file.relative_to(top).as_posix()}", data)


def roster_name(course: Course) -> str:
    """Return the name of a roster that goes into a backup, "" of one that does not."""
    if course.roster.suffix not in ROSTERS or not course.roster.is_relative_to(course.folder):
        return ""
    return course.roster.relative_to(course.folder).as_posix()


def _is_draft(file: Path) -> bool:
    return ".draft-" in str(file)


def _write(course: Course, course_file: Path, file: gzip.GzipFile) -> Contents:
    with tarfile.open(fileobj=file, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        packer = _Packer(archive)
        packer.add(FILES + COURSE_FILE, course_file.read_bytes())
        name = roster_name(course)
        if name and course.roster.is_file():
            packer.add(FILES + name, course.roster.read_bytes())
        packer.add_below(course.folder / OWN / SPOOL, course.folder)
        with tempfile.TemporaryFile() as rows:
            revision, counts = _dump(course, rows)
            rows.seek(0)
            packer.add(ROWS, rows.read())
        for folder in WORK:
            packer.add_below(course.folder / folder, course.folder)
        contents = Contents(course.title, datetime.now(UTC), revision, counts, {**packer.names})
        packer.add(MANIFEST, _manifest(contents))
    return contents


def _dump(course: Course, file: IO[bytes]) -> tuple[str, Counter[str]]:
    counts: Counter[str] = Counter()
    url = located(course.database, course.folder)
    with explained(url):
        engine = connect(url, WAIT_SECONDS)
        try:
            migrate(engine)
            if engine.dialect.name == "postgresql":  # a transaction of SQLite sees one state anyway
                engine = engine.execution_options(isolation_level="REPEATABLE READ")
            with engine.begin() as connection:
                for line in rows_of(connection):
                    counts[json.loads(line)["table"]] += 1
                    file.write(line)
                return revision_of(connection), counts
        finally:
            engine.dispose()


def _manifest(contents: Contents) -> bytes:
    data = {
        "schema": SCHEMA,
        "inferlab": __version__,
        "title": contents.title,
        "made": contents.made.isoformat(),
        "revision": contents.revision,
        "rows": dict(contents.rows),
        "files": dict(contents.files),
    }
    return json.dumps(data, indent=2).encode()
