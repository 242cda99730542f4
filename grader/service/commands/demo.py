"""``make serve-demo``: a course of ten, with hand-ins in each state, to be looked at.

The work is right answers and wrong ones from ``solutions/``, and is graded while one looks.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from grader.course.config import load_course
from grader.course.database.store import Store
from grader.errors import InferlabError
from grader.labs.lab import Lab, find_lab, find_root
from grader.prove.answers.edits import build
from grader.service.adapters.database.database import DatabaseStore
from grader.service.commands.roster import take_roster
from grader.service.commands.serve import Order, serve
from grader.service.core.desk import Desk
from grader.service.core.door import Door
from grader.service.domain.records import Origin, Role, Who
from grader.service.ports.clock import WallClock

LABS = (2, 3, 4)  # quick ones
STUDENTS = tuple(f"s{number:02d}" for number in range(1, 11))
WRONG = 2  # answers of each lab, beside the right ones
HELD = "s10"  # whose grading has failed by our fault
COURSE = """title = "Efficient inference, a demonstration"

[deadlines]
2 = {first}
3 = {second}
4 = {third}

[late]
per_day = 0.1
days = 5

[service]
per_day = 20
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the course, print how to come in, and serve until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="make serve-demo", description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--sandbox", choices=("required", "none"), default="required")
    parser.add_argument("--jobs", type=int, default=2, help="gradings at a time")
    options = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="inferlab-demo-") as name:
            file = make_course(Path(name), f"http://127.0.0.1:{options.port}")
            order = (file, "127.0.0.1", options.port, "all", "local", "cpu", options.jobs)
            return serve(Order(*order, options.sandbox, grace=0.0))
    except InferlabError as error:
        print(f"error: {error.line}", file=sys.stderr)
        return 3


def make_course(folder: Path, address: str) -> Path:
    """Write a course with hand-ins and return its file; prints addresses and tokens."""
    now = datetime.now(UTC).replace(microsecond=0)
    moments = (now - timedelta(hours=3), now + timedelta(days=2), now + timedelta(days=9))
    first, second, third = (moment.isoformat() for moment in moments)
    file = folder / "course.toml"
    file.write_text(COURSE.format(first=first, second=second, third=third))
    rows = [f"{id},Student {id[1:]}" for id in STUDENTS]
    (folder / "roster.csv").write_text("\n".join(["id,name", *rows, ""]))
    course = load_course(file)
    labs = [find_lab(str(number), find_root()) for number in LABS]
    with Store.open(course.database, course.folder) as database:
        take_roster(course, database)
        store, clock = DatabaseStore(database), WallClock()
        desk, door = Desk(course, labs, store, clock), Door(store, clock)
        _hand_in(desk, labs)
        _fail(store, clock)
        people = ((STUDENTS[0], Role.STUDENT), ("assistant", Role.ASSISTANT))
        for owner, role in (*people, ("instructor", Role.INSTRUCTOR)):
            page = {Role.STUDENT: "/", Role.ASSISTANT: "/class", Role.INSTRUCTOR: "/class"}[role]
            print(f"{role:<11} {address}{page}\n            token {door.issue(owner, role)}")
    print(flush=True)
    return file


def _hand_in(desk: Desk, labs: Sequence[Lab]) -> None:
    """Hand in a class's work: some of it twice, so that the first is superseded."""
    answers = {lab.name: [*_answers(lab)] for lab in labs}
    for place, id in enumerate(STUDENTS):
        # The later a student stands on the roster, the fewer labs they have begun.
        for lab in labs[: 3 - place // 4]:
            found = answers[lab.name]
            for code in {found[place % len(found)], found[0 if place % 3 == 0 else -1]}:
                files = {lab.code_name: code.encode()}
                text = lab.solutions / lab.pseudocode.name
                files[text.name] = text.read_bytes()
                desk.take(Who(id, Role.STUDENT), lab, files, Origin.TERMINAL)


def _answers(lab: Lab) -> Iterator[str]:
    """Give the model answer, the variants, and some wrong answers."""
    right = [lab.solutions / lab.code_name, *sorted((lab.solutions / "variants").glob("*.py"))]
    wrong = sorted((lab.solutions / "wrong").glob("*.py"))
    for file in (*right, *wrong[:: max(len(wrong) // WRONG, 1)]):
        yield build(file)


def _fail(store: DatabaseStore, clock: WallClock) -> None:
    """Let one hand-in be held, as if its grading had been killed again and again."""
    while (item := store.claim("demo", "cpu", clock.now(), timedelta(hours=1))) is not None:
        if item.student == HELD:
            store.fail(item.number, "demo", "the machine lost power", clock.now(), most=1)
            break
    for item in store.hand_ins():
        store.release(item.number, "demo")


if __name__ == "__main__":
    sys.exit(main())
