"""Who vouches for students, as the pages know it: a service without one loads no more than this."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


class NotVouchedError(Exception):
    """What came back is no proof of who somebody is; the message is for the log."""


class Vouching(Protocol):
    """An issuer whose word on an e-mail address is taken. Each raises CannotGrade if it is away."""

    def address(self, state: str, nonce: str, verifier: str) -> str:
        """Return where a browser goes to sign in."""
        ...

    def is_called(self, name: str) -> bool:
        """Whether a name is the issuer's own, to the letter."""
        ...

    def email(self, code: str, nonce: str, verifier: str) -> str:
        """Return whose code it is: a verified address in lower case; raises NotVouchedError."""
        ...


@dataclass(frozen=True, slots=True)
class Identity:
    """Who vouches, and whose addresses it may vouch for: students, by e-mail in lower case."""

    issuer: Vouching
    students: Mapping[str, str]
