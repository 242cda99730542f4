"""Git hosts whose API and whose workflows a course may use."""

from enum import StrEnum

from grader.labs.toml import Table


class Kind(StrEnum):
    """Whose API is spoken."""

    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"
    FORGEJO = "forgejo"


def workflows(table: Table) -> tuple[Kind, ...]:
    """Read at which hosts the public tests are run at each push."""
    names = table.texts("workflows", ())
    if wrong := [name for name in names if name not in tuple(Kind)]:
        raise table.error("workflows", f"{wrong[0]!r} is none of {', '.join(Kind)}")
    return tuple(map(Kind, dict.fromkeys(names)))
