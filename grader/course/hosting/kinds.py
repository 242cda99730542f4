"""Where each host is, unless it is said."""

from urllib.parse import urlsplit

from grader.course.platform import is_address
from grader.course.rules.hosts import Kind
from grader.errors import UsageError
from grader.text import visible_line

HOMES = {Kind.GITHUB: "https://github.com", Kind.GITLAB: "https://gitlab.com"}
TITLES = {Kind.GITEA: "Gitea", Kind.FORGEJO: "Forgejo"}


def address_of(kind: Kind, url: str) -> str:
    """Return where a host is; raises UsageError if that is no address for a token."""
    text = (url or HOMES.get(kind, "")).rstrip("/")
    if not text:
        raise UsageError(f"where is your {TITLES[kind]}?", "--url https://git.example.org")
    parts = urlsplit(text) if is_address(text) else None
    if parts is None or parts.query or parts.fragment or parts.username or parts.password:
        told = f"--url must be as https://git.example.org, not {visible_line(text, 80)!r}"
        raise UsageError(told, "http:// is for this machine alone: a token is sent there")
    return text
