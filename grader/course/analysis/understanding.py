"""All that the analysis of a lab tells: its items, and the gaps between public and hidden tests."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.course.analysis.items import Gap, Item, gaps_of, items_of
from grader.course.gradebook.gradebook import Gradebook


@dataclass(frozen=True, slots=True)
class Understanding:
    """What a class understood of a lab, and did not."""

    items: Sequence[Item]  # most failed first
    gaps: Sequence[Gap]  # the widest first


def understanding(book: Gradebook, lab: str) -> Understanding:
    """Analyse what a class handed in of a lab."""
    return Understanding(items_of(book, lab), gaps_of(book, lab))
