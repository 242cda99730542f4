"""What ``lab similarity`` does between its options and its exit code."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table
from rich.text import Text

from grader.course.commands.marks.book import NOT_YET, open_store, write_data
from grader.course.config import load_course
from grader.course.database.records import Likeness
from grader.course.gradebook.similarity import Comparison, compare_class
from grader.errors import UsageError
from grader.files import check_writable, json_bytes
from grader.labs.lab import find_lab, find_root
from grader.report.formats.forms import STDOUT
from grader.report.formats.terminal import make_console
from grader.text import visible_line

MOST_PAIRS = 30  # on a screen; the JSON has all


def similarity(course_file: Path, lab_text: str, threshold: float, json: str | None) -> int:
    """Compare the answers to a lab, keep what is alike for the class page; 1 if anything is."""
    course = load_course(course_file)
    lab = find_lab(lab_text, find_root())
    if json is not None and json != STDOUT:
        check_writable(json)
    with open_store(course) as store:
        frozen = store.frozen(lab.name)
        if not frozen:
            raise UsageError(f"nothing of {lab.name} was collected", NOT_YET)
        found = compare_class(lab, frozen, course.folder, threshold)
        store.put_likenesses(lab.name, found.found)
    if json is not None:
        pairs = [asdict(item) for item in found.found]
        data = {"lab": lab.name, "threshold": threshold, "students": found.students}
        data |= {"models": found.models, "pairs": pairs, "left_out": [*found.left_out]}
        write_data(json, json_bytes(data))
    if json != STDOUT:
        _print(found, threshold)
    return 1 if found.found else 0


def _print(found: Comparison, threshold: float) -> None:
    for line in found.left_out:
        print(f"not compared: {visible_line(line)}", file=sys.stderr)
    students = "1 student" if found.students == 1 else f"{found.students} students"
    compared = f"{students} and {found.models} model answers compared"
    if not found.found:
        print(f"{compared}: no two share {threshold:.0%} of their code")
        return
    print(f"{compared}; pairs that share {threshold:.0%} or more: {len(found.found)}")
    make_console(sys.stdout).print(_table(found.found[:MOST_PAIRS]))
    if len(found.found) > MOST_PAIRS:
        print(f"and {len(found.found) - MOST_PAIRS} more: --json FILE has all")


def _table(found: Sequence[Likeness]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("student", "other", "of the student's", "of the other's", "characters"):
        table.add_column(name)
    for item in found:
        shares = f"{item.share:.0%}", f"{item.other_share:.0%}"
        cells = (visible_line(item.student), visible_line(item.other), *shares, str(item.tokens))
        table.add_row(*map(Text, cells))
    return table
