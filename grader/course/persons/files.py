"""Which files of a course are one person's, and which lists name them among others."""

import csv
import io
import json
import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from grader.course.config import Course
from grader.course.database.records import HAND_INS
from grader.course.grading.batch import SPOOL
from grader.course.grading.collecting.ledger import FOLDER as COLLECTED
from grader.course.persons.words import Known, Words
from grader.course.rosters.forms import Kind, form_of
from grader.course.rosters.people import IDS
from grader.course.rosters.sheet import read_sheet
from grader.errors import UsageError
from grader.files import write_file
from grader.labs.standing import FOLDER as OWN
from grader.text import visible_line

LARGEST_TEXT = 64 << 20  # bytes of a file that is searched
TABLES = ("extensions", "extra_time")  # of course.toml, with students as keys


def folders_of(course: Course, id: str, handed_in: Iterable[str]) -> list[Path]:
    """Return the folders with a student's work; ``handed_in`` are paths from the course's."""
    top = course.folder / HAND_INS
    places = [course.folder / path for path in handed_in]
    own = [place for place in places if place.resolve().is_relative_to(top.resolve())]
    return sorted({*(course.folder / COLLECTED).glob(f"*/{id}"), *own} - {top})


def waiting_of(course: Course, id: str) -> list[Path]:
    """Return the results of a student that the database does not have yet."""
    found: list[Path] = []
    for file in sorted((course.folder / OWN / SPOOL).glob("*")):
        try:
            said: Any = json.loads(file.read_bytes())
            is_own = cast(Mapping[str, object], said)["student"] == id
        except (OSError, ValueError, KeyError, TypeError):
            is_own = f"-{id}-" in file.name  # a draft that was cut off
        if is_own:
            found.append(file)
    return found


def remove_all(places: Iterable[Path]) -> None:
    """Delete files and folders; raises UsageError where the disk refuses."""
    for place in places:
        try:
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)
        except FileNotFoundError:
            continue
        except OSError as error:
            shown = visible_line(str(place))
            raise UsageError(f"{shown} cannot be deleted: {error.strerror}") from None


def roster_without(file: Path, id: str) -> bytes | None:
    """Return a roster without a student, whoever wrote it; None if they are not on it."""
    sheet = read_sheet(file)
    form = form_of(file.name, sheet.header)
    keys = ("id",) if form.kind is Kind.PLAIN else IDS
    left = [row for _, row in sheet.rows if id not in [form.cell(row, key) for key in keys]]
    if len(left) == len(sheet.rows):
        return None
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=sheet.delimiter, lineterminator="\n")
    writer.writerow(sheet.header)
    writer.writerows(left)
    return out.getvalue().encode()


def course_without(text: str, id: str) -> str:
    """Return course.toml without what it says of a student alone.

    Raises UsageError, with the line, where that cannot be done without touching what else it says.
    """
    lines = text.splitlines(keepends=True)
    kept = [line for table, line in _in_tables(lines) if not _is_theirs(table, line, id)]
    wanted = tomllib.loads(text)
    for name in TABLES:
        if id in (told := cast(dict[str, Any], wanted.get(name, {}))):
            del told[id]
            if not told:
                del wanted[name]
    left = "".join(kept)
    found = tomllib.loads(left)
    for name in TABLES:
        if found.get(name) == {}:
            del found[name]
    words = Words([Known(id)])
    if found != wanted or words.are_in(left):
        at = next((n for n, line in enumerate(lines, 1) if line in kept and id in line), 1)
        raise UsageError(f"course.toml, line {at}, names {id}", "take that out first")
    return left


def _in_tables(lines: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Give each line with the table that it is in."""
    table: tuple[str, ...] = ()
    for line in lines:
        if match := re.match(r"\s*\[([^\[\]]+)\]", line):
            table = _keys(match[1])
        yield table, line


def _is_theirs(table: tuple[str, ...], line: str, id: str) -> bool:
    if table[:1] not in [(name,) for name in TABLES]:
        return False
    return table[1:2] == (id,) or (len(table) == 1 and _keys(line.partition("=")[0])[:1] == (id,))


def _keys(text: str) -> tuple[str, ...]:
    """Return the keys of a dotted name of TOML."""
    parts = re.findall(r"\"([^\"]*)\"|'([^']*)'|([A-Za-z0-9_-]+)", text)
    return tuple(next(filter(None, part), "") for part in parts)


def lines_of(file: Path, words: Words) -> list[str]:
    """Return the lines of a log that name a person."""
    return [line for line in _read(file).splitlines() if words.are_in(line)]


def log_without(file: Path, words: Words) -> bool:
    """Take a person out of a log's lines; False if none names them."""
    text = _read(file)
    left = "".join(words.without(line) for line in text.splitlines(keepends=True))
    if left != text:
        write_file(file, left.encode("utf-8", "surrogateescape"))
    return left != text


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UsageError(f"{visible_line(str(file))} cannot be read: {error.strerror}") from None


def naming(files: Iterable[Path], id: str, words: Words) -> list[Path]:
    """Return the files that name a person, in their text or by the name of a folder or file."""
    return [file for file in files if id in file.parts or _names(file, words)]


def _names(file: Path, words: Words) -> bool:
    if words.are_in(file.name):
        return True
    try:
        if file.stat().st_size > LARGEST_TEXT:
            return False
        return words.are_in(file.read_bytes().decode("utf-8", "replace"), strict=True)
    except OSError:
        return False


def work_in(course: Course) -> Iterator[Path]:
    """Give every file of work that a course has."""
    for top in (COLLECTED, HAND_INS, f"{OWN}/{SPOOL}"):
        for file in sorted((course.folder / top).rglob("*")):
            if file.is_file() and not file.is_symlink():
                yield file
