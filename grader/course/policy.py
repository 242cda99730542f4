"""``[service]`` of ``course.toml``: when students may hand in, and what they read of a verdict."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TypeVar
from urllib.parse import urlsplit

from grader.course.platform import Platform, platform_of
from grader.errors import CourseError
from grader.labs.toml import Table

MOST_PER_DAY = 1000
MOST_DAYS = 366  # in which one may ask for a regrade
MOST_MINUTES = 7 * 24 * 60  # of a cooldown
Network = IPv4Network | IPv6Network
Kind = TypeVar("Kind", bound=StrEnum)


class Feedback(StrEnum):
    """How much of a hidden verdict a student reads; each shows what the one before does."""

    POINTS = "points"  # of the whole and of each task
    TASKS = "tasks"  # also which tests did not pass, by the contracts that they prove
    MESSAGES = "messages"  # also what these say: contract, call, got, expected


class Hidden(StrEnum):
    """From when on the hidden tests judge what is handed in."""

    ALWAYS = "always"
    AFTER_DEADLINE = "after_deadline"  # until then the public ones alone


@dataclass(frozen=True, slots=True)
class SignIn:
    """Whose accounts let students in beside tokens (OpenID Connect): one issuer, pinned."""

    issuer: str  # as it calls itself, to the letter
    client_id: str
    secret_file: str = ""  # from the course's folder; else the environment has the secret


@dataclass(frozen=True, slots=True)
class ServicePolicy:
    """What a course lets its students do by the service, and see of it."""

    address: str = ""  # by which browsers reach it, without a slash at its end
    per_day: int = 0  # hand-ins of a student and lab in a day of the course's; 0: any number
    cooldown: timedelta = timedelta(0)  # between two hand-ins of a student and lab
    feedback: Feedback = Feedback.MESSAGES  # before the deadline
    feedback_after: Feedback = Feedback.MESSAGES
    hidden: Hidden = Hidden.ALWAYS
    opens: Mapping[int, datetime] = field(default_factory=dict[int, datetime])  # by lab
    proxies: tuple[Network, ...] = ()  # whose word on a client's address is taken
    hook_secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    sign_in: SignIn | None = None
    requests_days: int = 7  # after grading and deadline, to ask for a regrade; 0: none
    lti: Platform | None = None


def service_policy(
    table: Table, moments: Callable[[Table], Mapping[int, datetime]]
) -> ServicePolicy:
    """Read and check ``[service]``; ``moments`` reads a table of moments by lab."""
    feedback = _choice(table, "feedback", Feedback, Feedback.MESSAGES)
    policy = ServicePolicy(
        address=_address(table),
        per_day=_count(table, "per_day", MOST_PER_DAY),
        cooldown=timedelta(minutes=_count(table, "cooldown_minutes", MOST_MINUTES)),
        feedback=feedback,
        feedback_after=_choice(table, "feedback_after", Feedback, feedback),
        hidden=_choice(table, "hidden", Hidden, Hidden.ALWAYS),
        opens=moments(table.table("opens")),
        proxies=_proxies(table),
        hook_secrets=_secrets(table.table("hooks")),
        sign_in=_sign_in(table.table("sign_in")),
        requests_days=_count(table, "requests_days", MOST_DAYS, 7),
        lti=platform_of(table.table("lti")),
    )
    table.finish()
    if policy.sign_in and not policy.address:
        told = "is needed by sign_in: the issuer sends browsers back to it"
        raise table.error("address", told)
    if policy.lti and not policy.address:
        raise table.error("address", "is needed by lti: the platform sends browsers to it")
    return policy


def _address(table: Table) -> str:
    text = table.text("address", "")
    scheme, found, host = text.partition("://")
    if text and (scheme not in ("http", "https") or not found or not host or text != text.strip()):
        raise table.error("address", f"must be as https://labs.example.org, not {text!r}")
    return text.rstrip("/")


def _count(table: Table, key: str, most: int, default: int = 0) -> int:
    value = table.value(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise table.error(key, f"must be a whole number from 0 to {most}, not {value!r}")
    return value


def _choice(table: Table, key: str, kind: type[Kind], default: Kind) -> Kind:
    text = table.text(key, default)
    if text not in tuple(kind):
        raise table.error(key, f"must be {' or '.join(kind)}, not {text!r}")
    return kind(text)


def _proxies(table: Table) -> tuple[Network, ...]:
    found: list[Network] = []
    for text in table.texts("proxies", ()):
        try:
            found.append(ip_network(text))
        except ValueError:
            raise table.error("proxies", f"{text!r} is no address or network") from None
    return tuple(found)


def _secrets(table: Table) -> Mapping[str, str]:
    """Return the secret of each kind of hook that may call."""
    found: dict[str, str] = {}
    for kind in table.data:
        if kind not in ("github", "gitlab", "gitea"):
            raise table.error(kind, "is no kind of hook: github, gitlab or gitea")
        found[kind] = table.text(kind)
        if len(found[kind]) < 16:
            raise table.error(kind, "is too short: a secret has at least 16 characters")
    return found


def _sign_in(table: Table) -> SignIn | None:
    """Return the issuer, None without one; its secret never stands in course.toml."""
    if not table.data:
        return None
    found = SignIn(table.text("issuer"), table.text("client_id"), table.text("secret_file", ""))
    host = urlsplit(found.issuer)
    is_here = host.scheme == "http" and host.hostname in ("127.0.0.1", "localhost")
    if not (host.scheme == "https" or is_here) or not host.hostname or host.query or host.fragment:
        told = f"must be as https://login.example.org/realms/course, not {found.issuer!r}"
        raise table.error("issuer", told)
    if "secret" in table.data:
        error = table.error("secret", "must not stand here: others read this file")
        raise CourseError(error.message, "name a file by secret_file, or set INFERLAB_OIDC_SECRET")
    table.finish()
    return found
