"""What leaves the desk: reports by mail and marks to a learning platform, each to its own and once.

Both servers are stand-ins on this machine. What arrives is compared with the gradebook's table.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial

from joserfc.jwk import KeySet, RSAKey
from school import SAID, Failed, School
from stand_ins.lti_platform import CLIENT, LEARNER, SmallPlatform, small_platform
from stand_ins.mail_server import mail_server

from grader.course.database.store import Store
from grader.service.adapters.database.launches import DatabasePlatforms
from grader.service.domain.platforms import Context

MAIL = """
[mail]
host = "127.0.0.1"
port = {port}
safety = "none"
from = "staff@example.org"
subject = "$lab"
body = "$id has $mark"
"""
PLATFORM = """
[service]
address = "https://labs.example.org"

[service.lti]
issuer = "{address}"
client_id = "{client}"
deployments = ["1"]
login_url = "{address}/auth"
token_url = "{address}/token"
keys_url = "{address}/keys"
"""


def leaving(
    school: School, teams: Sequence[Sequence[str]]
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the steps; each raises Failed if what arrives is not what the gradebook shows.

    ``teams`` hand in the last lab together.
    """
    yield "reports by mail", partial(_mail, school, teams)
    yield "marks to a learning platform", partial(_platform, school)


def _mail(school: School, teams: Sequence[Sequence[str]]) -> None:
    """Mail a lab's reports while one is held back, and once more when it no longer is."""
    lab = school.labs[-1]
    order = ("give-back", lab.name, "--mail")
    with Store.open(school.database) as store:
        graded = {attempt.student for attempt in store.attempts(lab.name)}
    concerned = {who for team in teams if graded & {*team} for who in team}
    wanted = {who: mark for who, mark in _marks(school)[lab.name].items() if who in concerned}
    held = next(iter(wanted))
    with mail_server() as box, _rules(school, MAIL.format(port=box.port)):
        school.run("gradebook", "hold", held, lab.name, *SAID)
        school.run(*order, codes=(0, 1))
        first = [*box.recipients]
        school.run("gradebook", "release", held, lab.name, *SAID)
        school.run(*order, codes=(0, 1))
        school.run(*order, codes=(0, 1))
        texts = [mail.get_body().get_content() for mail in box.mails]  # type: ignore[union-attr]
    _same(
        "mailed while one is held back",
        sorted(first),
        sorted(_address(w) for w in {*wanted} - {held}),
    )
    _same("mailed in all", sorted(box.recipients), sorted(_address(who) for who in wanted))
    for who, mark in wanted.items():
        told = next(text for text in texts if text.startswith(f"{who} has "))
        _same(f"the mark mailed to {who}", float(told.split()[2]), mark)


def _platform(school: School) -> None:
    """Send all marks, and once more, when nothing is left to send."""
    with small_platform() as platform:
        own = [
            (who, {"user_id": f"u-{who}", "name": who, "roles": [LEARNER]})
            for who in school.students
        ]
        platform.members = [member | {"email": _address(who)} for who, member in own]
        with _rules(school, PLATFORM.format(address=platform.address, client=CLIENT)):
            school.run("lti", "key")
            key = RSAKey.import_key((school.folder / "lti-key.pem").read_text())
            platform.tool_keys = KeySet([RSAKey.import_key(key.as_dict(private=False))])
            _tell_of(school, platform)
            school.run("gradebook", "send", "--lti")
            again = school.run("gradebook", "send", "--lti")
    _same("sent once more", again, "0 sent, 0 not\n")
    labs = {item["id"].rsplit("/", 1)[-1]: item["tag"] for item in platform.items}
    sent = [(labs[s["item"]], s["userId"].removeprefix("u-")) for s in platform.scores]
    there = {key: s["scoreGiven"] for key, s in zip(sent, platform.scores, strict=True)}
    here = {(lab, who): m for lab, marks in _marks(school).items() for who, m in marks.items()}
    _same("marks at the platform", there, here)
    _same("scores of one student in one lab", len(sent), len(there))


def _tell_of(school: School, platform: SmallPlatform) -> None:
    """Note what a launch would have told of where names and grades are asked for."""
    ends = (f"{platform.address}/members", f"{platform.address}/items")
    with Store.open(school.database) as store:
        context = Context("1", "course 3", "Inference", *ends, datetime.now(UTC))
        DatabasePlatforms(store).note_context(context)


@contextmanager
def _rules(school: School, more: str) -> Iterator[None]:
    """Add tables to the course's rules until the block ends."""
    before = school.more
    school.set_rules(school.late, f"{before}\n{more}")
    try:
        yield
    finally:
        school.set_rules(school.late, before)


def _marks(school: School) -> dict[str, dict[str, float]]:
    """Return what the gradebook shows of each lab, of those who have a mark."""
    rows = school.marks()
    return {
        lab.name: {who: float(row[lab.name]) for who, row in rows.items() if row[lab.name] != ""}
        for lab in school.labs
    }


def _address(student: str) -> str:
    return f"{student}@example.org"


def _same(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise Failed(f"{what}: {found}, not {wanted}")
