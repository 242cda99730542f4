"""What ``lab token`` does: tokens go to standard output, all else beside it."""

import csv
import sys
from pathlib import Path

from grader.course.config import load_course
from grader.course.database.store import Store
from grader.course.gradebook.exports import safe_cell
from grader.service.adapters.database.database import DatabaseStore
from grader.service.commands.roster import take_roster
from grader.service.core.door import Door
from grader.service.domain.records import Role
from grader.service.ports.clock import WallClock


def issue(course_file: Path, owner: str, role: Role) -> int:
    """Print a new token for somebody."""
    course = load_course(course_file)
    with Store.open(course.database, course.folder) as database:
        take_roster(course, database)
        store = DatabaseStore(database)
        secret = Door(store, WallClock()).issue(owner, role)
    print(secret)
    print(f"note: shown this once; {_how(course.service.address)}", file=sys.stderr)
    return 0


def issue_all(course_file: Path) -> int:
    """Print a token for each student who has none, as CSV: id, name, token."""
    course = load_course(course_file)
    with Store.open(course.database, course.folder) as database:
        take_roster(course, database)
        store = DatabaseStore(database)
        door = Door(store, WallClock())
        have = {each.owner for each in store.tokens() if each.revoked is None}
        new = [student for student in store.students() if student.id not in have]
        rows = csv.writer(sys.stdout, lineterminator="\n")
        rows.writerow(("id", "name", "token"))
        for student in new:
            token = door.issue(student.id, Role.STUDENT)
            rows.writerow((safe_cell(student.id), safe_cell(student.name), token))
    told = f"{len(new)} tokens, shown this once; {len(have)} had one already"
    print(f"note: {told}", file=sys.stderr)
    return 0


def revoke(course_file: Path, owner: str) -> int:
    """End all tokens and sessions of somebody; 1 if there were none."""
    course = load_course(course_file)
    with Store.open(course.database, course.folder) as database:
        count = Door(DatabaseStore(database), WallClock()).revoke(owner)
    print(f"{count} revoked" if count else f"{owner} has no token", file=sys.stderr)
    return 0 if count else 1


def _how(address: str) -> str:
    return f"lab login {address}" if address else "lab login URL asks for it"
