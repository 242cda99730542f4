"""The items of a lab as a table that a spreadsheet reads."""

from collections.abc import Iterable, Sequence

from grader.course.analysis.items import Item
from grader.course.gradebook.exports import csv_of

WIDE_GAP = 0.2  # of the tests passed: from here on the gap between public and hidden ones is told
COLUMNS = (
    *("lab", "kind", "task", "name", "says", "tried", "failed", "pass_rate", "discrimination"),
    *("median_hours_to_pass", "told", "told_times", "failed_by"),
)


def items_csv(lab: str, items: Iterable[Item]) -> bytes:
    """Return a lab's items, a row each below the names of the columns."""
    return csv_of([COLUMNS, *(_row(lab, item) for item in items)])


def _row(lab: str, item: Item) -> Sequence[object]:
    told, times = item.told
    return (
        *(lab, item.key.kind, item.key.task, item.key.name, item.says),
        *(item.tried, len(item.missed), item.rate, item.discrimination, item.median_hours),
        *(told, times, " ".join(item.missed)),
    )
