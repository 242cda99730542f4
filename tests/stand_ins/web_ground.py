"""A real ``lab serve`` for the attacks of ``tests/exploits/web``: as it is, and behind nginx.

What may never be seen holds canaries that are new in each run: the code, comments and verdict of
another student, what the suite said in secret, the seed. Gradings are recorded as a worker records
them: judging has attacks of its own.
"""

import functools
import importlib.util
import itertools
import secrets
import subprocess
import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

from stand_ins import nginx
from stand_ins.attacks import Attack
from stand_ins.nginx import HOST
from stand_ins.sample_reports import measured, speed_entry
from stand_ins.serving import Server, free_port
from stand_ins.trial import Outcome
from stand_ins.web_lines import Answer, Line, Person, Place

from grader.course.config import load_course
from grader.course.database.records import Attempt, Comment
from grader.course.database.store import Store
from grader.labs.lab import find_lab
from grader.labs.results import Report, TestResult, Verdict
from grader.service.adapters.database.database import DatabaseStore
from grader.service.commands.roster import take_roster
from grader.service.core.desk import Desk
from grader.service.core.door import Door
from grader.service.domain.records import Alias, Origin, Role, Who
from grader.service.ports.clock import WallClock

ROOT = Path(__file__).resolve().parents[2]
STUDENTS = 600  # each attack has its own
LAB, SPEED = "3", "7"
HOOK = "a secret of the hook"
COURSE = """title = "Inference"
[deadlines]
3 = 2100-01-01T00:00:00Z
7 = 2100-01-01T00:00:00Z
[service]
feedback = "points"
"""
HOOKS = f'[service.hooks]\ngithub = "{HOOK}"\ngitea = "{HOOK}"\ngitlab = "{HOOK}"\n'
PROXIED = f'address = "https://{HOST}"\nproxies = ["127.0.0.1"]\n'
# What uvicorn itself answers to bytes that are no request: no page, and nothing in it.
NO_REQUEST = b"Invalid HTTP request received."
GUARDED = {
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}
TRACES = (b"Traceback", b'File "', b"sqlalchemy", b"site-packages", str(ROOT).encode())


