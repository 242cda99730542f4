"""How work is handed in, as the README of a student's tree says it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from grader.course.config import Course, LateRule
from grader.labs.lab import Lab
from grader.text import moment_text, number, visible_line

PLAIN = """\
`make submit LAB={number}` commits and pushes the two files of a lab after asking you, the first
time for your id, too, and says whether they have arrived; nothing of yours goes to the branch that
you got this from. Collected are `labs/NN_topic/topic.py` and its `PSEUDOCODE.md`, {place}.
Your work is dated by the last commit that changes one of the two; other commits change nothing, and
handing in again is always possible."""


@dataclass(frozen=True, slots=True)
class Terms:
    """From which branch work is collected, and until when; empty where no course says so."""

    branch: str = ""  # with {id} for the student's
    deadlines: Mapping[int, datetime] = field(default_factory=dict[int, datetime])
    late: LateRule = field(default_factory=LateRule)


NO_TERMS = Terms()


def terms_of(course: Course | None) -> Terms:
    """Return what a course says of handing in."""
    return Terms(course.branch, course.deadlines, course.late) if course else Terms()


def hand_in(terms: Terms, labs: Sequence[Lab]) -> str:
    """Return the section as Markdown."""
    place = "from the branch that your instructor names"
    if terms.branch:
        shown = visible_line(terms.branch).replace("`", "")
        named = ", with your own id" if "{id}" in terms.branch else ""
        place = f"from the branch `{shown}`{named}"
    text = PLAIN.format(number=labs[0].number, place=place)
    due = [(lab, terms.deadlines[lab.number]) for lab in labs if lab.number in terms.deadlines]
    if not due:
        return text
    rows = [f"| {lab.number:02d} | {moment_text(moment)} |" for lab, moment in due]
    return "\n".join([text, "", "| lab | until |", "| --- | --- |", *rows, "", _late(terms.late)])


def _late(rule: LateRule) -> str:
    if not rule.days:
        return "Later work is not counted. Your own extension, if you have one, goes before this."
    cost = f"{number(100 * rule.per_day)} % of its points for each day that has begun"
    return f"Later work loses {cost}; after {rule.days} days it is not counted."
