"""What a course needs of a git host, whichever it is."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository of the course's organisation, as the host tells it."""

    name: str
    key: str  # by which the API finds it
    url: str  # by which git does
    default: str  # branch, as far as there is one
    is_private: bool


class Host(Protocol):
    """One organisation (GitLab: group) at one host; each method may raise Refused."""

    @property
    def title(self) -> str:
        """What people call the host."""
        ...

    @property
    def hook_kind(self) -> str:
        """Which of the service's hooks it can call."""
        ...

    @property
    def git_user(self) -> str:
        """As whom git signs in, with the token for a password."""
        ...

    def close(self) -> None:
        """End all connections."""
        ...

    def enter(self) -> None:
        """Make sure that the token is known, and that the organisation is there."""
        ...

    def repositories(self) -> list[Repository]:
        """List all repositories of the organisation that the token may see."""
        ...

    def make(self, name: str, told: str, *, is_template: bool = False) -> Repository:
        """Make an empty private repository; ``told`` is its description."""
        ...

    def set_default(self, repository: Repository, branch: str) -> None:
        """Let a branch be the one that a clone begins with."""
        ...

    def members(self, repository: Repository) -> set[str]:
        """Return the accounts that may write or are invited to, in lower case."""
        ...

    def invite(self, repository: Repository, account: str) -> None:
        """Let an account write to a repository, and administer nothing."""
        ...

    def is_protected(self, repository: Repository, branch: str) -> bool:
        """Whether there is a rule for a branch."""
        ...

    def protect(self, repository: Repository, branch: str) -> None:
        """Let nobody but the course push to a branch."""
        ...

    def hooks(self, repository: Repository) -> set[str]:
        """Return the addresses that are told of pushes."""
        ...

    def add_hook(self, repository: Repository, address: str, secret: str) -> None:
        """Let an address be told of pushes, signed by a secret."""
        ...
