"""What is unread, work by work and by keys alone, and answers of like wording in groups."""

from dataclasses import dataclass
from typing import Annotated

from grader.course.database.records import Attempt
from grader.course.gradebook.gradebook import Gradebook
from grader.course.reading.rubric import criterion_of
from grader.course.reading.wording import Group
from grader.extras import needs
from grader.labs.lab import Lab
from grader.labs.task import Criterion
from grader.service.adapters.web.desk.addresses import work_address
from grader.service.adapters.web.shared.answers import Told, page, text_of_form
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.adapters.web.shared.visitors import Staff, StaffForm
from grader.service.adapters.web.texts.comments import block
from grader.service.core.door import Visit
from grader.service.core.people.reading import Given, Work
from grader.service.core.people.unread import Line

with needs("service"):
    from fastapi import APIRouter, Form
    from markupsafe import Markup
    from starlette.requests import Request
    from starlette.responses import RedirectResponse, Response

router = APIRouter()


@dataclass(frozen=True, slots=True)
class GroupLine:
    """Answers of like wording on a page: whole, with who gave them."""

    key: str
    wordings: list[Markup]
    members: list[tuple[str, str]]  # student, and the address of the work


@router.get("/reading")
def labs(request: Request, visit: Staff) -> Response:
    """List the labs, with how much of each waits for this reader."""
    site = site_of(request)
    book = site.gradebook()
    found = [(lab, site.unread.lines(visit.who, lab, _counting(book, lab))) for lab in site.labs]
    shown = [(lab, sum(each.waits for each in lines), len(lines)) for lab, lines in found if lines]
    return page(site, "reading.html", visit=visit, labs=shown)


@router.get("/reading/{name}")
def lab(request: Request, visit: Staff, name: str) -> Response:
    """List the work of a lab that counts, what waits first."""
    site = site_of(request)
    chosen = site.desk.lab(name)
    lines = _lines(site, visit, chosen)
    waiting = [each for each in lines if each.waits]
    shown = [
        (each, work_address(chosen, each.student, each.commit))
        for each in (*waiting, *(each for each in lines if not each.waits))
    ]
    return page(site, "reading_lab.html", visit=visit, lab=chosen, lines=shown, count=len(waiting))


@router.post("/reading/{name}/seen")
def seen(
    request: Request,
    visit: StaffForm,
    name: str,
    student: Annotated[str, Form()] = "",
    commit: Annotated[str, Form()] = "",
) -> Response:
    """Note that work was read, and go on to what waits next."""
    site = site_of(request)
    found = site.readers.work(site.desk.lab(name), student, commit)
    site.unread.note(visit.who, found)
    _, after = neighbours(site, visit, found)
    return RedirectResponse(after or f"/reading/{found.lab.number}", 303)


@router.get("/reading/{name}/alike")
def alike(request: Request, visit: Staff, name: str, criterion: str = "") -> Response:
    """Show answers of like wording that this reader has given no points yet."""
    site = site_of(request)
    chosen = site.desk.lab(name)
    wanted = criterion_of(chosen, criterion)
    groups = _groups(site, visit, chosen, wanted)
    lines = [
        GroupLine(
            each.key,
            [block(text) for text in each.wordings],
            [(a.student, work_address(chosen, a.student, a.commit)) for a in each.answers],
        )
        for each in groups
    ]
    return page(site, "alike.html", visit=visit, lab=chosen, criterion=wanted, groups=lines)


@router.post("/reading/{name}/alike")
def decide(
    request: Request,
    visit: StaffForm,
    name: str,
    criterion: Annotated[str, Form()] = "",
    group: Annotated[str, Form()] = "",
    points: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
) -> Response:
    """Give all answers of a group points, each as this reader's own."""
    site = site_of(request)
    chosen = site.desk.lab(name)
    wanted = criterion_of(chosen, criterion)
    groups = _groups(site, visit, chosen, wanted)
    found = next((each for each in groups if each.key == group), None)
    if found is None:
        raise Told(422, "this group is not as it was shown", "open the page anew and look at it")
    why = text_of_form(reason, "") if reason.strip() else ""
    site.unread.decide(visit.who, chosen, wanted.id, found, Given(points, why, False))
    return RedirectResponse(f"/reading/{chosen.number}/alike?criterion={wanted.id}", 303)


def neighbours(site: Site, visit: Visit, work: Work) -> tuple[str, str]:
    """Return the addresses of the work before this one, and of what waits next; "" if none."""
    lines = _lines(site, visit, work.lab)
    at = next((n for n, each in enumerate(lines) if each.student == work.student), None)
    if at is None:
        return "", ""
    turned = [each for each in (*lines[at + 1 :], *lines[:at]) if each.waits]
    before = lines[at - 1] if at else None
    return _address(work.lab, before), _address(work.lab, turned[0] if turned else None)


def _address(lab: Lab, line: Line | None) -> str:
    return work_address(lab, line.student, line.commit) if line else ""


def _lines(site: Site, visit: Visit, lab: Lab) -> list[Line]:
    return site.unread.lines(visit.who, lab, _counting(site.gradebook([lab.name]), lab))


def _groups(site: Site, visit: Visit, lab: Lab, criterion: Criterion) -> list[Group]:
    counting = _counting(site.gradebook([lab.name]), lab)
    return site.unread.groups(visit.who, criterion, lab, counting)


def _counting(book: Gradebook, lab: Lab) -> list[Attempt]:
    """Return the gradings of a lab that count, or wait to, in the order of the roster."""
    marks = [book.marks.get((each.id, lab.name)) for each in book.students]
    counting = [mark.waiting or mark.attempt for mark in marks if mark]
    return [attempt for attempt in counting if attempt is not None]
