"""A learning platform as the pages know it: a service without one loads no more than this."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from grader.service.domain.platforms import Context
from grader.service.domain.records import Role


class LaunchRefusedError(Exception):
    """What came is no proof of a launch; the message is for the log."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What a platform vouches for: who comes, as what, and to where; what it omits is empty."""

    sub: str  # the platform's own name of the person
    role: Role | None  # in this course; None: none that means anything here
    email: str = ""  # in lower case
    number: str = ""  # that the institution knows the person by
    lab: str = ""  # that the link is for
    chooses: bool = False  # somebody is to choose what a new link is for
    context: Context | None = None  # the course there, but for when it was seen
    claims: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a lab, signed: what a browser brings to the platform, and where."""

    lab: str
    title: str
    address: str
    signed: str


class Tool(Protocol):
    """The course as a platform has registered it. Each may raise LaunchRefusedError."""

    def keys(self) -> dict[str, Any]:
        """Return the keys by which the platform knows what we sign."""
        ...

    def begin(self, asked: Mapping[str, str]) -> tuple[str, str]:
        """Return where a browser goes to be vouched for, and what it is to keep meanwhile."""
        ...

    def launch(self, brought: Mapping[str, str], kept: str) -> Launch:
        """Check what a browser brought back; raises CannotGrade if the platform is away."""
        ...

    def links(self, launch: Launch, labs: Mapping[str, str]) -> list[Link]:
        """Return a link for each lab, by title: one is brought back to who asked to choose."""
        ...
