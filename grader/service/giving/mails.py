"""Reports by mail: one message a student, and none twice, whatever dies between.

That a message is about to leave is recorded before it does, and that it was taken after. One of
which nobody knows whether it arrived is named, and sent again only where that is asked for.
"""

import smtplib
import ssl
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime
from string import Template
from types import TracebackType

from grader.course.database.giving.records import Given, Step, Way
from grader.course.database.giving.returns import Returns
from grader.course.mail import ADDRESS, BODY, SUBJECT, MailRule, Safety
from grader.errors import CannotGrade, UsageError
from grader.languages.language import said, say
from grader.service.giving.reports import Package
from grader.text import visible, visible_line

SECONDS = 30.0  # that a server may take to answer


@dataclass(frozen=True, slots=True)
class Letter:
    """A message that is ready to be sent."""

    package: Package
    to: str
    message: EmailMessage


def letter(rule: MailRule, title: str, package: Package, to: str, now: datetime) -> Letter:
    """Write a message in the language that is spoken; what the course wrote itself stays.

    Raises UsageError where something would not be one header.
    """
    values = {
        "id": package.student.id,
        "name": visible_line(package.student.name),
        "course": title,
        "lab": f"{package.lab.number:02d}",
        "title": say(package.lab.title),
        "mark": package.mark,
        "why": package.why,
        "receipt": package.receipt,
    }
    first = say(SUBJECT) if rule.subject == SUBJECT else rule.subject
    body = said(BODY) if rule.body == BODY else rule.body
    subject = Template(first).substitute(values)
    for name, text in (("subject", subject), ("address", to)):
        if any(not char.isprintable() for char in text):
            told = f"the {name} of {package.student.id}'s mail is not one printable line"
            raise UsageError(told, "it would be more than one header: correct the roster or title")
    if not ADDRESS.fullmatch(to):
        raise UsageError(f"{to!r} is no plain e-mail address", "correct it in the roster")
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = rule.sender, to, subject
    message["Date"] = format_datetime(now)
    host = rule.sender.rpartition("@")[2]
    message["Message-ID"] = f"<{package.digest[:32]}@{host}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(visible(Template(body).substitute(values), 100_000))
    name = f"{package.lab.name}-report"
    html, text = package.html.encode(), package.markdown.encode()
    message.add_attachment(html, maintype="text", subtype="html", filename=f"{name}.html")
    message.add_attachment(text, maintype="text", subtype="markdown", filename=f"{name}.md")
    return Letter(package, to, message)


def state_of(given: Sequence[Given], package: Package) -> Step | None:
    """Return how far the mail of this very report is; None: nothing was begun."""
    own = [
        each
        for each in given
        if (each.student, each.digest) == (package.student.id, package.digest)
    ]
    return own[-1].step if own else None


def due(
    given: Sequence[Given], packages: Sequence[Package], again: Collection[str]
) -> Mapping[str, str]:
    """Return why a report is not sent, by student; who is not named gets one."""
    found: dict[str, str] = {}
    for package in packages:
        id, state = package.student.id, state_of(given, package)
        if state is Step.SENT and id not in again:
            found[id] = "was sent this report already"
        elif state is Step.BEGUN and id not in again:
            told = "an earlier run ended while it was being sent, so it may have arrived"
            found[id] = f"{told}: --again {id} sends it once more"
    return found


class Post:
    """A connection to the course's mail server; raises CannotGrade where there is none."""

    def __init__(self, rule: MailRule, password: str, returns: Returns) -> None:
        self._rule = rule
        self._password = password
        self._returns = returns

    def __enter__(self) -> "Post":
        where = f"{self._rule.host}:{self._rule.port}"
        try:
            self._server = self._opened()
        except (OSError, smtplib.SMTPException) as error:
            told = f"the mail server {where} cannot be used: {visible_line(str(error))}"
            raise CannotGrade(told, "nothing was sent; look at [mail] of course.toml") from None
        return self

    def _opened(self) -> smtplib.SMTP:
        rule, safe = self._rule, ssl.create_default_context()
        if rule.safety is Safety.TLS:
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                rule.host, rule.port, timeout=SECONDS, context=safe
            )
        else:
            server = smtplib.SMTP(rule.host, rule.port, timeout=SECONDS)
        try:
            if rule.safety is Safety.STARTTLS:
                server.starttls(context=safe)
            if rule.user:
                server.login(rule.user, self._password)
        except BaseException:
            server.close()
            raise
        return server

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with suppress(OSError, smtplib.SMTPException):
            self._server.quit()

    def send(self, item: Letter, now: datetime) -> str:
        """Send a message; return why the server refused it, or "".

        Raises CannotGrade where the connection breaks, so that nobody knows whether it arrived.
        """
        self._record(item, Step.BEGUN, "", now)
        try:
            self._server.send_message(item.message, self._rule.sender, [item.to])
        except (
            smtplib.SMTPRecipientsRefused,
            smtplib.SMTPSenderRefused,
            smtplib.SMTPDataError,
            smtplib.SMTPNotSupportedError,
        ) as error:
            told = visible_line(str(error))
            self._record(item, Step.FAILED, told, now)
            return told
        except (OSError, smtplib.SMTPException) as error:
            told = f"the mail server broke off at {item.package.student.id}: {error}"
            hint = "run this again: who has got theirs gets none twice"
            raise CannotGrade(visible_line(told), hint) from None
        self._record(item, Step.SENT, "", now)
        return ""

    def _record(self, item: Letter, step: Step, told: str, now: datetime) -> None:
        package = item.package
        what = (package.digest, item.to, told, now)
        self._returns.add_given(Given(package.student.id, package.lab.name, Way.MAIL, step, *what))
