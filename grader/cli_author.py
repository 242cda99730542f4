"""``lab new``, ``show-wrong``, ``publish``: from an idea to a branch that students fetch."""

from pathlib import Path
from typing import Annotated

import typer

NewName = Annotated[str, typer.Argument(metavar="NN_topic", help="such as 11_prefix_cache")]
LabArgument = Annotated[str, typer.Argument(metavar="LAB", help="6, 06 or the name of its folder")]
WrongName = Annotated[str, typer.Argument(metavar="NAME", help="a file of its wrong/ folder")]
Labs = Annotated[list[str], typer.Argument(metavar="LAB…", help="1-3, 4,5 or names of folders")]
Target = Annotated[
    str | None,
    typer.Option("--to", metavar="REMOTE", help="a path, a URL or a name of git remote"),
]
Branch = Annotated[
    str | None, typer.Option(metavar="NAME", help="main; 'lab/{NN}' for a branch per lab")
]
CourseFile = Annotated[Path, typer.Option(metavar="FILE", help="title, remote and branch")]
GiveAway = Annotated[
    bool, typer.Option("--give-away", help="also given code that answers a lab that is still open")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="prepare, scan and list; push nothing")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(new)
    app.command()(show_wrong)
    app.command()(publish)


def new(name: NewName) -> None:
    """Write all files of a new lab, with a small example task to replace."""
    from grader.course.author import new_lab

    raise typer.Exit(new_lab(name))


def show_wrong(lab: LabArgument, name: WrongName) -> None:
    """Print a wrong answer as a whole, then its difference to the right one that it edits."""
    from grader.course.author import show_wrong

    raise typer.Exit(show_wrong(lab, name))


def publish(
    labs: Labs,
    to: Target = None,
    branch: Branch = None,
    course: CourseFile = Path("course.toml"),
    dry_run: DryRun = False,
    give_away: GiveAway = False,
) -> None:
    """Commit what students may see of labs to a branch of a remote, after a leak scan."""
    from grader.course.author import Wish, publish_labs

    wish = Wish(tuple(labs), to, branch, course, dry_run, give_away)
    raise typer.Exit(publish_labs(wish))
