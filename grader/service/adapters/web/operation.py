"""What whoever runs the service looks at: whether it is well, and its numbers for Prometheus."""

import shutil

from grader.errors import CannotGrade
from grader.extras import needs
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.domain.records import State
from grader.service.domain.refusals import NotFound

with needs("service"):
    from fastapi import APIRouter
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response

router = APIRouter()
STREAM = "/events"  # the end of the routes that last as long as a grading
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counts requests by their routes, of which there are few: never by what was asked for."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        self._requests = Counter(
            "inferlab_requests", "Requests answered", ["method", "route", "status"], registry=own
        )
        self._seconds = Histogram(
            "inferlab_request_seconds", "Time to answer", ["route"], buckets=SECONDS, registry=own
        )
        self._queue = Gauge(
            "inferlab_hand_ins", "Hand-ins that are open", ["device", "state"], registry=own
        )
        self._wait = Gauge(
            "inferlab_wait_seconds",
            "Waits of gradings begun of late",
            ["device", "of"],
            registry=own,
        )
        self._free = Gauge(
            "inferlab_disk_free_bytes", "Room left where hand-ins are kept", registry=own
        )

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        kind = method if method in ("GET", "HEAD", "POST") else "other"
        self._requests.labels(kind, route, str(status)).inc()
        if not route.endswith(STREAM):
            self._seconds.labels(route).observe(seconds)

    def text(self, site: Site) -> bytes:
        """Return all numbers, the queue's as it is now."""
        outlook = site.views.outlook()
        for pace in outlook.paces.values():
            for state, count in ((State.WAITING, pace.waiting), (State.RUNNING, pace.running)):
                self._queue.labels(pace.device, state).set(count)
            for name, wait in (("median", pace.median), ("worst", pace.worst)):
                self._wait.labels(pace.device, name).set(wait.total_seconds() if wait else 0)
        self._free.set(shutil.disk_usage(site.course.folder).free)
        return generate_latest(self._registry)


@router.get("/healthz")
def health(request: Request) -> Response:
    """Say whether the service can answer: the database can be read."""
    try:
        site_of(request).store.hand_in(1)
    except CannotGrade:
        return PlainTextResponse("the database cannot be read\n", 503)
    return PlainTextResponse("ok\n")


@router.get("/metrics")
def metrics(request: Request) -> Response:
    """Tell the numbers to whoever is near: this machine, and the proxies that the course names."""
    if not request.state.near:
        raise NotFound("there is no such page")
    found: Metrics = request.app.state.metrics
    text = found.text(site_of(request))
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
