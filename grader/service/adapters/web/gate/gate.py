"""Every request comes in here, and every answer goes out with the headers that protect a browser.

A body is read whole before anything looks at it: within its size and its time, or it is refused.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from grader.course.policy import ServicePolicy
from grader.extras import needs
from grader.service.adapters.web.gate.clients import Client, client_of, values
from grader.service.adapters.web.gate.rates import Limits, address_key

with needs("service"):
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Nothing but files of ours: no script or style in a page, no frame, no form to elsewhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not "no-referrer": with that a browser says of our own forms that they come from nowhere.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
    "cache-control": "no-store",
}
HSTS = "max-age=31536000"
OPEN_TO_ANY_HOST = ("/healthz", "/metrics")  # asked by an address of the machine
Refuse = Callable[[str, int, str, str, Mapping[str, str]], Response]
Count = Callable[[str, str, int, float], None]
log = logging.getLogger(__name__)


class Gate:
    """Stands before the application, as its outermost middleware.

    ``refuse`` makes the answer of a path, status, message, hint and headers; ``count`` is told
    method, route, status and seconds of each request.
    """

    def __init__(
        self, app: ASGIApp, policy: ServicePolicy, limits: Limits, refuse: Refuse, count: Count
    ) -> None:
        self._app = app
        self._policy = policy
        self._limits = limits
        self._refuse = refuse
        self._count = count
        self._headers = HEADERS | ({"strict-transport-security": HSTS} if _is_tls(policy) else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        client = client_of(scope, self._policy.proxies)
        scope["client"], scope["scheme"] = (client.host, 0), client.scheme
        scope.setdefault("state", {})["near"] = client.is_near
        answer = _Answer(send, self._headers)
        started = time.monotonic()
        try:
            await self._through(scope, receive, answer, client)
        except Exception:
            log.exception("an answer to %s failed", scope.get("route") and scope["route"].path)
            if not answer.status:
                told = "something of ours broke"
                refusal = self._refuse(scope["path"], 500, told, "try again in a minute", {})
                await refusal(scope, receive, answer)
        finally:
            route: Any = scope.get("route")
            path = str(route.path) if route is not None and hasattr(route, "path") else "-"
            self._count(scope["method"], path, answer.status, time.monotonic() - started)

    async def _through(
        self, scope: Scope, receive: Receive, answer: "_Answer", client: Client
    ) -> None:
        async def refuse(status: int, told: str, hint: str = "", **headers: str) -> None:
            named = {key.replace("_", "-"): value for key, value in headers.items()}
            response = self._refuse(scope["path"], status, told, hint, named)
            await response(scope, receive, answer)

        if _is_ambiguous(scope):
            return await refuse(400, "a body has one length", connection="close")
        if not self._is_ours(scope):
            return await refuse(421, "this is not the address of the course")
        wait = self._limits.addresses.take(address_key(client.host))
        if wait:
            hint = "wait a little"
            return await refuse(429, "too many requests", hint, retry_after=after(wait))
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                body = await self._body(scope, receive)
        except ConnectionError:
            return None
        except TimeoutError:
            return await refuse(408, "the request took too long to arrive", connection="close")
        if body is None:
            told = f"more than {self._limits.body >> 10} KiB were sent"
            hint = "outputs of a notebook can be cleared"
            return await refuse(413, told, hint, connection="close")
        return await self._app(scope, _replayed(body, receive), answer)

    def _is_ours(self, scope: Scope) -> bool:
        hosts = values(scope["headers"], b"host")
        if not self._policy.address or scope["path"] in OPEN_TO_ANY_HOST:
            return len(hosts) <= 1
        return [host.lower() for host in hosts] == [urlsplit(self._policy.address).netloc.lower()]

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the body; None if it is, or says that it is, too large.

        Raises ConnectionError if it ends too early.
        """
        most = self._limits.body
        for length in values(scope["headers"], b"content-length"):
            if not length.isdecimal() or int(length[:12]) > most:
                return None
        chunks: list[bytes] = []
        size = 0
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError("whoever asked has gone")
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > most:
                return None
            more = message.get("more_body", False)
        return b"".join(chunks)


class _Answer:
    """Sends an answer with the headers that are missing; knows its status, 0 before it begins."""

    def __init__(self, send: Send, headers: Mapping[str, str]) -> None:
        self._send = send
        self._headers = headers
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            there = {name.lower() for name, _ in message["headers"]}
            more = [(n.encode(), v.encode()) for n, v in self._headers.items()]
            headers = [*message["headers"], *(each for each in more if each[0] not in there)]
            message = {**message, "headers": headers}
        await self._send(message)


def after(seconds: float) -> str:
    """Return seconds as ``Retry-After`` has them."""
    return str(max(1, int(seconds) + 1))


def _is_ambiguous(scope: Scope) -> bool:
    """Whether another server could see the end of the body elsewhere: a length and chunks."""
    named = {name for name, _ in scope["headers"]}
    return {b"content-length", b"transfer-encoding"} <= named


def _is_tls(policy: ServicePolicy) -> bool:
    return policy.address.startswith("https://")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read to whoever reads it next, then what comes after it."""
    left = [body]

    async def replay() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return replay
