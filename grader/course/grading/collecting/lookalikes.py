"""Branches that are nobody's, and names that look like the wanted one: a person decides whose.

What people get wrong in a name are case, zeros before a number, and punctuation around it.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.course.config import Course
from grader.course.database.records import Student
from grader.labs.documents.regular import shown

MOST_NAMED = 5  # of one student
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_AROUND = re.compile(r"^[\W_]+|[\W_]+$")


@dataclass(frozen=True, slots=True)
class Stray:
    """A branch of the remote of all that is as the course's pattern has it, and is nobody's."""

    branch: str
    like: tuple[str, ...]  # ids on the roster that its own looks like


def plain(name: str) -> str:
    """Return a name without what people get wrong: that of "-S017" is "s17"."""
    return _AROUND.sub("", _ZEROS.sub("", name.casefold()))


def strays(
    course: Course, students: Iterable[Student], branches: Collection[str]
) -> tuple[Stray, ...]:
    """Return the branches, in order, that fit the course's pattern and are nobody's of a roster."""
    taken: set[str] = set()
    ids: dict[str, list[str]] = {}
    for student in students:
        ids.setdefault(plain(student.id), []).append(student.id)
        if not student.repository:
            taken.add(student.branch)
    pattern, published = _pattern(course.branch, "{id}", ".+?"), _published(course)
    found: list[Stray] = []
    for branch in sorted(branches):
        fits = pattern.fullmatch(branch) if branch not in taken else None
        if fits and not published.fullmatch(branch):
            found.append(Stray(branch, tuple(ids.get(plain(fits[1]), ()))))
    return tuple(found)


def by_student(found: Iterable[Stray]) -> Mapping[str, Sequence[str]]:
    """Return the branches that look like a student's, by id."""
    like: dict[str, list[str]] = {}
    for stray in found:
        for student in stray.like:
            like.setdefault(student, []).append(stray.branch)
    return like


def resembling(student: str, branches: Sequence[str]) -> str:
    """Say that branches look like a student's; "" without any."""
    if not branches:
        return ""
    word, looks = ("branch", "looks") if len(branches) == 1 else ("branches", "look")
    return f"{word} {_some(branches)} {looks} like {student}'s"


def instead(wanted: str, branches: Iterable[str]) -> str:
    """Name the branches that there are instead, to follow "there is no branch …".

    Where some look like the wanted one, wholly or behind the last slash, only these.
    """
    names = sorted(branches)
    like = [name for name in names if _is_like(name, wanted)]
    if like:
        return f"; {_some(like)} {'looks' if len(like) == 1 else 'look'} like it"
    return there_is(names)


def there_is(branches: Sequence[str]) -> str:
    """Name branches, to follow "there is no branch …"; "" without any."""
    return f"; there is {_some(branches)}" if branches else ""


def _some(branches: Sequence[str]) -> str:
    more = f" and {len(branches) - MOST_NAMED} more" if len(branches) > MOST_NAMED else ""
    return ", ".join(map(shown, branches[:MOST_NAMED])) + more


def _is_like(name: str, wanted: str) -> bool:
    parts, others = ([plain(part) for part in text.split("/")] for text in (name, wanted))
    return parts == others or (bool(parts[-1]) and parts[-1] == others[-1])


def _pattern(branch: str, field: str, stands_for: str) -> re.Pattern[str]:
    """Return what fits a course's pattern, in any case; a field that comes again is the same."""
    first, *others = branch.split(field)
    text = re.escape(first)
    for number, part in enumerate(others):
        text += (rf"({stands_for})" if number == 0 else r"\1") + re.escape(part)
    return re.compile(text, re.IGNORECASE | re.DOTALL)


def _published(course: Course) -> re.Pattern[str]:
    return _pattern(course.publish_branch, "{NN}", r"\d\d")
