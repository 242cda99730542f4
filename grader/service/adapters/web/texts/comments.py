"""Comments as pages show them: to students those that stand, to the staff all."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import tzinfo

from grader.course.database.records import Comment
from grader.course.reading.comments import Place, Said, place_of
from grader.extras import needs
from grader.text import moment_text, visible

with needs("service"):
    from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class CommentLine:
    """A comment in a list; ``withdrawn`` says by whom it was taken back, and why."""

    number: int
    author: str
    moment: str
    text: Markup
    place: Place
    withdrawn: str


def comment_lines(said: Iterable[Said], zone: tzinfo, *, to_staff: bool) -> list[CommentLine]:
    """Return comments as a page shows them to somebody, oldest first."""
    return [_line(each, zone) for each in said if to_staff or each.withdrawn is None]


def block(text: str) -> Markup:
    """Return a text of some lines."""
    return Markup("<br>").join(visible(text).split("\n"))


def _line(each: Said, zone: tzinfo) -> CommentLine:
    word = each.comment
    return CommentLine(
        word.number or 0,
        word.author,
        moment_text(word.made, zone),
        block(word.text),
        place_of(word),
        _taken_back(each.withdrawn, zone) if each.withdrawn else "",
    )


def _taken_back(word: Comment, zone: tzinfo) -> str:
    return f"withdrawn by {word.author}, {moment_text(word.made, zone)}: {word.text}"
