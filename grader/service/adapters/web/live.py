"""A grading's events as a stream (server-sent events): each with its id, so that none is missed.

While a stream waits it holds a task of the event loop and nothing else; every look is a short one
of the database. A stream ends with the grading.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from functools import partial

from grader.extras import needs
from grader.service.adapters.web.gate.rates import Streams
from grader.service.adapters.web.shared.answers import too_often
from grader.service.adapters.web.shared.site import Site
from grader.service.adapters.web.shared.visitors import is_still_in
from grader.service.core.views import told
from grader.service.domain.records import Event, HandIn, Who

with needs("service"):
    from anyio.to_thread import run_sync
    from starlette.requests import Request
    from starlette.responses import StreamingResponse
    from starlette.types import Receive, Scope, Send

LOOK_SECONDS = 1.0
LOOKS = 5  # after which it is seen whether whoever watches may still come in
COMMENT_SECONDS = 15.0  # after which a silent stream says that it is alive
MOST_SECONDS = 3600.0  # of one stream: the browser comes again by itself
RETRY_MS = 3000


class EventStream(StreamingResponse):
    """A stream of text that is counted as open until it ends, however it ends."""

    def __init__(self, content: AsyncIterator[str], streams: Streams, key: str) -> None:
        # Proxies must pass each event on as it comes.
        super().__init__(
            content, media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )
        self._streams = streams
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.leave(self._key)


def stream(site: Site, request: Request, who: Who, item: HandIn) -> EventStream:
    """Return the events of a hand-in from behind ``Last-Event-ID`` on.

    Raises the refusal of who has too many streams open.
    """
    key = f"{who.role} {who.name}"
    last = request.headers.get("last-event-id", "")
    after = int(last) if last.isascii() and last.isdigit() and len(last) < 19 else 0
    if not site.limits.streams.enter(key):
        raise too_often(RETRY_MS / 1000)
    return EventStream(
        _events(site, who, item, after, partial(is_still_in, request)), site.limits.streams, key
    )


async def _events(
    site: Site, who: Who, asked: HandIn, after: int, may_go_on: Callable[[], bool]
) -> AsyncIterator[str]:
    """Give events as text until the grading ends, or the session does that it was asked for by;
    places in the queue have no id: no events.
    """
    yield f"retry: {RETRY_MS}\n\n"
    number, quiet, place = asked.number, 0.0, None
    for look in range(int(MOST_SECONDS / LOOK_SECONDS)):
        if look % LOOKS == 0 and not await run_sync(may_go_on):
            return
        # First whether it is over: what happens after that look is seen by the next one.
        item = await run_sync(site.store.hand_in, number)
        found = await run_sync(partial(site.store.events, number, after))
        is_held = bool(found) and await run_sync(site.views.held, who, asked.student, asked.lab)
        for event in found:
            after = event.id
            yield _text(event, is_held)
        if item is None or not item.is_open:
            yield f"event: end\ndata: {json.dumps({'state': item.state if item else ''})}\n\n"
            return
        now = await run_sync(site.views.place, item)
        if now != place:
            place = now
            yield f"event: place\ndata: {json.dumps({'place': place})}\n\n"
        quiet = 0.0 if found else quiet + LOOK_SECONDS
        if quiet >= COMMENT_SECONDS:
            quiet = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(LOOK_SECONDS)


def _text(event: Event, is_held: bool) -> str:
    # JSON on one line: nothing in it can end the event or begin another.
    return (
        f"id: {event.id}\nevent: {event.kind}\ndata: {json.dumps(told(event, is_held=is_held))}\n\n"
    )
