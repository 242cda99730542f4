"""The pages of the staff, and what they change: overrides, a grading to be repeated."""

import math
from typing import Annotated
from urllib.parse import quote

from grader.course.database.giving.records import held
from grader.course.database.records import Override
from grader.course.gradebook.charts import histogram, task_bars
from grader.course.gradebook.gradebook import Gradebook
from grader.course.gradebook.overview import Overview
from grader.course.gradebook.pages import points_of
from grader.course.gradebook.review import reviews
from grader.extras import needs
from grader.labs.lab import Lab
from grader.report.markup.chart import tick_step
from grader.service.adapters.web.desk.grants import told_of
from grader.service.adapters.web.desk.matrix import MOST_SEARCHED, Show, matrix
from grader.service.adapters.web.pages import hand_in_lines
from grader.service.adapters.web.regrades import run_line
from grader.service.adapters.web.shared.answers import (
    Told,
    drawing,
    page,
    points_of_form,
    text_of_form,
)
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.adapters.web.shared.visitors import InstructorForm, Staff, StaffForm
from grader.service.adapters.web.texts.handouts import KINDS
from grader.service.core.regrades import Regrade
from grader.service.domain.records import Role
from grader.service.domain.refusals import NotFound

with needs("service"):
    from fastapi import APIRouter, Form
    from starlette.requests import Request
    from starlette.responses import RedirectResponse, Response

router = APIRouter()
MOST_FAILED = 3  # tests of a lab on the page of all labs
MOST_ALIKE = 20  # clusters there
PICTURES = ("points", "tasks", "seconds")


@router.get("/class")
def class_matrix(
    request: Request, visit: Staff, search: str = "", show: str = Show.ALL
) -> Response:
    """Show the marks of all students, and what a person has to decide."""
    site = site_of(request)
    book = site.gradebook()
    open = reviews(book)
    chosen = Show(show) if show in [*Show] else Show.ALL
    numbers = {lab.name: lab.number for lab in site.labs}
    found = [site.overviews.of(book, lab) for lab in book.labs if lab in numbers]
    alike = sorted((item for each in found for item in each.clusters), key=lambda c: c.rank)
    return page(
        site,
        "class.html",
        visit=visit,
        table=matrix(book, {review.mark for review in open}, site.now(), search, chosen),
        search=search[:MOST_SEARCHED],
        show=chosen,
        filters=[*Show],
        numbers=numbers,
        open=open,
        remarks=_remarks(book),
        failing=[(each.lab, item) for each in found for item in each.failing[:MOST_FAILED]],
        alike=alike[:MOST_ALIKE],
        clusters=len(alike),
    )


@router.get("/class/{name}")
def class_lab(request: Request, visit: Staff, name: str) -> Response:
    """Show what the class did in a lab."""
    site = site_of(request)
    lab = site.desk.lab(name)
    found = _overview(site, lab)
    runs = [run_line(site, each) for each in reversed(site.regrades.of_lab(lab.name))]
    return page(site, "class_lab.html", visit=visit, lab=lab, found=found, runs=runs)


@router.get("/class/{name}/pictures/{which}.svg")
def class_picture(request: Request, visit: Staff, name: str, which: str) -> Response:
    """Draw how many reached how much, how far tasks were solved, or how long gradings took."""
    site = site_of(request)
    lab = site.desk.lab(name)
    found = _overview(site, lab)
    if which not in PICTURES or found is None:
        raise NotFound("there is no such picture")
    if which == "tasks":
        svg = task_bars(found.tasks)
    elif which == "points":
        svg = histogram(found.points, 0.0, max(100.0, *found.points, 0.0), "points")
    else:
        longest = max(0.1, *found.seconds, 0.0)
        step = tick_step(longest)
        svg = histogram(found.seconds, 0.0, step * math.ceil(longest / step), "seconds")
    return drawing(svg.encode("utf-8", "replace"), KINDS[".svg"])


@router.get("/students/{id:path}")
def student(request: Request, visit: Staff, id: str) -> Response:
    """Show all of a student: marks, where they come from, and every hand-in."""
    site = site_of(request)
    found = next((each for each in site.store.students() if each.id == id), None)
    if found is None:
        raise NotFound("there is no such student")
    book = site.gradebook()
    labs = {lab.name: lab for lab in site.labs}
    marks = {mark.lab: mark for mark in book.of(id)}
    items = hand_in_lines(site, visit.who, list(reversed(site.store.hand_ins(id))))
    sections = [
        (
            lab,
            points_of(marks[name]) if name in marks else "-",
            marks[name].why if name in marks else "nothing was handed in",
            book.remark(id, name) if name in marks else "",
            [line for line in items if line.item.lab == name],
        )
        for name, lab in labs.items()
        if name in marks or any(line.item.lab == name for line in items)
    ]
    return page(
        site,
        "student.html",
        visit=visit,
        student=found,
        total=book.total_line(id),
        because=book.total_why(id),
        sections=sections,
        labs=site.labs,
        graded=[lab for lab in site.labs if lab.name in marks],
        runs=[
            run_line(site, each) for each in reversed(site.regrades.of_lab()) if _is_of(each, id)
        ],
        may_set=visit.who.role is Role.INSTRUCTOR,
        grants=told_of(site, id),
        zone=str(site.course.zone),
        holds=[*held(site.store.returns.holds(id)).values()],
    )


@router.post("/overrides")
def override(
    request: Request,
    visit: InstructorForm,
    student: Annotated[str, Form()],
    lab: Annotated[str, Form()],
    reason: Annotated[str, Form()],
    points: Annotated[str, Form()] = "",
) -> Response:
    """Set a mark by hand, or take back what was set: with a reason, and never by changing a row."""
    site = site_of(request)
    found = next((each for each in site.store.students() if each.id == student), None)
    if found is None:
        raise NotFound("there is no such student")
    name = site.desk.lab(lab).name
    why = text_of_form(reason, "an override needs a reason")
    word = Override(student, name, points_of_form(points), visit.who.name, why, site.now())
    site.books.add_override(word)
    return _to_student(student)


@router.post("/attempts/{count}/again")
def again(request: Request, visit: StaffForm, count: int) -> Response:
    """Let a hand-in that was held be graded again."""
    site = site_of(request)
    item = site.views.hand_in(visit.who, count)
    if not site.store.requeue(item.number):
        raise Told(422, "this hand-in is not held", "the lab's page of the class regrades")
    return RedirectResponse(f"/attempts/{item.number}", 303)


def _is_of(regrade: Regrade, student: str) -> bool:
    return not regrade.run.students or student in regrade.run.students


def _overview(site: Site, lab: Lab) -> Overview | None:
    """Return what the class did in a lab; None if nothing was handed in."""
    book = site.gradebook([lab.name])
    return site.overviews.of(book, lab.name) if lab.name in book.handed_in else None


def _remarks(book: Gradebook) -> list[tuple[str, str, str]]:
    """Return student, lab and what collecting gave the staff to look at."""
    return [
        (student.id, lab, told)
        for student in book.students
        for lab in book.labs
        if (told := book.remark(student.id, lab))
    ]


def _to_student(id: str) -> RedirectResponse:
    return RedirectResponse("/students/" + quote(id, safe=""), 303)
