"""The clients' API: handing in, following, and the hooks of git hosts."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import pytest
from stand_ins.sample_reports import mixed
from stand_ins.web_class import CODE, LAB, NOW, SECRET, WebClass

from grader.labs.lab import load_lab
from grader.service.adapters.web import live
from grader.service.adapters.web.gate.rates import Limits, Streams
from grader.service.adapters.web.shared.site import Push
from grader.service.domain.records import Origin, Role, State, Who

Open = Callable[..., WebClass]
Files = list[tuple[str, tuple[str, bytes]]]
S17 = Who("s17", Role.STUDENT)


def sent(*files: tuple[str, bytes]) -> Files:
    """Files as a client sends them."""
    return [("files", file) for file in files]


def test_work_is_handed_in_and_followed_to_its_report(lesson: WebClass) -> None:
    client = lesson.bearer("s17")
    files = sent(("echo.py", CODE), ("PSEUDOCODE.md", b"# Mine\n"))

    receipt = client.post("/api/labs/90/hand-ins", files=files)
    waiting = client.get("/api/hand-ins/1").json()
    item = lesson.store.hand_in(1)
    assert item is not None
    lesson.grade(item, mixed())
    graded = client.get("/api/hand-ins/1").json()

    assert receipt.status_code == 201
    assert receipt.json()["sha256"] == item.sha256
    assert receipt.json()["page"] == "/attempts/1"
    assert (waiting["state"], waiting["place"], waiting["report"]) == ("waiting", 1, None)
    assert (graded["state"], graded["place"], graded["points"]) == ("graded", None, 10.0)
    assert graded["report"]["tasks"][0]["id"] == "norm"
    assert item.origin is Origin.TERMINAL


def test_a_notebook_is_taken_as_the_files_that_it_stands_for(lesson: WebClass) -> None:
    cells = [
        {"cell_type": "code", "source": "%%task scale\ndef scale(x, factor):\n    return x\n"},
        {"cell_type": "code", "source": "%%task nothing\nx = 1\n"},
    ]
    content = json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})

    files = sent(("mine.ipynb", content.encode()))
    answer = lesson.bearer("s17").post(
        "/api/labs/90/hand-ins", files=files, data={"origin": "notebook"}
    )

    assert answer.status_code == 201, answer.text
    kept = lesson.folder / lesson.store.hand_ins()[0].path / "echo.py"
    assert "    return x\n" in kept.read_text()
    assert answer.json()["origin"] == "notebook"
    assert "nothing" in answer.json()["note"]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (sent(("../../echo.py", CODE)), "../../echo.py is no file of lab 90"),
        (sent(("course.toml", CODE)), "course.toml is no file"),
        (sent(("echo.py", CODE), ("echo.py", CODE)), "there are two files for echo.py"),
        (sent(("PSEUDOCODE.md", b"# Mine")), "echo.py is missing"),
        (sent(("echo.py", CODE), ("a.ipynb", b"{}")), "there are a notebook and echo.py"),
        (sent(("a.ipynb", b"no JSON")), "the notebook"),
        (sent(("e\u202e.py", CODE)), "e\\u202e.py is no file"),
    ],
)
def test_what_a_lab_does_not_take_is_refused_by_name(
    lesson: WebClass, files: Files, said: str
) -> None:
    answer = lesson.bearer("s17").post("/api/labs/90/hand-ins", files=files)

    assert answer.status_code == 422, answer.text
    assert said in answer.json()["error"]
    assert lesson.store.hand_ins() == []
    assert not (lesson.folder / "hand-ins").exists()


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_stub_as_it_was_is_nothing_to_hand_in(lesson: WebClass, end: bytes) -> None:
    lab = load_lab(lesson.labs[0].folder)
    code, text = (file.read_bytes().replace(b"\n", end) for file in (lab.stub, lab.pseudocode))
    files = sent(("echo.py", code), ("PSEUDOCODE.md", text))

    answer = lesson.bearer("s17").post("/api/labs/90/hand-ins", files=files)

    assert answer.status_code == 422
    assert "there is nothing to hand in" in answer.json()["error"]


def test_the_stub_with_an_answered_prompt_is_handed_in(lesson: WebClass) -> None:
    lab = load_lab(lesson.labs[0].folder)
    text = lab.pseudocode.read_bytes() + b"\nmultiply\n"
    files = sent(("echo.py", lab.stub.read_bytes()), ("PSEUDOCODE.md", text))

    answer = lesson.bearer("s17").post("/api/labs/90/hand-ins", files=files)

    assert answer.status_code == 201, answer.text


def test_a_quota_says_when_the_next_attempt_is_possible(open_class: Open) -> None:
    lesson = open_class(per_day=1)
    lesson.hand_in("s17")

    answer = lesson.bearer("s17").post("/api/labs/90/hand-ins", files=sent(("echo.py", CODE)))

    assert answer.status_code == 429
    assert answer.json()["again"] == "2026-10-02T00:00:00+00:00"


@pytest.mark.parametrize("origin", ["web", "git", "x\r\ny"])
def test_a_client_is_a_terminal_or_a_notebook(lesson: WebClass, origin: str) -> None:
    files = sent(("echo.py", CODE))
    answer = lesson.bearer("s17").post(
        "/api/labs/90/hand-ins", files=files, data={"origin": origin}
    )

    assert answer.status_code == 422
    assert lesson.store.hand_ins() == []


def test_labs_are_listed_with_what_is_left(open_class: Open) -> None:
    lesson = open_class(per_day=2)
    lesson.hand_in("s17")

    first, second, *_ = lesson.bearer("s17").get("/api/labs").json()["labs"]

    assert (first["name"], first["left"]) == (LAB, 1)
    assert (second["left"], second["refused"]) == (2, None)


# Events


def read(answer: Any) -> list[tuple[str, str, Any]]:
    """Return the events of a stream: id, kind, data."""
    found: list[tuple[str, str, Any]] = []
    for block in answer.text.split("\n\n"):
        named = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in named:
            found.append((named.get("id", ""), named["event"], json.loads(named["data"])))
    return found


def test_events_are_told_from_the_last_one_on(lesson: WebClass) -> None:
    item = lesson.hand_in("s17")
    lesson.store.tell(
        1, "task", {"task": "norm", "tests": 3, "ended": 3, "passed": 1, "message": "hidden"}, NOW
    )
    lesson.grade(item, mixed())
    client = lesson.bearer("s17")

    whole = read(client.get("/api/hand-ins/1/events"))
    rest = read(client.get("/api/hand-ins/1/events", headers={"last-event-id": whole[0][0]}))
    odd = read(client.get("/api/hand-ins/1/events", headers={"last-event-id": "x; DROP"}))

    assert [kind for _, kind, _ in whole] == ["task", "begun", "graded", "end"]
    assert rest == whole[1:]
    assert odd == whole
    assert whole[0][2] == {"task": "norm", "tests": 3, "ended": 3}
    assert whole[-1][2] == {"state": "graded"}


def test_a_stream_follows_a_grading_and_says_that_it_is_alive(
    lesson: WebClass, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(live, "COMMENT_SECONDS", 0.05)
    item = lesson.hand_in("s17")
    seen: list[str] = []

    async def follow() -> None:
        async for text in live._events(lesson.site, S17, item, 0, lambda: True):
            seen.append(text)
            if text.startswith(":") and item.state is State.WAITING:
                await asyncio.to_thread(lesson.grade, item, mixed())

    asyncio.run(asyncio.wait_for(follow(), 20))

    assert "event: place" in seen[1]
    assert ": still here\n\n" in seen
    assert "event: graded" in "".join(seen)
    assert seen[-1].startswith("event: end")


def test_a_stream_ends_with_the_right_to_see_it(
    lesson: WebClass, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.01)
    item = lesson.hand_in("s17")
    answers = iter((True, True, False))

    async def follow() -> list[str]:
        found = live._events(lesson.site, S17, item, 0, lambda: next(answers))
        return [text async for text in found]

    seen = asyncio.run(asyncio.wait_for(follow(), 20))

    assert "event: place" in seen[1]
    assert "event: end" not in "".join(seen)


def test_a_student_has_few_streams_at_once(open_class: Open) -> None:
    streams = Streams(each=1, most=10)
    lesson = open_class(limits=Limits(streams=streams))
    lesson.grade(lesson.hand_in("s17"), mixed())
    client = lesson.bearer("s17")

    streams.enter("student s17")
    refused = client.get("/api/hand-ins/1/events")
    streams.leave("student s17")
    answers = [client.get("/api/hand-ins/1/events").status_code for _ in range(3)]

    assert refused.status_code == 429
    assert answers == [200] * 3


# Hooks

BODY = json.dumps(
    {
        "ref": "refs/heads/student/s17",
        "after": "c" * 40,
        "repository": {"clone_url": "https://git.example.org/class.git"},
        "project": {"git_http_url": "https://git.example.org/class.git"},
    }
).encode()


def signed(kind: str, body: bytes = BODY, id: str = "1", secret: str = SECRET) -> dict[str, str]:
    """Headers as a host sends them."""
    proof = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {
        "github": {
            **{"x-hub-signature-256": f"sha256={proof}", "x-github-event": "push"},
            "x-github-delivery": id,
        },
        "gitea": {
            **{"x-gitea-signature": proof, "x-gitea-event": "push", "x-gitea-delivery": id},
        },
        "gitlab": {
            **{"x-gitlab-token": secret, "x-gitlab-event": "Push Hook"},
            "x-gitlab-event-uuid": id,
        },
    }[kind]


@pytest.mark.parametrize("kind", ["github", "gitea", "gitlab"])
def test_a_push_is_believed_by_its_proof_and_once(open_class: Open, kind: str) -> None:
    lesson = open_class(hook_secrets={kind: SECRET})
    client, path = lesson.client(), f"/hooks/git/{kind}"

    first = client.post(path, content=BODY, headers=signed(kind))
    again = client.post(path, content=BODY, headers=signed(kind))
    renamed = client.post(path, content=BODY, headers=signed(kind, id="2"))
    forged = client.post(path, content=BODY, headers=signed(kind, secret="x" * 20, id="3"))
    bare = client.post(path, content=BODY)

    assert first.json() == {"state": "noted"}
    assert (again.status_code, renamed.status_code) == (409, 409)
    assert (forged.status_code, bare.status_code) == (404, 404)
    url = "https://git.example.org/class.git"
    assert lesson.pushes == [Push(kind, url, "student/s17", "c" * 40)]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"payload=%7B%7D", 422),
        (b"[" * 100_000, 422),
        (b"[]", 202),
        (json.dumps({"ref": "refs/tags/v1", "after": "c"}).encode(), 202),
        (json.dumps({"ref": "refs/heads/x", "after": "0" * 40}).encode(), 202),
    ],
)
def test_what_is_no_push_to_a_branch_is_not_noted(
    open_class: Open, body: bytes, status: int
) -> None:
    lesson = open_class(hook_secrets={"github": SECRET})

    answer = lesson.client().post("/hooks/git/github", content=body, headers=signed("github", body))

    assert answer.status_code == status
    assert lesson.pushes == []


def test_a_changed_body_does_not_fit_its_signature(open_class: Open) -> None:
    lesson = open_class(hook_secrets={"github": SECRET})
    body = BODY.replace(b"s17", b"s18")

    answer = lesson.client().post("/hooks/git/github", content=body, headers=signed("github"))

    assert answer.status_code == 404
    assert lesson.pushes == []


def test_the_staff_hands_nothing_in(lesson: WebClass) -> None:
    answer = lesson.bearer("staff", Role.INSTRUCTOR).post(
        "/api/labs/90/hand-ins", files=sent(("echo.py", CODE))
    )

    assert answer.status_code == 404
