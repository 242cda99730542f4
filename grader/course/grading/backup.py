"""A course in one file: its database, what was collected, and results on their way.

A backup may be made while a class is collected or graded: the spool is read before the database and
the collected files after it, so that nothing is missing that a row names. A restore checks all of
the file before it changes anything, and never writes over what is there.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any

from grader import __version__
from grader.course.config import Course, load_course
from grader.course.database.connection import connect, explained, located, migrate, writing
from grader.course.database.dump import load_rows, revision_of, rows_of
from grader.course.database.store import WAIT_SECONDS
from grader.course.grading.batch import SPOOL
from grader.course.grading.ledger import FOLDER as COLLECTED
from grader.errors import CannotGrade, UsageError
from grader.labs.standing import FOLDER as OWN

SCHEMA = 1
MANIFEST = "backup.json"  # the last member: it names all others
ROWS = "rows.jsonl"
FILES = "course/"
COURSE_FILE = "course.toml"


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


def _is_draft(file: Path) -> bool:
    return ".draft-" in str(file)


def _write(course: Course, course_file: Path, file: gzip.GzipFile) -> Contents:
    with tarfile.open(fileobj=file, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        packer = _Packer(archive)
        packer.add(FILES + COURSE_FILE, course_file.read_bytes())
        if course.roster.is_relative_to(course.folder) and course.roster.is_file():
            name = course.roster.relative_to(course.folder).as_posix()
            packer.add(FILES + name, course.roster.read_bytes())
        packer.add_below(course.folder / OWN / SPOOL, course.folder)
        with tempfile.TemporaryFile() as rows:
            revision, counts = _dump(course, rows)
            rows.seek(0)
            packer.add(ROWS, rows.read())
        packer.add_below(course.folder / COLLECTED, course.folder)
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


def restore(source: Path, course_file: Path) -> tuple[Course, Contents]:
    """Bring a course back into the folder of ``course_file``, which may be there already.

    Raises UsageError, with nothing changed, if the backup is damaged or a course is there.
    """
    folder = course_file.absolute().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".restore-", dir=folder) as name:
            contents = _unpack(source, Path(name))
            return _put_back(Path(name), contents, course_file), contents
    except OSError as error:
        raise CannotGrade(
            f"nothing can be restored to {folder}: {error.strerror or error}"
        ) from None


def _unpack(source: Path, draft: Path) -> Contents:
    """Write all members below ``draft``, and hold them against the manifest."""
    found: dict[str, str] = {}
    manifest = b""
    damaged = UsageError(f"{source} is no whole backup", "it was cut off or changed: take another")
    try:
        with tarfile.open(source, mode="r:gz") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isreg() else None
                if file is None or not _is_plain(member.name):
                    raise damaged
                data = file.read()
                if member.name == MANIFEST:
                    manifest = data
                    continue
                found[member.name] = hashlib.sha256(data).hexdigest()
                place = draft / member.name
                place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                place.write_bytes(data)
        contents = _contents(manifest)
    except FileNotFoundError:
        raise UsageError(f"there is no {source}") from None
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, ValueError, KeyError, TypeError):
        raise damaged from None
    if found != contents.files:
        raise damaged
    return contents


def _is_plain(name: str) -> bool:
    path = PurePosixPath(name)
    known = name in (ROWS, MANIFEST) or name.startswith(FILES)
    return known and not path.is_absolute() and ".." not in path.parts and "\0" not in name


def _contents(data: bytes) -> Contents:
    fields: dict[str, Any] = json.loads(data)
    if fields["schema"] != SCHEMA:
        hint = "restore it with the program that it names as inferlab"
        raise UsageError("the backup is of another version of this program", hint)
    made = datetime.fromisoformat(fields["made"])
    return Contents(fields["title"], made, fields["revision"], fields["rows"], fields["files"])


def _put_back(draft: Path, contents: Contents, course_file: Path) -> Course:
    """Move files to their places and rows into the database; whatever fails, nothing stays."""
    files, folder = draft / FILES, course_file.absolute().parent
    (files / COURSE_FILE).rename(files / course_file.name)
    for place in (folder / COLLECTED, folder / OWN / SPOOL):
        if any(path.is_file() for path in place.rglob("*")):
            hint = "restore into a folder of its own: --course NEW/course.toml"
            raise UsageError(f"{place} is there already", hint)
    with _moved(files, folder):
        course = load_course(course_file)
        url = located(course.database, course.folder)
        with explained(url):
            engine = connect(url, WAIT_SECONDS)
            try:
                with writing(engine).begin() as connection:
                    with open(draft / ROWS, "rb") as lines:
                        counts = load_rows(connection, lines, contents.revision)
                    if dict(counts) != dict(contents.rows):
                        raise UsageError("the backup does not hold the rows that it names")
            finally:
                engine.dispose()
    return course


@contextmanager
def _moved(files: Path, folder: Path) -> Generator[None]:
    """Move files to where they are missing; take them away again if what follows fails."""
    placed: list[Path] = []
    try:
        for file in sorted(files.rglob("*")):
            target = folder / file.relative_to(files)
            if file.is_file() and not target.exists():
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                placed.append(target)
                shutil.move(file, target)
        yield
    except BaseException:
        for target in placed:
            target.unlink(missing_ok=True)
        raise
