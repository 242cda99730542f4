"""``lab gradebook student-data`` and ``forget``: all of one student, given out or deleted."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from grader.course.commands.marks.app import (
    COURSE_FILE,
    Author,
    MarksFile,
    Reason,
    StudentArgument,
    course_of,
    gradebook_app,
)
from grader.course.private import private
from grader.errors import UsageError

UNKNOWN = "lab gradebook lists the students"
MOST_NAMED = 10  # files, on a screen
Logs = Annotated[
    list[Path] | None,
    typer.Option("--log", metavar="FILE", help="a log of the service's; may be repeated"),
]


@private
def student_data(
    context: typer.Context,
    student: StudentArgument,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="a ZIP archive, a new file")],
    log: Logs = None,
    course: MarksFile = COURSE_FILE,
) -> None:
    """Write all that is kept of one student to an archive, and nothing of others."""
    raise typer.Exit(give(course_of(context, course), student, to, log or []))


@private
def forget(
    context: typer.Context,
    student: StudentArgument,
    author: Author,
    reason: Reason,
    backups: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="with backups, also there; may be repeated"),
    ] = None,
    log: Logs = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show what would be deleted; delete nothing")
    ] = False,
    course: MarksFile = COURSE_FILE,
) -> None:
    """Delete all that is kept of one student; that somebody was forgotten stays, not who."""
    order = Forget(
        course_of(context, course), student, author, reason, backups or [], log or [], dry_run
    )
    raise typer.Exit(forget_student(order))


@dataclass(frozen=True, slots=True)
class Forget:
    """Who is to be forgotten, as typed."""

    course: Path
    student: str
    author: str
    reason: str
    backups: list[Path]
    logs: list[Path]
    dry_run: bool


def give(course_file: Path, id: str, to: Path, logs: list[Path]) -> int:
    """Write the archive; raises UsageError where nobody knows the student."""
    from grader.course.commands.marks.book import open_store
    from grader.course.config import load_course
    from grader.course.persons.giving import data_of
    from grader.files import check_writable, write_file

    if to.exists():
        raise UsageError(f"{to} exists already", "name a new file")
    check_writable(str(to))
    course = load_course(course_file)
    with open_store(course) as store:
        given = data_of(course, store, id, logs)
    if not given.rows:
        raise UsageError(f"nothing is kept of {id!r}", UNKNOWN)
    write_file(to, given.data)
    rows = sum(given.rows.values())
    print(f"{to}: {given.files} files, {rows} rows of {len(given.rows)} tables")
    print(
        "note: reports tell what hidden tests said and drew, also before a deadline",
        file=sys.stderr,
    )
    return 0


def forget_student(order: Forget) -> int:
    """Forget a student; 1 if files that nobody here may change still name them."""
    from grader.course.commands.marks.book import check_said, open_store
    from grader.course.config import load_course
    from grader.course.persons.copies import forget_in_backups
    from grader.course.persons.forgetting import begin, end, forget, forget_in_logs, wish_of

    check_said(order.author, order.reason)
    course = load_course(order.course)
    with open_store(course) as store:
        wish = wish_of(course, store, order.student, order.author, order.reason)
        if not order.dry_run:
            begin(course, wish)
        copies = forget_in_backups(order.backups, wish, dry_run=order.dry_run)
        logs = [] if order.dry_run else forget_in_logs(order.logs, wish)
        done = forget(order.course, course, store, wish, dry_run=order.dry_run)
    if done.is_nothing and not (copies.changed or logs or wish.resumed):
        end(course)
        raise UsageError(
            f"nothing is kept of {order.student!r}", "lab gradebook lists the students"
        )
    if not order.dry_run:
        end(course)
    would = "would be " if order.dry_run else ""
    for table, count in done.rows.items():
        print(f"{table}: {count} {'row' if count == 1 else 'rows'} {would}deleted")
    print(f"in rows of others: {done.named} texts {would}freed of the name")
    print(f"work and results: {len(done.files)} folders and files {would}deleted")
    changed = [*done.lists, *logs, *(path.name for path in copies.changed)]
    print(f"{would}written anew: {', '.join(changed) or 'nothing'}")
    return _tell_left([*done.left, *copies.strange])


def _tell_left(left: list[Path]) -> int:
    """Name what still names the person; 1 if there is any."""
    for path in left[:MOST_NAMED]:
        print(f"still names the person: {path}", file=sys.stderr)
    if left:
        many = f"{len(left)} files of others" if len(left) > 1 else "1 file of others"
        print(f"{many} still: read them, and decide; nothing here changes them", file=sys.stderr)
    return 1 if left else 0


def register() -> None:
    """Add the commands."""
    gradebook_app.command("student-data")(student_data)
    gradebook_app.command()(forget)
