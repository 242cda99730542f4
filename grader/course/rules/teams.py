"""``[teams]`` of ``course.toml``: labs that several students hand in together.

A lab's teams stand there as lists of ids, or in a CSV file with the columns ``team`` and
``student``. Who is in no team of such a lab works alone.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from grader.course.rules.keys import lab_of_key
from grader.labs.toml import Table

Teams = Mapping[tuple[str, int], tuple[str, ...]]  # all members, by each of them and the lab

MAX_BYTES = 1 << 20
COLUMNS = ("team", "student")
FORM = 'must be lists of ids, such as [["s17", "s18"], ["s19", "s20"]], or the name of a CSV file'


def teams(table: Table, folder: Path) -> dict[tuple[str, int], tuple[str, ...]]:
    """Read the teams of each lab; ``folder`` is where paths start.

    Raises ``LabError`` where an id stands in two teams of a lab, or twice in one.
    """
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    known: set[int] = set()
    for key in table.data:
        lab = lab_of_key(table, key)
        if lab in known:
            raise table.error(key, f"lab {lab} has teams already")
        known.add(lab)
        for members in _teams(table, key, folder):
            for member in members:
                if (member, lab) in found:
                    raise table.error(key, f"{member!r} stands there twice")
                found[member, lab] = members
    return found


def _teams(table: Table, key: str, folder: Path) -> Iterable[tuple[str, ...]]:
    value = table.value(key)
    if isinstance(value, str):
        return _from_file(table, key, folder / Path(value).expanduser())
    if not isinstance(value, list):
        raise table.error(key, FORM)
    return [_members(table, key, each) for each in cast(list[Any], value)]


def _members(table: Table, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise table.error(key, FORM)
    members: list[str] = []
    for each in cast(list[Any], value):
        if not isinstance(each, str) or not each.strip():
            raise table.error(key, FORM)
        members.append(each.strip())
    if not members:
        raise table.error(key, "a team has at least one member")
    return tuple(members)


def _from_file(table: Table, key: str, file: Path) -> Iterable[tuple[str, ...]]:
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise table.error(key, f"{file} cannot be read: {why}") from None
    if len(data) > MAX_BYTES:
        raise table.error(key, f"{file} is larger than {MAX_BYTES >> 20} MiB")
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = [[field.strip() for field in row] for row in reader]
    except csv.Error as error:
        raise table.error(key, f"{file.name}, line {reader.line_num}: {error}") from None
    header = [name.casefold() for name in rows[0]] if rows else []
    if not set(COLUMNS) <= set(header):
        raise table.error(key, f"{file.name} needs the columns team and student")
    places = [header.index(name) for name in COLUMNS]
    members: dict[str, list[str]] = {}
    for line, row in enumerate(rows[1:], 2):
        if not any(row):
            continue
        team, student = (row[place] if place < len(row) else "" for place in places)
        if not team or not student:
            raise table.error(key, f"{file.name}, row {line}: a team and a student belong there")
        members.setdefault(team, []).append(student)
    return [tuple(team) for team in members.values()]