class NotHereError(Exception):
    """An attack cannot be tried on this machine; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Known:
    """What an attack may know, and try to reach: the victim's hand-in, students' own are later."""

    number: int
    student: str
    secrets: dict[str, str]  # what nobody else may ever see, by what it is


class Ground:
    """The course and its two services; close it at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.port, self.proxied, self.nginx = (free_port() for _ in range(3))
        names = ("suite", "test", "code", "comment", "output", "reason")
        self.canaries = {name: f"canary{secrets.token_hex(8)}" for name in names}
        self.canaries["seed"] = str((1 << 30) + secrets.randbits(30))
        rows = [f"s{number:03},Student {number}" for number in range(STUDENTS)]
        rows.append("victim,Victoria Victim")
        (folder / "roster.csv").write_text("\n".join(["id,name", *rows, ""]))
        (folder / "course.toml").write_text(COURSE + HOOKS)
        (folder / "proxied.toml").write_text(COURSE + PROXIED + HOOKS)
        course = load_course(folder / "course.toml")
        self._database = Store.open(course.database, course.folder)
        take_roster(course, self._database)
        self.store = DatabaseStore(self._database)
        self.door = Door(self.store, WallClock())
        self.labs = {number: find_lab(number, ROOT) for number in (LAB, SPEED)}
        self.desk = Desk(course, [*self.labs.values()], self.store, WallClock())
        self._next = itertools.count()
        self._client = itertools.count(2)
        self._lock = threading.Lock()
        self._proxy: subprocess.Popen[bytes] | None = None
        self._servers = [
            Server(folder / f"{name}.toml", options=("--role", "web"), port=port)
            for name, port in (("course", self.port), ("proxied", self.proxied))
        ]
        self.known = self._victim()
        self.serve()

    def serve(self) -> None:
        """Start both services, and nginx where there is one."""
        for server in self._servers:
            server.start()
        if nginx.is_here():
            self._proxy = subprocess.Popen(
                nginx.line_of(self.folder, self.nginx, self.proxied), stderr=subprocess.DEVNULL
            )
        for server, host in zip(self._servers, ("", HOST), strict=True):
            server.until_up(host)

    def close(self) -> None:
        """End what was started."""
        if self._proxy is not None:
            self._proxy.terminate()
            self._proxy.wait()
        for server in self._servers:
            server.stop()
        self._database.close()

    def attempt(self, attack: Attack) -> Outcome:
        """Let an attack be tried, and say what did not hold."""
        started = time.monotonic()
        web = Web(self, f"127.0.{1 + (at := next(self._client)) // 250}.{1 + at % 250}")
        problems: list[str] = []
        got = "held"
        try:
            _load(attack.file).attack(web)
        except NotHereError as error:
            got = f"not tried: {error}"
        except AssertionError as error:
            problems.append(str(error) or "an assertion without words")
        except Exception as error:  # what the attack met and did not expect
            problems.append(f"{type(error).__name__}: {error}")
        problems += dict.fromkeys(web.problems)
        if got == "held":
            got = "fell" if problems else f"held, {web.count} answers"
        return Outcome(attack, got, tuple(problems), time.monotonic() - started)

    def complaints(self) -> list[str]:
        """Return what the services wrote of errors of theirs."""
        found: list[str] = []
        for server in self._servers:
            name = server.course.stem
            lines = server.log.read_text("utf-8", "replace").splitlines()
            found += [f"{name}: {line}" for line in lines if "ERROR" in line or "Error:" in line]
        return list(dict.fromkeys(found))

    def student(self) -> str:
        """Return the id of a student whom no attack has had."""
        return f"s{next(self._next):03}"

    def hand_in(self, student: str, code: bytes, lab: str = LAB) -> int:
        """Hand in as somebody; return the number."""
        chosen = self.labs[lab]
        files = {chosen.code_name: code, chosen.pseudocode.name: b"# Mine\n"}
        item = self.desk.take(Who(student, Role.STUDENT), chosen, files, Origin.TERMINAL)
        return item.number

    def grade(self, number: int, report: Report) -> None:
        """Record a grading of what waits, as a worker does."""
        now = datetime.now(UTC)
        with self._lock:
            claimed = self.store.claim("worker", "cpu", now, timedelta(hours=1))
            beside: list[int] = []
            while claimed is not None and claimed.number != number:
                beside.append(claimed.number)
                claimed = self.store.claim("worker", "cpu", now, timedelta(hours=1))
            for other in beside:
                self.store.release(other, "worker")
            assert claimed is not None, f"{number} does not wait"
            data = replace(report, lab=int(claimed.lab[:2])).to_json()
            attempt = Attempt(
                *(claimed.student, claimed.lab, "", claimed.key, claimed.received, now, 2.0),
                *(report.score, report.graded, report.exit_code, data),
            )
            assert self.store.finish(number, "worker", attempt, now)
        self.store.tell(number, "graded", {"points": report.score}, now)

    def report(self, text: str = "", output: str = "") -> Report:
        """Return a report with the suite's secrets in its hidden tests; a text of a student's in
        its public ones.
        """
        secret = self.canaries
        hidden = TestResult(
            f"test_{secret['test']}[3-7]", "norm", "hidden", Verdict.FAILED,
            f"{secret['suite']} {text}", 0.1, f"{secret['output']} {output}",
        )  # fmt: skip
        public = TestResult("test_shown", "norm", "public", Verdict.FAILED, text, 0.1, output)
        entries = [speed_entry(name, size=size) for size, name in enumerate("ab", 1)]
        made = measured(*entries)
        provenance = {"sandbox": "bwrap", "seed": int(secret["seed"]), "device": "cpu"}
        return replace(made, tests=(hidden, public, *made.tests), provenance=provenance)

    def _victim(self) -> Known:
        code = f"# {self.canaries['code']}\n".encode()
        number = self.hand_in("victim", code)
        self.grade(number, self.report())
        comment_on(self.store, number, self.canaries["comment"])
        return Known(number, "victim", dict(self.canaries))


