"""What the service keeps of a learning platform: its courses there, and the marks it was sent."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Context:
    """A course at the platform, as its launches tell of it; an address may be unknown."""

    deployment: str
    id: str
    title: str
    members: str  # the address of names and roles
    items: str  # the address of line items, each a column of the gradebook there
    seen: datetime


@dataclass(frozen=True, slots=True)
class Sent:
    """A mark on its way to the platform; noted before it goes, and ``done`` when it arrived."""

    student: str
    lab: str
    points: float
    possible: float
    comment: str
    made: datetime  # by which the platform knows older words from newer ones
    done: bool = False

    def says(self, other: "Sent") -> bool:
        """Whether the platform shows the same by both."""
        mine = (self.points, self.possible, self.comment)
        return mine == (other.points, other.possible, other.comment)
