"""The rows of a course database as lines of JSON, the same for SQLite and PostgreSQL, and back.

Read in one transaction, so that what other commands write meanwhile is in it wholly or not at all.
"""

import base64
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import IO, Any

from grader.course.database.connection import revisions, upgrade
from grader.errors import StoreError, UsageError
from grader.extras import needs

with needs("course"):
    from alembic.runtime.migration import MigrationContext
    from sqlalchemy import Connection, Integer, MetaData, Table, func, select

VERSIONS = "alembic_version"
LONGEST_ROW = 64 << 20  # bytes of a line
_UNREADABLE = "the backup holds a row that cannot be read"


def revision_of(connection: Connection) -> str:
    """Return the schema's revision; "" where there is none yet."""
    return MigrationContext.configure(connection).get_current_revision() or ""


def rows_of(connection: Connection) -> Iterator[bytes]:
    """Yield every row as a line, parents before what refers to them."""
    for table in _tables(connection):
        for row in connection.execute(
            select(table).order_by(*table.primary_key.columns)
        ).mappings():
            found = {name: _plain(value) for name, value in row.items()}
            yield json.dumps({"table": table.name, "row": found}).encode() + b"\n"


def rows_in(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file; raises StoreError at one that is too long to be a row."""
    while line := file.readline(LONGEST_ROW + 1):
        if len(line) > LONGEST_ROW:
            raise StoreError(_UNREADABLE)
        yield line


def texts_of(connection: Connection, table: str, column: str) -> set[str]:
    """Return what a column of a table holds."""
    [found] = (t for t in _tables(connection) if t.name == table)
    return {str(text) for text in connection.scalars(select(found.columns[column]))}


def load_rows(connection: Connection, lines: Iterable[bytes], revision: str) -> Counter[str]:
    """Make the schema of that revision, insert the rows, and bring it up to date.

    Returns how many came by table. Raises UsageError if the database holds rows already.
    """
    if revision not in revisions():
        told = f"the backup has the schema {revision!r}, which is not known here"
        raise StoreError(told, "restore it with the program that made it")
    if not revision_of(connection):
        upgrade(connection, revision)
    tables = {table.name: table for table in _tables(connection)}
    if any(connection.scalar(select(func.count()).select_from(t)) for t in tables.values()):
        hint = "name a new one in course.toml, or move the old one away"
        raise UsageError("the course's database holds a course already", hint)
    if revision_of(connection) != revision:
        hint = "name a database in course.toml that does not exist yet"
        raise UsageError("the course's database has another schema than the backup", hint)
    counts: Counter[str] = Counter()
    for line in lines:
        name, row = _parsed(line)
        if name not in tables:
            raise StoreError(f"the backup has rows of {name!r}, which this schema does not know")
        try:
            connection.execute(tables[name].insert().values(_typed(tables[name], row)))
        except (ValueError, TypeError, OverflowError):
            raise StoreError(_UNREADABLE) from None
        counts[name] += 1
    for table in tables.values():
        _continue_numbers(connection, table)
    upgrade(connection)
    return counts


def _tables(connection: Connection) -> list[Table]:
    found = MetaData()
    found.reflect(connection)
    return [table for table in found.sorted_tables if table.name != VERSIONS]


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
            return {"moment": moment.isoformat()}
        case bytes() | memoryview():
            return {"bytes": base64.b64encode(bytes(value)).decode()}
        case _:
            return value


def _parsed(line: bytes) -> tuple[str, Mapping[str, Any]]:
    try:
        entry = json.loads(line)
        return str(entry["table"]), dict(entry["row"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise StoreError(_UNREADABLE) from None


def _typed(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    unknown = row.keys() - table.columns.keys()
    if unknown:
        raise StoreError(
            f"the backup has {', '.join(sorted(unknown))} in {table.name}, unknown here"
        )
    return {name: _value(value) for name, value in row.items()}


def _value(value: Any) -> Any:
    match value:
        case {"moment": str(moment)}:
            return datetime.fromisoformat(moment)
        case {"bytes": str(data)}:
            return base64.b64decode(data)
        case _:
            return value


def _continue_numbers(connection: Connection, table: Table) -> None:
    """Let PostgreSQL number new rows after those that came with theirs."""
    if connection.dialect.name != "postgresql":
        return
    for column in table.primary_key.columns:
        if isinstance(column.type, Integer):
            last = select(func.max(column)).scalar_subquery()
            place = func.pg_get_serial_sequence(table.name, column.name)
            connection.execute(select(func.setval(place, func.coalesce(last, 1))))
