"""``lab gradebook`` and its commands: their options, and what each calls.

What a command needs is imported inside it: it may need packages that not all have.
"""

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from grader.course.private import private
from grader.errors import UsageError

COURSE_FILE = Path("course.toml")
LabArgument = Annotated[str, typer.Argument(metavar="LAB", help="6, 06 or the name of its folder")]
MarksFile = Annotated[
    Path, typer.Option("--course", metavar="FILE", help="default: course.toml here")
]
StudentArgument = Annotated[str, typer.Argument(metavar="STUDENT", help="as in the roster")]
RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="a run on trial: lab grade-all --on-trial says which")
]
Author = Annotated[str, typer.Option(metavar="NAME", help="who says so")]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="why; it stands beside the mark")]

gradebook_app = typer.Typer(
    help="Marks of a class: show, export, compare, override.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@gradebook_app.callback(invoke_without_command=True)
@private
def gradebook(
    context: typer.Context,
    course: MarksFile = COURSE_FILE,
    labs: Annotated[
        list[str] | None, typer.Option("--lab", metavar="LAB", help="only this; may be repeated")
    ] = None,
    student: Annotated[
        str | None, typer.Option(metavar="ID", help="one student, with where the marks come from")
    ] = None,
    csv: Annotated[str | None, typer.Option(metavar="FORM", help="long or wide")] = None,
    canvas: Annotated[bool, typer.Option("--canvas", help="CSV for Canvas")] = False,
    moodle: Annotated[bool, typer.Option("--moodle", help="CSV for Moodle")] = False,
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
    policy: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="what the rules of another course.toml would change"),
    ] = None,
    trial: Annotated[
        str | None, typer.Option(metavar="RUN", help="what a regrade on trial would change")
    ] = None,
    nobody_loses: Annotated[
        bool, typer.Option("--nobody-loses", help="with these two: 1 if somebody would lose by it")
    ] = False,
) -> None:
    """Show the marks of a class, or write them to files."""
    if context.invoked_subcommand is not None:
        context.obj = course
        return
    from grader.course.commands.marks import book as commands

    forms = [f"--csv {csv}"] if csv is not None else []
    others = (("--canvas", canvas), ("--moodle", moodle), ("--gradescope", gradescope))
    forms += [name for name, on in others if on]
    forms += ["--diff"] if diff else []
    forms += ["--policy"] if policy else []
    forms += ["--trial"] if trial else []
    if len(forms) > 1:
        raise UsageError(f"{' and '.join(forms)} at once", "ask for one of them")
    if nobody_loses and policy is None and trial is None:
        raise UsageError("nobody loses by what?", "name it: --policy FILE or --trial RUN")
    if diff:
        raise typer.Exit(commands.show_diff(course, *diff))
    if trial:
        from grader.course.commands.marks.trials import show_trial

        raise typer.Exit(show_trial(course, trial, nobody_loses=nobody_loses))
    if policy:
        from grader.course.commands.marks.policies import WhatIf, show_policy

        if html is not None or output != "-":
            raise UsageError("--policy shows what would change on the screen", "leave out the rest")
        asked = WhatIf(course, policy, tuple(labs or ()), student, nobody_loses)
        raise typer.Exit(show_policy(asked))
    order = commands.Order(course, tuple(labs or ()), forms[0] if forms else "", output, html)
    raise typer.Exit(commands.show_student(order, student) if student else commands.book(order))


@gradebook_app.command()
@private
def override(
    context: typer.Context,
    student: StudentArgument,
    lab: LabArgument,
    points: Annotated[
        str, typer.Argument(metavar="POINTS", help="0 to 100; none takes an override back")
    ],
    author: Author,
    reason: Reason,
    course: MarksFile = COURSE_FILE,
) -> None:
    """Set a mark by hand: it stays through regrades, with who set it and why."""
    from grader.course.commands.marks import book as commands

    word = commands.Word(student, lab, points, author, reason)
    raise typer.Exit(commands.override(course_of(context, course), word))


@gradebook_app.command()
@private
def items(
    context: typer.Context,
    lab: LabArgument,
    tests: Annotated[
        bool, typer.Option("--tests", help="by tests, where contracts say it otherwise")
    ] = False,
    who: Annotated[bool, typer.Option("--who", help="also who failed each")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="all of both, with who failed what")] = False,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="default: the screen")
    ] = "-",
    course: MarksFile = COURSE_FILE,
) -> None:
    """Show what a class did not understand of a lab: what most failed, and how telling that is."""
    from grader.course.commands.marks import items as commands

    if output != "-" and not csv:
        raise UsageError("only --csv goes to a file", "lab gradebook items LAB --csv -o FILE")
    order = commands.Order(course_of(context, course), lab, tests, who, csv, output)
    raise typer.Exit(commands.items(order))


@gradebook_app.command()
@private
def extend(
    context: typer.Context,
    student: StudentArgument,
    lab: LabArgument,
    until: Annotated[
        str,
        typer.Argument(metavar="UNTIL", help="2026-10-08T23:59:00+02:00; none takes it back"),
    ],
    author: Author,
    reason: Reason,
    course: MarksFile = COURSE_FILE,
) -> None:
    """Give a student more time in a lab, beside [extensions] of course.toml."""
    from grader.course.commands.marks import grants

    wish = grants.Wish(student, lab, until, False, author, reason)
    raise typer.Exit(grants.grant(course_of(context, course), wish))


@gradebook_app.command()
@private
def waive(
    context: typer.Context,
    student: StudentArgument,
    lab: LabArgument,
    author: Author,
    reason: Reason,
    take_back: Annotated[
        bool, typer.Option("--take-back", help="lateness costs again what it does by course.toml")
    ] = False,
    course: MarksFile = COURSE_FILE,
) -> None:
    """Let lateness cost a student nothing in a lab, and no slip days."""
    from grader.course.commands.marks import grants

    wish = grants.Wish(student, lab, None, take_back, author, reason)
    raise typer.Exit(grants.grant(course_of(context, course), wish))


@gradebook_app.command()
@private
def publish(
    context: typer.Context,
    run: RunArgument,
    author: Author,
    reason: Reason,
    course: MarksFile = COURSE_FILE,
) -> None:
    """Let a regrade on trial count."""
    _decide(course_of(context, course), run, "published", author, reason)


@gradebook_app.command()
@private
def discard(
    context: typer.Context,
    run: RunArgument,
    author: Author,
    reason: Reason,
    course: MarksFile = COURSE_FILE,
) -> None:
    """Let a regrade on trial never count; it stays in the database."""
    _decide(course_of(context, course), run, "discarded", author, reason)


def _decide(course: Path, run: str, kind: str, author: str, reason: str) -> NoReturn:
    from grader.course.commands.marks import trials
    from grader.course.database.records import Kind

    word = trials.Word(run, Kind(kind), author, reason)
    raise typer.Exit(trials.say(course, word))


def course_of(context: typer.Context, course: Path) -> Path:
    """Return the course's file: --course may stand before or behind the name of a command."""
    return course if course != COURSE_FILE else context.obj or COURSE_FILE
