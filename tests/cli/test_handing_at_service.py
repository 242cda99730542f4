"""Handing in at a service: what a student reads, and that nothing is lost on the way."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from grader.__main__ import main
from grader.cli.handing import at_service, watching
from grader.client.logins import Login
from grader.client.service import Service

URL = "https://labs.example.org"
Handler = Callable[[httpx.Request], httpx.Response]
RECEIPT = {
    "number": 7,
    "lab": "02_batching",
    "state": "waiting",
    "sha256": "0123456789abcdef",
    "received": "2026-10-01T12:00:00+00:00",
}
REPORT = {
    "schema": 1,
    "lab": 2,
    "topic": "batching",
    "tasks": [{"id": "pad", "title": "Padding", "points": 100, "score": 40, "graded": True}],
    "tests": [{"id": "test_a", "task": "pad", "suite": "hidden", "verdict": "failed"}],
}


class Answers:
    """A service that answers as told, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.before: list[dict[str, object]] = []
        self.state: dict[str, object] = RECEIPT | {"state": "graded", "report": REPORT}
        self.events = 'id: 3\nevent: graded\ndata: {"points": 40}\n\n'
        self.on_hand_in: Handler = lambda _: httpx.Response(201, json=RECEIPT)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(f"{request.method} {request.url.path}")
        match request.method, request.url.path:
            case "GET", "/api/me":
                told = {"name": "ada", "role": "student", "course": "Inference"}
                return httpx.Response(200, json=told)
            case "GET", "/api/labs/2/hand-ins":
                return httpx.Response(200, json={"hand_ins": self.before})
            case "POST", "/api/labs/2/hand-ins":
                return self.on_hand_in(request)
            case "GET", "/api/hand-ins/7":
                return httpx.Response(200, json=self.state)
            case "GET", "/api/hand-ins/7/events":
                return httpx.Response(200, text=self.events)
            case "GET", "/api/hand-ins/7/files/batching.py":
                return httpx.Response(200, content=b"x = 1\n")
            case _:
                return httpx.Response(404, json={"error": "there is no such thing"})


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Answers:
    answers = Answers()

    def made(login: Login) -> Service:
        assert login.token == "secret"
        return Service(login, httpx.MockTransport(answers))

    monkeypatch.setattr(at_service, "Service", made)
    monkeypatch.setattr(watching, "AGAIN_SECONDS", 0.0)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("sys.stdin", io.StringIO("secret\n"))
    assert main(["login", URL]) == 0
    return answers


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([*arguments])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_a_login_says_who_and_where(
    capsys: pytest.CaptureFixture[str], service: Answers, tmp_path: Path
) -> None:
    code, out, _ = told(capsys, "login")

    assert (code, out) == (0, f"logged in at {URL} as ada (Inference)\n")
    kept = (tmp_path / "config" / "inferlab" / "logins.json").read_text()
    assert json.loads(kept) == {URL: "secret"}


def test_a_verdict_is_shown_as_grade_shows_it(
    capsys: pytest.CaptureFixture[str], service: Answers
) -> None:
    code, out, _ = told(capsys, "submit", "2", "--yes")

    assert code == 1  # a test failed
    assert "Handed in as number 7" in out
    assert "40 of 100 points" in out
    assert f"{URL}/attempts/7" in out


def test_what_the_staff_said_stands_below_the_verdict(
    capsys: pytest.CaptureFixture[str], service: Answers
) -> None:
    word = {"author": "tutor", "about": "task pad", "text": "Why?\nSee \x1b[2J the handout."}
    service.state["comments"] = [word]

    _, out, _ = told(capsys, "attempts", "2", "--show", "7")

    assert "  tutor on task pad:\n    Why?\n    See \\x1b[2J the handout.\n" in out


def test_who_does_not_wait_hears_that_it_is_still_to_come(
    capsys: pytest.CaptureFixture[str], service: Answers
) -> None:
    code, out, _ = told(capsys, "submit", "2", "--yes", "--no-wait")

    assert code == 4
    assert "--show 7" in out
    assert "GET /api/hand-ins/7" not in service.asked


def test_a_plan_hands_in_nothing(capsys: pytest.CaptureFixture[str], service: Answers) -> None:
    code, out, _ = told(capsys, "submit", "2", "--plan")

    assert code == 0
    assert f"goes to {URL}" in out
    assert not any(asked.startswith("POST") for asked in service.asked)


def test_without_a_yes_nothing_is_handed_in(
    capsys: pytest.CaptureFixture[str], service: Answers
) -> None:
    code, out, _ = told(capsys, "submit", "2")

    assert code == 1
    assert "nothing was handed in" in out
    assert not any(asked.startswith("POST") for asked in service.asked)


def test_an_answer_that_was_lost_is_no_second_hand_in(
    capsys: pytest.CaptureFixture[str], service: Answers
) -> None:
    def lost(request: httpx.Request) -> httpx.Response:
        folder = at_service.find_lab("2", at_service.find_root()).folder
        files = {name: (folder / name).read_bytes() for name in ("batching.py", "PSEUDOCODE.md")}
        service.before = [RECEIPT | {"sha256": at_service.fingerprint(files)}]
        raise httpx.ReadError("broken", request=request)

    service.on_hand_in = lost
    code, out, _ = told(capsys, "submit", "2", "--yes", "--no-wait")

    assert code == 4
    assert "Handed in as number 7" in out
    assert sum(asked.startswith("POST") for asked in service.asked) == 1


