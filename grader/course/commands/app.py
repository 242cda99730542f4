"""The instructors' commands: their options, and what each calls.

What a command needs is imported inside it: it may need packages that not all have.
"""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from grader.course.commands.hosting import course_app
from grader.course.commands.marks import desk, persons
from grader.course.commands.marks.app import (
    COURSE_FILE,
    LabArgument,
    MarksFile,
    gradebook_app,
)
from grader.course.commands.reading import app as reading
from grader.course.commands.rosters import roster_app
from grader.course.private import private
from grader.languages.language import Language

CORES = len(os.sched_getaffinity(0))
NewName = Annotated[str, typer.Argument(metavar="NN_topic", help="such as 16_prefix_cache")]
WrongName = Annotated[str, typer.Argument(metavar="NAME", help="a file of its wrong/ folder")]
Labs = Annotated[list[str], typer.Argument(metavar="LAB…", help="1-3, 4,5 or names of folders")]
Target = Annotated[
    str | None,
    typer.Option("--to", metavar="REMOTE", help="a path, a URL or a name of git remote"),
]
Branch = Annotated[
    str | None, typer.Option(metavar="NAME", help="main; 'lab/{NN}' for a branch per lab")
]
ClassFile = Annotated[Path, typer.Option("--course", metavar="FILE", help="the course")]
PublishFile = Annotated[Path, typer.Option(metavar="FILE", help="title, remote and branch")]
GiveAway = Annotated[
    bool, typer.Option("--give-away", help="also given code that answers a lab that is still open")
]
SomeLabs = Annotated[list[str] | None, typer.Argument(metavar="LAB…", help="all, if none is named")]
CheckOnly = Annotated[bool, typer.Option("--check", help="write nothing; 1 if any is not current")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="prepare, scan and list; push nothing")]
Unproven = Annotated[
    bool, typer.Option("--unproven", help="also labs that fail their model answers, or pass stubs")
]
PublishedIn = Annotated[Language | None, typer.Option("--lang", help="of handouts and stubs")]
WheelFolder = Annotated[Path | None, typer.Option("--wheel", metavar="DIR", help="a wheel instead")]
Withdraw = Annotated[bool, typer.Option("--withdraw", help="take these labs off the branch")]


def new(
    name: NewName,
    manual: Annotated[
        bool, typer.Option("--manual", help="that people grade by a rubric, without a suite")
    ] = False,
) -> None:
    """Write all files of a new lab, with a small example task to replace."""
    from grader.course.commands.author import new_lab

    raise typer.Exit(new_lab(name, manual=manual))


def show_wrong(lab: LabArgument, name: WrongName) -> None:
    """Print a wrong answer as a whole, then its difference to the right one that it edits."""
    from grader.course.commands.author import show_wrong

    raise typer.Exit(show_wrong(lab, name))


def pictures(labs: SomeLabs = None, check: CheckOnly = False) -> None:
    """Draw the pictures of handouts anew, as SVG beside them, and the texts that tell of them."""
    from grader.course.commands.author import draw_pictures

    raise typer.Exit(draw_pictures(labs or (), check))


def translate(
    labs: SomeLabs = None,
    stamp: Annotated[
        bool, typer.Option("--stamp", help="write into translations which English they translate")
    ] = False,
) -> None:
    """List what of the Chinese texts is stale, missing or different; 1 if anything is."""
    from grader.course.commands.translate import translate

    raise typer.Exit(translate(labs or (), stamp=stamp))


def publish(
    labs: Labs,
    to: Target = None,
    branch: Branch = None,
    course: PublishFile = COURSE_FILE,
    dry_run: DryRun = False,
    give_away: GiveAway = False,
    unproven: Unproven = False,
    withdraw: Withdraw = False,
    lang: PublishedIn = None,
    wheel: WheelFolder = None,
) -> None:
    """Commit what students may see of labs to a branch of a remote, proven and without a leak."""
    from grader.course.commands.author import Wish, publish_labs

    how = dry_run, give_away, unproven, withdraw
    wish = Wish(tuple(labs), to, branch, course, *how, language=lang, wheel=wheel)
    raise typer.Exit(publish_labs(wish))


class EngineChoice(StrEnum):
    """Where a class is graded."""

    LOCAL = "local"
    RAY = "ray"


class Isolation(StrEnum):
    """Whether submissions of others may run without a sandbox."""

    REQUIRED = "required"
    NONE = "none"


def collect(
    lab: LabArgument,
    roster: Annotated[
        Path | None,
        typer.Option("--from", metavar="ROSTER", help="CSV: id,name,repository,branch"),
    ] = None,
    late: Annotated[bool, typer.Option("--late", help="what came on the late days, too")] = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="also what was frozen at the deadline")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="repositories at a time")] = 8,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, help="for one repository")
    ] = 120.0,
    size: Annotated[
        int, typer.Option(metavar="MIB", min=1, max=4096, help="of one repository at most")
    ] = 256,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="only tell what would be collected")
    ] = False,
    course: ClassFile = COURSE_FILE,
) -> None:
    """Freeze each student's work as of the deadline."""
    from grader.course.commands import classes

    order = classes.CollectOrder(lab, course, roster, late, refresh, jobs, timeout, size, dry_run)
    raise typer.Exit(classes.collect(order))


