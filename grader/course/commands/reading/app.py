"""Commands of ``lab gradebook`` for people who read: their options, and what each calls."""

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

Commit = Annotated[
    str,
    typer.Option(metavar="COMMIT", help="which work; its first characters (default: what counts)"),
]
Task = Annotated[str, typer.Option(metavar="TASK", help="on this task alone")]


@private
def comment(
    context: typer.Context,
    student: StudentArgument,
    lab: LabArgument,
    author: Author,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="what the student reads")] = "",
    canned: Annotated[
        str, typer.Option(metavar="NAME", help="a comment of [canned] in course.toml, above TEXT")
    ] = "",
    task: Task = "",
    line: Annotated[
        str, typer.Option(metavar="LINE", help="on this line: 12 of the code, or PSEUDOCODE.md:12")
    ] = "",
    commit: Commit = "",
    withdraw: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="take this comment back; TEXT says why")
    ] = None,
    course: MarksFile = COURSE_FILE,
) -> None:
    """Say something of a student's work: of all of it, a task or a line. Nothing is deleted."""
    from grader.course.commands.reading import reading

    order = reading.Order(course_of(context, course), student, lab, author, commit)
    words = reading.Words(text, canned, task, line, withdraw)
    raise typer.Exit(reading.comment(order, words))


@private
def comments(
    context: typer.Context,
    lab: LabArgument,
    student: Annotated[str, typer.Option(metavar="ID", help="one student's")] = "",
    course: MarksFile = COURSE_FILE,
) -> None:
    """List what was said of work in a lab, with what was withdrawn, oldest first."""
    from grader.course.commands.reading import reading

    raise typer.Exit(reading.comments(course_of(context, course), lab, student))


@private
def points(
    context: typer.Context,
    student: StudentArgument,
    lab: LabArgument,
    task: Annotated[str, typer.Argument(metavar="TASK", help="as lab.toml names it")],
    value: Annotated[
        str, typer.Argument(metavar="POINTS", help="0 to those of the task; none takes them back")
    ],
    author: Author,
    reason: Reason,
    commit: Commit = "",
    course: MarksFile = COURSE_FILE,
) -> None:
    """Give a task of a student's work points by hand: they stay through regrades of that work."""
    from grader.course.commands.reading import reading

    order = reading.Order(course_of(context, course), student, lab, author, commit)
    raise typer.Exit(reading.points(order, task, value, reason))


@private
def score(
    context: typer.Context,
    student: StudentArgument,
    lab: LabArgument,
    criterion: Annotated[
        str, typer.Argument(metavar="CRITERION", help="its id in [[rubric]] of lab.toml")
    ],
    value: Annotated[str, typer.Argument(metavar="POINTS", help="0 to those of the criterion")],
    author: Author,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="why, for the staff")] = "",
    settle: Annotated[
        bool, typer.Option("--settle", help="as the last word, where readers differ")
    ] = False,
    commit: Commit = "",
    course: MarksFile = COURSE_FILE,
) -> None:
    """Give points for one criterion of a lab's rubric; once settled they enter the mark."""
    from grader.course.commands.reading import reading

    order = reading.Order(course_of(context, course), student, lab, author, commit)
    raise typer.Exit(reading.score(order, criterion, value, reason, settles=settle))


def register() -> None:
    """Add the commands."""
    for command in (comment, comments, points, score):
        gradebook_app.command()(command)
