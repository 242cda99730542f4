"""The pictures of handouts: each is drawn by a function and kept as an SVG beside the handout.

``make pictures`` draws them anew, and writes into the handouts what each says to a person who
cannot see it. Where a picture stands in its handout is the author's to choose.
"""

import re
import runpy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import LabError
from grader.labs.documents.pictures import Picture, pictures
from grader.labs.documents.svg import differs, to_svg
from grader.labs.lab import Lab

FOLDER = "pictures"  # of a lab
MOST_BYTES = 60 << 10  # of one SVG: a handout is opened over a network
_SPECIAL = re.compile(r"([\\\[\]_*`<])")


@dataclass(frozen=True, slots=True)
class Change:
    """A file that is not what its pictures make of it; None: it belongs to no picture."""

    file: Path
    text: str | None


def changes(labs: Sequence[Lab]) -> Iterator[Change]:
    """Draw all pictures of labs and give the files that are not current.

    Raises ``LabError`` for a picture that its handout does not show, or that is too large.
    """
    for lab in labs:
        yield from _of(lab)


def page_changes(root: Path) -> Iterator[Change]:
    """Give the pictures of docs/ that are not current; a script draws them as they are."""
    script = root / "docs" / "pictures" / "draw.py"
    for name, draw in runpy.run_path(str(script))["PICTURES"].items():
        file, drawn = script.with_name(name), draw()
        if not file.is_file() or file.read_text(encoding="utf-8") != drawn:
            yield Change(file, drawn)


def apply(change: Change) -> None:
    """Write a file anew, or remove it."""
    if change.text is None:
        change.file.unlink()
        return
    change.file.parent.mkdir(exist_ok=True)
    change.file.write_text(change.text, encoding="utf-8")


def _of(lab: Lab) -> Iterator[Change]:
    before = handout = lab.handout.read_text(encoding="utf-8")
    wanted: set[Path] = set()
    for function in pictures(lab):
        file = lab.folder / FOLDER / f"{function.name}.svg"
        wanted.add(file)
        picture = function()
        drawn = to_svg(picture)
        shown = f"labs/{lab.name}/{FOLDER}/{file.name}"
        if len(drawn.encode()) > MOST_BYTES:
            raise LabError(f"{shown} has {len(drawn):,} bytes", f"{MOST_BYTES:,} are the most")
        if not file.is_file() or differs(file.read_text(encoding="utf-8"), drawn):
            yield Change(file, drawn)
        handout = _told(handout, file.name, picture, lab)
    if differs(before, handout):
        yield Change(lab.handout, handout)
    for file in sorted((lab.folder / FOLDER).glob("*")):
        if file not in wanted:
            yield Change(file, None)


def _told(handout: str, name: str, picture: Picture, lab: Lab) -> str:
    """Put a picture's text into the line that shows it."""
    place = re.compile(rf"!\[(?:\\.|[^\]\\])*\]\({FOLDER}/{re.escape(name)}\)")
    words = _SPECIAL.sub(r"\\\1", " ".join(picture.text.split()))
    told, count = place.subn(lambda _: f"![{words}]({FOLDER}/{name})", handout)
    if count != 1:
        hint = f"put ![]({FOLDER}/{name}) where it belongs, once"
        raise LabError(f"labs/{lab.name}/README.md shows {name} {count} times", hint)
    return told
