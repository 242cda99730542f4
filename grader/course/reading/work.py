"""Work as people read it: files by lines, wherever it came from."""

from collections.abc import Iterable

from grader.course.config import Course
from grader.course.database.records import Frozen
from grader.labs.lab import Lab


def lines_of(content: bytes) -> list[str]:
    """Return a file's lines, as Python counts them; what is no UTF-8 is replaced."""
    text = content.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines


def collected(course: Course, lab: Lab, commit: str, frozen: Iterable[Frozen]) -> dict[str, bytes]:
    """Read the files of a student's work from where it was collected; never a link."""
    paths = [each.path for each in frozen if each.commit == commit and each.path]
    if not paths:
        return {}
    places = {name: course.folder / paths[-1] / name for name in lab.handed_in}
    there = {name: at for name, at in places.items() if at.is_file() and not at.is_symlink()}
    return {name: file.read_bytes() for name, file in there.items()}
