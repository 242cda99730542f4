"""``lab course init``: an organisation at a git host becomes a course's, by one command again and
again.
"""

import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.course.commands.marks.app import COURSE_FILE
from grader.course.private import private
from grader.course.rules.hosts import Kind
from grader.errors import UsageError
from grader.languages.language import Language
from grader.text import visible_line

if TYPE_CHECKING:
    from grader.course.config import Course
    from grader.course.hosting.classroom import Classroom, Hook, Place
    from grader.course.hosting.host import Host
    from grader.course.hosting.names import Member
    from grader.course.rosters.people import People, Person

TEMPLATE, NAME = "labs", "labs-{id}"

course_app = typer.Typer(
    help="A course's home at a git host.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)


@course_app.callback()
def course_() -> None:
    """A course's home at a git host."""


@dataclass(frozen=True, slots=True)
class Order:
    """A home as asked for; None or "": what course.toml or the roster says."""

    labs: tuple[str, ...]
    kind: Kind
    org: str
    url: str
    roster: Path | None
    template: str
    name: str
    column: str
    token_file: Path | None
    dry_run: bool
    unproven: bool
    language: Language | None
    course: Path


@course_app.command("init")
@private
def init(
    on: Annotated[Kind, typer.Option("--on", help="whose API is spoken")],
    org: Annotated[str, typer.Option(metavar="NAME", help="an organisation, or a GitLab group")],
    labs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[LAB…]", help="to publish first: 1-3, 4,5 or names of folders"),
    ] = None,
    url: Annotated[str, typer.Option(metavar="URL", help="of a host other than the public")] = "",
    roster: Annotated[
        Path | None, typer.Option(metavar="FILE", help="the students; default: the course's")
    ] = None,
    template: Annotated[
        str, typer.Option(metavar="NAME", help="the repository that students' begin as")
    ] = TEMPLATE,
    name: Annotated[
        str, typer.Option(metavar="PATTERN", help="of a student's, with {id} or {account}")
    ] = NAME,
    account: Annotated[
        str,
        typer.Option(metavar="COLUMN", help="of the roster; default: github (or so), else account"),
    ] = "",
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="of mode 0600; default: $INFERLAB_HOST_TOKEN"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="ask only, and list what would be made")
    ] = False,
    unproven: Annotated[
        bool, typer.Option("--unproven", help="also labs that fail their model answers")
    ] = False,
    lang: Annotated[Language | None, typer.Option("--lang", help="of handouts and stubs")] = None,
    course: Annotated[Path, typer.Option("--course", metavar="FILE", help="the course")] = (
        COURSE_FILE
    ),
) -> None:
    """Make a template, and a private repository for each student; again: what is missing."""
    asked = tuple(labs or ()), on, org, url, roster, template, name, account, token_file
    raise typer.Exit(init_course(Order(*asked, dry_run, unproven, lang, course)))


@dataclass(frozen=True, slots=True)
class _Class:
    """A roster with what becomes of it, by the course's rules."""

    file: Path
    people: "People"
    members: tuple["Member", ...]
    branch: str  # of the course
    title: str
    hook: "Hook | None"


def init_course(order: Order) -> int:
    """Make what is missing; 1 if something could not be, or the labs may not be published."""
    from grader.course.hosting.calls import Clock
    from grader.course.hosting.classroom import Classroom
    from grader.course.hosting.kinds import address_of
    from grader.course.hosting.mirror import Mirror
    from grader.course.hosting.opening import open_host
    from grader.course.hosting.token import read_token

    address = address_of(order.kind, order.url)
    course = _course(order)
    found = _class(order, course)
    token = read_token(order.token_file)
    host = open_host(order.kind, order.org, address, token, Clock(_say))
    with closing(host), tempfile.TemporaryDirectory(prefix="inferlab-course-") as folder:
        mirror = Mirror(Path(folder) / "template.git", host.git_user, token)
        said = found.branch, found.title, found.hook, order.dry_run
        room = Classroom(host, mirror, *said)
        room.look()
        if code := _template(order, room, host):
            return code
        places: list[Place] = []
        with _kept(order, found, places):
            for member in found.members:
                place = _place(order, room, member)
                places.append(place)
                _tell(place, is_dry=order.dry_run)
        if room.unprotected:
            _say(f"note: {room.branch} is not protected: {room.unprotected}")
    return _sum(order, places)


def _course(order: Order) -> "Course | None":
    from grader.course.config import load_course

    if order.course == COURSE_FILE and not order.course.exists():
        return None
    return load_course(order.course)


