"""Requests as pages show them: what was asked, what was answered, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from grader.course.database.giving.records import HELD_BACK, Asked
from grader.course.database.records import Attempt
from grader.extras import needs
from grader.labs.results import Report
from grader.service.adapters.web.texts.comments import block
from grader.service.core.people.requests import Requests, choices
from grader.service.domain.records import HandIn, Who, number_of
from grader.text import moment_text

with needs("service"):
    from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class AskedLine:
    """A request: texts as they stand there."""

    number: int
    state: str
    student: str
    lab: str
    attempt: str  # the number of a hand-in, "": it came another way
    what: str
    reason: Markup
    asked: str  # when and by whom
    answer: Markup
    answered: str
    changes: Sequence[tuple[str, str, str]]  # what of, old, new
    note: str
    run: str  # the regrade, for the staff

    @property
    def is_open(self) -> bool:
        """Whether it waits for an answer."""
        return self.state == "open"


def asked_line(requests: Requests, who: Who, asked: Asked, zone: tzinfo) -> AskedLine:
    """Return a request as somebody may see it, with moments by the clocks of a zone."""
    request, answer = asked.request, asked.answer
    is_held = requests.is_held(who, asked)
    found = requests.outcome(who, asked)
    text = answer.text if answer and not is_held else ""
    return AskedLine(
        number=request.number,
        state=asked.state,
        student=request.student,
        lab=request.lab,
        attempt=number_of(request.commit),
        what=request.what,
        reason=block(request.reason),
        asked=f"{request.author}, {moment_text(request.made, zone)}",
        answer=block(text),
        answered=f"{answer.author}, {moment_text(answer.made, zone)}" if answer else "",
        changes=found.changes,
        note=f"What came of it is {HELD_BACK}." if is_held and answer else found.note,
        run=(answer.run or "") if answer and who.is_staff else "",
    )


def options(
    requests: Requests,
    who: Who,
    item: HandIn,
    graded: Attempt | None,
    shown: Report | None,
    zone: tzinfo,
) -> dict[str, Any]:
    """Return what a student may ask to be looked at again, and until when; else nothing."""
    if graded is None or shown is None or not requests.may_ask(who, item):
        return {"choices": [], "until": ""}
    until = moment_text(requests.until(item, graded), zone)
    found = choices(shown).items()
    return {
        "choices": [(key, key if test else f"{key} (the whole task)") for key, (_, test) in found],
        "until": until,
    }
