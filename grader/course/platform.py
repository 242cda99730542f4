"""``[service.lti]`` of ``course.toml``: the learning platform that launches the course's pages."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from grader.labs.toml import Table

KEY_FILE = "lti-key.pem"
URLS = ("login_url", "token_url", "keys_url")


@dataclass(frozen=True, slots=True)
class Platform:
    """One registration at one platform (Canvas, Moodle), pinned: LTI 1.3."""

    issuer: str  # as it calls itself, to the letter
    client_id: str
    deployments: tuple[str, ...]
    login_url: str  # where a browser goes to be vouched for
    token_url: str
    keys_url: str
    audience: str = ""  # of the tokens that we ask by; else ``token_url``
    key_file: str = KEY_FILE  # from the course's folder; ``lab lti key`` makes it
    instructors: bool = False  # whether the platform's instructors are instructors here


def platform_of(table: Table) -> Platform | None:
    """Read and check the table; None without one."""
    if not table.data:
        return None
    found = Platform(
        issuer=table.text("issuer"),
        client_id=table.text("client_id"),
        deployments=tuple(table.texts("deployments", ())),
        login_url=table.text("login_url"),
        token_url=table.text("token_url"),
        keys_url=table.text("keys_url"),
        audience=table.text("audience", ""),
        key_file=table.text("key_file", KEY_FILE),
        instructors=_is_true(table, "instructors"),
    )
    if not found.deployments or not all(found.deployments):
        raise table.error("deployments", 'must list at least one, as the platform has it: ["1"]')
    for key in URLS:
        address = getattr(found, key)
        if not is_address(address):
            raise table.error(key, f"must be as https://lms.example.org/…, not {address!r}")
    table.finish()
    return found


def is_address(text: str) -> bool:
    """True for an address by HTTPS, or one on this machine."""
    try:
        host = urlsplit(text)
    except ValueError:
        return False
    is_here = host.scheme == "http" and host.hostname in ("127.0.0.1", "localhost")
    return (host.scheme == "https" or is_here) and bool(host.hostname) and text.isprintable()


def _is_true(table: Table, key: str) -> bool:
    value = table.value(key, False)
    if not isinstance(value, bool):
        raise table.error(key, f"must be true or false, not {value!r}")
    return value
