"""Handing in at a grading service, and what a student sees of it in the terminal.

Once the service has given a number, nothing that happens here can lose the hand-in: an interrupt or
a broken connection ends the watching alone, with the exit code that says so.
"""

import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from getpass import getpass
from pathlib import Path

from rich.table import Table

from grader.cli.handing.watching import later, moment_of, page, text_of, verdict, watched
from grader.client import logins
from grader.client.logins import Login
from grader.client.service import Answer, Service, Unreachable
from grader.errors import CannotGrade, UsageError
from grader.labs.documents.submission import collect, fingerprint
from grader.labs.lab import Lab, find_lab, find_root
from grader.languages.language import labelled, say, word
from grader.report.facts.next_step import typed
from grader.report.formats.terminal import make_console
from grader.text import number, visible_line

SHOWN_HASH = 12  # characters


@dataclass(frozen=True, slots=True)
class Wish:
    """A lab to be handed in, as asked for."""

    lab: str
    yes: bool = False
    plan: bool = False  # only say what would be handed in
    wait: bool = True
    origin: str = "terminal"  # what it is handed in from


def log_in(url: str | None) -> int:
    """Ask for the token of a service and keep it; without an address, say where one is in."""
    if url is None:
        return _tell_login()
    address = logins.service_url(url)
    token = _token()
    with Service(Login(address, token)) as service:
        who = service.whoami()
    file = logins.keep(Login(address, token))
    _say_where(address, who)
    print(say(f"the token is in {file}, which nobody else can read"))
    return 0


def log_out(url: str) -> int:
    """Forget the token of a service that is kept here."""
    address = logins.service_url(url)
    if not logins.forget(address):
        raise UsageError(f"there is no login at {address}")
    print(say(f"the token for {address} is forgotten here; your instructor can revoke it"))
    return 0


def hand_in(wish: Wish, login: Login) -> int:
    """Hand in one lab and show the verdict; 4 if that is still to come."""
    lab = find_lab(wish.lab, find_root())
    files, notes = _files(lab)
    _tell(lab, files, notes, login)
    if wish.plan:
        return 0
    if not wish.yes and not _agreed():
        print(say("nothing was handed in"))
        return 1
    with Service(login) as service:
        receipt = _sent(service, lab, files, wish.origin)
        number = int(receipt["number"])
        came, hash = moment_of(receipt, "received"), text_of(receipt, "sha256")[:SHOWN_HASH]
        print("\n" + say(f"Handed in as number {number}, {came},"))
        print("  " + say(f"hash {hash}: {page(service, number)}"))
        if not wish.wait:
            return later(number, lab)
        return watched(service, lab, number)


def attempts(lab_text: str) -> int:
    """List what was handed in of a lab."""
    lab = find_lab(lab_text, find_root())
    with Service(_login()) as service:
        found = service.hand_ins(lab.number)
    if not found:
        print(say(f"nothing of lab {lab.number} was handed in: make submit LAB={lab.number}"))
        return 0
    heads = (word("number"), word("handed in"), word("hash"), word("state"), word("points"))
    table = Table(*map(say, heads), box=None, pad_edge=False)
    for item in found:
        points = _points(item)
        table.add_row(
            *(text_of(item, "number"), moment_of(item, "received")),
            *(text_of(item, "sha256")[:SHOWN_HASH], say(text_of(item, "state")), points),
        )
    make_console(sys.stdout).print(table)
    return 0


def show(number: int) -> int:
    """Show a hand-in's verdict as it stands; 4 if there is none yet."""
    with Service(_login()) as service:
        return verdict(service, number)


def fetch(lab_text: str, number: int, output: str | None) -> int:
    """Write the files of a hand-in to a new folder."""
    lab = find_lab(lab_text, find_root())
    into = Path(output or f"{lab.name}-{number}")
    with Service(_login()) as service:
        state = service.state(number)
        if state.get("lab") != lab.name:
            other = text_of(state, "lab")
            raise UsageError(f"number {number} is of {other}, not of {lab.name}")
        first, *others = lab.handed_in
        files = {first: service.file(number, first)}
        for name in others:
            with suppress(UsageError):  # it was handed in without
                files[name] = service.file(number, name)
    try:
        into.mkdir(parents=True)
        for name, content in files.items():
            (into / name).write_bytes(content)
    except FileExistsError:
        raise UsageError(f"{into} is there already", "name another folder with -o") from None
    except OSError as error:
        raise UsageError(f"{into} cannot be written: {error.strerror}") from None
    print(say(f"number {number} is in {typed(into)}: {', '.join(files)}"))
    return 0


def _tell_login() -> int:
    login = logins.current()
    if login is None:
        raise UsageError(
            "you are logged in at no service", "lab login URL, as your course names it"
        )
    with Service(login) as service:
        who = service.whoami()
    _say_where(login.url, who)
    return 0


def _say_where(url: str, who: Answer) -> None:
    name, course = text_of(who, "name"), text_of(who, "course")
    print(say(f"logged in at {url} as {name} ({course})"))


def _login() -> Login:
    login = logins.current()
    if login is None:
        raise UsageError("you are logged in at no service", "lab login URL")
    return login


def _token() -> str:
    """Ask for a token without showing it; a pipe is read as it is."""
    token = getpass(say("token: ")) if sys.stdin.isatty() else sys.stdin.readline()
    if not token.strip():
        raise UsageError("no token was given", "your instructor has one for you")
    return token.strip()


def _files(lab: Lab) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return what a lab's folder hands in, as the judge would take it."""
    with tempfile.TemporaryDirectory(prefix="inferlab-") as folder:
        found = collect(lab, None, Path(folder) / "submission")
    return dict(found.files), found.notes


def _tell(lab: Lab, files: Mapping[str, bytes], notes: tuple[str, ...], login: Login) -> None:
    print(say(f"Lab {lab.number:02d} · {visible_line(lab.title)}"))
    for name, content in files.items():
        print("  " + say(f"{name}: {len(content):,} bytes"))
    for note in notes:
        print("  " + labelled("note", visible_line(say(note))))
    hash = fingerprint(dict(files))[:SHOWN_HASH]
    print("  " + say(f"goes to {login.url}, hash {hash}"))


def _agreed() -> bool:
    if not sys.stdin.isatty():
        print(say("no terminal to ask at: ARGS=--yes does it without a question"))
        return False
    return input(say("Hand in? [y/N] ")).strip().lower() in ("y", "yes")


def _sent(service: Service, lab: Lab, files: Mapping[str, bytes], origin: str) -> Answer:
    """Hand in; where the answer is lost, ask whether it had arrived, so that it does not twice."""
    before = _newest(service, lab)
    try:
        return service.hand_in(lab.number, files, origin)
    except Unreachable as error:
        with suppress(Unreachable):
            newest = _newest(service, lab)
            ours = newest.get("sha256") == fingerprint(dict(files))
            if ours and newest.get("number") != before.get("number"):
                return newest
        raise CannotGrade(error.message, "nothing is known to have arrived: try again") from None


def _newest(service: Service, lab: Lab) -> Answer:
    found = service.hand_ins(lab.number)
    return found[-1] if found else {}


def _points(item: Answer) -> str:
    if item.get("held_back"):
        return say(text_of(item, "held_back"))
    if item.get("waits"):
        return say(text_of(item, "waits"))
    points, possible = item.get("points"), item.get("possible")
    if not isinstance(points, int | float) or not isinstance(possible, int | float):
        return ""
    return say(f"{number(points)} of {number(possible)}")
