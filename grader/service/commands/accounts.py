"""Who vouches for students beside tokens: the issuer of course.toml and the roster's addresses."""

import os

from grader.course.config import Course
from grader.course.grading.collecting.roster import read_emails
from grader.errors import UsageError
from grader.service.adapters.web.oidc.identity import Identity
from grader.service.adapters.web.sign_in import BACK

SECRET = "INFERLAB_OIDC_SECRET"  # of the environment


def identity_of(course: Course) -> Identity | None:
    """Return who vouches for students beside tokens; None if course.toml names no issuer.

    Raises UsageError if there is no secret, or no column of e-mail addresses.
    """
    sign_in = course.service.sign_in
    if sign_in is None:
        return None
    secret = os.environ.get(SECRET, "")
    if sign_in.secret_file:
        try:
            secret = (course.folder / sign_in.secret_file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{sign_in.secret_file} cannot be read: {error}") from None
    if not secret:
        told = "sign_in has no secret: the issuer gave you one with client_id"
        raise UsageError(told, f"set {SECRET}, or name a file by secret_file")
    # What asks an issuer takes half as long to load as all else that gives pages.
    from grader.service.adapters.web.oidc.issuer import Issuer

    issuer = Issuer(sign_in, secret, course.service.address + BACK)
    return Identity(issuer, read_emails(course.roster))