def test_what_did_not_arrive_is_said(capsys: pytest.CaptureFixture[str], service: Answers) -> None:
    def lost(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    service.on_hand_in = lost
    code, _, err = told(capsys, "submit", "2", "--yes")

    assert code == 3
    assert "does not answer" in err
    assert "nothing is known to have arrived" in err


def test_a_refusal_is_the_services_own_word(
    capsys: pytest.CaptureFixture[str], service: Answers
) -> None:
    body = {"error": "you have handed in lab 2 5 times today", "hint": "again from tomorrow"}
    service.on_hand_in = lambda _: httpx.Response(429, json=body)

    code, _, err = told(capsys, "submit", "2", "--yes")

    assert code == 2
    assert "error: you have handed in lab 2 5 times today\nhint: again from tomorrow" in err


def test_steps_are_lines_and_a_broken_stream_goes_on(
    capsys: pytest.CaptureFixture[str], service: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = (
        "id: 1\nevent: begun\ndata: {}\n\n"
        'id: 2\nevent: task\ndata: {"task": "pad", "tests": 3, "ended": 3}\n\n'
    )
    streams = iter([first, service.events])

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/events"):
            return httpx.Response(200, text=next(streams))
        if request.url.path == "/api/hand-ins/7" and "Last-Event-ID" not in request.headers:
            waits = len([a for a in service.asked if a == "GET /api/hand-ins/7"]) < 2
            service.asked.append("GET /api/hand-ins/7")
            running = RECEIPT | {"state": "running", "place": None}
            return httpx.Response(200, json=running if waits else service.state)
        return Answers.__call__(service, request)

    transport = httpx.MockTransport(answer)
    monkeypatch.setattr(at_service, "Service", lambda login: Service(login, transport))
    code, out, _ = told(capsys, "submit", "2", "--yes")

    assert code == 1
    assert "pad: 3 tests judged" in out


@pytest.mark.parametrize(
    ("state", "said"), [("held", "is held, not graded yet"), ("superseded", "is superseded")]
)
def test_what_has_no_verdict_is_no_zero(
    capsys: pytest.CaptureFixture[str], service: Answers, state: str, said: str
) -> None:
    service.state = RECEIPT | {"state": state, "report": None}
    service.events = f"id: 3\nevent: {state}\ndata: {{}}\n\n"

    code, out, _ = told(capsys, "submit", "2", "--yes")

    assert code == 4
    assert said in out


def test_what_is_held_back_is_said_and_no_points_are(
    capsys: pytest.CaptureFixture[str], service: Answers
) -> None:
    held = "held back by the course, ask your instructor"
    service.state = RECEIPT | {"state": "graded", "report": None, "held_back": held}
    service.before = [service.state | {"points": None, "possible": None}]

    shown = told(capsys, "attempts", "2", "--show", "7")
    listed = told(capsys, "attempts", "2")

    assert shown[:2] == (4, f"number 7 is {held}\n")
    assert "held back by" in listed[1]
    assert "40" not in shown[1] + listed[1]


def test_attempts_are_listed_and_brought_back(
    capsys: pytest.CaptureFixture[str], service: Answers, tmp_path: Path
) -> None:
    service.before = [RECEIPT | {"points": 40, "possible": 100, "state": "graded"}]

    code, out, _ = told(capsys, "attempts", "2")
    assert code == 0
    assert "40 of 100" in out
    assert "0123456789ab" in out
    into = tmp_path / "back"
    code, out, _ = told(capsys, "attempts", "2", "--fetch", "7", "-o", str(into))
    assert code == 0
    assert (into / "batching.py").read_bytes() == b"x = 1\n"
    assert told(capsys, "attempts", "2", "--fetch", "7", "-o", str(into))[0] == 2
    assert (into / "batching.py").read_bytes() == b"x = 1\n"


def test_student_is_told_in_the_language_of_the_shell(
    capsys: pytest.CaptureFixture[str], service: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    service.before = [RECEIPT | {"points": 40, "possible": 100, "state": "graded"}]
    service.state |= {"state": "waiting", "report": None}

    listed = told(capsys, "attempts", "2")[1]
    shown = told(capsys, "attempts", "2", "--show", "7")
    unknown = told(capsys, "attempts", "2", "--show", "8")

    assert "已评分" in listed
    assert "40 / 100" in listed
    assert "提交时间" in listed
    assert shown[:2] == (4, "编号 7：等待中，尚未评分\n")
    assert unknown[2].startswith("错误：")


def test_who_logs_out_is_in_nowhere(capsys: pytest.CaptureFixture[str], service: Answers) -> None:
    assert told(capsys, "login", "--out", URL)[0] == 0
    assert told(capsys, "attempts", "2")[0] == 2
