"""What ``lab serve`` does: pages in this thread, gradings in others, and an end that loses nothing.

SIGTERM and Ctrl-C end it alike: no more hand-ins are claimed, gradings that run have their grace,
what has not ended by then waits again. A second signal ends the grace.
"""

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType

from grader.course.commands.earlier import with_earlier
from grader.course.config import Course, load_course
from grader.course.database.store import Store
from grader.course.grading.engines import Engine, LocalEngine
from grader.course.grading.leases import beside, visible_gpus
from grader.errors import CannotGrade, InferlabError, UsageError
from grader.judge.grade import choose_device
from grader.labs.lab import Lab, all_labs, find_root
from grader.sandbox.level import choose_level
from grader.service.adapters.database.database import DatabaseStore
from grader.service.adapters.processes import has_ended, worker_name
from grader.service.adapters.pushes import Pushes
from grader.service.adapters.web.app import make_app, server_of
from grader.service.adapters.web.shared.site import Push
from grader.service.commands.accounts import identity_of
from grader.service.commands.lti import launches_of
from grader.service.commands.roster import take_roster
from grader.service.core.chores import TURN_SECONDS, Chores
from grader.service.core.desk import Desk
from grader.service.core.pump import POLL_SECONDS, Pump, Way
from grader.service.ports.clock import WallClock
from grader.text import visible_line

HANDED = 3  # the descriptor at which systemd hands over the first socket
NICE = 5  # of gradings beside the pages that one process gives

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Order:
    """The service as asked for; ``engine`` None is the course's."""

    course: Path
    host: str
    port: int
    role: str
    engine: str | None
    device: str
    jobs: int
    sandbox: str
    grace: float  # seconds


def serve(order: Order) -> int:
    """Run until a signal comes; 3 if the gradings ended before."""
    course = load_course(order.course)
    labs = labs_of(course)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)  # each start tells its plan
    labs = _with_earlier(labs, course)
    stopped = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda _signal, _frame: stopped.set())
    with ExitStack() as stack:
        database = stack.enter_context(Store.open(course.database, course.folder))
        take_roster(course, database)
        store = DatabaseStore(database)
        desk = Desk(course, labs, store, WallClock())
        door = stack.enter_context(listening(order)) if order.role != "grade" else None
        gradings: Gradings | None = None
        if order.role != "web":
            gradings = stack.enter_context(closing(Gradings(desk, store, order, labs)))
        if door is not None:
            _serve_pages(desk, database, store, order, door)
            return 0
        while not stopped.wait(0.5) and not (gradings and gradings.failed):
            pass
        return 3 if gradings and gradings.failed else 0


def listening(order: Order) -> socket.socket:
    """Return the socket that requests come to: the one that systemd holds, or else one of our own.

    Raises UsageError if it cannot be had.
    """
    if os.environ.pop("LISTEN_PID", "") == str(os.getpid()):
        return _handed(os.environ.pop("LISTEN_FDS", ""))
    family = socket.AF_INET6 if ":" in order.host else socket.AF_INET
    try:
        return socket.create_server((order.host, order.port), family=family, backlog=2048)
    except OSError as error:
        place = f"{order.host}:{order.port}"
        told = f"nothing can be served at {place}: {error.strerror or error}"
        raise UsageError(told, "another --port, or --host") from None


def _handed(count: str) -> socket.socket:
    """Return what systemd hands over: requests wait in it while the service starts anew."""
    told = "systemd must hand over one TCP socket that listens"
    if count != "1":
        raise UsageError(f"{told}, not {count or 'none'}", "deploy/inferlab-web.socket is one")
    door = socket.socket(fileno=HANDED)
    if door.family not in (socket.AF_INET, socket.AF_INET6):
        raise UsageError(told, "deploy/inferlab-web.socket is one")
    os.set_inheritable(HANDED, False)
    return door


def _serve_pages(
    desk: Desk, database: Store, store: DatabaseStore, order: Order, door: socket.socket
) -> None:
    """Answer requests until a signal comes."""
    import uvicorn

    course = desk.course
    best = choose_device(order.device) if order.role == "all" else _best_of_course(order)

    def device(lab: Lab) -> str:
        return device_of(lab, best)

    with closing(Pushes(desk, store, device)) as pushes:

        def collect(push: Push) -> None:
            pushes.pushed(push.branch)

        app = make_app(
            *(desk, store, database, WallClock()),
            device=device,
            collect=collect,
            identity=identity_of(course),
            launches=launches_of(course, database),
        )
        port = int(door.getsockname()[1])
        print(f"{course.title}: {_address(course, order.host, port)}", file=sys.stderr, flush=True)
        uvicorn.Server(server_of(app, order.host, port)).run(sockets=[door])


def _best_of_course(order: Order) -> str:
    """Return where GPU labs are graded, for pages that may be on a machine without one."""
    return "cuda" if order.device == "cuda" else "cpu"