def grade_all(
    lab: LabArgument,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="gradings at a time")] = CORES,
    resume: Annotated[bool, typer.Option("--resume", help="go on with the newest run")] = False,
    engine: Annotated[
        EngineChoice | None, typer.Option(help="default: the course's", show_default=False)
    ] = None,
    device: Annotated[str, typer.Option(metavar="auto|cpu|cuda")] = "auto",
    student: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="only this one; may be repeated")
    ] = None,
    retries: Annotated[
        int, typer.Option(min=0, max=20, help="of a grading that failed by our fault")
    ] = 2,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, max=2**63 - 1, help="the same inputs for all")
    ] = None,
    sandbox: Annotated[
        Isolation, typer.Option(help="none: run the code of a class with your rights")
    ] = Isolation.REQUIRED,
    beside: Annotated[
        int | None,
        typer.Option(
            "--per-gpu",
            metavar="N",
            min=1,
            max=64,
            help="gradings on a GPU at a time; timing is alone",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="only tell what would be graded")
    ] = False,
    unrecorded: Annotated[
        bool, typer.Option("--unrecorded", help="grade and show; no mark is another by it")
    ] = False,
    failed: Annotated[
        str, typer.Option(metavar="TEST", help="only work whose newest grading failed this test")
    ] = "",
    outdated: Annotated[
        bool, typer.Option("--outdated", help="only work that another version of the lab graded")
    ] = False,
    on_trial: Annotated[
        str, typer.Option(metavar="REASON", help="count for nothing until that is published")
    ] = "",
    author: Annotated[str, typer.Option(metavar="NAME", help="who regrades on trial")] = "",
    course: ClassFile = COURSE_FILE,
) -> None:
    """Grade what was collected; a kill at any moment costs only what --resume makes again."""
    from grader.course.commands import grading

    order = grading.GradeOrder(
        lab=lab,
        course=course,
        jobs=jobs,
        resume=resume,
        engine=engine,
        device=device,
        students=tuple(student or ()),
        retries=retries,
        seed=seed,
        sandbox=sandbox,
        beside=beside,
        dry_run=dry_run,
        unrecorded=unrecorded,
        failed=failed,
        outdated=outdated,
        on_trial=on_trial,
        author=author,
    )
    raise typer.Exit(grading.grade_all(order))


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a new file, such as week3.tar.gz")],
    course: ClassFile = COURSE_FILE,
) -> None:
    """Write the database, the collected work and the reports of a course to one file."""
    from grader.course.commands import backup as backup_commands

    raise typer.Exit(backup_commands.back_up_course(file, course))


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="what lab backup wrote")],
    course: ClassFile = COURSE_FILE,
) -> None:
    """Bring a course back from a backup, into a folder or database that has none."""
    from grader.course.commands import backup as backup_commands

    raise typer.Exit(backup_commands.restore_course(file, course))


def similarity(
    lab: LabArgument,
    course: MarksFile = COURSE_FILE,
    threshold: Annotated[
        float, typer.Option(min=0.1, max=1.0, help="share of code that two answers have in common")
    ] = 0.6,
    pairs: Annotated[bool, typer.Option("--pairs", help="list pairs, not clusters")] = False,
    corpus: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="answers of others to compare with; repeatable"),
    ] = None,
    json: Annotated[str | None, typer.Option(metavar="FILE", help="- prints it alone")] = None,
    csv: Annotated[str | None, typer.Option(metavar="FILE", help="- prints it alone")] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="pages that compare side by side")
    ] = None,
) -> None:
    """List answers that are alike beyond the stub: students with each other and with solutions."""
    from grader.course.commands.marks import similarity as commands

    order = commands.Order(course, lab, threshold, pairs, tuple(corpus or ()), json, csv, html)
    raise typer.Exit(commands.similarity(order))


def similarity_note(
    lab: LabArgument,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="whose answers")],
    state: Annotated[str, typer.Option(help="open, no matter, to be talked about or confirmed")],
    author: Annotated[str, typer.Option(help="who says it")],
    text: Annotated[str, typer.Option(help="why")],
    course: MarksFile = COURSE_FILE,
) -> None:
    """Note what was decided about answers that are alike; it is kept, and changes no mark."""
    from grader.course.commands.marks import similarity as commands

    raise typer.Exit(commands.note(commands.Word(course, lab, tuple(names), state, author, text)))


def register(lab: typer.Typer) -> None:
    """Add the commands."""
    for command in (new, show_wrong, pictures, translate, publish):
        lab.command()(command)
    lab.command()(private(collect))
    lab.command(name="grade-all")(private(grade_all))
    lab.command()(private(backup))
    lab.command()(private(restore))
    for more in (desk, persons, reading):  # of the gradebook's commands
        more.register()
    lab.add_typer(gradebook_app, name="gradebook")
    lab.add_typer(roster_app, name="roster")
    lab.add_typer(course_app, name="course")
    lab.command()(private(similarity))
    lab.command(name="similarity-note")(private(similarity_note))
