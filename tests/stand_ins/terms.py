"""What the rules of docs/course.md make of a term, computed from what was recorded alone.

A term is one student's in some labs, which may be a team's. The computation is in fractions and
hours, and knows nothing of how the program goes about it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from typing import Any

from stand_ins.totals import best_total

from grader.course.config import LateRule, MarkRule
from grader.course.rules.total import Standing
from grader.course.rules.weights import LabRule, TotalRule

HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Row:
    """Something recorded of a student in a lab; ``value`` is points, hours, or whether it holds."""

    kind: str  # "attempt", "override", "extend" or "waive"
    lab: int
    value: float | None = None
    commit: int = 0  # of an attempt: the hour at which it was handed in
    possible: int = 100
    suite: str = "all"
    infra: bool = False
    student: str = "ada"

    @property
    def related(self) -> tuple[Any, ...]:
        """Rows of one key must keep their order."""
        return self.kind, self.lab, self.commit


@dataclass(frozen=True)
class Term:
    """What was recorded under which policy."""

    late: LateRule
    shares: tuple[Fraction, ...]  # kept after each late day; then nothing
    rule: MarkRule
    due: tuple[int, ...]  # hours, by lab
    extended: tuple[int | None, ...]  # by course.toml
    percent: int  # extra time of ada; labs open at hour 0
    total: TotalRule
    now: int
    rows: tuple[Row, ...]
    together: frozenset[int] = frozenset()  # labs that ada and bob hand in as a team


def labs_of(term: Term) -> range:
    """The labs of a term: from 1 on, as many as there are deadlines."""
    return range(1, len(term.due) + 1)


@dataclass(frozen=True)
class Earned:
    """What a student has in a lab; None: no mark."""

    points: Fraction | None
    possible: int = 100
    spent: int = 0


@dataclass(frozen=True)
class Worth:
    """A commit under the late rule."""

    hour: int
    late: int
    spent: int
    points: Fraction
    possible: int
    counts: bool


def last(term: Term, kind: str, lab: int) -> float | None:
    """What was said last of a lab by rows of one kind; None: nothing, or it was taken back."""
    found = [row.value for row in term.rows if (row.kind, row.lab) == (kind, lab)]
    return found[-1] if found else None


def due_of(term: Term, lab: int) -> Fraction:
    """The hour at which a lab is due: the latest of what course.toml, time and staff say."""
    due = Fraction(term.due[lab - 1])
    more = due * term.percent / 100
    command = last(term, "extend", lab)
    return max(due + more, term.extended[lab - 1] or 0, Fraction(command or 0))


def gradings(term: Term, lab: int) -> dict[int, Row]:
    """The grading of each commit that counts."""
    rows = [row for row in term.rows if row.kind == "attempt" and row.lab == lab]
    rows = [row for row in rows if row.student == "ada" or lab in term.together]
    rows = [row for row in rows if not row.infra]
    if any(row.suite == "all" for row in rows):
        rows = [row for row in rows if row.suite == "all"]
    found: dict[int, Row] = {}
    for row in rows:
        before = found.get(row.commit)
        if before is None or row.possible >= before.possible:
            found[row.commit] = row
    return found


def worth(term: Term, row: Row, due: Fraction, left: int, waived: bool) -> Worth:
    """What a commit is worth, with the slip days that serve it best."""
    over = Fraction(row.commit) - due - Fraction(term.late.grace // HOUR)
    late = max(0, math.ceil(over / 24))
    options: list[tuple[Fraction, int]] = []
    for spent in range(min(late, left, term.late.slip_per_lab) + 1):
        days = late - spent
        if waived or days == 0:
            share = Fraction(1)
        else:
            share = term.shares[days - 1] if days <= len(term.shares) else Fraction(0)
        options.append((Fraction(row.value or 0) * share, -spent))
    points, spent = max(options)
    counts = waived or late + spent <= len(term.shares)
    return Worth(row.commit, late, -spent, points, row.possible, counts)


def chosen(term: Term, found: Sequence[Worth]) -> Worth:
    """The commit that counts."""
    if term.rule is MarkRule.BEST:
        return max(found, key=lambda w: (w.points, w.counts, -w.spent, w.hour))
    groups = [[w for w in found if bool(w.late) is is_late] for is_late in (False, True)]
    in_time, late = (max(group, key=lambda w: w.hour, default=None) for group in groups)
    if in_time and late:
        return late if late.points > in_time.points else in_time
    return in_time or late  # type: ignore[return-value]


def expected(term: Term) -> dict[int, Earned]:
    """What a student has in each lab."""
    left = term.late.slip_days
    found: dict[int, Earned] = {}
    for lab in sorted(labs_of(term), key=lambda lab: (due_of(term, lab), lab)):
        word = last(term, "override", lab)
        own = term.total.labs.get(lab, LabRule())
        slips = left if own.counts and word is None else 0
        due, waived = due_of(term, lab), last(term, "waive", lab) is not None
        graded = [worth(term, row, due, slips, waived) for row in gradings(term, lab).values()]
        best = chosen(term, graded) if graded else None
        earned = Earned(best.points, best.possible, best.spent) if best else Earned(None)
        found[lab] = replace(earned, points=Fraction(word)) if word is not None else earned
        left -= earned.spent
    return found


def expected_total(term: Term) -> Fraction | None:
    """The total in percent; None where nothing is possible yet."""
    graded = {row.lab for row in term.rows if row.kind == "attempt"}
    known = {row.lab for row in term.rows if row.kind in ("attempt", "override")}
    standings: list[Standing] = []
    for lab, earned in expected(term).items():
        possible = 100 if last(term, "override", lab) is not None else earned.possible
        points = None if earned.points is None else float(earned.points)
        is_out = points is None and (
            lab not in graded or lab not in known or term.now <= due_of(term, lab)
        )
        standings.append(Standing(lab, points, possible, "out" if is_out else ""))
    return best_total(standings, term.total)
