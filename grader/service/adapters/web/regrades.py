"""Regrades on the web: asked for, watched, looked at, published or discarded."""

from dataclasses import dataclass
from typing import Annotated

from grader.course.database.records import Decision, Kind
from grader.course.gradebook.pages import points_of
from grader.extras import needs
from grader.service.adapters.web.shared.answers import Told, page, text_of_form
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.adapters.web.shared.visitors import Staff, StaffForm
from grader.service.core.regrades import Regrade, Shift
from grader.service.domain.records import State, number_of
from grader.text import moment_text, number

with needs("service"):
    from fastapi import APIRouter, Form
    from starlette.requests import Request
    from starlette.responses import RedirectResponse, Response

router = APIRouter()
AGAIN = "again"
KINDS = ("down", "up", "same")  # of changes, in the order in which they are shown


@dataclass(frozen=True, slots=True)
class RunLine:
    """A regrade in a list: texts as they stand there."""

    run: str
    whose: str
    said: str
    state: str


@dataclass(frozen=True, slots=True)
class WorkLine:
    """Work of a student of which verdicts differ, or which could not be graded."""

    name: str
    attempt: str  # the number of a hand-in, "": it came another way
    points: str
    tasks: tuple[str, ...]
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShiftLine:
    """A student in the difference."""

    student: str
    before: str
    after: str
    gain: str
    kind: str  # one of KINDS
    by_hand: bool
    work: tuple[WorkLine, ...]


@router.get("/runs/{run}")
def regrade(request: Request, visit: Staff, run: str) -> Response:
    """Show a regrade: how far it is, and what counting it changes."""
    site = site_of(request)
    found = site.regrades.of_run(run)
    shifts = site.regrades.shifts(found, site.books.overrides())
    lines = sorted(map(_shift_line, shifts), key=lambda line: KINDS.index(line.kind))
    return page(
        site,
        "run.html",
        visit=visit,
        regrade=found,
        lab=next((lab for lab in site.labs if lab.name == found.run.lab), None),
        line=run_line(site, found),
        ended=_said(site, found.ended) if found.ended else "",
        lines=lines,
        counts={kind: sum(line.kind == kind for line in lines) for kind in KINDS},
        graded=found.count(State.GRADED),
        held=[(item, *_name(item.commit)) for item in site.regrades.held(found)],
    )


@router.post("/regrades")
def ask(
    request: Request,
    visit: StaffForm,
    lab: Annotated[str, Form()],
    reason: Annotated[str, Form()] = "",
    student: Annotated[str, Form()] = "",
) -> Response:
    """Grade a lab once more, of one student or of all."""
    site = site_of(request)
    chosen = site.desk.lab(lab)
    why = text_of_form(reason, "a regrade needs a reason")
    run = site.regrades.ask(visit.who, chosen, site.device(chosen), why, student)
    return RedirectResponse(f"/runs/{run}", 303)


@router.post("/runs/{run}")
def decide(
    request: Request,
    visit: StaffForm,
    run: str,
    what: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
) -> Response:
    """Publish a regrade or discard it, with a reason, or grade what is held of it again."""
    site = site_of(request)
    found = site.regrades.of_run(run)
    if what == AGAIN:
        site.regrades.again(found)
    elif what in (Kind.PUBLISHED, Kind.DISCARDED):
        why = text_of_form(reason, "a decision needs a reason")
        site.regrades.decide(visit.who, found, Kind(what), why)
    else:
        raise Told(422, "a regrade is published or discarded")
    return RedirectResponse(f"/runs/{run}", 303)


def run_line(site: Site, regrade: Regrade) -> RunLine:
    """Return a regrade as lists show it."""
    ended = regrade.total - regrade.count(State.WAITING, State.RUNNING)
    state = f"{ended} of {regrade.total} graded" if regrade.is_running else "to be decided"
    if regrade.ended is not None:
        state = str(regrade.ended.kind)
    whose = ", ".join(regrade.run.students) or "the whole class"
    return RunLine(regrade.run.id, whose, _said(site, regrade.asked), state)


def _said(site: Site, word: Decision) -> str:
    moment = moment_text(word.made, site.course.zone)
    return f"{word.author}, {moment}: {word.reason}"


def _shift_line(shift: Shift) -> ShiftLine:
    gain = shift.gain
    return ShiftLine(
        student=shift.student,
        before=points_of(shift.before),
        after=points_of(shift.after),
        gain=f"{'+' if gain > 0 else ''}{number(gain)}" if gain else "",
        kind="up" if gain > 0 else "down" if gain < 0 else "same",
        by_hand=shift.after.override is not None,
        work=tuple(
            WorkLine(
                *_name(change.commit),
                points=f"{_points(change.before)} → {_points(change.after)}",
                tasks=tuple(f"{id} {number(old)} → {number(new)}" for id, old, new in change.tasks),
                tests=tuple(f"{id}: {old} → {new}" for id, old, new in change.tests),
            )
            for change in shift.changes
        ),
    )


def _points(points: float | None) -> str:
    return "-" if points is None else number(points)


def _name(commit: str) -> tuple[str, str]:
    """Return how work is called, and the number of its page, if it has one."""
    count = number_of(commit)
    return (f"attempt {count}", count) if count else (commit[:10], "")
