"""``lab serve`` as a process that can be killed, and a course that is graded quickly."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from grader.course.config import load_course
from grader.course.database.store import Store
from grader.service.adapters.database.database import DatabaseStore
from grader.service.commands.roster import take_roster
from grader.service.core.door import Door
from grader.service.domain.records import Role
from grader.service.ports.clock import WallClock

ROOT = Path(__file__).resolve().parent.parent.parent
DEMO = ROOT / "tests" / "demo"
LAB, NUMBER = "90_echo", 90
HAND_OVER = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); "
    "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1'); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)
UP_SECONDS = 90.0
END_SECONDS = 120.0  # for what runs to end


def light_tree(folder: Path) -> Path:
    """Make a course repository of the judge and one light lab, ``90_echo``."""
    ignore = shutil.ignore_patterns("__pycache__", "suites")
    shutil.copytree(ROOT / "grader", folder / "grader", ignore=ignore)
    shutil.copytree(DEMO / "grader" / "suites", folder / "grader" / "suites")
    shutil.copytree(DEMO / "solutions", folder / "solutions")
    shutil.copytree(DEMO / "labs" / LAB, folder / "labs" / LAB)
    shutil.copy(DEMO / "labs" / "common.py", folder / "labs")
    return folder


def issue_tokens(course: Path) -> dict[str, str]:
    """Take a course's roster in, and give each student a token."""
    read = load_course(course)
    with Store.open(read.database, read.folder) as database:
        take_roster(read, database)
        door = Door(DatabaseStore(database), WallClock())
        return {each.id: door.issue(each.id, Role.STUDENT) for each in database.students()}


def free_port() -> int:
    """Return a port of this machine that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    """The service over a course file, with the labs of a tree; in a session of its own."""

    course: Path
    tree: Path = ROOT
    options: Sequence[str] = ()  # of ``lab serve``
    environment: dict[str, str] = field(default_factory=dict[str, str])
    port: int = field(default_factory=free_port)
    door: socket.socket | None = None  # that listens at the port, held as systemd would
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        """Where pages are, if it has any."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """What its processes have printed, one after the other."""
        return self.course.with_name(f"serve-{self.port}.log")

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start it; it may not answer yet."""
        line = [sys.executable, "-m", "grader", "serve", "--course", str(self.course)]
        line += ["--port", str(self.port), "--device", "cpu", *self.options]
        path = os.pathsep.join(filter(None, (str(self.tree), os.environ.get("PYTHONPATH", ""))))
        environment = os.environ | {"PYTHONPATH": path} | self.environment
        held: list[int] = []
        if self.door is not None:
            held = [self.door.fileno()]
            line = [sys.executable, "-c", HAND_OVER, str(held[0]), *line]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                line,
                cwd=self.tree,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=held,
            )

    def kill(self) -> None:
        """End it and all that it started in its session, at once."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def stop(self) -> None:
        """End it as systemd would, then for good."""
        if self.process is not None and self.runs:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(END_SECONDS)
        self.kill()

    def until_up(self, host: str = "") -> None:
        """Wait until it answers, to its course's host; raises RuntimeError with its log if not."""
        named = {"Host": host} if host else {}
        end = time.monotonic() + UP_SECONDS
        while self.runs and time.monotonic() < end:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/healthz", headers=named).status_code == 200:
                    return
            time.sleep(0.1)
        raise RuntimeError(f"the service does not answer:\n{self.log.read_text()[-2000:]}")

    @contextlib.contextmanager
    def running(self, host: str = "") -> Generator["Server"]:
        """Have it answer while the block runs, to its course's host where it has one."""
        self.start()
        try:
            self.until_up(host)
            yield self
        finally:
            self.stop()
