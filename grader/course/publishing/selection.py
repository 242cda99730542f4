"""Which labs are meant, out of those of a commit."""

import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.course.publishing.hidden import Files
from grader.errors import LabError, UsageError
from grader.labs.lab import Lab, find_lab

_RANGE = re.compile(r"(\d{1,2})-(\d{1,2})")
_NUMBERED = re.compile(r"(\d{1,2})(?:_[a-z0-9_]+)?")
_LAB_FILE = re.compile(r"labs/(\d\d_[a-z][a-z0-9_]*)/lab\.toml")


def select(texts: Sequence[str], files: Files) -> list[Lab]:
    """Load the labs that are meant by ``1-3``, ``4,5``, ``06`` or ``06_layernorm``, in order.

    Of the labs only their ``lab.toml`` is read; their paths exist in the commit alone.
    """
    wanted = _parts(texts)
    with tempfile.TemporaryDirectory(prefix="inferlab-labs-") as name:
        root = Path(name)
        (root / "labs").mkdir()
        for lab in lab_folders(files):
            (root / "labs" / lab).mkdir()
            (root / "labs" / lab / "lab.toml").write_bytes(files[f"labs/{lab}/lab.toml"])
        found = [_find(text, root) for text in wanted]
    return sorted({lab.name: lab for lab in found}.values(), key=lambda lab: lab.number)


def numbers(texts: Sequence[str]) -> list[int]:
    """Return the numbers that are meant by the same words, in order, of whatever labs there are."""
    meant = [_NUMBERED.fullmatch(part) for part in _parts(texts)]
    if None in meant:
        raise UsageError("only numbers, or whole names, say which labs", "such as 1-3, 4 or 06")
    return sorted({int(match[1]) for match in meant if match})


def lab_folders(paths: Iterable[str]) -> list[str]:
    """Return the names of the labs among the paths of a tree."""
    return sorted(match[1] for path in paths if (match := _LAB_FILE.fullmatch(path)))


def _parts(texts: Sequence[str]) -> list[str]:
    """Split at commas, and write ranges out."""
    parts = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    if not parts:
        raise UsageError("which labs?", "lab publish 1-3 --to REMOTE --branch main")
    return [text for part in parts for text in _expanded(part)]


def _expanded(text: str) -> list[str]:
    match = _RANGE.fullmatch(text)
    if match is None:
        return [text]
    first, last = int(match[1]), int(match[2])
    if first > last:
        raise UsageError(f"{text} counts backwards", f"write {last}-{first}")
    return [str(number) for number in range(first, last + 1)]


def _find(text: str, root: Path) -> Lab:
    try:
        return find_lab(text, root)
    except LabError:
        raise
    except UsageError as error:
        raise UsageError(f"{error.message} in the last commit", error.hint) from None