class Web:
    """The service as one attack sees it: an address of its own, students of its own.

    Every answer is looked through: for canaries that whoever asked may not see, for what protects a
    browser, for words of ours about ourselves.
    """

    def __init__(self, ground: Ground, client: str) -> None:
        self._ground = ground
        self.client = client
        self.known = ground.known
        self.problems: list[str] = []
        self.count = 0
        self.place = Place(ground.port, f"127.0.0.1:{ground.port}", client)
        self.straight = Place(ground.proxied, HOST, client)  # around the proxy
        self.by_nginx = Place(ground.nginx, HOST, client, tls=True)

    @property
    def folder(self) -> Path:
        """The folder of the course, to look at from outside."""
        return self._ground.folder

    @property
    def store(self) -> DatabaseStore:
        """The database, to look at from outside."""
        return self._ground.store

    def nobody(self, place: Place | None = None) -> Person:
        """Return somebody who has not signed in."""
        return Person(place or self.place, self._heard, "", None)

    def student(self, place: Place | None = None) -> Person:
        """Return a student with a session and a token."""
        return self._come(self._ground.student(), Role.STUDENT, place)

    def staff(self, role: Role = Role.ASSISTANT, place: Place | None = None) -> Person:
        """Return one of the staff with a session and a token."""
        return self._come(f"{role}-{secrets.token_hex(4)}", role, place)

    def proxy(self) -> Place:
        """Return where nginx answers."""
        if not nginx.is_here():
            raise NotHereError("there is no nginx here")
        return self.by_nginx

    def line(self, place: Place | None = None) -> Line:
        """Open a connection of nobody's."""
        return self.nobody(place).line()

    def hand_in(self, person: Person, code: bytes = b"x = 1\n", lab: str = LAB) -> int:
        """Hand in as a student, past the web."""
        return self._ground.hand_in(person.name, code, lab)

    def graded(self, person: Person, text: str = "", output: str = "", lab: str = LAB) -> int:
        """Hand in and let it be graded; a student's text stands in the public tests' messages."""
        code = f"x = {secrets.randbits(60)}\n".encode()
        number = self._ground.hand_in(person.name, code, lab)
        self._ground.grade(number, self._ground.report(text, output))
        return number

    def comment(self, number: int, text: str) -> None:
        """Let the staff say something on a hand-in."""
        comment_on(self.store, number, text)

    def alias(self, person: Person, name: str) -> bool:
        """Put a student on the board of the speed lab, past the rules of the web."""
        return self.store.put_alias(Alias(person.name, self._ground.labs[SPEED].name, name))

    def revoke(self, person: Person) -> None:
        """End somebody's tokens and sessions."""
        self._ground.door.revoke(person.name)

    def sessions(self, person: Person) -> str:
        """Return the cookie of a new session of somebody."""
        return self._ground.door.open(person.token)[0]

    def _come(self, name: str, role: Role, place: Place | None) -> Person:
        person = Person(place or self.place, self._heard, name, role)
        person.token = self._ground.door.issue(name, role)
        person.cookie, visit = self._ground.door.open(person.token)
        person.csrf = visit.csrf
        return person

    def _heard(self, person: Person, answer: Answer) -> None:
        self.count += 1
        self.problems += wrong(
            answer, {} if person.role and person.role is not Role.STUDENT else self.known.secrets
        )


def comment_on(store: DatabaseStore, number: int, text: str) -> None:
    """Say something of a hand-in."""
    item = store.hand_in(number)
    assert item is not None
    now = datetime.now(UTC)
    store.reading.add_comment(Comment(item.student, item.lab, item.key, "tutor", text, now))


def wrong(answer: Answer, hidden: dict[str, str]) -> list[str]:
    """Say what no answer may be, whatever was asked."""
    whole = answer.whole
    found = [
        f"leak of the {what}: {answer}" for what, text in hidden.items() if text.encode() in whole
    ]
    if answer.status >= 500 and not (answer.status == 501 and answer.header("server")):
        found.append(f"an error of ours: {answer}")
    found += [f"words of ours, {trace!r}: {answer}" for trace in TRACES if trace in whole]
    is_ours = "content-security-policy" in dict(answer.headers)
    if not is_ours and NO_REQUEST not in answer.body and not answer.header("server"):
        found.append(f"nothing protects a browser: {answer}")
    for name, value in GUARDED.items() if is_ours else ():
        if not answer.header(name).startswith(value):
            found.append(f"{name} is {answer.header(name)!r}: {answer}")
    if answer.header("server") and not answer.header("server").startswith("nginx"):
        found.append(f"tells what it runs: {answer}")
    return found


@functools.cache
def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"web_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
