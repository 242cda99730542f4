"""Answers that are alike, for the staff: clusters, two answers beside each other, and notes.

Nothing here changes a mark.
"""

from dataclasses import dataclass
from typing import Annotated

from grader.course.likeness.answers import Answer, Read, read_answer
from grader.course.likeness.clusters import Cluster
from grader.course.likeness.drawn import drawn
from grader.course.likeness.notes import Kept, KeptAnswer, Note, Standing, State, standing
from grader.course.likeness.similarity import compare_two
from grader.extras import needs
from grader.labs.lab import Lab
from grader.service.adapters.web.shared.answers import Told, page, text_of_form
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.adapters.web.shared.visitors import Staff, StaffForm
from grader.service.domain.refusals import NotFound
from grader.text import moment_text, visible

with needs("service"):
    from fastapi import APIRouter, Form
    from markupsafe import Markup, escape
    from starlette.requests import Request
    from starlette.responses import RedirectResponse, Response

router = APIRouter()
MOST_NAMED = 60  # students of a cluster
MOST_SOURCES = 6
CHANGED = "it is compared within some minutes; go back to what is alike then"


@dataclass(frozen=True, slots=True)
class ClusterLine:
    """A cluster as the page has it."""

    number: int
    cluster: Cluster
    standing: Standing
    said: list[tuple[str, Markup]]
    members: tuple[str, ...]  # keys, of what a note on it is about
    students: list[KeptAnswer]
    others: list[KeptAnswer]  # of the corpus
    pair: tuple[str, str]  # keys of the strongest one


@router.get("/likeness/{name}")
def alike(request: Request, visit: Staff, name: str) -> Response:
    """Show the clusters of a lab, what is open first."""
    site = site_of(request)
    lab = site.desk.lab(name)
    found = site.store.alike.comparison(lab.name)
    said = site.store.alike.notes(lab.name)
    lines = [] if found is None else _lines(site, found, said)
    made = "" if found is None else moment_text(found.made, site.course.zone)
    return page(
        site, "likeness.html", visit=visit, lab=lab, found=found, lines=lines, made=made,
        states=[*State], most=MOST_NAMED, most_sources=MOST_SOURCES,
    )  # fmt: skip


@router.get("/likeness/{name}/compare")
def choose(request: Request, visit: Staff, name: str, one: str = "", other: str = "") -> Response:
    """Lead to two answers that were chosen from a list."""
    site = site_of(request)
    lab = site.desk.lab(name)
    found = _found(site, lab)
    pair = _answer(found, one), _answer(found, other)
    if pair[0] == pair[1]:
        raise Told(422, "this is one answer twice", "choose two answers")
    return RedirectResponse(f"/likeness/{lab.number}/{pair[0].key}/{pair[1].key}", 303)


@router.get("/likeness/{name}/{one}/{other}")
def beside(request: Request, visit: Staff, name: str, one: str, other: str) -> Response:
    """Show two answers beside each other, with what both have marked."""
    site = site_of(request)
    lab = site.desk.lab(name)
    found = _found(site, lab)
    pair = _answer(found, one), _answer(found, other)
    if pair[0] == pair[1]:
        raise NotFound("there is one answer only")
    reads = _read(site, lab, pair[0]), _read(site, lab, pair[1])
    names = pair[0].name, pair[1].name
    body = drawn(compare_two(lab, *reads), names)
    words = standing((pair[0].key, pair[1].key), site.store.alike.notes(lab.name))
    odd = {line for line in found.told if line.startswith(tuple(f"{name}: " for name in names))}
    return page(
        site, "beside.html", visit=visit, lab=lab, pair=pair, body=Markup("\n".join(body)),
        standing=words, said=_said(site, words), states=[*State], odd=sorted(odd),
    )  # fmt: skip


@router.post("/likeness/{name}/notes")
def note(
    request: Request,
    visit: StaffForm,
    name: str,
    state: Annotated[str, Form()] = "",
    text: Annotated[str, Form()] = "",
    members: Annotated[str, Form()] = "",
    back: Annotated[str, Form()] = "",
) -> Response:
    """Record what somebody decided about some answers."""
    site = site_of(request)
    lab = site.desk.lab(name)
    found = _found(site, lab)
    if state not in [*State]:
        raise Told(422, "choose how far you are with it", ", ".join(State))
    words = text_of_form(text, "a note needs words")
    about = [_answer(found, key) for key in dict.fromkeys(members.split())]
    if len(about) < 2:
        raise Told(422, "a note is about two answers or more")
    names = ", ".join(answer.name for answer in about)
    keys = tuple(sorted(answer.key for answer in about))
    site.store.alike.add_note(
        Note(lab.name, keys, names, State(state), visit.who.name, words, site.now())
    )
    place = f"/likeness/{lab.number}"
    if back == "pair" and len(about) == 2:
        place += f"/{about[0].key}/{about[1].key}"
    return RedirectResponse(f"{place}#notes", 303)


def _lines(site: Site, found: Kept, said: list[Note]) -> list[ClusterLine]:
    by_name = {answer.name: answer for answer in found.answers}
    lines: list[ClusterLine] = []
    for number, cluster in enumerate(found.clusters, 1):
        words = found.standing(cluster.members, said)
        pair = cluster.strongest
        lines.append(
            ClusterLine(
                number,
                cluster,
                words,
                _said(site, words),
                found.keys(cluster.members),
                [by_name[name] for name in cluster.students],
                [by_name[source.name] for source in cluster.sources],
                (by_name[pair.student].key, by_name[pair.other].key),
            )
        )
    return sorted(lines, key=lambda line: not line.standing.is_open)


def _said(site: Site, words: Standing) -> list[tuple[str, Markup]]:
    """Return each note: who said what of whom and when, and the text."""
    return [
        (
            f"{note.author}, {moment_text(note.made, site.course.zone)}, of {note.about}:"
            f" {note.state}",
            Markup("<br>").join(escape(line) for line in visible(note.text).split("\n")),
        )
        for note in words.notes
    ]


def _found(site: Site, lab: Lab) -> Kept:
    found = site.store.alike.comparison(lab.name)
    if found is None:
        raise NotFound("nothing was compared yet")
    return found


def _answer(found: Kept, key: str) -> KeptAnswer:
    for answer in found.answers:
        if answer.key == key:
            return answer
    raise NotFound("no such answer was compared")


def _read(site: Site, lab: Lab, answer: KeptAnswer) -> Read:
    """Read an answer as it was when it was compared; raises Told where it is another one now."""
    file = site.course.folder / answer.path
    read = read_answer(Answer(answer.name, answer.is_student, file))
    if isinstance(read, str):
        raise Told(422, f"the answer of {answer.name} is not here: {read}", CHANGED)
    if read.key != answer.key:
        raise Told(422, f"{answer.name} has handed in something else meanwhile", CHANGED)
    return read
