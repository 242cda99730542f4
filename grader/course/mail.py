"""``[mail]`` of ``course.toml``: by which server reports go out, from whom and in which words."""

import re
from dataclasses import dataclass
from enum import StrEnum
from string import Template

from grader.errors import CourseError
from grader.labs.toml import Table

PASSWORD = "INFERLAB_MAIL_PASSWORD"  # of the environment
NAMES = ("id", "name", "course", "lab", "title", "mark", "why", "receipt")
SUBJECT = "$course, lab $lab: your report"
BODY = """Hello $name,

your mark for lab $lab ($title) is $mark: $why

$receipt

The report is attached, as a page for a browser and as plain text.
"""
ADDRESS = re.compile(r"[!-;=?A-~]{1,64}@[A-Za-z0-9.-]{1,190}")
PORTS = {"starttls": 587, "tls": 465, "none": 25}
HERE = ("localhost", "127.0.0.1", "::1")


class Safety(StrEnum):
    """How the connection to a mail server is protected."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class MailRule:
    """A mail server and what is sent by it; ``subject`` and ``body`` may hold ``NAMES``."""

    host: str
    port: int
    safety: Safety
    sender: str
    user: str  # "": it asks for no password
    subject: str
    body: str


def mail_rule(table: Table) -> MailRule | None:
    """Read and check ``[mail]``; None without it."""
    if not table.data:
        return None
    if "password" in table.data:
        error = table.error("password", "must not stand here: others read this file")
        raise CourseError(error.message, f"set {PASSWORD}")
    safety = table.text("safety", Safety.STARTTLS)
    if safety not in tuple(Safety):
        raise table.error("safety", f"must be {' or '.join(Safety)}, not {safety!r}")
    rule = MailRule(
        host=table.text("host"),
        port=table.whole("port", PORTS[safety], 65535),
        safety=Safety(safety),
        sender=table.text("from"),
        user=table.text("user", ""),
        subject=_template(table, "subject", SUBJECT),
        body=_template(table, "body", BODY),
    )
    table.finish()
    if not ADDRESS.fullmatch(rule.sender):
        raise table.error("from", f"must be a plain address as staff@example.org: {rule.sender!r}")
    if len(rule.subject.splitlines()) > 1:
        raise table.error("subject", "must be one line")
    if rule.user and rule.safety is Safety.NONE and rule.host not in HERE:
        raise table.error("safety", "must not be none with a user: the password would be readable")
    return rule


def _template(table: Table, key: str, default: str) -> str:
    text = table.text(key, default)
    template = Template(text)
    names = ", ".join(f"${name}" for name in NAMES)
    if not template.is_valid():
        error = table.error(key, "has a $ that begins no name")
        raise CourseError(error.message, f"$$ is a dollar; known are {names}")
    unknown = [name for name in template.get_identifiers() if name not in NAMES]
    if unknown:
        error = table.error(key, f"names ${unknown[0]}, which is not known")
        raise CourseError(error.message, f"known are {names}")
    return text
