"""The leaderboards of the speed labs."""

from typing import Annotated

from grader.course.database.giving.records import held
from grader.extras import needs
from grader.service.adapters.web.shared.answers import Told, page
from grader.service.adapters.web.shared.site import site_of
from grader.service.adapters.web.shared.visitors import FromForm, Signed
from grader.service.core.board import board, chosen_name
from grader.service.domain.records import Alias, Role
from grader.service.domain.refusals import NotFound
from grader.text import moment_text

with needs("service"):
    from fastapi import APIRouter, Form
    from starlette.requests import Request
    from starlette.responses import RedirectResponse, Response

router = APIRouter()


@router.get("/board/{name}")
def leaderboard(request: Request, visit: Signed, name: str) -> Response:
    """Show how fast those are who chose a name for it."""
    site = site_of(request)
    chosen = site.desk.lab(name)
    aliases = site.store.aliases(chosen.name)
    back = held(site.store.returns.holds()) if aliases else {}
    shown = [alias for alias in aliases if (alias.student, chosen.name) not in back]
    entries = board(shown, site.store.attempts(chosen.name)) if shown else []
    own = next((alias.name for alias in aliases if alias.student == visit.who.name), "")
    rows = [
        (
            place,
            entry.name,
            f"{entry.ratio:.2f}",
            f"{100 * entry.share:.0f} %" if entry.share is not None else "-",
            entry.gpu or "-",
            moment_text(entry.moment, site.course.zone),
        )
        for place, entry in enumerate(entries, 1)
    ]
    may = visit.who.role is Role.STUDENT
    return page(site, "board.html", visit=visit, lab=chosen, rows=rows, own=own, may=may)


@router.post("/board/{name}")
def choose_alias(
    request: Request, visit: FromForm, name: str, alias: Annotated[str, Form()] = ""
) -> Response:
    """Put the student on the board of a lab, or take them off it."""
    site = site_of(request)
    if visit.who.is_staff:
        raise NotFound("only students stand on a board")
    chosen = site.desk.lab(name)
    if not site.store.put_alias(Alias(visit.who.name, chosen.name, chosen_name(alias))):
        raise Told(422, "somebody has this name on the board", "choose another one")
    return RedirectResponse(f"/board/{chosen.number}", 303)
