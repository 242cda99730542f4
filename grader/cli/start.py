"""``lab start``: begin a lab in a folder of one's own, out of what the installation carries."""

from pathlib import Path
from typing import Annotated

import typer

from grader.errors import UsageError
from grader.labs.lab import CARRIED, Lab, all_labs, find_lab
from grader.languages.language import say
from grader.report.facts.next_step import typed
from grader.start.lay import home, is_laid, lay
from grader.text import visible_line


def start(
    lab: Annotated[
        str | None, typer.Argument(metavar="[LAB]", help="such as 3; without it all are listed")
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="bring all but your own files up to date")
    ] = False,
    notebook: Annotated[
        bool, typer.Option("--notebook", help="write the lab's notebook, too")
    ] = False,
) -> None:
    """Lay a lab out in this folder: handout, code to write, prompts and public tests."""
    root = home()
    if lab is None:
        if update or notebook:
            raise UsageError("which lab?", "lab start 3 --update; lab start lists them")
        _list(root)
    else:
        _begin(find_lab(lab, CARRIED), root, update=update, notebook=notebook)


def _list(root: Path) -> None:
    for lab in all_labs(CARRIED):
        here = "  " + say("(here)") if is_laid(lab, root) else ""
        print(f"{lab.number:02d}  {visible_line(say(lab.title))}{here}")
    print("\n" + say("next: lab start NUMBER, in a folder of its own for all of them"))


def _begin(lab: Lab, root: Path, *, update: bool, notebook: bool) -> None:
    done = lay(lab, root, update=update)
    folder = typed(root / "labs" / lab.name)
    title, new = visible_line(lab.title), _count(len(done.added))
    print(say(f"lab {lab.number:02d}, {title}: {new}"))
    for path in done.replaced:
        print("  " + say(f"up to date again: {path}"))
    if notebook:
        from grader.cli.notebook import write_and_open

        write_and_open(lab.name, show=False)
    print(say(f"  read   {folder}/README.md"))
    print(say(f"  write  {', '.join(f'{folder}/{name}' for name in lab.given_out)}"))
    print(say(f"  run    lab grade {lab.number}"))


def _count(number: int) -> str:
    if number == 1:
        return "1 new file"
    return f"{number} new files" if number else "no new files"


def register(lab: typer.Typer) -> None:
    """Add the command, where there is something to lay out."""
    if CARRIED.is_dir():
        lab.command()(start)
