"""``lab roster``: a list of students that another program exported becomes the course's roster."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.course.commands.marks.app import COURSE_FILE, MarksFile
from grader.course.private import private
from grader.errors import UsageError

if TYPE_CHECKING:
    from grader.course.rosters.people import People

roster_app = typer.Typer(
    help="The course's list of students, by the exports of others.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)


@roster_app.callback()
def roster() -> None:
    """The course's list of students, by the exports of others."""


@roster_app.command("import")
@private
def take(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="of Canvas, of Moodle, or any CSV with id, name")
    ],
    id_from: Annotated[
        str,
        typer.Option(
            "--id", metavar="login|number|canvas|email", help="what becomes the id of a student"
        ),
    ] = "",
    branch: Annotated[
        str,
        typer.Option(
            "--branch-pattern", metavar="PATTERN", help="of who is new; default: the course's"
        ),
    ] = "",
    remove: Annotated[
        bool, typer.Option("--remove", help="take who is gone off the roster; records stay")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show what would change; write nothing")
    ] = False,
    course: MarksFile = COURSE_FILE,
) -> None:
    """Take a list of students into the roster: show who is new, who is gone, what changed."""
    raise typer.Exit(import_roster(Import(course, file, id_from, branch, remove, dry_run)))


@dataclass(frozen=True, slots=True)
class Import:
    """A list to take in, as asked for."""

    course: Path
    file: Path
    id_from: str
    branch: str
    remove: bool
    dry_run: bool


def import_roster(order: Import) -> int:
    """Take a list into the roster; raises UsageError where a row of it cannot be used."""
    from grader.course.config import is_branch, load_course
    from grader.course.rosters.people import IDS, read_people
    from grader.text import visible_line

    if order.id_from and order.id_from not in IDS:
        raise UsageError(f"--id {visible_line(order.id_from, 40)}", f"one of {', '.join(IDS)}")
    plain = order.branch.replace("{id}", "0")
    if order.branch and (not is_branch(plain) or plain == order.branch):
        told = f"--branch-pattern {visible_line(order.branch, 60)!r} is no pattern of branches"
        raise UsageError(told, "such as student/{id}")
    target = load_course(order.course).roster
    before = read_people(target) if target.exists() else None
    return take_people(order, target, read_people(order.file, order.id_from), before)


def take_people(order: Import, target: Path, newer: "People", before: "People | None") -> int:
    """Take people into the roster ``target``, which told of others ``before``."""
    from grader.course.rosters.importing import compare, write_roster
    from grader.text import visible_line

    for note in newer.notes:
        print(note)
    for name, list_ in ((order.file, newer), (target, before)):
        for problem in list_.problems if list_ else ():
            print(f"error: {visible_line(name.name, 80)}, {problem}", file=sys.stderr)
        if list_ and list_.problems:
            many = f"{len(list_.problems)} rows of {visible_line(name.name, 80)} cannot be used"
            raise UsageError(many, "correct them and run this again; nothing was written")
    found = compare(before.persons if before else (), newer.persons, order.branch)
    for line in found.lines:
        print(line)
    kept = () if order.remove else found.gone
    changed = found.new or found.changed or (found.gone and order.remove) or before is None
    if changed and not order.dry_run:
        write_roster(target, (*found.all, *kept), before)
    counts = f"{len(found.new)} new, {len(found.gone)} gone, {len(found.changed)} changed"
    print(f"{counts}, {found.same} as before: {_done(order, target, bool(changed))}")
    if found.gone and not order.remove:
        print("who is gone stays on the roster: --remove takes them off, and keeps their records")
    return 0


def _done(order: Import, target: Path, changed: bool) -> str:
    if not changed:
        return "nothing to write"
    return "nothing was written (--dry-run)" if order.dry_run else f"{target} is written"
