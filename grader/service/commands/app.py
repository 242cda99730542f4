"""``lab serve`` and ``lab token``: their options, and what each calls."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from grader.course.commands.app import (
    CORES,
    COURSE_FILE,
    ClassFile,
    EngineChoice,
    Isolation,
    gradebook_app,
)
from grader.course.commands.marks.app import LabArgument
from grader.course.private import private
from grader.errors import UsageError
from grader.service.domain.records import Role

Context = Annotated[
    str, typer.Option("--context", metavar="ID", help="the course there, where it has several")
]
lti_app = typer.Typer(
    help="A learning platform (Canvas, Moodle) by LTI 1.3.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)


@lti_app.callback()
def lti() -> None:
    """A learning platform (Canvas, Moodle) by LTI 1.3."""


@lti_app.command()
@private
def key(course: Annotated[Path, typer.Option("--course", metavar="FILE")] = COURSE_FILE) -> None:
    """Make the course's key, once, and say what to register at the platform."""
    from grader.service.commands.lti import make_key

    raise typer.Exit(make_key(course))


@lti_app.command()
@private
def members(
    context: Context = "",
    remove: Annotated[
        bool, typer.Option("--remove", help="take who is gone off the roster; records stay")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show what would change; write nothing")
    ] = False,
    course: Annotated[Path, typer.Option("--course", metavar="FILE")] = COURSE_FILE,
) -> None:
    """Take the platform's students into the roster, by names and roles."""
    from grader.service.commands.platform import take_members

    raise typer.Exit(take_members(course, context, remove=remove, dry_run=dry_run))


@gradebook_app.command()
@private
def send(
    lti: Annotated[bool, typer.Option("--lti", help="to the platform of [service.lti]")] = False,
    labs: Annotated[
        list[str] | None, typer.Option("--lab", metavar="LAB", help="only this; may be repeated")
    ] = None,
    context: Context = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show what would be sent; send nothing")
    ] = False,
    course: Annotated[Path, typer.Option("--course", metavar="FILE")] = COURSE_FILE,
) -> None:
    """Send marks to a learning platform: those that it does not have yet, each once."""
    from grader.service.commands.platform import send_marks

    if not lti:
        raise UsageError("marks are sent where?", "lab gradebook send --lti")
    raise typer.Exit(send_marks(course, tuple(labs or ()), context, dry_run=dry_run))


class ServeRole(StrEnum):
    """What of the service a process does."""

    ALL = "all"
    WEB = "web"
    GRADE = "grade"


def serve(
    course: ClassFile = COURSE_FILE,
    host: Annotated[str, typer.Option(help="to listen at")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free")] = 8000,
    role: Annotated[ServeRole, typer.Option(help="pages, gradings or both")] = ServeRole.ALL,
    engine: Annotated[
        EngineChoice | None, typer.Option(help="default: the course's", show_default=False)
    ] = None,
    device: Annotated[str, typer.Option(metavar="auto|cpu|cuda")] = "auto",
    jobs: Annotated[int, typer.Option(min=1, max=256, help="gradings at a time")] = CORES,
    sandbox: Annotated[
        Isolation, typer.Option(help="none: run the code of a class with your rights")
    ] = Isolation.REQUIRED,
    grace: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="for gradings, once it is to stop")
    ] = 60.0,
) -> None:
    """Take hand-ins, grade them by the hidden suites, and show the verdicts."""
    from grader.service.commands import serve as commands

    order = commands.Order(course, host, port, role, engine, device, jobs, sandbox, grace)
    raise typer.Exit(commands.serve(order))


def token(
    owner: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="a student's id, or one of the staff")
    ] = None,
    role: Annotated[Role, typer.Option(help="what it allows")] = Role.STUDENT,
    everyone: Annotated[
        bool, typer.Option("--all", help="for each student who has none yet, as CSV")
    ] = False,
    revoke: Annotated[
        str | None, typer.Option(metavar="NAME", help="end all tokens and sessions of somebody")
    ] = None,
    course: Annotated[Path, typer.Option("--course", metavar="FILE")] = COURSE_FILE,
) -> None:
    """Make a token for the service, which is shown once, or revoke somebody's."""
    from grader.service.commands import tokens

    asked = [
        name for name, on in (("NAME", owner), ("--all", everyone), ("--revoke", revoke)) if on
    ]
    if len(asked) != 1:
        told = f"{' and '.join(asked)} at once" if asked else "a token for whom?"
        raise UsageError(told, "lab token s17, lab token --all or lab token --revoke s17")
    if revoke:
        raise typer.Exit(tokens.revoke(course, revoke))
    raise typer.Exit(tokens.issue(course, owner, role) if owner else tokens.issue_all(course))


def give_back(
    lab: LabArgument,
    students: Annotated[
        list[str] | None, typer.Argument(metavar="[STUDENT…]", help="all, if none is named")
    ] = None,
    branch: Annotated[
        bool, typer.Option("--branch", help="into each student's repository, on feedback/NN_topic")
    ] = False,
    mail: Annotated[bool, typer.Option("--mail", help="by mail, as [mail] says")] = False,
    addresses: Annotated[
        bool, typer.Option("--addresses", help="a secret address for each, as CSV, shown once")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show what would be given; nothing leaves")
    ] = False,
    again: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="with --mail: once more to this student; may be repeated"),
    ] = None,
    revoke: Annotated[
        bool, typer.Option("--revoke", help="with --addresses: end those that there are")
    ] = False,
    author: Annotated[str, typer.Option(metavar="NAME", help="with --addresses: who says so")] = "",
    course: ClassFile = COURSE_FILE,
) -> None:
    """Give students their reports back, as much of them as each may see."""
    from grader.service.commands import giving

    ways = (("branch", branch), ("mail", mail), ("addresses", addresses))
    asked = [way for way, on in ways if on]
    if len(asked) != 1:
        told = f"--{' and --'.join(asked)} at once" if asked else "given back by which way?"
        raise UsageError(told, "--branch, --mail or --addresses")
    if (again and not mail) or (revoke and not addresses):
        told = "--again belongs to --mail, --revoke to --addresses"
        raise UsageError(told, "leave it out")
    names, repeated = tuple(students or ()), tuple(again or ())
    order = giving.Order(lab, course, asked[0], names, dry_run, repeated, revoke, author)
    raise typer.Exit(giving.give_back(order))


def register(lab: typer.Typer) -> None:
    """Add the commands."""
    lab.add_typer(lti_app, name="lti")
    lab.command()(private(serve))
    lab.command()(private(token))
    lab.command(name="give-back")(private(give_back))
