"""What the columns of the course database hold, beyond what each database knows by itself."""

import json
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, Integer, LargeBinary, String, TypeDecorator

from grader.course.database.records import GrantKind
from grader.course.database.stored_report import StoredReport
from grader.text import encodable

MOST_DIGITS = 9  # that a column of numbers holds


class Moment(TypeDecorator[datetime]):
    """A datetime with its zone, stored and returned in UTC; SQLite itself knows no zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a moment without a zone: nobody could say later which moment it was."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the moment in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Words(TypeDecorator[str]):
    """Text; what one of the databases cannot hold (NUL, a lone surrogate) is replaced."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the text as every database can hold it."""
        return None if value is None else encodable(value).replace("\0", "\ufffd")


class Packed(TypeDecorator[Mapping[str, object]]):
    """JSON, compressed to about a tenth: reports of one kind repeat themselves."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(
        self, value: Mapping[str, object] | None, dialect: Dialect
    ) -> bytes | None:
        """Return the bytes; what no JSON can hold (a lone surrogate, NaN) is replaced."""
        if value is None:
            return None
        text = json.dumps(encodable(dict(value)), allow_nan=False, separators=(",", ":"))
        return zlib.compress(text.encode())

    def process_result_value(self, value: Any, dialect: Dialect) -> Mapping[str, object] | None:
        """Return a mapping that unpacks itself when it is read."""
        return None if value is None else StoredReport(bytes(value))


class RunNumber(TypeDecorator[str]):
    """The number of a run, which people and programs hand on as text."""

    impl = Integer
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> int | None:
        """Return the number; a text that is none stands for a run that there is not."""
        if value is None:
            return None
        return int(value) if value.isdecimal() and len(value) <= MOST_DIGITS else 0

    def process_result_value(self, value: int | None, dialect: Dialect) -> str | None:
        """Return the number as text."""
        return None if value is None else str(value)


class Granting(TypeDecorator[GrantKind]):
    """What was granted, as its word."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: GrantKind | None, dialect: Dialect) -> str | None:
        """Return the word."""
        return None if value is None else value.value

    def process_result_value(self, value: str | None, dialect: Dialect) -> GrantKind | None:
        """Return what the word stands for."""
        return None if value is None else GrantKind(value)


class Ids(TypeDecorator[tuple[str, ...]]):
    """Ids of students, in which there are no blanks, as one text."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: tuple[str, ...] | None, dialect: Dialect) -> str | None:
        """Return the ids with blanks between them."""
        return None if value is None else " ".join(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> tuple[str, ...] | None:
        """Return the ids one by one."""
        return None if value is None else tuple(value.split())