def _class(order: Order, course: "Course | None") -> _Class:
    """Read the roster, and refuse what the host would before anything is made."""
    from grader.course.commands.author import BRANCH, TITLE
    from grader.course.hosting.names import members_of, problems
    from grader.course.rosters.people import read_people
    from grader.labs.published import OWN

    file = order.roster or (course.roster if course else None)
    if file is None:
        raise UsageError("who takes part?", "--roster FILE, or roster in course.toml")
    branch = course.publish_branch if course else BRANCH
    if "{" in branch:
        told = f"[publish] branch = {branch!r} has a branch for each lab"
        raise UsageError(told, 'students begin as one branch here: branch = "main"')
    people = read_people(file)
    own = course.branch if course else OWN
    members = members_of(order.kind, people, (order.name, own), order.column)
    told = [f"{visible_line(file.name, 80)}, {line}" for line in people.problems]
    told += problems(order.kind, order.template, members)
    there = [member.person.id for member in members if member.branch == branch]
    told += [f"{id}: the branch {branch} is the course's" for id in there]
    for line in told:
        print(f"error: {line}", file=sys.stderr)
    if told:
        many = "1 thing" if len(told) == 1 else f"{len(told)} things"
        raise UsageError(f"{many} to correct; nothing was made", "correct them and run this again")
    hook = _hook(order, course)
    return _Class(file, people, members, branch, course.title if course else TITLE, hook)


def _hook(order: Order, course: "Course | None") -> "Hook | None":
    """Return the service's hook, where the course has a service and a secret for it."""
    from grader.course.hosting.classroom import Hook

    kind = "gitea" if order.kind is Kind.FORGEJO else order.kind.value
    service = course.service if course else None
    secret = service.hook_secrets.get(kind, "") if service else ""
    if service is None or not service.address or not secret:
        return None
    return Hook(f"{service.address}/hooks/git/{kind}", secret)


def _template(order: Order, room: "Classroom", host: "Host") -> int:
    """Bring the template up to date; the exit code if the labs may not be published."""
    from grader.course.commands.author import Wish, publish_labs

    there = room.template(order.template)
    mirror, branch = room.mirror, room.branch
    where = visible_line(f"{order.org}/{order.template}", 120)
    if there:
        mirror.fetch(there.url)
    before = mirror.tip(branch)
    if order.labs:
        wish = Wish(
            *(order.labs, str(mirror.folder), branch, order.course),
            dry_run=False,  # it goes to a folder that is thrown away
            unproven=order.unproven or order.dry_run,
            language=order.language,
            workflows=(order.kind,),
            shown=f"{where} at {host.title}" + (" (not pushed)" if order.dry_run else ""),
        )
        if code := publish_labs(wish):
            return code
    if not mirror.tip(branch):
        raise UsageError(f"{where} has no labs yet: which?", "lab course init 1-3 --on …")
    did = [] if there else [f"made {where}"]
    did += [f"pushed {branch}"] if mirror.tip(branch) != before else []
    if not order.dry_run:
        there = there or room.make_template(order.template)
        if mirror.tip(branch) != before:
            mirror.push_all(there.url, branch)
    print(f"template {where}: {_done(did, is_dry=order.dry_run)}")
    return 0


def _place(order: Order, room: "Classroom", member: "Member") -> "Place":
    from grader.course.hosting.classroom import Place

    own = member.person.repository
    if not member.name:
        return Place(member, "", (), (), "the roster names no account, by which --name goes")
    if own and not own.casefold().endswith(f"/{order.org}/{member.name}.git".casefold()):
        return Place(member, "", (), (f"the roster names {visible_line(own, 120)}: left alone",))
    return room.place(member)


@contextmanager
def _kept(order: Order, found: _Class, places: Sequence["Place"]) -> Generator[None]:
    """Write into the roster where repositories are, whatever ends the making of them."""
    from grader.course.rosters.importing import write_roster

    try:
        yield
    finally:
        made = {place.member.person.id: place for place in places if place.url}
        persons = [_with(person, made.get(person.id)) for person in found.people.persons]
        if not order.dry_run and persons != list(found.people.persons):
            write_roster(found.file, persons, found.people)
            print(
                f"{visible_line(str(found.file), 120)} names the repositories: lab collect reads it"
            )


def _with(person: "Person", place: "Place | None") -> "Person":
    if place is None:
        return person
    return replace(person, repository=place.url, branch=place.member.branch)


def _tell(place: "Place", *, is_dry: bool) -> None:
    name = place.member.name or "no repository"
    print(visible_line(f"{place.member.person.id} {name}: {_done(place.did, is_dry=is_dry)}", 400))
    for note in place.notes:
        print(f"  note: {note}")
    if place.problem:
        print(visible_line(f"  error: {place.problem}", 400), file=sys.stderr)


def _done(did: Sequence[str], *, is_dry: bool) -> str:
    if not did:
        return "nothing is missing"
    return f"{'would be ' if is_dry else ''}{', '.join(did)}"


def _sum(order: Order, places: Sequence["Place"]) -> int:
    fresh = sum(bool(place.did) for place in places)
    broken = sum(bool(place.problem) for place in places)
    done = "would be changed; nothing was (--dry-run)" if order.dry_run else "changed"
    same = len(places) - fresh
    print(f"{len(places)} students: {fresh} {done}, {same} as before, {broken} with an error")
    return 1 if broken else 0


def _say(line: str) -> None:
    print(line, file=sys.stderr)
