"""Who may see and do what: every route, as each role and as nobody, with everybody's ids."""

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from stand_ins.sample_reports import measured, mixed, speed_entry
from stand_ins.web_class import WebClass, csrf_of
from starlette.routing import Route

from grader.service.adapters.web.gate.gate import HEADERS
from grader.service.adapters.web.gate.rates import Buckets, Limits
from grader.service.domain.records import Role

Open = Callable[..., WebClass]
OPEN, PEOPLE, STAFF, INSTRUCTORS = "open", "people", "staff", "instructors"
# Who may come to a route at all; a hand-in's own routes are for its student and the staff.
MAY = {
    "GET /login": OPEN,
    "POST /login": OPEN,
    "GET /login/oidc": OPEN,
    "GET /login/oidc/back": OPEN,  # by what the issuer signs
    "GET /lti/keys.json": OPEN,
    "GET /lti/login": OPEN,
    "POST /lti/login": OPEN,
    "POST /lti/launch": OPEN,  # by what the platform signs
    "GET /static/{name}": OPEN,
    "GET /healthz": OPEN,
    "GET /metrics": OPEN,  # by address, not by role
    "POST /hooks/git/{kind}": OPEN,  # by its signature
    "GET /given/{secret}": OPEN,  # by its secret
    "GET /given/{secret}/pictures/{at}.svg": OPEN,
    "POST /logout": PEOPLE,
    "GET /": PEOPLE,
    "GET /labs/{name}": PEOPLE,
    "GET /labs/{name}/answers": PEOPLE,
    "POST /labs/{name}/hand-ins": PEOPLE,
    "GET /labs/{name}/pictures/{file}": PEOPLE,
    "GET /attempts/{count}": PEOPLE,
    "GET /attempts/{count}/events": PEOPLE,
    "GET /attempts/{count}/files/{name}": PEOPLE,
    "GET /attempts/{count}/pictures/{at}.svg": PEOPLE,
    "GET /attempts/{count}/diff": PEOPLE,
    "GET /attempts/{count}/code": PEOPLE,
    "GET /queue": PEOPLE,
    "GET /requests": PEOPLE,
    "POST /attempts/{count}/requests": PEOPLE,
    "POST /requests/{number}/withdraw": PEOPLE,
    "GET /board/{name}": PEOPLE,
    "POST /board/{name}": PEOPLE,
    "GET /class": STAFF,
    "GET /class/{name}": STAFF,
    "GET /class/{name}/pictures/{which}.svg": STAFF,
    "GET /students/{id:path}": STAFF,
    "POST /attempts/{count}/comments": STAFF,
    "GET /reading": STAFF,
    "GET /reading/{name}": STAFF,
    "GET /reading/{name}/alike": STAFF,
    "POST /reading/{name}/alike": STAFF,
    "POST /reading/{name}/seen": STAFF,
    "GET /reading/{name}/work": STAFF,
    "GET /reading/{name}/pictures/{row}/{at}.svg": STAFF,
    "POST /reading/{name}/comments": STAFF,
    "POST /reading/{name}/scores": STAFF,
    "POST /reading/comments/{number}": STAFF,
    "GET /runs/{run}": STAFF,
    "POST /runs/{run}": STAFF,
    "POST /regrades": STAFF,
    "POST /requests/{number}/answer": STAFF,
    "GET /likeness/{name}": STAFF,
    "GET /likeness/{name}/compare": STAFF,
    "GET /likeness/{name}/{one}/{other}": STAFF,
    "POST /likeness/{name}/notes": STAFF,
    "POST /reading/{name}/points": INSTRUCTORS,
    "POST /overrides": INSTRUCTORS,
    "POST /grants": INSTRUCTORS,
    "GET /class/{name}/items": STAFF,
    "GET /class/{name}/items.csv": STAFF,
    "GET /api/labs": PEOPLE,
    "GET /api/me": PEOPLE,
    "GET /api/labs/{lab}/hand-ins": PEOPLE,
    "POST /api/labs/{lab}/hand-ins": PEOPLE,
    "GET /api/hand-ins/{number}": PEOPLE,
    "GET /api/hand-ins/{number}/events": PEOPLE,
    "GET /api/hand-ins/{number}/files/{name}": PEOPLE,
    "POST /attempts/{count}/again": STAFF,  # last: a stream of what waits does not end
}
VALUES = {
    "lab": ("90",),
    "count": ("1", "2", "3", "0", "-1", "4", "99999999999999999999"),
    "number": ("1", "2", "3", "4"),
    "at": ("0",),
    "secret": ("x" * 43,),
    "row": ("1", "x"),
    "run": ("1", "2", "99999999999999999999", "x"),
    "id:path": ("s17", "s18", "nobody"),
    "which": ("points", "nothing"),
    "one": ("0",),
    "other": ("1",),
    "kind": ("github", "nothing"),
    "file": ("none.svg",),
}
THEIRS = "words about what s18 did"


