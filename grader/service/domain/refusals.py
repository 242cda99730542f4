"""What the service refuses. The message and the hint are shown to whoever asked.

Refusal
├── NotSignedIn   no token, or one that is unknown or revoked     -> 401
├── NotFound      it is not there, or not theirs to know of       -> 404
├── NotNow        a quota, a cooldown, an opening time            -> 429 or 403
└── BadWork       what came cannot be handed in                   -> 422
"""

from datetime import datetime

from grader.errors import InferlabError


class Refusal(InferlabError):
    """The service did not do what it was asked, and nothing has changed."""


class NotSignedIn(Refusal):
    """There is no token, or it is unknown, or was revoked."""


class NotFound(Refusal):
    """There is no such thing, or whoever asks may not know of it: the answer is the same."""


class NotNow(Refusal):
    """The course's policy refuses; ``again`` is when it would not, None: not foreseen."""

    def __init__(self, message: str, hint: str = "", again: datetime | None = None) -> None:
        super().__init__(message, hint)
        self.again = again


class BadWork(Refusal):
    """What came is not what the lab takes: a name, a size, a notebook that cannot be read."""
