"""Forget a person in backups: each is unpacked, freed of them, and takes the old one's place."""

import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.config import load_course
from grader.course.grading.backups.backup import COURSE_FILE, FILES, back_up
from grader.course.grading.backups.restore import restore
from grader.course.persons.files import course_without, naming
from grader.course.persons.forgetting import Wish, in_copy
from grader.course.persons.words import Words
from grader.errors import UsageError
from grader.text import visible_line

PART = ".forgetting"  # in the name of a backup that is being written
DRAFT = ".forget-"  # what the name of a folder begins with that holds an unpacked one
_DATABASE = 'database = "sqlite:///course.db"\n'
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Copies:
    """What was found in folders of backups."""

    changed: tuple[Path, ...]
    same: int  # backups that do not name the person
    strange: tuple[Path, ...]  # what names the person, and is no backup or work of others


def forget_in_backups(folders: Sequence[Path], wish: Wish, *, dry_run: bool = False) -> Copies:
    """Take a person out of all backups in folders; a backup that cannot be read stops it."""
    changed: list[Path] = []
    others: list[Path] = []
    strange: list[Path] = []
    same = 0
    for file in _files(folders):
        if PART in file.name:
            file.unlink()  # of a run that was cut off
        elif _is_backup(file):
            is_changed, left = _forget_in(file, wish, dry_run=dry_run)
            changed += [file] if is_changed else []
            same += not is_changed
            strange += left
        else:
            others.append(file)
    strange += naming(others, wish.person.id, Words([wish.person]))
    return Copies(tuple(changed), same, tuple(strange))


def _files(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"there is no folder {visible_line(str(folder))}")
        for draft in folder.rglob(f"{DRAFT}*"):  # of a run that was cut off
            shutil.rmtree(draft, ignore_errors=True)
        yield from (f for f in sorted(folder.rglob("*")) if f.is_file() and not f.is_symlink())


def _is_backup(file: Path) -> bool:
    with open(file, "rb") as stream:
        if stream.read(2) != _GZIP:
            return False
    try:
        with tarfile.open(file, "r|gz") as archive:
            first = archive.next()
            return first is not None and first.name == FILES + COURSE_FILE
    except (tarfile.TarError, EOFError, OSError):
        return False


def _forget_in(file: Path, wish: Wish, *, dry_run: bool) -> tuple[bool, list[Path]]:
    """Write a backup anew without a person; False if it has nothing of theirs.

    Returned too is what others handed in that names them, which stays.
    """
    with tempfile.TemporaryDirectory(prefix=DRAFT, dir=file.parent) as name:
        copy = Path(name) / COURSE_FILE
        said = _course_toml(file)
        # Never the database that the backup names: that is the course's own.
        copy.write_text(_DATABASE + _without_database(said), encoding="utf-8")
        restore(file, copy)
        done = in_copy(copy, wish)
        plain = course_without(said, wish.person.id)
        left = [Path(f"{file}: {path.relative_to(copy.parent)}") for path in done.left]
        if done.is_nothing and plain == said:
            return False, left
        if dry_run:
            return True, left
        course = load_course(copy)
        copy.write_text(plain, encoding="utf-8")
        part = file.with_name(file.name + PART)
        part.unlink(missing_ok=True)
        back_up(course, copy, part)
        os.replace(part, file)
        return True, left


def _course_toml(file: Path) -> str:
    with tarfile.open(file, "r|gz") as archive:
        first = archive.next()
        found = archive.extractfile(first) if first else None
        return found.read().decode("utf-8-sig") if found else ""


def _without_database(text: str) -> str:
    """Return course.toml without its key ``database``, which stands above all tables."""
    lines = text.splitlines(keepends=True)
    first = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    top = [line for line in lines[:first] if not re.match(r"\s*database\s*=", line)]
    return "".join((*top, *lines[first:]))
