"""Labs as keys of ``course.toml`` name them, by number or by folder."""

import re

from grader.labs.toml import Table

_LAB = re.compile(r"(\d{1,2})(_[a-z][a-z0-9_]*)?")


def lab_of_key(table: Table, key: str) -> int:
    """Return the number of the lab that a key names; raises ``LabError`` where it names none."""
    match = _LAB.fullmatch(key)
    if match is None:
        raise table.error(key, "is no lab: give its number, or the name of its folder")
    return int(match[1])
