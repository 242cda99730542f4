"""Which rows of a course database are one person's, whatever tables it has.

A row is a person's if it refers to their row among the students, or to one that is theirs; so
tables that come later are known without a word here. Of all other rows texts alone are looked at.
"""

import json
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from grader.course.database.stored_report import StoredReport
from grader.course.persons.words import GONE, Words
from grader.errors import StoreError
from grader.extras import needs

with needs("course"):
    from sqlalchemy import (
        Column,
        ColumnElement,
        Connection,
        LargeBinary,
        MetaData,
        String,
        Table,
        and_,
        delete,
        select,
        text,
        tuple_,
        update,
    )

VERSIONS = "alembic_version"
STUDENTS = "students"
NAMING = ("student", "owner", "other")  # columns that name a student without referring to one
# Columns of words that the program chose, of secrets, and of what makes a row somebody else's.
OURS = (
    *("id", "name", "hash", "csrf", "sha256", "path", "commit_id", "lab", "kind", "state", "role"),
    *("origin", "device", "suite", "worker"),
)
ANEW = "comparisons"  # of a lab's answers with each other, whoever wrote them: made anew
NOBODY = "-"  # no id: of a run for some students, of whom none is left
AT_ONCE = 500  # values in one statement
Key = tuple[Any, ...]
Row = Mapping[Any, Any]


@dataclass(slots=True)
class Owned:
    """The rows of a person, by table; parents before what refers to them."""

    tables: list[Table]
    rows: dict[str, dict[Key, Row]] = field(default_factory=dict[str, dict[Key, Row]])

    @property
    def counts(self) -> dict[str, int]:
        """How many rows each table has."""
        return {name: len(rows) for name, rows in self.rows.items() if rows}


def tables_of(connection: Connection) -> list[Table]:
    """Return all tables of a course, parents first."""
    found = MetaData()
    found.reflect(connection)
    return [table for table in found.sorted_tables if table.name != VERSIONS]


def owned(connection: Connection, id: str) -> Owned:
    """Find all rows of a student."""
    tables = tables_of(connection)
    found = Owned(tables, {table.name: {} for table in tables})
    while True:  # rows of one table may refer to each other
        before = found.counts
        for table in tables:
            for where in _conditions(table, found, id):
                for each in connection.execute(select(table).where(where)).mappings():
                    row = {**each}
                    found.rows[table.name][_key(table, row)] = row
        if found.counts == before:
            return found


def _conditions(table: Table, found: Owned, id: str) -> Iterator[ColumnElement[bool]]:
    """Yield what makes a row the student's."""
    if table.name == STUDENTS:
        yield table.c.id == id
    for name in NAMING:
        if name in table.c and isinstance(table.c[name].type, String):
            theirs = table.c[name] == id
            # A teacher may be called as a student is.
            yield and_(theirs, table.c.role == "student") if "role" in table.c else theirs
    for reference in table.foreign_keys:
        column = reference.column
        rows = found.rows.get(column.table.name, {}).values()
        values = list({row[column.name] for row in rows})
        for start in range(0, len(values), AT_ONCE):
            yield reference.parent.in_(values[start : start + AT_ONCE])


def _key(table: Table, row: Row) -> Key:
    return tuple(row[column.name] for column in table.primary_key.columns)


@dataclass(frozen=True, slots=True)
class Mention:
    """A cell of somebody else's row that names a person, and what it becomes."""

    table: str
    key: Key
    column: str
    value: str | bytes


def mentions(connection: Connection, found: Owned, id: str, words: Words) -> list[Mention]:
    """Find the person in all rows that are not theirs."""
    result: list[Mention] = []
    for table in found.tables:
        if table.name == ANEW:
            continue
        own = found.rows[table.name]
        texts = [column for column in table.c if _may_name(column)]
        keys = [*table.primary_key.columns]
        rows = connection.execute(select(*keys, *texts).execution_options(yield_per=200))
        for each in rows.mappings():
            row = {**each}
            key = _key(table, row)
            for column in texts if key not in own else ():
                cell: object = row[column.name]
                value = _without(table.name, column.name, cell, id, words)
                if value != cell and value is not None:
                    result.append(Mention(table.name, key, column.name, value))
    return result


def _may_name(column: Column[Any]) -> bool:
    if column.table.name == STUDENTS or column.primary_key or column.foreign_keys:
        return False
    is_read = isinstance(column.type, String | LargeBinary)
    return is_read and column.name not in (*OURS, *NAMING)


def _without(table: str, column: str, value: object, id: str, words: Words) -> str | bytes | None:
    match value:
        case str() if (table, column) == ("runs", "students"):
            ids = value.split()
            left = [each for each in ids if each != id]
            return value if left == ids else " ".join(left) or NOBODY
        case str():
            return GONE if value == id else words.without(value)
        case bytes() | memoryview():
            data = bytes(value)
            said = _unpacked(data)
            left = words.out_of(said)
            return data if left == said else packed(left)
        case _:
            return None


def _unpacked(data: bytes) -> Any:
    try:
        return {**StoredReport(data)}
    except (StoreError, ValueError):
        return None  # no report: nothing that one could read


def packed(value: Any) -> bytes:
    """Return JSON as the database holds it."""
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode())


def plain(value: Any) -> Any:
    """Return what a column holds as JSON has it."""
    match value:
        case datetime():
            moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
            return moment.isoformat()
        case bytes() | memoryview():
            return _unpacked(bytes(value))
        case _:
            return value


def remove(connection: Connection, found: Owned, named: list[Mention]) -> None:
    """Delete a person's rows and take them out of others', in the transaction of a connection.

    The triggers that keep tables append-only rest meanwhile, in this transaction alone: that a
    person is forgotten is the one reason for it, and is recorded beside.
    """
    touched = {*found.counts, *(mention.table for mention in named)}
    by_name = {table.name: table for table in found.tables}
    with _unguarded(connection, touched):
        for table in reversed(found.tables):
            keys = [*found.rows[table.name]]
            columns = tuple_(*table.primary_key.columns)
            for start in range(0, len(keys), AT_ONCE):
                connection.execute(delete(table).where(columns.in_(keys[start : start + AT_ONCE])))
        labs = {row["lab"] for rows in found.rows.values() for row in rows.values() if "lab" in row}
        if ANEW in by_name:
            connection.execute(delete(by_name[ANEW]).where(by_name[ANEW].c.lab.in_(labs)))
        for mention in named:
            table = by_name[mention.table]
            columns = tuple_(*table.primary_key.columns)
            change = update(table).where(columns.in_([mention.key]))
            connection.execute(change.values({mention.column: mention.value}))


@contextmanager
def _unguarded(connection: Connection, tables: set[str]) -> Generator[None]:
    """Let rows of some tables be changed until the block ends; a failure undoes all of it."""
    if connection.dialect.name == "postgresql":
        quoted = [connection.dialect.identifier_preparer.quote(name) for name in sorted(tables)]
        for name in quoted:
            connection.execute(text(f"ALTER TABLE {name} DISABLE TRIGGER USER"))
        yield
        for name in quoted:
            connection.execute(text(f"ALTER TABLE {name} ENABLE TRIGGER USER"))
        return
    rows = connection.execute(
        text("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'")
    )
    triggers = [(name, made) for name, table, made in rows if table in tables]
    for name, _ in triggers:
        connection.execute(text(f'DROP TRIGGER "{name}"'))
    yield
    for _, made in triggers:
        connection.exec_driver_sql(made)
