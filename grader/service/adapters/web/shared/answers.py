"""What is answered where something is refused: JSON to clients, a plain page to people."""

import logging
import math
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

from grader.errors import CannotGrade, InferlabError
from grader.extras import needs
from grader.languages.language import Language, labelled, said, say, say_each, spoken, word
from grader.service.adapters.web.gate.gate import after
from grader.service.adapters.web.shared.languages import NAMES, drawn, other, translated
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.domain.refusals import BadWork, NotFound, NotNow, NotSignedIn
from grader.text import number, visible_line

with needs("service"):
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

NOT_NOW = "this cannot be done at the moment"
NOTHING_DONE = "nothing was changed; try again later, and tell your instructor if it stays so"
NOT_THERE = "there is no such page, or it is not yours"
NO_SUCH = "there is no such thing, or it is not yours"
VARIES = "accept-language, cookie"  # words in pictures are the reader's
SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
MOST_POINTS = 200.0
MOST_TEXT = 4000  # characters of a comment or a reason
_log = logging.getLogger(__name__)
_SAID = {
    400: "this request makes no sense here",
    403: "that is not possible now",
    405: "this cannot be done here",
    422: "something is missing, or is not as it must be",
}


_TITLES = {
    400: word("Bad Request"),
    403: word("Forbidden"),
    404: word("Not Found"),
    405: word("Method Not Allowed"),
    408: word("Request Timeout"),
    409: word("Conflict"),
    413: word("Request Entity Too Large"),
    421: word("Misdirected Request"),
    422: word("Unprocessable Entity"),
    429: word("Too Many Requests"),
    500: word("Internal Server Error"),
    503: word("Service Unavailable"),
}


def environment() -> Environment:
    """Return the templates: everything is escaped, and what does not print is made visible."""
    found = Environment(
        loader=PackageLoader("grader.service.adapters.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=drawn,
    )
    found.filters["path"] = lambda text: quote(str(text), safe="")
    found.filters["say"] = lambda text: say(str(text))
    found.filters["each"] = lambda text: say_each(str(text))
    found.filters["code"] = lambda text: Markup("<code>{}</code>").format(drawn(text))
    found.filters["said"] = lambda text: said(str(text))
    own = {"_": translated, "label": _labelled, "in_english": _in_english}
    cast(dict[str, Any], found.globals).update(own)
    return found


def _in_english() -> Markup:
    """Return what marks a part of a page as English, where the page is not."""
    return Markup("" if spoken() is Language.ENGLISH else ' lang="en"')


def _labelled(label: str, text: str = "") -> str:
    return labelled(label, text).strip()


def page(site: Site, name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a template."""
    switch = {"language": spoken(), "other": other(), "other_name": NAMES[other()]}
    common = {"course": site.course.title, "values": values, **switch}
    return HTMLResponse(site.templates.get_template(name).render(common | values), status)


def refusal(
    site: Site, path: str, status: int, told: str, hint: str, headers: Mapping[str, str]
) -> Response:
    """Return an error as JSON below ``/api``, as a page elsewhere."""
    if path.startswith(("/api/", "/hooks/")):
        return _json(status, told, hint, None, headers)
    return _page(site, status, told, hint, headers)


async def on_error(request: Request, error: Exception) -> Response:
    """Answer what a route raised."""
    site, path = site_of(request), request.url.path
    is_api = path.startswith(("/api/", "/hooks/"))
    status, told, hint, again = _explained(error)
    headers: dict[str, str] = dict(getattr(error, "headers", None) or {})
    if isinstance(error, NotSignedIn):
        if not is_api and request.method == "GET":
            return RedirectResponse(f"/login?then={quote(path)}", 303)
        if is_api:
            headers["www-authenticate"] = "Bearer"
    if status == 404:
        told, hint = (NO_SUCH if is_api else NOT_THERE), ""
    if again is not None:
        headers["retry-after"] = after((again - site.now()).total_seconds())
    if is_api:
        return _json(status, told, hint, again, headers)
    return _page(site, status, told, hint, headers)


def _explained(error: Exception) -> tuple[int, str, str, datetime | None]:
    if isinstance(error, NotNow):
        return (429 if error.again else 403), error.message, error.hint, error.again
    if isinstance(error, CannotGrade):
        _log.error("a request was not answered, by our fault: %s", error.line)  # may name files
        return 503, NOT_NOW, NOTHING_DONE, None
    for kind, status in {NotSignedIn: 401, NotFound: 404, BadWork: 422}.items():
        if isinstance(error, kind):
            return status, error.message, error.hint, None
    if isinstance(error, InferlabError):
        return 422, error.message, error.hint, None
    status = cast(int, getattr(error, "status_code", 422))
    own = str(error.detail) if isinstance(error, Told) else _SAID.get(status, "")
    hint = error.hint if isinstance(error, Told) else ""
    return status, own or HTTPStatus(status).phrase.lower(), hint, None


class Told(HTTPException):
    """An answer with a status of HTTP, and words of ours."""

    def __init__(
        self, status: int, told: str, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, told, dict(headers or {}))
        self.hint = hint


def too_often(wait: float) -> Told:
    """Return the refusal of who comes too often."""
    return Told(429, "too many requests", "wait a little", {"retry-after": after(wait)})


def drawing(content: bytes, kind: str) -> Response:
    """Return a picture, which may hold style of its own and nothing that runs."""
    headers = {"content-security-policy": SVG_POLICY, "cache-control": "private, max-age=300"}
    return Response(content, media_type=kind, headers={**headers, "vary": VARIES})


def text_of_form(text: str, missing: str) -> str:
    """Return what somebody wrote; refuses what is empty or too long to be kept."""
    words = text.replace("\r\n", "\n").strip()
    if not words or len(words) > MOST_TEXT:
        raise Told(422, missing if not words else f"at most {MOST_TEXT} characters can be kept")
    return words


def points_of_form(text: str) -> float | None:
    """Read points; None, which takes back what was given, of an empty field."""
    if not text.strip():
        return None
    try:
        points = float(text)
    except ValueError:
        points = math.nan
    if not 0 <= points <= MOST_POINTS:
        raise Told(422, f"points are a number from 0 to {number(MOST_POINTS)}")
    return points


def _json(
    status: int, told: str, hint: str, again: datetime | None, headers: Mapping[str, str]
) -> Response:
    content = {
        "error": visible_line(told, 1000),
        "hint": visible_line(hint, 1000),
        "again": again.isoformat() if again else None,
    }
    return JSONResponse(content, status, headers=dict(headers))


def _page(
    site: Site, status: int, told: str, hint: str, headers: Mapping[str, str]
) -> HTMLResponse:
    title = _TITLES.get(status) or HTTPStatus(status).phrase
    answer = page(site, "message.html", status, title=title, told=told, hint=hint, visit=None)
    answer.headers.update(headers)
    return answer
