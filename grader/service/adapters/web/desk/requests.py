"""Requests on the web: students ask and withdraw, staff answer."""

from typing import Annotated

from grader.course.database.giving.records import Request as Wish
from grader.extras import needs
from grader.service.adapters.web.shared.answers import Told, page, points_of_form
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.adapters.web.shared.visitors import FromForm, Signed, StaffForm
from grader.service.adapters.web.texts.asked import asked_line
from grader.service.core.people.requests import Again, Reply
from grader.service.domain.records import number_of

with needs("service"):
    from fastapi import APIRouter, Form
    from starlette.requests import Request
    from starlette.responses import RedirectResponse, Response

router = APIRouter()
MOST_ENDED = 100  # requests that have ended, on a page


@router.get("/requests")
def requests(request: Request, visit: Signed) -> Response:
    """List a student's own requests; for the staff all that are open, the oldest first."""
    site, who = site_of(request), visit.who
    wishes, zone = site.requests, site.course.zone
    found = site.store.returns.asked(None if who.is_staff else who.name)
    ended = [each for each in reversed(found) if each.answer is not None]
    return page(
        site,
        "requests.html",
        visit=visit,
        open=[asked_line(wishes, who, each, zone) for each in found if each.answer is None],
        ended=[asked_line(wishes, who, each, zone) for each in ended[:MOST_ENDED]],
        more=max(len(ended) - MOST_ENDED, 0),
    )


@router.post("/attempts/{count}/requests")
def ask(
    request: Request,
    visit: FromForm,
    count: int,
    choice: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
) -> Response:
    """Ask for a task or a test of an attempt to be looked at again."""
    site = site_of(request)
    item = site.views.hand_in(visit.who, count)
    site.requests.ask(visit.who, item, choice, reason)
    return RedirectResponse(f"/attempts/{item.number}#requests", 303)


@router.post("/requests/{number}/withdraw")
def withdraw(request: Request, visit: FromForm, number: int) -> Response:
    """Take a request back."""
    return _to_attempt(site_of(request).requests.withdraw(visit.who, number))


@router.post("/requests/{number}/answer")
def answer(
    request: Request,
    visit: StaffForm,
    number: int,
    text: Annotated[str, Form()] = "",
    again: Annotated[str, Form()] = "",
    points: Annotated[str, Form()] = "",
) -> Response:
    """Answer a request, and let the attempt be graded again or correct the mark."""
    site = site_of(request)
    wish = site.requests.find(visit.who, number).request
    if again not in tuple(Again):
        raise Told(422, "an attempt is graded again by the same seed or another one")
    reply = Reply(text, Again(again), points_of_form(points), _mark(site, wish))
    device = site.device(site.desk.lab(wish.lab))
    return _to_attempt(site.requests.answer(visit.who, number, reply, device))


def _mark(site: Site, wish: Wish) -> float | None:
    found = site.gradebook([wish.lab]).marks.get((wish.student, wish.lab))
    return found.points if found else None  # who has left the roster has no mark


def _to_attempt(wish: Wish) -> Response:
    count = number_of(wish.commit)
    return RedirectResponse(f"/attempts/{count}#requests" if count else "/requests", 303)
