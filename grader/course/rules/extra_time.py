"""``[extra_time]`` of ``course.toml``: students who have longer, in percent of a lab's time."""

from collections.abc import Mapping
from datetime import datetime

from grader.labs.toml import Table

MOST_PERCENT = 1000


def extra_time(table: Table) -> dict[str, int]:
    """Read the percentage that each student has on top."""
    return {student: table.whole(student, most=MOST_PERCENT) for student in table.data}


def extended(
    table: Table,
    percents: Mapping[str, int],
    opens: Mapping[int, datetime],
    deadlines: Mapping[int, datetime],
) -> dict[tuple[str, int], datetime]:
    """Return until when each of the students has time, by student and lab.

    Raises ``LabError`` where it is not known when a lab opens.
    """
    found: dict[tuple[str, int], datetime] = {}
    for student, percent in percents.items():
        for lab, deadline in deadlines.items():
            if lab not in opens:
                told = f"needs to know when lab {lab} opens: {lab} in [service.opens]"
                raise table.error(student, told)
            if opens[lab] >= deadline:
                raise table.error(student, f"lab {lab} opens at its deadline or after it")
            found[student, lab] = deadline + (deadline - opens[lab]) * percent / 100
    return found
