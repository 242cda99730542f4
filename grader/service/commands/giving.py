"""What ``lab give-back`` does between its options and its exit code."""

import csv
import os
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.course.config import Course, load_course
from grader.course.database.giving.records import Address, Way
from grader.course.database.giving.returns import Returns
from grader.course.database.store import Store
from grader.course.gradebook.exports import safe_cell
from grader.course.grading.batch import only_one
from grader.course.grading.collecting.roster import read_emails
from grader.course.mail import PASSWORD, MailRule
from grader.errors import UsageError
from grader.labs.lab import Lab, find_lab, find_root
from grader.languages.language import speaking
from grader.service.core.door import hashed
from grader.service.giving.branches import Branches, Refused
from grader.service.giving.mails import Letter, Post, due, letter
from grader.service.giving.reports import Package, Packed, packed
from grader.service.ports.clock import Clock, WallClock
from grader.text import visible, visible_line

GIVEN = "/given/"  # what a secret address begins with, below that of the service
MAIL_HINT = '[mail] with host = "smtp.example.org" and from = "staff@example.org"'


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be given back, as asked for; no ``students``: to all."""

    lab: str
    course: Path
    way: str  # "branch", "mail" or "addresses"
    students: tuple[str, ...] = ()
    dry_run: bool = False
    again: tuple[str, ...] = ()  # to be mailed once more
    revoke: bool = False
    author: str = ""


@dataclass(frozen=True, slots=True)
class Desk:
    """A course and its database, for one giving back."""

    course: Course
    lab: Lab
    store: Store
    returns: Returns
    clock: Clock


def give_back(order: Order, clock: Clock | None = None) -> int:
    """Give reports of a lab back; 1 if somebody's could not be."""
    course, lab = load_course(order.course), find_lab(order.lab, find_root())
    with (
        only_one(course, lab, "given back"),
        Store.open(course.database, course.folder) as store,
        speaking(course.language),
    ):
        desk = Desk(course, lab, store, Returns(store), clock or WallClock())
        if order.revoke:
            return _revoke(desk, order)
        found = packed(course, lab, store, desk.clock, order.students)
        ways = {"branch": _branches, "mail": _mails, "addresses": _addresses}
        return ways[order.way](desk, order, found)


def _branches(desk: Desk, order: Order, found: Packed) -> int:
    branches = Branches(desk.course, desk.returns, desk.store.students())
    given = failed = 0
    for package in found.packages:
        try:
            plan = branches.plan(package)
            if plan.is_new and not order.dry_run:
                branches.give(package, plan, desk.clock.now())
        except Refused as refused:
            failed += 1
            _say(f"not given {package.student.id}: {refused}")
            continue
        given += plan.is_new
        did = "would push" if order.dry_run else "pushed"
        told = f"{did} {plan.branch}" if plan.is_new else f"{plan.branch} has this report already"
        _say(f"{package.student.id}: {told}")
    return _ended(desk, order, found, given, failed)


def _mails(desk: Desk, order: Order, found: Packed) -> int:
    rule = desk.course.mail
    if rule is None:
        raise UsageError("course.toml names no mail server", MAIL_HINT)
    emails = {id: email for email, id in read_emails(desk.course.roster).items()}
    given = desk.returns.given(desk.lab.name, Way.MAIL)
    skip = due(given, found.packages, order.again)
    letters, failed = _letters(desk, rule, found, emails, skip)
    if order.dry_run:
        for item in letters:
            _show(item)
        return _ended(desk, order, found, len(letters), failed)
    sent = 0
    if letters:
        with Post(rule, _password(rule), desk.returns) as post:
            for item in letters:
                told = post.send(item, desk.clock.now())
                failed += bool(told)
                sent += not told
                who = f"{item.package.student.id} at {item.to}"
                _say(f"not sent {who}: {told}" if told else f"sent {who}")
    return _ended(desk, order, found, sent, failed)


def _letters(
    desk: Desk, rule: MailRule, found: Packed, emails: Mapping[str, str], skip: Mapping[str, str]
) -> tuple[list[Letter], int]:
    """Write what is to be sent, and count of whom no address is known."""
    letters: list[Letter] = []
    failed = 0
    for package in found.packages:
        id = package.student.id
        if id in skip:
            _say(f"{id}: {skip[id]}")
        elif id not in emails:
            failed += 1
            _say(f"not sent {id}: the roster has no email of theirs")
        else:
            now = desk.clock.now()
            letters.append(letter(rule, desk.course.title, package, emails[id], now))
    return letters, failed


def _addresses(desk: Desk, order: Order, found: Packed) -> int:
    base = desk.course.service.address
    if not base:
        told = "the service has no address, so that its pages have none"
        raise UsageError(told, '[service] with address = "https://labs.example.org"')
    if not order.author.strip():
        raise UsageError("whose word is it?", "--author NAME is kept beside each address")
    have = {each.student for each in desk.returns.addresses(desk.lab.name)}
    new = [package for package in found.packages if package.student.id not in have]
    if order.dry_run:
        for package in new:
            _say(f"{package.student.id}: would get an address")
    else:
        _write(desk, order, base, new)
    if have:
        told = f"{len(have)} have an address already, which nobody can be told again"
        print(f"note: {told}; --revoke ends it", file=sys.stderr)
    return _ended(desk, order, found, len(new), 0)


def _write(desk: Desk, order: Order, base: str, new: list[Package]) -> None:
    """Make addresses and print them, once: their hashes alone are kept."""
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(("id", "name", "address"))
    for package in new:
        secret, student = secrets.token_urlsafe(32), package.student
        made = (order.author.strip(), desk.clock.now())
        desk.returns.add_address(Address(hashed(secret), student.id, desk.lab.name, *made))
        address = f"{base}{GIVEN}{secret}"
        rows.writerow((safe_cell(student.id), safe_cell(student.name), address))


def _revoke(desk: Desk, order: Order) -> int:
    known = {each.id for each in desk.store.students()}
    unknown = sorted({*order.students} - known)
    if unknown:
        raise UsageError(f"no student {unknown[0]!r} is on the roster", "lab gradebook lists them")
    have = {each.student for each in desk.returns.addresses(desk.lab.name)}
    count = desk.returns.revoke(desk.lab.name, order.students or sorted(have), desk.clock.now())
    print(f"{count} addresses of {desk.lab.name} were revoked", file=sys.stderr)
    return 0 if count else 1


def _password(rule: MailRule) -> str:
    if not rule.user:
        return ""
    password = os.environ.get(PASSWORD, "")
    if not password:
        raise UsageError(f"the mail server's user {rule.user} has no password", f"set {PASSWORD}")
    return password


def _show(item: Letter) -> None:
    for name in ("From", "To", "Subject"):
        _say(f"{name}: {item.message[name]}")
    body = item.message.get_body(("plain",))
    print(visible(str(body.get_content()) if body else "", 100_000))
    for part in item.message.iter_attachments():
        _say(f"attached: {part.get_filename()}")
    print()


def _ended(desk: Desk, order: Order, found: Packed, given: int, failed: int) -> int:
    for student, why in found.absent.items():
        _say(f"nothing for {student}: {why}")
    what = "would be given back" if order.dry_run else "were given back"
    told = f"{desk.lab.name}: {given} {what}, {len(found.absent)} have nothing to be given"
    print(f"{told}, {failed} could not be" if failed else told, file=sys.stderr)
    return 1 if failed else 0


def _say(line: str) -> None:
    print(visible_line(line, 2000), file=sys.stderr, flush=True)
