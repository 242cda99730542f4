"""The commands for a class: collect what students handed in, grade all of it, keep it safe."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

CORES = len(os.sched_getaffinity(0))
LabArgument = Annotated[str, typer.Argument(metavar="LAB", help="6, 06 or the name of its folder")]
CourseFile = Annotated[Path, typer.Option("--course", metavar="FILE", help="the course")]
COURSE_FILE = Path("course.toml")


class EngineChoice(StrEnum):
    """Where a class is graded."""

    LOCAL = "local"
    RAY = "ray"


class Isolation(StrEnum):
    """Whether submissions of others may run without a sandbox."""

    REQUIRED = "required"
    NONE = "none"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(collect)
    app.command(name="grade-all")(grade_all)
    app.command()(backup)
    app.command()(restore)


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
    course: CourseFile = COURSE_FILE,
) -> None:
    """Freeze each student's work as of the deadline."""
    from grader.course import class_commands

    order = class_commands.CollectOrder(lab, course, roster, late, refresh, jobs, timeout, size)
    raise typer.Exit(class_commands.collect(order))


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
    course: CourseFile = COURSE_FILE,
) -> None:
    """Grade what was collected; a kill at any moment costs only what --resume makes again."""
    from grader.course import class_commands

    order = class_commands.GradeOrder(
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
    )
    raise typer.Exit(class_commands.grade_all(order))


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a new file, such as week3.tar.gz")],
    course: CourseFile = COURSE_FILE,
) -> None:
    """Write the database, the collected work and the reports of a course to one file."""
    from grader.course import backup_commands

    raise typer.Exit(backup_commands.back_up_course(file, course))


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="what lab backup wrote")],
    course: CourseFile = COURSE_FILE,
) -> None:
    """Bring a course back from a backup, into a folder or database that has none."""
    from grader.course import backup_commands

    raise typer.Exit(backup_commands.restore_course(file, course))
