"""What the service is asked, over HTTP, and how its answers are told apart."""

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

import httpx

from grader.client.logins import Login
from grader.errors import CannotGrade, InferlabError, UsageError
from grader.text import visible_line

SECONDS = 30.0  # for one answer; of a stream, between two lines: the service sends one each 15 s
ENDS = frozenset({"graded", "held", "superseded"})  # kinds of events after which none come
Answer = Mapping[str, Any]


class Unreachable(InferlabError):
    """The service gave no answer: nobody knows what it did with the request."""


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a grading, as the service tells it."""

    id: str
    kind: str
    data: Answer


class Service:
    """One service, asked with one token."""

    def __init__(self, login: Login, transport: httpx.BaseTransport | None = None) -> None:
        self.url = login.url
        self._client = httpx.Client(
            base_url=login.url,
            headers={"Authorization": f"Bearer {login.token}", "Accept": "application/json"},
            timeout=SECONDS,
            follow_redirects=False,  # a token goes nowhere else
            transport=transport,
        )

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def whoami(self) -> Answer:
        """Return whose token it is: ``name``, ``role`` and the ``course``."""
        return self._json("GET", "/api/me")

    def hand_in(self, lab: int, files: Mapping[str, bytes], origin: str) -> Answer:
        """Hand files in; returns the receipt: ``number``, ``sha256``, ``received``, ``place``."""
        parts = [("files", (name, content)) for name, content in files.items()]
        return self._json("POST", f"/api/labs/{lab}/hand-ins", files=parts, data={"origin": origin})

    def hand_ins(self, lab: int) -> list[Answer]:
        """List one's hand-ins of a lab, oldest first."""
        return cast(list[Answer], self._json("GET", f"/api/labs/{lab}/hand-ins")["hand_ins"])

    def state(self, number: int) -> Answer:
        """Return what has become of a hand-in, and its ``report`` if there is one."""
        return self._json("GET", f"/api/hand-ins/{number}")

    def file(self, number: int, name: str) -> bytes:
        """Return a file as it was handed in."""
        with self._asked():
            answer = self._client.get(f"/api/hand-ins/{number}/files/{quote(name, safe='')}")
        self._check(answer)
        return answer.content

    def events(self, number: int, after: str = "") -> Iterator[Event]:
        """Follow a grading until it ends, from after an event on; raises Unreachable."""
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": after} if after else {})
        path = f"/api/hand-ins/{number}/events"
        with self._asked(), self._client.stream("GET", path, headers=headers) as answer:
            if answer.status_code != 200:
                answer.read()
                self._check(answer)
            yield from events_of(answer.iter_lines())

    def _json(self, method: str, path: str, **more: Any) -> Answer:
        with self._asked():
            answer = self._client.request(method, path, **more)
        self._check(answer)
        return self._body(answer)

    @contextmanager
    def _asked(self) -> Generator[None]:
        try:
            yield
        except httpx.HTTPError as error:
            told = visible_line(str(error)) or type(error).__name__
            raise Unreachable(f"{self.url} does not answer: {told}", "try again later") from None

    def _check(self, answer: httpx.Response) -> None:
        if answer.is_success:
            return
        body = self._body(answer) if "json" in answer.headers.get("content-type", "") else {}
        told = visible_line(str(body.get("error") or f"{self.url} says {answer.status_code}"))
        hint = visible_line(str(body.get("hint") or ""))
        if answer.status_code == 401:
            raise UsageError(told, hint or f"lab login {self.url}")
        if answer.status_code >= 500:
            raise CannotGrade(told, hint or "try again later; nothing of yours is lost")
        raise UsageError(told, hint)

    def _body(self, answer: httpx.Response) -> Answer:
        try:
            body = answer.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise UsageError(f"{self.url} is no grading service", "check the address")
        return cast(Answer, body)


def events_of(lines: Iterator[str]) -> Iterator[Event]:
    """Read server-sent events from the lines of a stream."""
    kind, id, data = "", "", list[str]()
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            kind = value
        elif name == "id":
            id = value
        elif name == "data":
            data.append(value)
        elif not line and data:
            yield Event(id, kind, cast(Answer, json.loads("\n".join(data))))
            kind, data = "", []