def routes(lesson: WebClass) -> dict[str, Route]:
    """Every route of the application, by its method and path."""
    found: dict[str, Route] = {}
    for route in walked(lesson.app.routes):
        for method in sorted(set(route.methods or ()) - {"HEAD"}):
            found[f"{method} {route.path}"] = route
    return found


def walked(listed: Any) -> list[Route]:
    """Routes, those of routers too."""
    found: list[Route] = []
    for each in listed:
        inner = getattr(each, "original_router", None)
        if inner is not None:
            found += walked(inner.routes)
        elif hasattr(each, "methods"):
            found.append(each)
    return found


def addresses(path: str) -> list[str]:
    """A route's path with each value in each place."""
    names = [part.partition("}")[0] for part in path.split("{")[1:]]
    values = dict(VALUES)
    values["name"] = ("echo.py", "PSEUDOCODE.md") if "files" in path else ("90", "none")
    found: list[str] = []
    for chosen in itertools.product(*(values[name] for name in names)):
        made = path
        for name, value in zip(names, chosen, strict=True):
            made = made.replace(f"{{{name}}}", value)
        found.append(made)
    return found


@pytest.fixture
def lesson(open_class: Open) -> WebClass:
    """Hand-in 1 is of s17 and graded, 2 and 3 of s18: one is graded and one is held.

    Run 2 is a regrade of s18's that is not decided.
    """
    limits = Limits(people=Buckets(1000, 1000))  # every route is asked at once
    made = open_class(limits=limits, hook_secrets={"github": "x" * 20})
    made.grade(made.hand_in("s17"), measured(speed_entry("a"), speed_entry("b")))
    made.grade(made.hand_in("s18", code=b"# of s18\n"), mixed(THEIRS))
    item = made.hand_in("s18", code=b"# of s18, again\n")
    now = made.clock.now()
    made.store.claim("worker", "cpu", now, timedelta(hours=1))
    made.store.fail(item.number, "worker", "the disk of the judge", now, most=1)
    made.regrade("s18", mixed(THEIRS))
    return made


def test_each_route_has_its_right(lesson: WebClass) -> None:
    assert routes(lesson).keys() == MAY.keys()


def asked(lesson: WebClass, role: Role | None, skip: str = "") -> list[tuple[str, str, Any]]:
    """Every route asked with every id by a role: the route, the path, the answer."""
    owner = {Role.STUDENT: "s17", None: ""}.get(role, "staff")
    browser = lesson.client() if role is None else lesson.browser(owner, role).client
    api = lesson.client() if role is None else lesson.bearer(owner, role)
    csrf = "none" if role is None else csrf_of(browser.get("/").text)
    found: list[tuple[str, str, Any]] = []
    for name in MAY:
        method, _, path = name.partition(" ")
        for address in addresses(path):
            if name in ("POST /logout", "POST /login") or (skip and address.startswith(skip)):
                continue
            client = api if path.startswith("/api") else browser
            form = {"csrf": csrf, "text": "x", "reason": "x", "student": "s18", "lab": "90"}
            sent = {"data": form} if method == "POST" else {}
            found.append((name, address, client.request(method, address, **sent)))
    return found


