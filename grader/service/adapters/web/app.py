"""The application: the routes, the rules behind them, and the gate before them."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from grader.course.likeness.drawn import STYLE
from grader.extras import needs
from grader.labs.lab import Lab
from grader.service.adapters.web import (
    api,
    boards,
    hooks,
    operation,
    pages,
    queue,
    regrades,
    sign_in,
    staff,
)
from grader.service.adapters.web.desk import (
    given,
    grants,
    items,
    likeness,
    model_answers,
    reading,
    requests,
    unread,
)
from grader.service.adapters.web.desk import launches as launch_pages
from grader.service.adapters.web.gate.gate import Gate
from grader.service.adapters.web.gate.patience import PatientProtocol
from grader.service.adapters.web.gate.rates import Limits
from grader.service.adapters.web.oidc.identity import Identity
from grader.service.adapters.web.operation import Metrics
from grader.service.adapters.web.shared.answers import environment, on_error, refusal
from grader.service.adapters.web.shared.languages import Speaker, Switch
from grader.service.adapters.web.shared.site import Books, Collect, Launches, Site
from grader.service.adapters.web.texts.handouts import handouts_of
from grader.service.adapters.web.texts.reports import SHEET
from grader.service.core.desk import Desk
from grader.service.core.door import Door
from grader.service.core.overviews import Overviews
from grader.service.core.people.reading import Readers
from grader.service.core.people.unread import Unread
from grader.service.core.regrades import Regrades
from grader.service.core.views import Views
from grader.service.ports.clock import Clock
from grader.service.ports.store import Store

with needs("service"):
    import uvicorn
    from fastapi import FastAPI
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
    from starlette.responses import Response

from grader.errors import InferlabError

STATIC = Path(__file__).parent / "static"
SHEETS = {
    "service.css": "text/css",
    "service.js": "text/javascript",
    "reading.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
DESK = (
    *(given.router, grants.router, items.router, launch_pages.router, likeness.router),
    *(model_answers.router, reading.router, requests.router, unread.router),
)
PAGES = (
    *(sign_in.router, pages.router, queue.router, boards.router, staff.router, regrades.router),
    *(api.router, hooks.router, operation.router),
)
CACHED = {"cache-control": "public, max-age=300"}


def make_app(
    desk: Desk,
    store: Store,
    books: Books,
    clock: Clock,
    *,
    limits: Limits | None = None,
    device: Callable[[Lab], str] = lambda lab: "cpu",
    collect: Collect | None = None,
    identity: Identity | None = None,
    launches: Launches | None = None,
) -> FastAPI:
    """Make the application of a course, whose desk takes what is handed in.

    ``books`` is the course database behind ``store``, and may be the same object. ``device`` says
    where a lab's hand-ins are graded. ``collect`` is told of pushes and must return at once;
    without it no hook is there. ``identity`` lets students in by their accounts, and
    ``launches`` whom a learning platform vouches for.
    """
    limits = limits or Limits()
    course, labs = desk.course, [*desk.labs.values()]
    site = Site(
        course,
        labs,
        store,
        books,
        clock,
        desk,
        Door(store, clock),
        Views(course, store, clock),
        Regrades(course, store, clock),
        Readers(course, store, books, clock),
        Unread(course, store, books, clock),
        Overviews(),
        limits,
        handouts_of(labs),
        environment(),
        device,
        collect,
        identity,
        launches,
    )
    app = FastAPI(title=course.title, openapi_url=None, docs_url=None, redoc_url=None)
    app.router.redirect_slashes = False
    app.state.site, app.state.metrics = site, Metrics()
    for router in (*DESK, *PAGES):
        app.include_router(router)
    app.add_api_route("/static/{name}", static, methods=["GET"])
    for kind in (InferlabError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, on_error)
    count = app.state.metrics.count
    refuse = partial(refusal, site)
    app.add_middleware(Switch, is_tls=site.is_tls)
    app.add_middleware(Gate, policy=course.service, limits=limits, refuse=refuse, count=count)
    app.add_middleware(Speaker, default=course.language)
    return app


def static(name: str) -> Response:
    """Give a file that the pages are drawn with."""
    if name == "report.css":
        return Response(SHEET, media_type="text/css", headers=CACHED)
    if name == "likeness.css":
        return Response(STYLE, media_type="text/css", headers=CACHED)
    if name not in SHEETS:
        raise HTTPException(404)
    return Response((STATIC / name).read_bytes(), media_type=SHEETS[name], headers=CACHED)


def server_of(app: FastAPI, host: str, port: int) -> uvicorn.Config:
    """Return how the application is served: what a proxy says is the gate's to judge alone."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        proxy_headers=False,
        server_header=False,
        date_header=True,
        h11_max_incomplete_event_size=1 << 15,  # of request line and headers
        http=PatientProtocol,
        ws="none",
        timeout_keep_alive=15,
        timeout_graceful_shutdown=5,
        limit_concurrency=2000,
        access_log=False,
    )
