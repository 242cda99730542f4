"""Logins: the services that a user may hand in at, with their tokens, in a file of their own.

It lies in the user's configuration folder and is nobody else's to read.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from grader.errors import UsageError
from grader.text import visible_line

FOLDER = "inferlab"
NAME = "logins.json"
LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Login:
    """A service and the token for it."""

    url: str
    token: str = field(repr=False)


def service_url(text: str) -> str:
    """Return a service's address in its plain form; raises UsageError.

    A token is sent in the clear to this machine alone.
    """
    shown = visible_line(text)
    parts = urlsplit(text.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{shown!r} is no address of a service", "as https://labs.example.org")
    if parts.username or parts.query or parts.fragment:
        raise UsageError(f"{shown!r} says more than an address", "give scheme, host and port alone")
    if parts.scheme == "http" and parts.hostname not in LOCAL:
        hint = "ask for its https:// address; http:// is for this machine alone"
        raise UsageError(f"{shown} would send your token unencrypted", hint)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def keep(login: Login) -> Path:
    """Keep a login, as the one that is used from now on; returns the file. Raises UsageError."""
    file = _file()
    known = {url: token for url, token in _read(file).items() if url != login.url}
    # The last of them is the one in use.
    text = json.dumps(known | {login.url: login.token}, indent=2) + "\n"
    part = file.with_name(f".{NAME}.{os.getpid()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as handle:
            handle.write(text)
        part.replace(file)
    except OSError as error:
        told = f"the login cannot be kept in {file.parent}: {error.strerror}"
        raise UsageError(told, "check that folder's permissions") from None
    return file


def forget(url: str) -> bool:
    """Remove a login; False if there is none."""
    file = _file()
    known = dict(_read(file))
    if known.pop(url, None) is None:
        return False
    file.write_text(json.dumps(known, indent=2) + "\n")
    return True


def current() -> Login | None:
    """Return the login that is in use, None without one."""
    known = _read(_file())
    return Login(*[*known.items()][-1]) if known else None


def _file() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / FOLDER / NAME


def _read(file: Path) -> Mapping[str, str]:
    try:
        data = json.loads(file.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{file} cannot be read: {error}", "lab login URL writes it anew"
        ) from None
    if not isinstance(data, dict):
        raise UsageError(f"{file} holds no logins", "remove it, then lab login URL")
    items: dict[object, object] = data  # pyright: ignore[reportUnknownVariableType]
    return {str(url): str(token) for url, token in items.items()}
