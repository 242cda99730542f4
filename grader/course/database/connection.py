"""A database by its URL: how it is opened, how a schema gets up to date, its errors in one line.

SQLite is opened for several processes at once: a write-ahead log, so that readers never wait, a
busy timeout, and writers that take their lock at the start (a transaction that reads first and
then writes could not wait for its turn).
"""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from grader.errors import StoreError, UsageError
from grader.extras import needs

with needs("course"):
    from alembic import command
    from alembic.config import Config
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from sqlalchemy import Connection, Engine, create_engine, event, text
    from sqlalchemy.engine import URL, make_url
    from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

MIGRATIONS = Path(__file__).parent / "migrations"
IMMEDIATE = "inferlab_immediate"  # execution option: this transaction will write
LOCK = 7_461_205_118  # of PostgreSQL, held while a schema is brought up to date
# How a driver says what a person has to know, in the order in which they are looked for.
SAYINGS = (
    ("database is locked", "is locked by another program", "let it finish, then run this again"),
    ("readonly database", "is read-only", "check the permissions of the file and of its folder"),
    ("disk is full", "does not fit on the disk", "free some space and run this again"),
    ("no space left", "does not fit on the disk", "free some space and run this again"),
    ("disk i/o error", "cannot be written: disk I/O error", "is the disk full or failing?"),
    ("not a database", "is damaged, or no database", "restore it from a backup"),
    ("malformed", "is damaged", "restore it from a backup, or try `sqlite3 FILE .recover`"),
    ("unable to open", "cannot be opened", "check that its folder exists and can be written to"),
    ("authentication failed", "refuses the password", "check the user and password in the URL"),
    ("could not translate host", "is on a host that cannot be found", "check the URL"),
    ("does not exist", "does not exist", "create it, or check the URL"),
    ("connection refused", "does not answer", "is the server running, and the port right?"),
    ("connection failed", "does not answer", "is the server running, and the URL right?"),
    ("connection is bad", "does not answer", "is the server running, and the URL right?"),
    ("closed the connection", "broke off the connection", "run this again"),
    ("foreign key", "knows no such student or run", "collect first: that reads the roster"),
    ("append-only", "never changes what was recorded", "add a new attempt or override"),
)


def located(url: str, folder: Path | None) -> URL:
    """Parse a URL; a relative SQLite path starts at ``folder``."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        hint = 'such as "sqlite:///course.db" or "postgresql+psycopg://user@host/course"'
        raise UsageError("the database is no URL", hint) from None
    if parsed.get_backend_name() == "postgresql" and "+" not in parsed.drivername:
        parsed = parsed.set(drivername="postgresql+psycopg")
    file = file_of(parsed)
    return parsed.set(database=str(folder / file)) if file and folder else parsed


def file_of(url: URL) -> Path | None:
    """Return the file of an SQLite database; None for one in memory, one by URI, and all others."""
    file = url.database if url.get_backend_name() == "sqlite" else None
    return Path(file) if file and file != ":memory:" and not file.startswith("file:") else None


def connect(url: URL, wait: float) -> Engine:
    """Make an engine; ``wait`` is how many seconds a writer waits for another one."""
    kind = url.get_backend_name()
    sqlite = kind == "sqlite"
    if kind not in ("sqlite", "postgresql"):
        raise UsageError(f"no database of the kind {kind} can be used", "sqlite or postgresql")
    file = file_of(url)
    if file and not file.parent.is_dir():
        raise UsageError(f"there is no folder {file.parent} for the database", "make it first")
    options: dict[str, Any] = {"connect_args": {"timeout": wait}} if sqlite else {}
    try:
        engine = create_engine(url, **options)
    except NoSuchModuleError:
        raise UsageError(f"no driver of the name {url.drivername} is known") from None
    except ModuleNotFoundError as missing:
        hint = f"pip install {str(missing.name).replace('psycopg', 'psycopg[binary]')}"
        raise UsageError(f"the database needs the Python package {missing.name}", hint) from None
    if file:
        _make_private(file)
    if sqlite:
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _make_private(file: Path) -> None:
    """Let a database that is new be its owner's alone, whatever the umask: it holds marks."""
    with suppress(OSError):  # what is wrong SQLite tells, and one that is there keeps its mode
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver begins no transactions: ``_begin_sqlite`` does
    connection.execute("PRAGMA foreign_keys = ON")
    # A file that cannot be written to keeps its mode, and can still be read.
    if connection.execute("PRAGMA journal_mode").fetchone()[0] not in ("wal", "memory"):
        connection.execute("PRAGMA journal_mode = WAL")


def _begin_sqlite(connection: Connection) -> None:
    immediate = connection.get_execution_options().get(IMMEDIATE)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def writing(engine: Engine) -> Engine:
    """The same engine, of which every transaction takes the writer's lock at its start."""
    return engine.execution_options(**{IMMEDIATE: True})


def migrate(engine: Engine) -> None:
    """Bring the schema up to date; of several processes that try, one does it and the rest wait."""
    scripts = ScriptDirectory(str(MIGRATIONS))
    with engine.connect() as connection:
        if _is_current(connection, scripts):
            return
    with writing(engine).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        if not _is_current(connection, scripts):
            upgrade(connection)


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Run the migrations up to a revision, inside the transaction of the connection."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def revisions() -> set[str]:
    """Return the schemas that this version of the program knows."""
    return {script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions()}


def _is_current(connection: Connection, scripts: ScriptDirectory) -> bool:
    found = MigrationContext.configure(connection).get_current_heads()
    known = {script.revision for script in scripts.walk_revisions()}
    newer = set(found) - known
    if newer:
        raise StoreError(
            f"the course database was made by a newer version of this program "
            f"(its schema is {', '.join(sorted(newer))}, known here: up to {max(known)})",
            "update the course repository; the database was left as it is",
        )
    return set(found) == set(scripts.get_heads())


@contextmanager
def explained(url: URL) -> Generator[None]:
    """Turn what a database raises into one line that names it, without its password."""
    try:
        yield
    except SQLAlchemyError as error:
        raise explain(error, url) from error


def explain(error: SQLAlchemyError, url: URL) -> StoreError:
    """Say an error of a database in one line."""
    cause = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    name = url.database if url.get_backend_name() == "sqlite" else url.render_as_string()
    for sign, saying, hint in SAYINGS:
        if sign in cause.lower():
            return StoreError(f"the course database {name} {saying}", hint)
    first = next(iter(cause.strip().splitlines()), type(error).__name__)
    return StoreError(f"the course database {name}: {first}")
