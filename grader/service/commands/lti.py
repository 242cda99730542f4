"""``lab lti``: the key by which a learning platform knows the course, and what it registers."""

import os
import sys
from pathlib import Path

from grader.course.config import Course, load_course
from grader.course.database.store import Store
from grader.course.platform import KEY_FILE, Platform
from grader.course.rosters.people import known_people
from grader.errors import UsageError
from grader.extras import needs
from grader.service.adapters.database.launches import DatabasePlatforms
from grader.service.adapters.web.desk.launches import BACK
from grader.service.adapters.web.shared.site import Launches
from grader.text import visible_line

BITS = 2048


def make_key(course_file: Path) -> int:
    """Make the key if there is none, and print the addresses."""
    course = load_course(course_file)
    platform = course.service.lti
    file = course.folder / (platform.key_file if platform else KEY_FILE)
    if not file.exists():
        _write(file, _new_key())
        print(f"note: {file} is new; keep it, and keep it secret", file=sys.stderr)
    address = course.service.address or "https://ADDRESS"
    print(f"target link and redirect address: {address}{BACK}")
    print(f"login initiation address:         {address}/lti/login")
    print(f"public keys (JWKS) address:       {address}/lti/keys.json")
    return 0


def launches_of(course: Course, database: Store) -> Launches | None:
    """Return what lets people in by launches; None if course.toml names no platform.

    Raises UsageError where there is no key that is ours alone.
    """
    platform = course.service.lti
    if platform is None:
        return None
    # The library takes a while to load, and few courses need it.
    from grader.service.adapters.web.lti.platform import PlatformTool

    tool = PlatformTool(platform, read_key(course, platform), course.service.address + BACK)
    students: dict[str, str] = {}
    for person in known_people(course.roster).values():
        for kind in ("lti", "number", "email"):
            if text := getattr(person, kind):
                students[f"{kind} {text}"] = person.id
    return Launches(tool, students, platform.instructors, DatabasePlatforms(database))


def read_key(course: Course, platform: Platform) -> str:
    """Return our private key; raises UsageError if others could read it, or it is none."""
    with needs("lti"):
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    file = course.folder / platform.key_file
    shown = visible_line(str(platform.key_file))
    try:
        mode, text = file.stat().st_mode, file.read_text(encoding="ascii")
        load_pem_private_key(text.encode(), None)
    except FileNotFoundError:
        raise UsageError(f"there is no key {shown}", "lab lti key makes it") from None
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"the key {shown} cannot be read: {error}") from None
    if mode & 0o077:
        raise UsageError(f"others may read the key {shown}", f"chmod 600 {shown}")
    return text


def _new_key() -> bytes:
    with needs("lti"):
        from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
        )
    made = generate_private_key(public_exponent=65537, key_size=BITS)
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write(file: Path, data: bytes) -> None:
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "wb") as stream:
            stream.write(data)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from None
