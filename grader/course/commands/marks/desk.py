"""More commands of ``lab gradebook``: what is held back, and what students ask for.

What a command needs is imported inside it: it may need packages that not all have.
"""

from typing import Annotated

import typer

from grader.course.commands.marks.app import (
    COURSE_FILE,
    Author,
    LabArgument,
    MarksFile,
    Reason,
    StudentArgument,
    course_of,
    gradebook_app,
)
from grader.course.private import private
from grader.errors import UsageError


@private
def hold(
    context: typer.Context,
    student: StudentArgument,
    lab: LabArgument,
    author: Author,
    reason: Reason,
    course: MarksFile = COURSE_FILE,
) -> None:
    """Let no report or mark of a student's lab go out, by whatever way."""
    from grader.course.commands.marks import holds

    word = holds.Word(student, lab, True, author, reason)
    raise typer.Exit(holds.say(course_of(context, course), word))


@private
def release(
    context: typer.Context,
    student: StudentArgument,
    lab: LabArgument,
    author: Author,
    reason: Reason,
    course: MarksFile = COURSE_FILE,
) -> None:
    """Let what was held back go out again."""
    from grader.course.commands.marks import holds

    word = holds.Word(student, lab, False, author, reason)
    raise typer.Exit(holds.say(course_of(context, course), word))


@private
def holds(
    context: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="also what was released again, word by word")
    ] = False,
    course: MarksFile = COURSE_FILE,
) -> None:
    """List what is held back, by whom and why."""
    from grader.course.commands.marks import holds as commands

    raise typer.Exit(commands.show(course_of(context, course), everything=everything))


@private
def requests(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="also those that have ended")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="all of them as a table")] = False,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="default: the screen")
    ] = "-",
    course: MarksFile = COURSE_FILE,
) -> None:
    """List what students ask to be looked at again, the oldest first."""
    from grader.course.commands.marks import requests as commands

    if output != "-" and not csv:
        raise UsageError("only --csv goes to a file", "lab gradebook requests --csv -o FILE")
    file = course_of(context, course)
    code = commands.export(file, output) if csv else commands.show(file, everything=everything)
    raise typer.Exit(code)


@private
def ask(
    context: typer.Context,
    student: StudentArgument,
    lab: LabArgument,
    task: Annotated[str, typer.Option(metavar="ID", help="the task that it is about")],
    author: Author,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="what the student says")],
    test: Annotated[str, typer.Option(metavar="ID", help="one test of it")] = "",
    course: MarksFile = COURSE_FILE,
) -> None:
    """Write down what a student asked for in person or by mail, of the attempt that counts."""
    from grader.course.commands.marks import requests as commands

    wish = commands.Wish(student, lab, task, test, author, reason)
    raise typer.Exit(commands.ask(course_of(context, course), wish))


@private
def answer(
    context: typer.Context,
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="as requests lists it")],
    author: Author,
    text: Annotated[str, typer.Option(metavar="TEXT", help="what the student reads")],
    points: Annotated[
        str, typer.Option(metavar="POINTS", help="correct the mark of the lab: 0 to 100")
    ] = "",
    run: Annotated[
        str, typer.Option(metavar="RUN", help="a regrade on trial that the attempt is in")
    ] = "",
    course: MarksFile = COURSE_FILE,
) -> None:
    """Answer a request, once; what it changes stands beside it, old and new."""
    from grader.course.commands.marks import requests as commands

    reply = commands.Reply(number, author, text, points, run)
    raise typer.Exit(commands.answer(course_of(context, course), reply))


def register() -> None:
    """Add the commands."""
    for command in (hold, release, holds, requests, ask, answer):
        gradebook_app.command()(command)
