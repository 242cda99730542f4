"""A student's report at its secret address: to be read without signing in, and nothing else."""

from grader.course.gradebook.marks import Mark
from grader.course.gradebook.pages import points_of
from grader.extras import needs
from grader.service.adapters.web.shared.answers import SVG_POLICY, page, too_often
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.adapters.web.shared.visitors import client_address
from grader.service.adapters.web.texts.handouts import KINDS
from grader.service.adapters.web.texts.reports import Drawn, drawn
from grader.service.core.door import hashed
from grader.service.domain.records import Role, Who
from grader.service.domain.refusals import NotFound

with needs("service"):
    from fastapi import APIRouter
    from markupsafe import Markup
    from starlette.requests import Request
    from starlette.responses import Response

router = APIRouter(prefix="/given")
# The address is all that one needs: it goes to no other site, and into no search engine.
HEADERS = {"referrer-policy": "no-referrer", "x-robots-tag": "noindex, nofollow, noarchive"}


@router.get("/{secret}")
def given(request: Request, secret: str) -> Response:
    """Show the report of whom the address is, as it counts now."""
    site = site_of(request)
    mark = _mark(site, request, secret)
    is_held = site.views.held(Who(mark.student, Role.STUDENT), mark.student, mark.lab)
    report = "" if is_held else _drawn(site, mark, f"/given/{secret}/pictures").html
    answer = page(
        site,
        "given.html",
        visit=None,
        lab=site.desk.lab(mark.lab),
        student=mark.student,
        held_back=is_held,
        mark=points_of(mark),
        why=mark.why,
        report=Markup(report),
    )
    answer.headers.update(HEADERS)
    return answer


@router.get("/{secret}/pictures/{at}.svg")
def picture(request: Request, secret: str, at: int) -> Response:
    """Give a picture of the report."""
    site = site_of(request)
    mark = _mark(site, request, secret)
    is_held = site.views.held(Who(mark.student, Role.STUDENT), mark.student, mark.lab)
    pictures = () if is_held else _drawn(site, mark, "").pictures
    if not 0 <= at < len(pictures):
        raise NotFound("there is no such picture")
    headers = {**HEADERS, "content-security-policy": SVG_POLICY}
    content = pictures[at].encode("utf-8", "replace")
    return Response(content, media_type=KINDS[".svg"], headers=headers)


def _mark(site: Site, request: Request, secret: str) -> Mark:
    """Return the mark that an address is of; who tries many of them is slowed down."""
    key = client_address(request)
    wait = site.limits.failures.wait(key)
    if wait:
        raise too_often(wait)
    found = site.store.returns.address(hashed(secret))
    if found is None:
        site.limits.failures.take(key)
        raise NotFound("there is no such page")
    wait = site.limits.people.take(f"given {found.hash}")
    if wait:
        raise too_often(wait)
    lab = site.desk.lab(found.lab).name
    mark = site.gradebook([lab], found.student).marks.get((found.student, lab))
    if mark is None:
        raise NotFound("there is no such page")
    return mark


def _drawn(site: Site, mark: Mark, folder: str) -> Drawn:
    if mark.attempt is None:
        return Drawn("", ())
    who = Who(mark.student, Role.STUDENT)
    return drawn(site.views.report(who, mark.attempt), folder)
