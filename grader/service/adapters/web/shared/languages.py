"""In which language a browser is spoken to: as was chosen, else as it accepts, else the course's.

The switch of each page asks for that page with ``?lang=zh``: the choice goes into a cookie, and the
browser to the page itself. Clients of the API, and hosts, are answered in English.
"""

import re
from typing import Any
from urllib.parse import parse_qsl, urlencode

from grader.extras import needs
from grader.languages.language import Language, of_header, say, speaking, spoken, word
from grader.text import visible_line

with needs("service"):
    from markupsafe import Markup, escape
    from starlette.requests import Request
    from starlette.responses import RedirectResponse
    from starlette.types import ASGIApp, Receive, Scope, Send

COOKIE = "language"
ASKED = "lang"  # of an address
LASTS = 365 * 24 * 3600  # seconds that a choice is remembered
NAMES = {Language.ENGLISH: "English", Language.CHINESE: "中文"}
# Words of which templates know only which is meant: states, roles, and what stands in lists.
SAID = (
    *(word("waiting"), word("running"), word("graded"), word("superseded"), word("held")),
    *(word("open"), word("answered"), word("withdrawn"), word("mark"), word("now")),
    *(word("best"), word("last"), word("points"), word("all"), word("both")),
    *(word("student"), word("assistant"), word("instructor")),
)
_SAID_THERE = re.compile(r"\{(\w+):say\}")  # as the catalogue has it
CLIENTS = ("/api/", "/hooks/")  # whose words are read by programs


class Speaker:
    """Speaks to each request in the language of its reader; stands before the gate."""

    def __init__(self, app: ASGIApp, default: Language) -> None:
        self._app = app
        self._default = default

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through."""
        language = self._language(scope) if scope["type"] == "http" else self._default
        with speaking(language):
            await self._app(scope, receive, send)

    def _language(self, scope: Scope) -> Language:
        if scope["path"].startswith(CLIENTS):
            return Language.ENGLISH
        request = Request(scope)
        chosen = request.cookies.get(COOKIE, "")
        if chosen in tuple(Language):
            return Language(chosen)
        return of_header(request.headers.get("accept-language", ""), self._default)


class Switch:
    """Keeps a choice of language; stands behind the gate, which counts and protects its answers."""

    def __init__(self, app: ASGIApp, *, is_tls: bool) -> None:
        self._app = app
        self._is_tls = is_tls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer one that chooses."""
        chosen = _chosen(scope) if scope["type"] == "http" else None
        if chosen is None:
            return await self._app(scope, receive, send)
        language, rest = chosen
        # A path that begins with two would be another host.
        path = "/" + scope["raw_path"].decode("latin-1").partition("?")[0].lstrip("/")
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        answer.set_cookie(
            COOKIE,
            language,
            max_age=LASTS,
            path="/",
            secure=self._is_tls,
            httponly=True,
            samesite="lax",
        )
        return await answer(scope, receive, send)


def translated(sentence: str, /, **values: Any) -> Markup:
    """Return a text of a template in the language of the reader, its places filled with values."""
    shown = str(escape(say(sentence)))
    for name in _SAID_THERE.findall(shown):
        if not isinstance(values[name], Markup):
            values[name] = say(str(values[name]))
    filled = Markup(_SAID_THERE.sub(r"{\1}", shown))
    return (
        filled.format(**{key: drawn(value) for key, value in values.items()}) if values else filled
    )


def drawn(value: Any) -> Any:
    """Return a value as pages show it: what does not print is made visible."""
    return value if isinstance(value, Markup) else visible_line(str(value), 10_000)


def other() -> Language:
    """Return the language that the switch of a page leads to."""
    return Language.ENGLISH if spoken() is Language.CHINESE else Language.CHINESE


def _chosen(scope: Scope) -> tuple[Language, str] | None:
    """Return the language that an address asks for, and the rest of its query."""
    if scope["method"] not in ("GET", "HEAD") or scope["path"].startswith(CLIENTS):
        return None
    query = scope["query_string"].decode("latin-1")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return None
    found = [value for key, value in pairs if key == ASKED]
    if not found or found[-1] not in tuple(Language):
        return None
    return Language(found[-1]), urlencode([pair for pair in pairs if pair[0] != ASKED])
