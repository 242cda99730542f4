"""What ``lab lti members`` and ``lab gradebook send --lti`` do: names come, marks go."""

import sys
from collections.abc import Iterable
from pathlib import Path

from grader.course.commands.rosters import Import, take_people
from grader.course.config import Course, load_course
from grader.course.database.records import Student
from grader.course.database.store import Store
from grader.course.gradebook.gradebook import read_gradebook
from grader.course.grading.collecting.roster import student_problem
from grader.course.rosters.forms import Kind
from grader.course.rosters.people import People, Person, known_people, read_people
from grader.errors import UsageError
from grader.labs.lab import all_labs, find_lab, find_root
from grader.service.adapters.database.launches import DatabasePlatforms
from grader.service.adapters.web.lti.services import Member, PlatformServices
from grader.service.commands.lti import read_key
from grader.service.core.people.sending import send
from grader.service.domain.platforms import Context
from grader.service.ports.clock import WallClock
from grader.text import visible_line


def take_members(course_file: Path, context: str, *, remove: bool, dry_run: bool) -> int:
    """Take the platform's students into the roster."""
    course = load_course(course_file)
    with Store.open(course.database, course.folder) as store:
        chosen = _context(store, context, "members")
        found = _services(course, chosen).members()
    before = read_people(course.roster) if course.roster.exists() else None
    newer = _people(found, before.persons if before else (), chosen)
    order = Import(course_file, Path(chosen.title or chosen.id), "", "", remove, dry_run)
    return take_people(order, course.roster, newer, before)


def send_marks(course_file: Path, labs: tuple[str, ...], context: str, *, dry_run: bool) -> int:
    """Send the marks that the platform does not have; 1 if some did not arrive."""
    course = load_course(course_file)
    names = [find_lab(text, find_root()).name for text in labs]
    titles = {lab.name: lab.title for lab in all_labs(find_root())}
    sent = failed = 0
    with Store.open(course.database, course.folder) as store:
        chosen = _context(store, context, "items")
        services = _services(course, chosen)
        book = read_gradebook(course, store, names, titles)
        people = known_people(course.roster)
        subs = {id: person.lti for id, person in people.items() if person.lti}
        if chosen.members and any(student.id not in subs for student in book.students):
            subs = _subs(services.members(), people.values()) | subs
        for told in send(
            *(book, subs, lambda: services, DatabasePlatforms(store), WallClock()),
            dry_run=dry_run,
        ):
            print(visible_line(told.line, 400), file=sys.stderr if told.failed else sys.stdout)
            sent, failed = sent + told.sent, failed + told.failed
    print(f"{sent} sent, {failed} not")
    return 1 if failed else 0


def _context(store: Store, wanted: str, address: str) -> Context:
    """Return the course at the platform, whose launches have told of an address."""
    found = [each for each in DatabasePlatforms(store).contexts() if getattr(each, address)]
    chosen = [each for each in found if wanted in ("", each.id)]
    if len(chosen) == 1:
        return chosen[0]
    if not found:
        told = "no launch has told of a course at the platform that shares this"
        raise UsageError(told, "let the platform share it with the tool, and open a link there")
    known = ", ".join(visible_line(f"{each.id} ({each.title})", 80) for each in found)
    raise UsageError(f"the platform has {len(found)} courses: {known}", "choose by --context ID")


def _services(course: Course, context: Context) -> PlatformServices:
    platform = course.service.lti
    if platform is None:
        raise UsageError("course.toml names no platform", "docs/service.md: [service.lti]")
    return PlatformServices(platform, read_key(course, platform), context)


def _keys(sub: str, number: str, email: str) -> list[tuple[str, str]]:
    pairs = (("lti", sub), ("number", number), ("email", email))
    return [(kind, text) for kind, text in pairs if text]


def _people(found: list[Member], known: tuple[Person, ...], context: Context) -> People:
    """Return members as people of a roster: each with the id of old, where there is one."""
    old = {key: p.id for p in known for key in _keys(p.lti, p.number, p.email)}
    persons: list[Person] = []
    problems: list[str] = []
    for at, member in enumerate(found, 1):
        keys = _keys(member.sub, member.number, member.email)
        id = next((old[key] for key in keys if key in old), member.number or member.email)
        person = Person(id, member.name or id, member.email, member.number, lti=member.sub)
        told = student_problem(Student(id, person.name, "", "student/0"))
        if not told and id in {each.id for each in persons}:
            told = f"the id {visible_line(id, 60)!r} is that of another member"
        if told:
            problems.append(f"member {at}: {told}")
        else:
            persons.append(person)
    if not found:
        raise UsageError("the platform names no student", "let it share names with the tool")
    title = visible_line(context.title or context.id, 80)
    notes = (f"{title}: {len(found)} students, by names and roles",)
    return People(tuple(persons), tuple(problems), notes, Kind.PLAIN)


def _subs(found: list[Member], people: Iterable[Person]) -> dict[str, str]:
    """Return the platform's names of students, by id."""
    subs = {key: member.sub for member in found for key in _keys("", member.number, member.email)}
    return {
        person.id: subs[key]
        for person in people
        for key in reversed(_keys("", person.number, person.email))
        if key in subs
    }
