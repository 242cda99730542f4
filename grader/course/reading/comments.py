"""Comments: what each is about, what may be said, and which stand."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grader.course.config import Course
from grader.course.database.records import Comment
from grader.course.reading.work import lines_of
from grader.course.rules.canned import MOST_COMMENT
from grader.errors import UsageError
from grader.labs.lab import Lab
from grader.text import visible_line


@dataclass(frozen=True, slots=True)
class Place:
    """What a comment is about: all of the work, a task, or a line of a file."""

    task: str = ""
    file: str = ""
    line: int | None = None

    @property
    def shown(self) -> str:
        """For example "task norm" or "llama.py, line 3"; "" for all of the work."""
        if self.file:
            return visible_line(f"{self.file}, line {self.line}", 200)
        return visible_line(f"task {self.task}", 200) if self.task else ""


@dataclass(frozen=True, slots=True)
class Said:
    """A comment, and the one that took it back, if any did."""

    comment: Comment
    withdrawn: Comment | None = None


def said(comments: Iterable[Comment], commit: str | None = None) -> list[Said]:
    """Return the comments on a work, or on all, oldest first, with what became of each."""
    found = [each for each in comments if commit in (None, each.commit)]
    taken: dict[int | None, Comment] = {each.withdraws: each for each in found}
    return [Said(each, taken.get(each.number)) for each in found if each.withdraws is None]


def standing(comments: Iterable[Comment], commit: str | None = None) -> list[Comment]:
    """Return the comments that nobody took back: what a student reads."""
    return [each.comment for each in said(comments, commit) if each.withdrawn is None]


def place_of(comment: Comment) -> Place:
    """Return what a comment is about."""
    return Place(comment.task, comment.file, comment.line)


def checked_place(
    lab: Lab, files: Mapping[str, bytes], task: str = "", file: str = "", line: str = ""
) -> Place:
    """Return a place that there is in a work; ``line`` "" is none. Raises UsageError."""
    if task:
        if file or line:
            raise UsageError("a comment is on a task or on a line, not on both", "leave out one")
        return Place(lab.task(task).id)
    if not line:
        return Place()
    name = file or lab.handed_in[0]
    if name not in files:
        told = f"{visible_line(name)} is not among the files of this work"
        raise UsageError(told, f"its files: {', '.join(files) or 'none are left'}")
    most = len(lines_of(files[name]))
    if not (line.isascii() and line.isdecimal() and len(line) < 10 and 1 <= int(line) <= most):
        raise UsageError(f"{visible_line(line)!r} is no line of {name}", f"it has 1 to {most}")
    return Place("", name, int(line))


def checked_text(course: Course, text: str, canned: str = "") -> str:
    """Return the words of a comment: one that the course has ready, with ``text`` below it."""
    if canned and canned not in course.canned:
        known = ", ".join(course.canned) or "none: write them into [canned] of course.toml"
        raise UsageError(f"there is no canned comment {canned!r}", f"there are: {known}")
    own = text.replace("\r\n", "\n").strip()
    words = "\n\n".join(part for part in (course.canned.get(canned, ""), own) if part)
    if not words:
        raise UsageError("a comment needs words", "write some, or choose a canned comment")
    if len(words) > MOST_COMMENT:
        raise UsageError(f"a comment has at most {MOST_COMMENT} characters", "split it in two")
    return words


def open_comment(comments: Iterable[Comment], number: int) -> Comment:
    """Return the comment that may be taken back; raises UsageError if there is none."""
    for each in said(comments):
        if each.comment.number == number:
            if each.withdrawn is not None:
                by = visible_line(each.withdrawn.author)
                raise UsageError(f"comment {number} was withdrawn by {by} already")
            return each.comment
    raise UsageError(f"there is no comment {number}", "lab gradebook comments lists them")