def labs_of(course: Course) -> list[Lab]:
    """Return the labs that a course names with a deadline or an opening time, or all of them."""
    named = {*course.deadlines, *course.service.opens}
    return [lab for lab in all_labs(find_root()) if not named or lab.number in named]


def _with_earlier(labs: list[Lab], course: Course) -> list[Lab]:
    """Let labs know their stubs of earlier publications; a warning where they cannot be read."""
    try:
        return with_earlier(labs, course, find_root())
    except InferlabError as error:
        told = visible_line(error.message, 400)
        logging.warning("stubs of earlier publications are not known: %s", told)
        return labs


def devices(wanted: str, labs: Sequence[Lab]) -> list[str]:
    """Return where hand-ins are graded: on GPUs what gains by them, where there are any."""
    found = choose_device(wanted)
    if found == "cpu":
        return ["cpu"]
    kinds = {device_of(lab, found) for lab in labs}
    return sorted(kinds)


def device_of(lab: Lab, best: str) -> str:
    """Return where a lab is graded; a GPU lab has the GPU, and all others never wait for one."""
    return "cuda" if best == "cuda" and "triton" in lab.imports else "cpu"


class Gradings:
    """The pumps of this process, each with its engine in a thread."""

    def __init__(self, desk: Desk, store: DatabaseStore, order: Order, labs: Sequence[Lab]) -> None:
        if (order.engine or desk.course.engine) == "local":
            choose_level(order.sandbox)  # what holds for each of them is told at once
        self._failed = threading.Event()
        self._ending = threading.Event()
        self._deadline = float("inf")
        self._grace = order.grace
        self._pumps: list[Pump] = []
        self._threads: list[threading.Thread] = []
        for device in devices(order.device, labs):
            pump = Pump(desk, store, WallClock(), _way(desk.course, order, device))
            engine = _engine(order, desk.course, device, pump)
            self._pumps.append(pump)
            thread = threading.Thread(target=self._run, args=(pump, engine), name=f"pump-{device}")
            self._threads.append(thread)
            thread.start()
        found = partial(compare, order.course, self._ending)
        self._chores = Chores(desk, store, WallClock(), found)
        thread = threading.Thread(target=self._do_chores, name="chores")
        self._threads.append(thread)
        thread.start()

    @property
    def failed(self) -> bool:
        """Whether a pump has ended without being asked to."""
        return self._failed.is_set()

    def close(self) -> None:
        """Let what runs end, within the grace, and give back the rest."""
        self._deadline = time.monotonic() + self._grace
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, self._hurry)
        self._ending.set()
        for pump in self._pumps:
            pump.stop()
        for thread in self._threads:
            thread.join()

    def _hurry(self, _signal: int, _frame: FrameType | None) -> None:
        self._deadline = time.monotonic()

    def _do_chores(self) -> None:
        while not self._ending.is_set():
            try:
                self._chores.turn()
            except InferlabError as error:
                _log.warning("a chore was not done: %s", error.line)
            except Exception:
                _log.exception("a chore was not done")
            self._ending.wait(TURN_SECONDS)

    def _run(self, pump: Pump, engine: Engine) -> None:
        try:
            pump.run(engine, grace=lambda: time.monotonic() < self._deadline)
        except CannotGrade as error:
            _log.error("nothing more is graded here: %s", error.line)
            self._failed.set()
        except Exception:
            _log.exception("nothing more is graded here")
            self._failed.set()
        finally:
            engine.close()


def compare(course: Path, ending: threading.Event, lab: Lab) -> None:
    """Find answers that are alike in a process of its own: it computes for a while."""
    asked = ("similarity", str(lab.number), "--course", str(course))
    nice = "import os, runpy; os.nice(10); runpy.run_module('grader', run_name='__main__')"
    with subprocess.Popen(
        [sys.executable, "-c", nice, *asked],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        while process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=POLL_SECONDS)
            if ending.is_set():
                process.terminate()
        if process.returncode not in (0, 1) and not ending.is_set():
            _log.warning("answers to %s were not compared: %s", lab.name, process.returncode)


def _way(course: Course, order: Order, device: str) -> Way:
    gpus = len(visible_gpus()) if device == "cuda" else 1
    return Way(
        worker=worker_name(device),
        device=device,
        sandbox=order.sandbox,
        engine=order.engine or course.engine,
        beside=beside(gpus) if device == "cuda" else 1,
        gone=has_ended,
    )


def _engine(order: Order, course: Course, device: str, pump: Pump) -> Engine:
    if (order.engine or course.engine) == "ray":
        from grader.course.grading.cluster import RayEngine

        return RayEngine(device)
    gpus = visible_gpus() if device == "cuda" else ()
    count = beside(len(gpus)) if gpus else 1
    nice = NICE if order.role == "all" else 0  # whoever waits for a page here comes first
    return LocalEngine(max(order.jobs, len(gpus)), gpus, count, pump.hear, nice)


def _address(course: Course, host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    return course.service.address or f"http://{shown}:{port}"
