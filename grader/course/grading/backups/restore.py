"""A course out of a backup, whoever made or changed that file.

All of it is checked before anything changes, and nothing that is there is written over. It brings
what a backup holds and no other file: code, hooks and settings of programs stay out of the folder.
What comes back is readable by its owner alone. Who can change a backup can still change the marks
in it: it has no signature.
"""

import gzip
import hashlib
import json
import os
import re
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from grader.course.config import Course, load_course
from grader.course.database.connection import connect, explained, file_of, located, writing
from grader.course.database.dump import load_rows, rows_in, texts_of
from grader.course.database.records import HAND_INS
from grader.course.database.store import WAIT_SECONDS
from grader.course.grading.backups.backup import (
    COURSE_FILE,
    FILES,
    MANIFEST,
    ROWS,
    SCHEMA,
    SPOOL,
    WORK,
    Contents,
    roster_name,
)
from grader.course.grading.collecting.roster import is_id
from grader.errors import CannotGrade, UsageError
from grader.extras import needs
from grader.labs.standing import FOLDER as OWN

with needs("course"):
    from sqlalchemy import Connection

MOST_FILES = 400_000  # a class of 300 hands in 12 labs, of two files each, forty times: 288,000
LARGEST_MANIFEST = 64 << 20
LARGEST_READ = 16 << 20  # at once; what a tar calls a header may have any size
CHUNK = 1 << 20
OF_THE_DISK = 0.5  # of what is free: a few megabytes can stand for gigabytes
_LAB = re.compile(r"\d\d_[a-z][a-z0-9_]*")
_DAMAGES = (
    *(tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, RecursionError),
    *(ValueError, KeyError, TypeError, OverflowError),
)


def restore(source: Path, course_file: Path) -> tuple[Course, Contents]:
    """Bring a course back into the folder of ``course_file``, which may be there already.

    Raises UsageError, with nothing changed, if the backup is damaged or a course is there.
    """
    if not source.is_file():
        raise UsageError(f"there is no {source}")
    folder = course_file.absolute().parent
    try:
        _make_folders(folder)
        with tempfile.TemporaryDirectory(prefix=".restore-", dir=folder) as name:
            contents = _unpack(source, Path(name))
            _check_names(Path(name), contents)
            return _put_back(Path(name), contents, course_file), contents
    except OSError as error:
        raise CannotGrade(
            f"nothing can be restored to {folder}: {error.strerror or error}"
        ) from None


class _Packed(gzip.GzipFile):
    """The archive, of which nobody takes much at once."""

    def read(self, size: int | None = -1) -> bytes:
        """Return some bytes; raises ReadError where it would be too many."""
        if size is None or not 0 <= size <= LARGEST_READ:
            raise tarfile.ReadError("a header is too large")
        return super().read(size)


def _unpack(source: Path, draft: Path) -> Contents:
    """Write all members below ``draft``, and hold them against the manifest."""
    found: dict[str, str] = {}
    damaged = UsageError(f"{source} is no whole backup", "it was cut off or changed: take another")
    room = int(shutil.disk_usage(draft).free * OF_THE_DISK)
    try:
        with _Packed(source) as packed, tarfile.open(fileobj=packed, mode="r:") as archive:
            for member in archive:
                is_whole = member.isreg() and not member.issparse() and member.size >= 0
                if not is_whole or not _is_plain(member.name) or member.name in found:
                    raise damaged
                room -= member.size
                if room < 0 or len(found) >= MOST_FILES:
                    much = f"more than {MOST_FILES:,} files" if room >= 0 else "too much"
                    hint = f"it would take more than {OF_THE_DISK:.0%} of what is free on the disk"
                    raise UsageError(f"{source} holds {much}", hint if room < 0 else "")
                found[member.name] = _write(archive, member, draft / member.name)
        contents = _contents(draft / MANIFEST)
    except _DAMAGES:
        raise damaged from None
    del found[MANIFEST]
    if found != contents.files:
        raise damaged
    return contents


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> str:
    """Write a member to a new file and return its hash."""
    digest = hashlib.sha256()
    _make_folders(place.parent)
    file = archive.extractfile(member)
    assert file is not None  # a regular file
    with file, open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            target.write(chunk)
    return digest.hexdigest()


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and those above it, their owner's alone; return those that are new."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir(mode=0o700)
    return missing


def _is_plain(name: str) -> bool:
    path = PurePosixPath(name)
    known = name in (ROWS, MANIFEST) or name.startswith(FILES)
    return known and path.as_posix() == name and ".." not in path.parts and "\0" not in name


def _contents(manifest: Path) -> Contents:
    if not manifest.is_file() or manifest.stat().st_size > LARGEST_MANIFEST:
        raise ValueError(MANIFEST)
    match json.loads(manifest.read_bytes()):
        case {"schema": schema} if schema != SCHEMA:
            hint = "restore it with the program that it names as inferlab"
            raise UsageError("the backup is of another version of this program", hint)
        case {
            "title": str(title),
            "made": str(moment),
            "revision": str(revision),
            "rows": dict(rows),
            "files": dict(files),
        }:
            made = datetime.fromisoformat(moment).astimezone(UTC)
            return Contents(title, made, revision, rows, files)
        case _:
            raise ValueError(MANIFEST)


