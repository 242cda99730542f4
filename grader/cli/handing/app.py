"""The commands by which a student hands in: their options, and what each calls."""

from enum import StrEnum
from typing import Annotated

import typer

from grader.cli.terminal.options import FILE, LabArgument, Lang
from grader.errors import UsageError


class Origin(StrEnum):
    """What a student hands in from."""

    TERMINAL = "terminal"
    NOTEBOOK = "notebook"


def submit(
    lab: LabArgument,
    yes: Annotated[bool, typer.Option("--yes", help="without asking first")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="say what it would do, and stop")] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="at a service: for the verdict")
    ] = True,
    git: Annotated[
        bool, typer.Option("--git", help="commit and push, also where you are logged in")
    ] = False,
    origin: Annotated[Origin, typer.Option(hidden=True)] = Origin.TERMINAL,
) -> None:
    """Hand in one lab: at the service you are logged in at, else by a commit and a push."""
    from grader.client.logins import current

    login = None if git else current()
    if login is None:
        from grader.cli.handing.by_git import submit

        raise typer.Exit(submit(lab, yes=yes, plan=plan))
    from grader.cli.handing.at_service import Wish, hand_in

    raise typer.Exit(hand_in(Wish(lab, yes, plan, wait, origin), login))


def login(
    url: Annotated[
        str | None, typer.Argument(metavar="[URL]", help="of the course's grading service")
    ] = None,
    out: Annotated[bool, typer.Option("--out", help="forget the token kept here")] = False,
) -> None:
    """Log in at a course's grading service with your token, or show where you are."""
    from grader.cli.handing import at_service

    if out and url is None:
        raise UsageError("which service?", "lab login --out URL")
    raise typer.Exit(at_service.log_out(url or "") if out else at_service.log_in(url))


def attempts(
    lab: LabArgument,
    fetch: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=1, help="bring its files back")
    ] = None,
    show: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=1, help="its verdict, as it stands")
    ] = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar=FILE, help="a new folder for --fetch")
    ] = None,
) -> None:
    """List what you handed in of a lab at the service, and bring files back."""
    from grader.cli.handing import at_service

    if fetch is not None:
        raise typer.Exit(at_service.fetch(lab, fetch, output))
    raise typer.Exit(at_service.show(show) if show is not None else at_service.attempts(lab))


def questions(
    lab: LabArgument,
    student: Annotated[
        str, typer.Option(metavar="ID", help="your id in the course, by which numbers are drawn")
    ] = "",
    lang: Lang = None,
) -> None:
    """Write the lab's questions into QUESTIONS.md, or add new ones; what you typed stays."""
    from grader.cli.handing.questions import Wish, write_page

    raise typer.Exit(write_page(Wish(lab, student, lang)))


def register(lab: typer.Typer) -> None:
    """Add the commands."""
    lab.command()(submit)
    lab.command()(login)
    lab.command()(attempts)
    lab.command()(questions)
