"""Lay a lab out in a folder, which then is like a published tree, without the judge.

What a student writes is never written over. All else of a lab can be had anew: an update brings
handouts, tests and given code to what the installation carries.
"""

import json
import os
import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from grader.errors import UsageError
from grader.labs.lab import Lab
from grader.labs.published import FILE

MANIFEST = "labs.json"  # beside the tree: the files of each lab, by its name
MAKEFILE = "Makefile"
SETTING = b"PYTHON ?= "
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Laid:
    """What was done for one lab: paths in the folder that were not there, or not like this."""

    added: tuple[str, ...]
    replaced: tuple[str, ...]


def home() -> Path:
    """Return the folder that labs were laid out in, here or above; else the working directory."""
    here = Path.cwd()
    places = (place for place in (here, *here.parents) if _is_ours(place))
    return next(places, here)


def files_of(lab: Lab) -> dict[str, bytes]:
    """Return the files of a lab that is carried, by path, as they are to lie in a folder."""
    manifest = json.loads((lab.root.parent / MANIFEST).read_text(encoding="utf-8"))
    found = {str(path): (lab.root / path).read_bytes() for path in manifest[lab.name]}
    if MAKEFILE in found:
        found[MAKEFILE] = b"%s%b\n%b" % (SETTING, _interpreter(), found[MAKEFILE])
    return found


def is_laid(lab: Lab, root: Path) -> bool:
    """Tell whether a lab was laid out in a folder."""
    return (root / "labs" / lab.name / "lab.toml").is_file()


def lay(lab: Lab, root: Path, *, update: bool = False) -> Laid:
    """Write what is not there; with ``update`` also what differs, but for a student's own files.

    Where anything else is there, ``UsageError`` names it, and nothing is written.
    """
    files = files_of(lab)
    own = {f"labs/{lab.name}/{name}" for name in lab.handed_in}
    try:
        there = {path: _read(root / path) for path in files if os.path.lexists(root / path)}
        other = [path for path, content in there.items() if not _same(path, content, files)]
        if not (update and _is_ours(root)):
            _refuse([path for path in other if path in own], lab, root)
            _refuse_others([path for path in other if path not in own], lab, root)
        added = [path for path in files if path not in there]
        replaced = [path for path in other if path not in own]
        for path in (*added, *replaced):
            _write(root / path, files[path])
    except OSError as error:
        hint = "what was written so far stays; run it again once that is mended"
        raise UsageError(f"{error.filename}: {error.strerror}", hint) from None
    return Laid(tuple(added), tuple(replaced))


def _is_ours(root: Path) -> bool:
    return (root / FILE).is_file() and (root / "labs").is_dir()


def _refuse(work: list[str], lab: Lab, root: Path) -> None:
    if not work:
        return
    verb = "is" if len(work) == 1 else "are"
    number = lab.number
    hint = f"nothing was written. lab grade {number} goes on with it"
    if _is_ours(root):
        hint = (
            f"nothing was written. lab grade {number} goes on with it; "
            f"lab start {number} --update brings all but your own files up to date"
        )
    raise UsageError(f"{', '.join(work)} {verb} there already, with work in it", hint)


def _refuse_others(other: list[str], lab: Lab, root: Path) -> None:
    if not other:
        return
    more = f" and {len(other) - SHOWN} more" if len(other) > SHOWN else ""
    verb = "is" if len(other) == 1 else "are"
    hint = "nothing was written. Begin in an empty folder"
    if _is_ours(root):
        hint = f"nothing was written. lab start {lab.number} --update replaces it"
    named = f"{', '.join(other[:SHOWN])}{more}"
    raise UsageError(f"{named} {verb} there already, and not as this version has it", hint)


def _read(file: Path) -> bytes | None:
    """Return what a file holds; None for what is no file, and so never as it should be."""
    return file.read_bytes() if file.is_file() and not file.is_symlink() else None


def _same(path: str, content: bytes | None, files: dict[str, bytes]) -> bool:
    """Compare; which Python a Makefile names is the business of its folder."""
    if path == MAKEFILE and content is not None:
        return _unset(content) == _unset(files[path])
    return content == files[path]


def _unset(makefile: bytes) -> list[bytes]:
    return [line for line in makefile.splitlines() if not line.startswith(SETTING)]


def _interpreter() -> bytes:
    """Return this Python as make and its shell read it."""
    return os.fsencode(shlex.quote(sys.executable).replace("$", "$$").replace("#", "\\#"))


def _write(file: Path, content: bytes) -> None:
    """Write a file whole or not at all, in place of a link or a file and never through it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".start-", delete=False) as new:
        try:
            new.write(content)
            new.flush()
            os.chmod(new.name, 0o644)
            os.replace(new.name, file)
        except BaseException:
            os.unlink(new.name)
            raise
