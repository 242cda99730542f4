"""What a class did not understand of a lab: contracts and tests by who failed them, on the web."""

from grader.course.analysis.items import Kind
from grader.course.analysis.items_table import WIDE_GAP, items_csv
from grader.course.analysis.understanding import Understanding
from grader.extras import needs
from grader.labs.lab import Lab
from grader.service.adapters.web.shared.answers import page
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.adapters.web.shared.visitors import Staff
from grader.service.domain.refusals import NotFound

with needs("service"):
    from fastapi import APIRouter
    from starlette.requests import Request
    from starlette.responses import Response

router = APIRouter()
MOST_GAPS = 50


@router.get("/class/{name}/items")
def items(request: Request, visit: Staff, name: str, kind: str = "") -> Response:
    """Show contracts, or tests where there are none or they are asked for, most failed first."""
    site = site_of(request)
    lab = site.desk.lab(name)
    found = _understanding(site, lab)
    kinds = {item.key.kind for item in found.items}
    chosen = Kind.TEST if kind == Kind.TEST or Kind.CONTRACT not in kinds else Kind.CONTRACT
    shown = [item for item in found.items if item.key.kind is chosen]
    wide = [gap for gap in found.gaps if gap.size >= WIDE_GAP]
    return page(
        site,
        "items.html",
        visit=visit,
        lab=lab,
        kind=chosen.value,
        kinds=sorted(each.value for each in kinds),
        failed=[item for item in shown if item.missed],
        rest=len(shown) - sum(bool(item.missed) for item in shown),
        gaps=wide[:MOST_GAPS],
        more_gaps=max(len(wide) - MOST_GAPS, 0),
    )


@router.get("/class/{name}/items.csv")
def items_file(request: Request, visit: Staff, name: str) -> Response:
    """Give all items as a spreadsheet reads them."""
    site = site_of(request)
    lab = site.desk.lab(name)
    content = items_csv(lab.name, _understanding(site, lab).items)
    headers = {"content-disposition": f'attachment; filename="{lab.name}-items.csv"'}
    return Response(content, media_type="text/csv; charset=utf-8", headers=headers)


def _understanding(site: Site, lab: Lab) -> Understanding:
    book = site.gradebook([lab.name])
    if lab.name not in book.handed_in:
        raise NotFound("nothing of the lab was handed in")
    return site.overviews.understanding(book, lab.name)
