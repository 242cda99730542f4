"""``[canned]`` of ``course.toml``: comments that a course has ready."""

from grader.labs.toml import Table

MOST_COMMENT = 4000  # characters


def canned(table: Table) -> dict[str, str]:
    """Read comments that a course has ready, by the names under which readers choose them."""
    found = {name: table.text(name) for name in table.data}
    for name, text in found.items():
        if len(text) > MOST_COMMENT:
            raise table.error(name, f"is too long: a comment has at most {MOST_COMMENT} characters")
    return found
