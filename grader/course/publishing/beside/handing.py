"""How work is handed in, as the README of a student's tree says it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from grader.course.config import Assistants, Course, LateRule
from grader.course.publishing.beside.hand_in import TEXTS
from grader.course.rules.hosts import Kind
from grader.labs.lab import Lab
from grader.languages.language import Language, say, spoken
from grader.text import moment_text, number, visible_line


@dataclass(frozen=True, slots=True)
class Terms:
    """Where work is handed in, until when, and with whose help; empty where no course says so."""

    branch: str = ""  # from which it is collected, with {id} for the student's
    address: str = ""  # of the course's grading service
    deadlines: Mapping[int, datetime] = field(default_factory=dict[int, datetime])
    late: LateRule = field(default_factory=LateRule)
    zone: tzinfo = UTC  # in which moments are shown
    assistants: Assistants = Assistants.TUTOR
    workflows: tuple[Kind, ...] = ()  # hosts that run the public tests at each push


NO_TERMS = Terms()


def terms_of(course: Course | None) -> Terms:
    """Return what a course says of handing in."""
    if course is None:
        return Terms()
    address, dates = course.service.address, course.deadlines
    said = course.late, course.zone, course.assistants
    return Terms(course.branch, address, dates, *said, workflows=course.workflows)


def hand_in(terms: Terms, labs: Sequence[Lab]) -> str:
    """Return the section as Markdown, in the language that is spoken."""
    text = _served(terms, labs[0]) if terms.address else _plain(terms, labs[0])
    text = "\n".join([text, *(_read_by_people(lab) for lab in labs if lab.is_manual)])
    due = [(lab, terms.deadlines[lab.number]) for lab in labs if lab.number in terms.deadlines]
    if not due:
        return text
    rows = [f"| {lab.number:02d} | {moment_text(moment, terms.zone)} |" for lab, moment in due]
    head = say("| lab | until |")
    return "\n".join([text, "", head, "| --- | --- |", *rows, "", _late(terms.late)])


def _read_by_people(lab: Lab) -> str:
    names = ", ".join(f"`{name}`" for name in lab.files)
    return say(f"Of lab {lab.number:02d} people read {names}: no test gives points.")


def _served(terms: Terms, lab: Lab) -> str:
    _, served = TEXTS[spoken()]
    return served.format(number=lab.number, address=visible_line(terms.address).replace("`", ""))


def _plain(terms: Terms, lab: Lab) -> str:
    place = "from the branch that your instructor names"
    if terms.branch:
        shown = visible_line(terms.branch).replace("`", "")
        place = f"from the branch `{shown}`"
        if "{id}" in terms.branch:
            place = f"from the branch `{shown}`, with your own id"
    plain, _ = TEXTS[spoken()]
    return plain.format(number=lab.number, place=say(place))


def _late(rule: LateRule) -> str:
    """Say what lateness costs, by the course's rule."""
    told: list[str] = []
    minutes = int(rule.grace.total_seconds() // 60)
    if minutes:
        told.append(f"Up to {minutes} minutes late is on time.")
    if rule.slip_per_lab:
        whole = f"{rule.slip_days} late days in all labs that cost nothing"
        told.append(f"You have {whole}, {rule.slip_per_lab} of them in one lab at most.")
    if not rule.days:
        told.append("Later work is not counted.")
    elif rule.steps:
        kept = ", ".join(f"{number(100 * share)} %" for share in rule.steps)
        told.append(f"Late work keeps {kept} of its points, by the day; then it is not counted.")
    elif rule.per_day:
        cost = f"{number(100 * rule.per_day)} % of its points for each day that has begun"
        told.append(f"Later work loses {cost}; after {rule.days} days it is not counted.")
    else:
        told.append(f"Late work keeps its points for {rule.days} days; then it is not counted.")
    told.append("Your own extension, if you have one, goes before this.")
    return ("" if spoken() is Language.CHINESE else " ").join(map(say, told))