def _check_names(draft: Path, contents: Contents) -> None:
    """Raise UsageError if there are files that no backup of this course has."""
    if FILES + COURSE_FILE not in contents.files:
        raise UsageError(f"the backup holds no {COURSE_FILE}")
    roster = roster_name(load_course(draft / FILES / COURSE_FILE))
    strange = next((name for name in contents.files if not _is_known(name, roster)), "")
    if strange:
        raise UsageError(f"the backup holds {strange!r}, which no backup does", "who made it?")


def _is_known(name: str, roster: str) -> bool:
    path = PurePosixPath(name.removeprefix(FILES))
    if name in (ROWS, FILES + COURSE_FILE) or str(path) == roster:
        return True
    waits = (str(path.parent), path.suffix) == (f"{OWN}/{SPOOL}", ".json")
    return waits or path.parent.parts[:1] in [(folder,) for folder in WORK]


def _put_back(draft: Path, contents: Contents, course_file: Path) -> Course:
    """Move files to their places and rows into the database; whatever fails, nothing stays."""
    files, folder = draft / FILES, course_file.absolute().parent
    (files / COURSE_FILE).rename(files / course_file.name)
    for place in (*(folder / name for name in WORK), folder / OWN / SPOOL):
        if any(path.is_file() for path in place.rglob("*")):
            hint = "restore into a folder of its own: --course NEW/course.toml"
            raise UsageError(f"{place} is there already", hint)
    is_ours = course_file.exists()
    with _moved(files, folder) as is_new:
        course = load_course(course_file)
        if not is_ours:
            _check_database(course)
        _load(draft / ROWS, contents, course, is_new)
    return course


def _check_database(course: Course) -> None:
    """Raise UsageError if a course.toml that came along has a file made elsewhere on this disk."""
    url = located(course.database, course.folder)
    if url.get_backend_name() != "sqlite":
        return
    file = file_of(url)
    if file is None or not file.resolve().is_relative_to(course.folder.resolve()):
        told = f"the backup's {COURSE_FILE} has its database outside of {course.folder}"
        raise UsageError(told, f"put a {COURSE_FILE} of your own there first: that one stays")


def _load(rows: Path, contents: Contents, course: Course, is_new: Callable[[Path], None]) -> None:
    url = located(course.database, course.folder)
    file = file_of(url)
    for name in (file, *(Path(f"{file}{end}") for end in ("-wal", "-shm"))) if file else ():
        if name and not name.exists():
            is_new(name)
    with explained(url):
        engine = connect(url, WAIT_SECONDS)
        try:
            with writing(engine).begin() as connection:
                with open(rows, "rb") as lines:
                    counts: Mapping[str, int] = load_rows(
                        connection, rows_in(lines), contents.revision
                    )
                if dict(counts) != dict(contents.rows):
                    raise UsageError("the backup does not hold the rows that it names")
                _check_rows(connection)
        finally:
            engine.dispose()


def _check_rows(connection: Connection) -> None:
    """Raise UsageError if rows name what becomes a path, or part of one, and leads elsewhere."""
    frozen, handed_in = (texts_of(connection, name, "path") for name in ("frozen", "hand_ins"))
    if not all(_lies_in(WORK, place) for place in frozen - {""}):
        raise UsageError("the backup names collected work outside of its folder")
    if not all(_lies_in((HAND_INS,), place) for place in handed_in):
        raise UsageError("the backup names work that was handed in outside of its folder")
    if not all(map(is_id, texts_of(connection, "students", "id"))):
        raise UsageError("the backup has students whose ids no roster takes")
    tables = ("frozen", "runs", "attempts", "overrides", "hand_ins", "aliases")
    labs = {lab for table in tables for lab in texts_of(connection, table, "lab")}
    if not all(map(_LAB.fullmatch, labs)):
        raise UsageError("the backup has work on what is no lab")


def _lies_in(folders: Sequence[str], place: str) -> bool:
    """True for a path into one of these folders and not out of it again."""
    parts = PurePosixPath(place).parts
    return parts[:1] in [(folder,) for folder in folders] and ".." not in parts


@contextmanager
def _moved(files: Path, folder: Path) -> Generator[Callable[[Path], None]]:
    """Move files to where they are missing; take them away again if what follows fails.

    What follows names what it makes itself, and that goes too.
    """
    placed: list[Path] = []
    try:
        for file in sorted(files.rglob("*")):
            target = folder / file.relative_to(files)
            if file.is_file() and not target.exists():
                placed += reversed(_make_folders(target.parent))
                placed.append(target)
                shutil.move(file, target)
        yield placed.append
    except BaseException:
        for target in reversed(placed):
            if target.is_dir():
                target.rmdir()
            else:
                target.unlink(missing_ok=True)
        raise
