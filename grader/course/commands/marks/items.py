"""What ``lab gradebook items`` does between its options and its exit code."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from rich.text import Text

from grader.course.analysis.items import Gap, Item, Kind, gaps_of, items_of
from grader.course.analysis.items_table import WIDE_GAP, items_csv
from grader.course.commands.marks.book import open_store, write_data
from grader.course.config import load_course
from grader.course.gradebook.gradebook import read_gradebook
from grader.errors import UsageError
from grader.labs.lab import find_lab, find_root
from grader.report.formats.terminal import make_console
from grader.text import visible_line

MOST_ITEMS = 20  # on a screen
MOST_NAMED = 8  # students, in a line on a screen
MOST_GAPS = 5


@dataclass(frozen=True, slots=True)
class Order:
    """The items of a lab as asked for."""

    course: Path
    lab: str
    tests: bool  # instead of contracts, where the lab has some
    who: bool
    csv: bool
    output: str


def items(order: Order) -> int:
    """Show what a class did not understand of a lab, or write all items as CSV."""
    course = load_course(order.course)
    wanted = find_lab(order.lab, find_root())
    lab = wanted.name
    if wanted.is_manual:
        hint = "lab gradebook comments, and the service's /reading, say what they said"
        raise UsageError(f"people grade {lab}: no test tells what was not understood", hint)
    with open_store(course) as store:
        book = read_gradebook(course, store, [lab])
    found = items_of(book, lab)
    if not found:
        raise UsageError(f"nothing that was begun of {lab} has been judged", "lab grade-all first")
    if order.csv:
        write_data(order.output, items_csv(lab, found))
        return 0
    _print(_chosen(found, order), order.who)
    _print_gaps(gaps_of(book, lab))
    return 0


def _chosen(found: Sequence[Item], order: Order) -> list[Item]:
    """Contracts say what a test does not; a lab without any has tests alone."""
    kinds = {item.key.kind for item in found}
    kind = Kind.TEST if order.tests or Kind.CONTRACT not in kinds else Kind.CONTRACT
    return [item for item in found if item.key.kind is kind]


def _print(found: Sequence[Item], who: bool) -> None:
    failed = [item for item in found if item.missed]
    table = Table(box=None, pad_edge=False)
    for name in ("failed", "of", "telling", "hours", "task"):
        table.add_column(name, justify="left" if name == "task" else "right", no_wrap=True)
    table.add_column("what, and what most were told", overflow="fold")
    for item in failed[:MOST_ITEMS]:
        telling = "" if item.discrimination is None else f"{item.discrimination:+.2f}"
        hours = "" if item.median_hours is None else f"{item.median_hours:.1f}"
        counts = (str(len(item.missed)), str(item.tried), telling, hours)
        table.add_row(*map(Text, (*counts, item.key.task, _words(item, who))))
    if failed:
        make_console(sys.stdout).print(table)
    if len(failed) > MOST_ITEMS:
        print(f"and {len(failed) - MOST_ITEMS} more: --csv has all")
    kind = found[0].key.kind
    print(f"{len(failed)} of {len(found)} {kind}s were failed by somebody who had begun their task")


def _words(item: Item, who: bool) -> str:
    told, times = item.told
    name = f"{item.key.name} {item.says}" if item.says else item.key.name
    lines = [visible_line(name, 200), f"  {times}: {visible_line(told, 160)}"]
    if who:
        names = [*item.missed]
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        lines.append(visible_line(f"  by {', '.join(names[:MOST_NAMED])}{more}", 400))
    return "\n".join(lines)


def _print_gaps(gaps: Sequence[Gap]) -> None:
    """Name those whose answers fit the tests that they have, and others less."""
    wide = [gap for gap in gaps if gap.size >= WIDE_GAP]
    for gap in wide[:MOST_GAPS]:
        told = f"{gap.public:.0%} of the public tests, {gap.hidden:.0%} of the hidden ones"
        print(visible_line(f"gap {gap.student}: {told}"))
    if len(wide) > MOST_GAPS:
        print(f"gap: {len(wide) - MOST_GAPS} more")