def test_nobody_sees_nothing(lesson: WebClass) -> None:
    for name, address, answer in asked(lesson, None):
        if MAY[name] == OPEN:
            assert answer.status_code in (200, 404), address
        elif address.startswith("/api"):
            assert answer.status_code == 401, address
            assert answer.json().keys() == {"error", "hint", "again"}
        elif name.startswith("GET"):
            assert answer.status_code in (303, 422), address
            assert answer.headers.get("location", "/login").startswith("/login"), address
        else:
            assert answer.status_code == 401, address
        assert THEIRS not in answer.text


def test_a_student_sees_their_own_alone(lesson: WebClass) -> None:
    missing = lesson.browser("s17").get("/attempts/4")
    for name, address, answer in asked(lesson, Role.STUDENT):
        assert THEIRS not in answer.text, address
        assert "of s18" not in answer.text, address
        assert "disk of the judge" not in answer.text, address
        is_other = any(f"/{number}" in address for number in "23") and "{" in name
        if MAY[name] in (STAFF, INSTRUCTORS):
            assert answer.status_code in (404, 422), address
        elif is_other and ("attempts" in address or "hand-ins/" in address):
            assert answer.status_code == 404, address
            if "api" not in address:
                assert answer.text == missing.text
                assert {*answer.headers} == {*missing.headers}
    assert lesson.books.overrides() == []
    assert lesson.store.reading.comments() == []


def test_an_assistant_reads_all_and_sets_no_mark(lesson: WebClass) -> None:
    answers = asked(lesson, Role.ASSISTANT)

    seen = {address: answer for _, address, answer in answers}
    assert seen["/overrides"].status_code == 404
    assert THEIRS in seen["/attempts/2"].text
    assert seen["/students/s18"].status_code == 200
    assert {word.author for word in lesson.store.reading.comments()} == {"staff"}
    assert seen["/attempts/3/again"].status_code == 303
    assert seen["/labs/90/hand-ins"].status_code == 404
    assert seen["/runs/2"].status_code == 422  # the form says neither to publish nor to discard
    assert seen["/regrades"].status_code == 422  # one is not decided yet
    assert lesson.books.overrides() == []


def test_an_instructor_sets_marks(lesson: WebClass) -> None:
    asked(lesson, Role.INSTRUCTOR)

    assert [word.author for word in lesson.books.overrides()] == ["staff"]


@pytest.mark.parametrize("role", [None, *Role])
def test_every_answer_protects_the_browser(lesson: WebClass, role: Role | None) -> None:
    for _, address, answer in asked(lesson, role):
        there = answer.headers
        assert HEADERS.keys() <= {*there}, address
        policy = there["content-security-policy"]
        assert policy.startswith("default-src 'none'"), address
        assert "unsafe" not in policy or "svg" in there["content-type"], address
        assert "server" not in there


def test_a_revoked_token_ends_sessions_and_clients(lesson: WebClass) -> None:
    browser, client = lesson.browser("s17"), lesson.bearer("s17")

    lesson.site.door.revoke("s17")

    assert browser.get("/").status_code == 303
    assert client.get("/api/labs").status_code == 401


def test_the_api_takes_no_cookies_and_pages_no_tokens(lesson: WebClass) -> None:
    assert lesson.browser("s17").get("/api/labs").status_code == 401
    assert lesson.bearer("s17").get("/").status_code == 303


def test_a_session_ends_by_itself(lesson: WebClass) -> None:
    browser = lesson.browser("s17")

    lesson.clock.go(hours=13)

    assert browser.get("/").status_code == 303


def test_files_come_back_as_text_to_keep(lesson: WebClass) -> None:
    for client, path in (
        (lesson.browser("s17"), "/attempts/1/files/"),
        (lesson.bearer("s17"), "/api/hand-ins/1/files/"),
    ):
        answer = client.get(f"{path}echo.py")
        assert answer.text.startswith("def echo")
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.headers["content-disposition"] == 'attachment; filename="echo.py"'
        for odd in ("..%2F..%2Fcourse.db", "%2e%2e/course.db", "lab.toml", "echo.py%00", "."):
            assert client.get(f"{path}{odd}").status_code == 404, odd
