"""The page of what waits and what is being graded."""

from grader.extras import needs
from grader.service.adapters.web.shared.answers import page
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.adapters.web.shared.visitors import Signed
from grader.service.adapters.web.texts.paces import pace_line
from grader.service.core.outlook import Pace
from grader.service.domain.records import State

with needs("service"):
    from fastapi import APIRouter
    from starlette.requests import Request
    from starlette.responses import Response

router = APIRouter()
MOST_SHOWN = 500  # of what waits, on a page


@router.get("/queue")
def queue(request: Request, visit: Signed) -> Response:
    """Show what waits: places and labs, and names to the staff alone."""
    site = site_of(request)
    outlook = site.views.outlook()
    paces = [each for each in outlook.paces.values() if _is_used(site, each)]
    return page(
        site,
        "queue.html",
        visit=visit,
        waiting=[(outlook.places[item.number], item) for item in outlook.waiting[:MOST_SHOWN]],
        running=outlook.running[:MOST_SHOWN],
        more=max(len(outlook.waiting) - MOST_SHOWN, 0),
        counts=(len(outlook.waiting), len(outlook.running)),
        paces=[pace_line(each) for each in paces],
        again=_again(site) if visit.who.is_staff else 0,
    )


def _again(site: Site) -> int:
    counts = site.store.regradings.counts()
    return sum(counts.get(state, 0) for state in (State.WAITING, State.RUNNING))


def _is_used(site: Site, pace: Pace) -> bool:
    used = {site.device(lab) for lab in site.labs}
    return pace.device in used or bool(pace.waiting or pace.running or pace.median)
