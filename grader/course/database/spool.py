"""Results that are safe before the database has them: a file for each, taken in when it can be.

A grading takes a minute and a database may be locked, full or away for longer. Every result is a
file first, complete and flushed to the disk, which is removed once the database has it; whatever a
kill, a lock or a full disk leaves behind is taken in by the next run. A reserve of disk space is
held meanwhile, so that what is being graded when the disk fills up can still be written.
"""

import json
import os
import tempfile
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Protocol

from grader.course.database.records import Attempt
from grader.errors import CannotGrade, StoreError
from grader.text import encodable

RESERVE_BYTES = 16 << 20
_HINT = "make room and run this again with --resume"


class Attempts(Protocol):
    """What of the course database this needs."""

    def add_attempt(self, attempt: Attempt) -> bool:
        """Record a grading, once."""
        ...


class DiskFull(CannotGrade):
    """A result could be kept, but there may be no room for another one."""


class ResultLost(DiskFull):
    """Neither the disk nor the database took a result."""


class Spool:
    """The folder of results on their way to the database."""

    def __init__(self, folder: Path, store: Attempts) -> None:
        self.folder = folder
        self._store = store
        self._reserve: IO[bytes] | None = None

    def open(self) -> None:
        """Make the folder and take the reserve; raises DiskFull if there is no room."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Without a name: it goes with the process, however that ends.
            self._reserve = tempfile.TemporaryFile(dir=self.folder)
            os.posix_fallocate(self._reserve.fileno(), 0, RESERVE_BYTES)
        except OSError as error:
            self.close()
            told = f"results cannot be kept in {self.folder}: {error.strerror}"
            raise DiskFull(told, "make room first") from None

    def close(self) -> None:
        """Give the reserve back."""
        if self._reserve is not None:
            self._reserve.close()
            self._reserve = None

    def waiting(self) -> list[Path]:
        """List the results that the database does not have yet."""
        return sorted(self.folder.glob("*.json"))

    def keep(self, attempt: Attempt) -> None:
        """Make a result safe, then offer it to the database.

        Raises DiskFull, with the result kept unless it is ResultLost, and StoreError where only the
        database fails.
        """
        try:
            file = self._write(attempt)
        except OSError:
            self.close()
            self._rescue(attempt)
            told = f"the disk of {self.folder} is full; every result so far is kept"
            raise DiskFull(told, _HINT) from None
        self._take_in(file, attempt)

    def take_in(self) -> int:
        """Move what waits into the database; return how many there were. Raises StoreError."""
        waiting = self.waiting()
        for done, file in enumerate(waiting):
            try:
                attempt = read_attempt(file)
            except FileNotFoundError:
                continue  # another run was faster
            except (ValueError, KeyError, TypeError, RecursionError, OSError) as error:
                told = f"the result {file} cannot be read ({type(error).__name__})"
                raise StoreError(told, "move it away, and grade that student again") from None
            try:
                self._take_in(file, attempt)
            except StoreError as error:
                told = f"{error.message}; {len(waiting) - done} results wait in {self.folder}"
                raise StoreError(told, error.hint) from None
        return len(waiting)

    def _take_in(self, file: Path, attempt: Attempt) -> None:
        self._store.add_attempt(attempt)
        file.unlink(missing_ok=True)

    def _write(self, attempt: Attempt) -> Path:
        name = f"{attempt.lab}-{attempt.run}-{attempt.student}-{attempt.commit[:16]}"
        file = self.folder / f"{name}-{attempt.exit_code}.json"
        draft = file.with_suffix(f".draft-{os.getpid()}")
        try:
            with open(draft, "w", encoding="utf-8") as stream:
                stream.write(json.dumps(encodable(_plain(attempt)), allow_nan=False))
                stream.flush()
                os.fsync(stream.fileno())
            draft.rename(file)
        except OSError:
            draft.unlink(missing_ok=True)
            raise
        return file

    def _rescue(self, attempt: Attempt) -> None:
        """Write after the reserve was given back; if even that fails, the database is asked."""
        try:
            self._write(attempt)
        except OSError as error:
            told = f"results cannot be kept in {self.folder}: {error.strerror}"
            try:
                self._store.add_attempt(attempt)
            except StoreError as other:
                lost = f"that of {attempt.student} is lost ({other.message})"
                raise ResultLost(f"{told}; {lost}", _HINT) from None
            raise DiskFull(told, _HINT) from None


def _plain(attempt: Attempt) -> dict[str, Any]:
    fields = {name: getattr(attempt, name) for name in Attempt.__dataclass_fields__}
    fields["report"] = dict(attempt.report)
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in fields.items()
    }


def read_attempt(file: Path) -> Attempt:
    """Read a result back; raises ValueError, KeyError or TypeError if it is none."""
    fields: dict[str, Any] = json.loads(file.read_bytes())
    for name in ("submitted", "graded"):
        fields[name] = None if fields[name] is None else datetime.fromisoformat(fields[name])
    return Attempt(**fields)
