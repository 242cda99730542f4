"""What the routes share: one of it in each application."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, cast

from grader.course.config import Course
from grader.course.database.records import Frozen, Grant, Override
from grader.course.gradebook.gradebook import Gradebook, Records, read_gradebook
from grader.extras import needs
from grader.labs.lab import Lab
from grader.languages.language import Language
from grader.service.adapters.web.gate.rates import Limits
from grader.service.adapters.web.lti.tool import Tool
from grader.service.adapters.web.oidc.identity import Identity
from grader.service.adapters.web.texts.handouts import Handout
from grader.service.core.desk import Desk
from grader.service.core.door import Door
from grader.service.core.overviews import Overviews
from grader.service.core.people.reading import Readers
from grader.service.core.people.requests import Requests
from grader.service.core.people.unread import Unread
from grader.service.core.regrades import Regrades
from grader.service.core.views import Views
from grader.service.ports.clock import Clock
from grader.service.ports.launches import Platforms
from grader.service.ports.store import Store

with needs("service"):
    from jinja2 import Environment
    from starlette.requests import Request


@dataclass(frozen=True, slots=True)
class Push:
    """What a git host told of a branch; nothing of it is proven but that the host said so."""

    kind: str  # "github", "gitlab" or "gitea"
    repository: str  # its URL, for git over HTTPS
    branch: str  # "student/s17"
    commit: str  # that the branch points to now


Collect = Callable[[Push], None]  # notes a push and returns at once


class Books(Records, Protocol):
    """The course database: what the pages of the staff read, and the words that they add."""

    def add_override(self, override: Override) -> None:
        """Record a person's word on a mark."""
        ...

    def add_grant(self, grant: Grant) -> None:
        """Record what a person granted a student, or took back."""
        ...

    def collections(self, lab: str) -> Sequence[Frozen]:
        """All that was ever collected of a lab, oldest first for each student."""
        ...


@dataclass(frozen=True, slots=True)
class Launches:
    """A learning platform, and whom it may vouch for."""

    tool: Tool
    students: Mapping[str, str]  # ids by "lti …", "number …" and "email …"
    instructors: bool  # whether the platform's instructors are instructors here
    platforms: Platforms  # where what launches tell of the platform is kept


@dataclass(frozen=True, slots=True)
class Site:
    """A course and what its pages are made of."""

    course: Course
    labs: Sequence[Lab]
    store: Store
    books: Books
    clock: Clock
    desk: Desk
    door: Door
    views: Views
    regrades: Regrades
    readers: Readers
    unread: Unread
    overviews: Overviews
    limits: Limits
    handouts: Mapping[tuple[str, Language], Handout]  # by the lab's name and the reader's language
    templates: Environment
    device: Callable[[Lab], str]  # where a lab's hand-ins are graded: "cpu" or "cuda"
    collect: Collect | None
    identity: Identity | None = None  # an institution's accounts, beside tokens
    launches: Launches | None = None  # from a learning platform

    @property
    def is_tls(self) -> bool:
        """Whether browsers come by HTTPS."""
        return self.course.service.address.startswith("https://")

    @property
    def session_cookie(self) -> str:
        """The name of a session's cookie; the prefix binds it to this host, where there is TLS."""
        return "__Host-session" if self.is_tls else "session"

    def page_of(self, number: int) -> str:
        """Return the address of a hand-in's page."""
        return f"{self.course.service.address}/attempts/{number}"

    def gradebook(self, labs: Sequence[str] = (), student: str | None = None) -> Gradebook:
        """Read the gradebook, of some labs or of all, and of one student or all."""
        titles = {lab.name: lab.title for lab in self.labs}
        return read_gradebook(self.course, self.books, labs, titles, student, self.now())

    @property
    def requests(self) -> Requests:
        """What students ask for, and how it is answered."""
        return Requests(self.desk, self.store, self.clock, self.views, self.regrades)

    def now(self) -> datetime:
        """Return this moment."""
        return self.clock.now()


def site_of(request: Request) -> Site:
    """Return the site that a request is for."""
    return cast(Site, request.app.state.site)
