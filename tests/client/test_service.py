"""What the service answers, and what a student reads of it when it does not."""

from collections.abc import Callable

import httpx
import pytest

from grader.client.logins import Login
from grader.client.service import Event, Service, Unreachable, events_of
from grader.errors import CannotGrade, UsageError

LOGIN = Login("https://labs.example.org", "inferlab_secret")
Handler = Callable[[httpx.Request], httpx.Response]


def asked(handler: Handler) -> Service:
    return Service(LOGIN, httpx.MockTransport(handler))


def test_the_token_goes_along_and_nowhere_else() -> None:
    seen: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(302, headers={"Location": "https://other.example.org/"})

    with pytest.raises(UsageError, match="says 302"):
        asked(handler).whoami()

    assert [request.headers["authorization"] for request in seen] == ["Bearer inferlab_secret"]


def test_files_are_sent_as_they_are() -> None:
    seen: list[bytes] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request.read())
        return httpx.Response(201, json={"number": 7})

    answer = asked(handler).hand_in(3, {"sampling.py": b"a\r\n\xff"}, "terminal")

    assert answer["number"] == 7
    assert b'filename="sampling.py"' in seen[0]
    assert b"\r\n\r\na\r\n\xff\r\n" in seen[0]


@pytest.mark.parametrize(
    ("status", "error", "told"),
    [
        (401, UsageError, "this token is unknown"),
        (429, UsageError, "this token is unknown"),
        (500, CannotGrade, "this token is unknown"),
    ],
)
def test_what_the_service_says_is_told(status: int, error: type[Exception], told: str) -> None:
    body = {"error": "this token is unknown", "hint": "ask"}

    with pytest.raises(error, match=told):
        asked(lambda _: httpx.Response(status, json=body)).whoami()


def test_escapes_of_a_service_reach_no_terminal() -> None:
    body = {"error": "\x1b[2J gone", "hint": "\x1b]0;x\x07"}

    with pytest.raises(UsageError) as raised:
        asked(lambda _: httpx.Response(422, json=body)).whoami()

    assert "\x1b" not in raised.value.line


@pytest.mark.parametrize("content", [b"<html>", b"[]", b"", b"\xff"])
def test_a_page_that_is_no_service_is_told(content: bytes) -> None:
    with pytest.raises(UsageError, match="is no grading service"):
        asked(lambda _: httpx.Response(200, content=content)).whoami()


def test_no_answer_is_told_as_such() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    with pytest.raises(Unreachable, match=r"labs\.example\.org does not answer: refused"):
        asked(handler).whoami()


def test_events_are_read_as_they_are_written() -> None:
    lines = [": ping", "", "id: 4", "event: task", 'data: {"task":', 'data: "norm"}', "",
             "event: graded", "id:5", 'data:{"points": 3}', "", "data: {"]  # fmt: skip

    assert [*events_of(iter(lines))] == [
        Event("4", "task", {"task": "norm"}),
        Event("5", "graded", {"points": 3}),
    ]


def test_a_stream_goes_on_where_it_was() -> None:
    seen: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["last-event-id"])
        return httpx.Response(200, text="id: 9\nevent: graded\ndata: {}\n\n")

    assert [*asked(handler).events(77, "8")] == [Event("9", "graded", {})]
    assert seen == ["8"]


def test_names_of_files_are_no_paths() -> None:
    seen: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.raw_path.decode())
        return httpx.Response(200, content=b"x")

    assert asked(handler).file(7, "../../etc/passwd") == b"x"
    assert seen == ["/api/hand-ins/7/files/..%2F..%2Fetc%2Fpasswd"]
