"""Model answers to a lab's questions, once nobody can hand the lab in any more."""

from dataclasses import dataclass
from typing import Any

from grader.course.grants import closing
from grader.extras import needs
from grader.labs.lab import Lab
from grader.languages.language import Language, spoken
from grader.questions.definitions import in_chinese, read_questions
from grader.questions.drawn import draw_all
from grader.questions.judging import right_answer
from grader.questions.key import key_file, read_key
from grader.service.adapters.web.shared.answers import page
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.adapters.web.shared.visitors import Signed
from grader.service.adapters.web.texts.handouts import rendered
from grader.service.domain.records import Who
from grader.service.domain.refusals import NotFound

with needs("service"):
    from fastapi import APIRouter
    from markupsafe import Markup
    from starlette.requests import Request
    from starlette.responses import Response

router = APIRouter()
FILE = "ANSWERS.md"  # beside a model answer, to the questions that no program judges


@dataclass(frozen=True, slots=True)
class Answered:
    """A question as it was drawn for who reads it, its answer, and why."""

    asks: str
    answer: str
    why: str


@router.get("/labs/{name}/answers")
def answers(request: Request, visit: Signed, name: str) -> Response:
    """Show what is right, and why; the numbers are those that were drawn for the reader."""
    site = site_of(request)
    lab = site.desk.lab(name)
    if not are_shown(site, visit.who, lab):
        raise NotFound("there are no answers to see here")
    return page(
        site,
        "answers.html",
        visit=visit,
        lab=lab,
        judged=_judged(lab, visit.who.name),
        others=Markup(_others(lab)),
    )


def are_shown(site: Site, who: Who, lab: Lab) -> bool:
    """Tell whether somebody may see the model answers of a lab, and there are any."""
    if not any(file.is_file() for file in (key_file(lab), lab.solutions / FILE)):
        return False
    closed = closing(site.desk.terms(), lab.number)
    is_over = closed is not None and site.now() > closed
    return who.is_staff or (is_over and not site.course.hide_answers)


def _judged(lab: Lab, student: str) -> list[Answered]:
    key = read_key(lab)
    if key is None:
        return []
    questions = read_questions(lab.folder)
    words: dict[str, Any] = {}
    if spoken() is Language.CHINESE:
        words = {item.id: item for item in in_chinese(lab.folder, questions)}
    found: list[Answered] = []
    for asked in draw_all(lab.name, questions, student):
        id = asked.question.id
        shown = asked.worded(words.get(id, asked.question))
        found.append(Answered(shown.asks, right_answer(asked, key, shown), key.why(id)))
    return found


def _others(lab: Lab) -> str:
    file = lab.solutions / FILE
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return rendered(lab, text, Language.ENGLISH).html
