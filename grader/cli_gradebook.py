"""``lab gradebook`` and ``lab similarity``: options, and what is printed.

The course package is imported inside the commands: a student's installation lacks what it needs.
"""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from grader.errors import UsageError

app = typer.Typer(
    help="Marks of a class: show, export, compare, override.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
CourseFile: TypeAlias = Annotated[
    Path, typer.Option("--course", metavar="FILE", help="default: course.toml here")
]
COURSE = Path("course.toml")


def register(lab: typer.Typer) -> None:
    """Add the commands to the program."""
    lab.add_typer(app, name="gradebook")
    lab.command()(similarity)


@app.callback(invoke_without_command=True)
def gradebook(
    context: typer.Context,
    course: CourseFile = COURSE,
    labs: Annotated[
        list[str] | None, typer.Option("--lab", metavar="LAB", help="only this; may be repeated")
    ] = None,
    student: Annotated[
        str | None, typer.Option(metavar="ID", help="one student, with where the marks come from")
    ] = None,
    csv: Annotated[str | None, typer.Option(metavar="FORM", help="long or wide")] = None,
    canvas: Annotated[bool, typer.Option("--canvas", help="CSV for Canvas")] = False,
    gradescope: Annotated[
        bool, typer.Option("--gradescope", help="a results.json per student, into the folder -o")
    ] = False,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="default: the screen")
    ] = "-",
    html: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="pages of the class and its students")
    ] = None,
    diff: Annotated[
        tuple[str, str] | None, typer.Option(metavar="RUN RUN", help="what a regrade changes")
    ] = None,
) -> None:
    """Show the marks of a class, or write them to files."""
    if context.invoked_subcommand is not None:
        context.obj = course
        return
    from grader.course import gradebook_commands as commands

    forms = [f"--csv {csv}"] if csv is not None else []
    forms += [name for name, on in (("--canvas", canvas), ("--gradescope", gradescope)) if on]
    forms += ["--diff"] if diff else []
    if len(forms) > 1:
        raise UsageError(f"{' and '.join(forms)} at once", "ask for one of them")
    if diff:
        raise typer.Exit(commands.show_diff(course, *diff))
    order = commands.Order(course, tuple(labs or ()), forms[0] if forms else "", output, html)
    raise typer.Exit(commands.show_student(order, student) if student else commands.book(order))


@app.command()
def override(
    context: typer.Context,
    student: Annotated[str, typer.Argument(metavar="STUDENT", help="as in the roster")],
    lab: Annotated[str, typer.Argument(metavar="LAB", help="6, 06 or the name of its folder")],
    points: Annotated[
        str, typer.Argument(metavar="POINTS", help="0 to 100; none takes an override back")
    ],
    author: Annotated[str, typer.Option(metavar="NAME", help="who says so")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="why; it stands beside the mark")],
    course: CourseFile = COURSE,
) -> None:
    """Set a mark by hand: it stays through regrades, with who set it and why."""
    from grader.course import gradebook_commands as commands

    # --course may stand before or behind the word override.
    file = course if course != COURSE else context.obj or COURSE
    word = commands.Word(student, lab, points, author, reason)
    raise typer.Exit(commands.override(file, word))


def similarity(
    lab: Annotated[str, typer.Argument(metavar="LAB", help="6, 06 or the name of its folder")],
    course: CourseFile = COURSE,
    threshold: Annotated[
        float, typer.Option(min=0.1, max=1.0, help="share of code that two answers have in common")
    ] = 0.6,
    json: Annotated[str | None, typer.Option(metavar="FILE", help="- prints it alone")] = None,
) -> None:
    """List answers that are alike beyond the stub: students with each other and with solutions."""
    from grader.course import similarity_commands

    raise typer.Exit(similarity_commands.similarity(course, lab, threshold, json))
