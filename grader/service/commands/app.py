"""``lab serve`` and ``lab token``: their options, and what each calls."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from grader.course.commands.app import CORES, COURSE_FILE, ClassFile, EngineChoice, Isolation
from grader.course.private import private
from grader.errors import UsageError
from grader.service.domain.records import Role


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


def register(lab: typer.Typer) -> None:
    """Add the commands."""
    lab.command()(private(serve))
    lab.command()(private(token))
