"""One of the hosts, opened with a token."""

from grader.course.hosting.calls import Clock
from grader.course.hosting.gitea import Gitea
from grader.course.hosting.github import GitHub
from grader.course.hosting.gitlab import GitLab
from grader.course.hosting.host import Host
from grader.course.hosting.kinds import TITLES
from grader.course.hosting.token import Token
from grader.course.rules.hosts import Kind


def open_host(kind: Kind, org: str, url: str, token: Token, clock: Clock) -> Host:
    """Return an organisation at a host, at the address that ``address_of`` gave."""
    match kind:
        case Kind.GITHUB:
            return GitHub(org, url, token, clock)
        case Kind.GITLAB:
            return GitLab(org, url, token, clock)
        case Kind.GITEA | Kind.FORGEJO:
            return Gitea(TITLES[kind], org, url, token, clock)
