"""Calls of a host's API: waits that it asks for, pages, and what it refuses, each as one line.

A token goes to the API's own address and nowhere else: no redirect is followed, and a next page
that lies elsewhere is not asked for.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast
from urllib.parse import urlsplit

from grader.course.hosting.token import VARIABLE, Token
from grader.errors import CannotGrade, UsageError
from grader.extras import needs
from grader.text import visible_line

with needs("service"):
    import httpx

SECONDS = 60.0  # for one answer
MOST_TRIES = 5  # of one call that the host puts off, or fails at
MOST_WAIT = 3700.0  # seconds: limits are by the hour
UNSAID_WAIT = 60.0  # where a host says "too many" and not until when
PER_PAGE = 50  # which each of the hosts allows
MOST_PAGES = 2000
AGAIN = "run the same command again: what is there already stays"
Row = Mapping[str, Any]


class Refused(UsageError):
    """The host did not do what it was asked; ``status`` is its answer's."""

    def __init__(self, message: str, status: int, hint: str = "") -> None:
        super().__init__(message, hint)
        self.status = status


class Unreachable(CannotGrade):
    """The host gave no answer, or none that tells what it did."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How long a wait is, and whom it is told."""

    tell: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time


@dataclass(slots=True)
class Calls:
    """One API, asked with one token."""

    title: str  # of the host, in messages
    base: str
    headers: Mapping[str, str] = field(repr=False)
    token: Token
    scopes: str  # what the token must be allowed, for a hint
    clock: Clock
    client: httpx.Client = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.client = httpx.Client(
            headers={"Accept": "application/json", **self.headers},
            timeout=SECONDS,
            follow_redirects=False,
        )

    def get(self, path: str, absent: Collection[int] = ()) -> Row | None:
        """Return what a path has; None where the answer's status is among ``absent``."""
        answer = self._answer("GET", self.base + path, None)
        if answer.status_code in absent:
            return None
        return self._checked(answer)

    def send(self, method: str, path: str, body: Row) -> Row:
        """Make or change something; raises Refused with the host's own words."""
        return self._checked(self._answer(method, self.base + path, body))

    def pages(self, path: str) -> Iterator[Row]:
        """Give each row of a list, page by page."""
        glue = "&" if "?" in path else "?"
        # Gitea calls the size of a page otherwise than the others do.
        url = f"{self.base}{path}{glue}per_page={PER_PAGE}&limit={PER_PAGE}"
        for _ in range(MOST_PAGES):
            answer = self._answer("GET", url, None)
            self._check(answer)
            rows = self._json(answer)
            if not isinstance(rows, list):
                raise Unreachable(f"{self.title} gave no list for {_shown(answer)}", AGAIN)
            yield from (cast(Row, row) for row in cast(list[Any], rows) if isinstance(row, dict))
            following = answer.links.get("next", {}).get("url", "")
            if not following:
                return
            if urlsplit(following)[:2] != urlsplit(self.base)[:2]:
                raise Unreachable(f"{self.title} leads to another address for its next page")
            url = following
        raise Unreachable(f"{self.title} has no end of pages for {visible_line(path)}")

    def _answer(self, method: str, url: str, body: Row | None) -> httpx.Response:
        """Ask until there is an answer that is none of waiting."""
        for left in reversed(range(MOST_TRIES)):
            try:
                answer = self.client.request(method, url, json=body)
            except httpx.HTTPError as error:
                told = visible_line(self.token.hidden_in(str(error))) or type(error).__name__
                raise Unreachable(f"{self.title} does not answer: {told}", AGAIN) from None
            wait = self._wait(answer)
            if wait is None and method == "GET" and answer.status_code in (502, 503, 504):
                wait = 2.0 ** (MOST_TRIES - left)
            if wait is None or not left:
                return answer
            if wait > MOST_WAIT:
                told = f"{self.title} wants {wait / 3600:.1f} hours to pass before the next call"
                raise Unreachable(told, AGAIN)
            self.clock.tell(f"{self.title} asks to wait: going on in {wait:.0f} s")
            self.clock.sleep(wait)
        raise AssertionError("the last try returns")

    def _wait(self, answer: httpx.Response) -> float | None:
        """Return for how many seconds the host wants to be left alone; None if it does not."""
        said = answer.headers.get("retry-after", "")
        used_up = answer.headers.get("x-ratelimit-remaining") == "0"
        if answer.status_code == 403 and not (said or used_up):
            return None
        if answer.status_code not in (403, 429, 503) or (answer.status_code == 503 and not said):
            return None
        if said:
            return max(0.0, _seconds(said, self.clock.now()))
        for name in ("x-ratelimit-reset", "ratelimit-reset"):
            reset = answer.headers.get(name, "")
            if reset.isdecimal():
                return max(1.0, int(reset) - self.clock.now())
        return UNSAID_WAIT

    def _checked(self, answer: httpx.Response) -> Row:
        self._check(answer)
        if answer.status_code == 204 or not answer.content:
            return {}
        body = self._json(answer)
        return cast(Row, body) if isinstance(body, dict) else {}

    def _check(self, answer: httpx.Response) -> None:
        status = answer.status_code
        if 200 <= status < 300:
            return
        said = self._said(answer)
        what = f"{_shown(answer)}: {said}" if said else _shown(answer)
        if status == 401:
            hint = f"is it expired, or of another host? ({VARIABLE}, --token-file)"
            raise UsageError(f"{self.title} does not know the token", hint)
        if status >= 500 or status == 429:
            raise Unreachable(f"{self.title} failed with {status} at {what}", AGAIN)
        if status == 403:
            raise Refused(f"{self.title} forbids {what}", status, f"the token needs {self.scopes}")
        if status == 404:
            hint = f"is the name right, and may the token see it? It needs {self.scopes}"
            raise Refused(f"{self.title} has nothing at {what}", status, hint)
        if 300 <= status < 400:
            raise Refused(
                f"{self.title} has moved {_shown(answer)}", status, "name where it is now"
            )
        raise Refused(f"{self.title} refuses {what} ({status})", status)

    def _said(self, answer: httpx.Response) -> str:
        """Return the host's own words: a message, and what it names beside."""
        try:
            body = answer.json()
        except ValueError:
            return ""
        if not isinstance(body, dict):
            return ""
        told = cast(dict[str, Any], body)
        parts = [*_texts(told.get("message") or told.get("error")), *_texts(told.get("errors"))]
        return visible_line(self.token.hidden_in("; ".join(filter(None, parts))), 200)

    def _json(self, answer: httpx.Response) -> Any:
        try:
            return answer.json()
        except ValueError:
            told = f"{self.title} answers no JSON at {_shown(answer)}"
            raise UsageError(told, "is that the address of such a host? (--url)") from None


def _texts(told: object) -> Iterator[str]:
    """Give the words of a message: a text, a list of them, or what is wrong by field."""
    if isinstance(told, str):
        yield told
    elif isinstance(told, list):
        for item in cast(list[Any], told):
            yield from _texts(cast(Row, item).get("message") if isinstance(item, dict) else item)
    elif isinstance(told, dict):
        for name, item in cast(Row, told).items():
            yield f"{name} {', '.join(_texts(item))}"


def _shown(answer: httpx.Response) -> str:
    return visible_line(f"{answer.request.method} {answer.request.url.path}", 160)


def _seconds(text: str, now: float) -> float:
    """Read Retry-After: seconds, or a date."""
    if text.strip().isdecimal():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return UNSAID_WAIT
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime.fromtimestamp(now, UTC)).total_seconds()
