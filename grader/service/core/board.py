"""The leaderboard of a lab's speed: who chose a name for it, by what the judge's clock measured.

An entry is one grading: of its measured cases the geometric mean of the ratios to the baseline. A
grading with a case that is not plausible is no entry, whatever a person decides about its points.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from grader.course.database.records import Attempt
from grader.errors import UsageError
from grader.report.facts.measured import SpeedCase, speed_cases, table_of, text_of
from grader.report.facts.stored import report_of
from grader.service.domain.records import Alias
from grader.text import visible_line

MOST_NAME = 24  # characters
# Letters that nobody sees: a Hangul filler, an empty pattern of Braille. Python knows the others.
BLANKS = dict.fromkeys(map(ord, "\u115f\u1160\u2800\u3164\uffa0"), " ")


@dataclass(frozen=True, slots=True)
class Entry:
    """The fastest grading of somebody on the board."""

    name: str
    ratio: float  # the baseline's time over the student's, above 1 is faster
    share: float | None  # the best share of the roofline, 0 to 1
    cases: int
    gpu: str
    moment: datetime


def board(aliases: Iterable[Alias], attempts: Iterable[Attempt]) -> list[Entry]:
    """Return one entry for each name that has one, the fastest first."""
    names = {alias.student: alias.name for alias in aliases if alias.name}
    best: dict[str, Entry] = {}
    for attempt in attempts:
        name = names.get(attempt.student, "")
        entry = _entry(name, attempt) if name and not attempt.infra else None
        if entry and (name not in best or entry.ratio > best[name].ratio):
            best[name] = entry
    return sorted(best.values(), key=lambda entry: (-entry.ratio, entry.moment))


def chosen_name(text: str) -> str:
    """Return a name as it stands on a board; raises UsageError for one that cannot."""
    name = " ".join(text.translate(BLANKS).split())
    if len(name) > MOST_NAME or visible_line(name) != name:
        told = f"a name on the board has at most {MOST_NAME} characters that can be drawn"
        raise UsageError(told, "choose another one")
    return name


def _entry(name: str, attempt: Attempt) -> Entry | None:
    report = report_of(attempt.report)
    cases = speed_cases(report)
    ratios = [case.ratio for case in cases if _is_proven(case) and case.ratio]
    if not cases or len(ratios) < len(cases):
        return None
    mean = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
    shares = [case.share for case in cases if case.share is not None]
    gpu = text_of(table_of(report.extras.get("gpu")).get("name"))
    moment = attempt.submitted or attempt.graded
    return Entry(name, mean, max(shares, default=None), len(cases), gpu, moment)


def _is_proven(case: SpeedCase) -> bool:
    return case.ratio is not None and case.ratio > 0 and not case.suspicious
