"""Answers of like wording: put together so that a person decides once, never decided by this."""

import hashlib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from grader.course.reading.work import lines_of

Key = tuple[str, str]  # student and commit


@dataclass(frozen=True, slots=True)
class Answer:
    """What a student wrote below a prompt."""

    student: str
    commit: str
    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """Answers that differ in white space, case and punctuation at most."""

    answers: tuple[Answer, ...]

    @property
    def wordings(self) -> list[str]:
        """The different texts of it, the first of each as it was written."""
        return list(dict.fromkeys(each.text for each in self.answers))

    @property
    def key(self) -> str:
        """What names just these answers: another one, or one more, is another group."""
        members = sorted((each.student, each.commit, each.text) for each in self.answers)
        return hashlib.sha256(repr(members).encode("utf-8", "replace")).hexdigest()


def answer_in(content: bytes, prompt: str) -> str:
    """Return what stands below a heading of PSEUDOCODE.md, without what asks; "" means all of it.

    Without such a heading there is no answer.
    """
    own: list[str] = []
    inside = not prompt
    for line in lines_of(content):
        if prompt and line.startswith("#"):
            inside = line.lstrip("#").strip().casefold() == prompt.casefold()
        elif inside and not line.startswith(">"):
            own.append(line.rstrip())
    return "\n".join(own).strip()


def normal(text: str) -> str:
    """Return words alone: white space, case and punctuation tell no two answers apart.

    Signs of formulas stay: "a + b" is not "a - b".
    """
    kept = "".join(
        " " if unicodedata.category(sign).startswith("P") and sign not in "-*/%_" else sign
        for sign in unicodedata.normalize("NFKC", text).casefold()
    )
    return " ".join(kept.split())


def grouped(answers: Iterable[Answer]) -> list[Group]:
    """Put answers of like wording together, the largest group first."""
    found: dict[str, list[Answer]] = {}
    for each in answers:
        found.setdefault(normal(each.text), []).append(each)
    groups = [Group(tuple(each)) for each in found.values()]
    return sorted(groups, key=lambda group: -len(group.answers))
