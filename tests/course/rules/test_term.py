"""Every mark and total of drawn terms is what the rules of docs/course.md say, computed anew.

A term is what was recorded of one student in three labs, some of them perhaps of a team's, under a
drawn policy: gradings of commits, regrades, overrides, extensions, waivers (``stand_ins/terms``).
Rows that have nothing to do with each other may have been recorded in any order.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("sqlalchemy", reason='needs the extra "course"')

from stand_ins.classroom import ADA, BOB, attempt
from stand_ins.fuzzing import fuzz
from stand_ins.terms import HOUR, Row, Term, expected, expected_total
from stand_ins.totals import total_rules

from grader.course.config import Course, LateRule, MarkRule
from grader.course.database.records import INFRA_EXIT, Grant, GrantKind, Override, Run
from grader.course.gradebook.gradebook import Gradebook, read_gradebook
from grader.course.rules.extra_time import extended
from grader.course.rules.weights import TotalRule
from grader.labs.toml import Table

LABS = (1, 2, 3)
START = datetime(2026, 10, 1, tzinfo=UTC)
END = 400  # hours; nothing is handed in later


@st.composite
def policies(draw: st.DrawFn) -> tuple[LateRule, tuple[Fraction, ...]]:
    curve = draw(st.sampled_from(["linear", "steps", "none after"]))
    count = draw(st.integers(0, 3))
    grace = timedelta(hours=draw(st.sampled_from([0, 0, 2])))
    slips = draw(st.integers(0, 4))
    rest: dict[str, Any] = {"grace": grace, "slip_days": slips}
    rest["slip_per_lab"] = draw(st.integers(1, slips)) if slips else 0
    if curve == "steps":
        falling = draw(st.lists(st.sampled_from([90, 50, 20, 0]), min_size=1, max_size=4))
        falling.sort(reverse=True)
        steps = tuple(each / 100 for each in falling)
        shares = tuple(Fraction(each, 100) for each in falling)
        return LateRule(days=len(steps), steps=steps, **rest), shares
    tenths = draw(st.sampled_from([1, 5])) if curve == "linear" else 0
    shares = tuple(max(Fraction(0), 1 - Fraction(tenths * day, 10)) for day in range(1, count + 1))
    return LateRule(tenths / 10, count, **rest), shares


ROWS = st.one_of(
    *[
        st.builds(
            lambda lab, commit, points, possible, suite, infra, who: Row(
                "attempt", lab, min(points, possible), commit, possible, suite, infra, who
            ),
            st.sampled_from(LABS),
            st.sampled_from([-20, -5, 1, 20, 30, 50, 90]),  # hours from the deadline
            st.sampled_from([0.0, 50.0, 72.25, 80.0, 90.0, 100.0]),
            st.sampled_from([100] * 7 + [75]),
            st.sampled_from(["all"] * 7 + ["public"]),
            st.sampled_from([False] * 7 + [True]),
            st.sampled_from(["ada", "ada", "ada", "ada", "bob"]),
        )
    ]
    * 6,
    st.builds(
        Row,
        st.just("override"),
        st.sampled_from(LABS),
        st.one_of(st.none(), st.integers(0, 100).map(float)),
    ),
    st.builds(
        Row,
        st.just("extend"),
        st.sampled_from(LABS),
        st.one_of(st.none(), st.integers(100, END)),
    ),
    st.builds(Row, st.just("waive"), st.sampled_from(LABS), st.sampled_from([1, 1, None])),
)


@st.composite
def terms(draw: st.DrawFn) -> Term:
    due = tuple(draw(st.lists(st.integers(50, 300), min_size=3, max_size=3)))
    late, shares = draw(policies())
    more = (draw(st.one_of(st.none(), st.none(), st.integers(0, 60))) for _ in LABS)
    return Term(
        *(late, shares, draw(st.sampled_from(MarkRule)), due),
        extended=tuple(None if m is None else d + m for d, m in zip(due, more, strict=True)),
        percent=draw(st.sampled_from([0, 0, 25, 100])),
        total=draw(total_rules(labs=3)),
        now=draw(st.integers(0, 700)),
        rows=tuple(_dated(row, due) for row in draw(st.lists(ROWS, max_size=12))),
        together=draw(st.one_of(st.just(frozenset[int]()), st.frozensets(st.sampled_from(LABS)))),
    )


def _dated(row: Row, due: Sequence[int]) -> Row:
    if row.kind != "attempt":
        return row
    return replace(row, commit=due[row.lab - 1] + row.commit)


class Rows:
    """What a gradebook is made of, in the order in which it was recorded."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = [(row, name(row.lab)) for row in rows]
        self._places = {id(row): place for place, row in enumerate(rows, 1)}

    def students(self):
        return [ADA, BOB]

    def attempts(self, lab: str | None = None, student: str | None = None):
        return [
            attempt(
                *(row.student, row.value),
                lab=named,
                commit=f"c{row.commit}",
                submitted=START + row.commit * HOUR,
                possible=float(row.possible),
                suite=row.suite,
                exit_code=INFRA_EXIT if row.infra else 0,
                row=self._places[id(row)],
            )
            for row, named in self._rows
            if row.kind == "attempt" and lab in (None, named) and student in (None, row.student)
        ]

    def overrides(self):
        return [
            Override("ada", named, row.value, "A. Teacher", "oral exam", START)
            for row, named in self._rows
            if row.kind == "override"
        ]

    def grants(self):
        return [
            Grant(
                *("ada", named, KINDS[row.kind]),
                until=START + row.value * HOUR if row.value and row.kind == "extend" else None,
                holds=row.value is not None,
                **{"author": "A. Teacher", "reason": "ill", "made": START},
            )
            for row, named in self._rows
            if row.kind in KINDS
        ]

    def runs(self):
        labs = {named for row, named in self._rows if row.kind == "attempt"}
        return [Run(str(place), lab, START) for place, lab in enumerate(sorted(labs), 1)]

    def collected_labs(self):
        return []

    def frozen(self, lab: str):
        return []

    def likenesses(self, lab: str):
        return []

    def remarks(self):
        return []

    def corrections(self, student: str | None = None):
        return []

    def comments(self, lab: str | None = None, student: str | None = None):
        return []


KINDS = {"extend": GrantKind.EXTENSION, "waive": GrantKind.WAIVER}


def name(lab: int) -> str:
    return f"{lab:02d}_lab"


def read(
    term: Term, rows: Sequence[Row], labs: Sequence[str] = (), student: str | None = None
) -> Gradebook:
    deadlines = {lab: START + term.due[lab - 1] * HOUR for lab in LABS}
    moments = {
        ("ada", lab): START + hour * HOUR
        for lab, hour in zip(LABS, term.extended, strict=True)
        if hour is not None
    }
    if term.percent:
        table, opens = Table("course.toml", "extra_time", {}), dict.fromkeys(LABS, START)
        longer = extended(table, {"ada": term.percent}, opens, deadlines)
        moments = {key: max(longer[key], moments.get(key, longer[key])) for key in longer}
    course = Course(
        folder=Path("/course"),
        title="T",
        roster=Path("/course/roster.csv"),
        deadlines=deadlines,
        extensions=moments,
        late=term.late,
        mark=term.rule,
        total=term.total,
        teams={(who, lab): ("ada", "bob") for who in ("ada", "bob") for lab in term.together},
    )
    return read_gradebook(course, Rows(rows), labs, student=student, now=START + term.now * HOUR)


def in_another_order(rows: Sequence[Row], seed: int) -> list[Row]:
    """The same rows; those that have to do with each other in the order in which they were."""
    queues: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        queues[row.related].append(row)
    keys = [row.related for row in rows]
    random.Random(seed).shuffle(keys)
    return [queues[key].pop(0) for key in keys]


def term(*rows: Row, **given: Any) -> Term:
    """Three labs due at hours 100, 200 and 300, a tenth a day, two slip days."""
    late = LateRule(0.1, 3, slip_days=2, slip_per_lab=2)
    values: dict[str, Any] = {
        "late": late, "shares": tuple(Fraction(n, 10) for n in (9, 8, 7)), "rule": MarkRule.BEST,
        "due": (100, 200, 300), "extended": (None, None, None), "percent": 0,
        "total": TotalRule(), "now": 500,
    }  # fmt: skip
    return Term(rows=rows, **values | given)


@example(term(Row("attempt", 1, 80.0, 130), Row("attempt", 2, 90.0, 210)))
@example(term(Row("attempt", 1, 80.0, 130), Row("waive", 1, 1), Row("attempt", 2, 90.0, 240)))
@example(term(Row("attempt", 1, 80.0, 130), Row("override", 1, 50.0), Row("attempt", 2, 9.0, 230)))
@example(term(Row("attempt", 1, 80.0, 130), Row("extend", 1, 130), Row("attempt", 2, 90.0, 230)))
@example(term(Row("attempt", 1, 80.0, 120), percent=25))
@example(term(Row("attempt", 1, 80.0, 330), Row("attempt", 2, 90.0, 130), due=(300, 100, 200)))
@example(term(Row("attempt", 1, 80.0, 90), Row("attempt", 1, 80.0, 120)))
@example(term(Row("attempt", 1, 0.0, 130), Row("attempt", 2, 90.0, 230)))
@example(
    term(
        Row("attempt", 1, 80.0, 120, student="bob"),
        Row("attempt", 1, 70.0, 90),
        Row("attempt", 2, 60.0, 190, student="bob"),
        together=frozenset({1}),
    )
)
@fuzz(200)
@given(terms())
def test_marks_and_totals_are_what_the_rules_say(term: Term) -> None:
    book = read(term, term.rows)

    wanted = expected(term)
    for lab in book.labs:
        mark, earned = book.marks["ada", lab], wanted[int(lab[:2])]
        assert mark.points == (None if earned.points is None else float(earned.points)), mark.why
        assert mark.slip_days == earned.spent, mark.why
    total = expected_total(term)
    assert book.totals["ada"].percent == (None if total is None else round(float(total), 4))


@fuzz(100)
@given(terms(), st.integers(0, 2**16))
def test_the_order_in_which_unrelated_rows_were_recorded_is_no_matter(
    term: Term, seed: int
) -> None:
    one, two = read(term, term.rows), read(term, in_another_order(term.rows, seed))

    assert told(one) == told(two)


@fuzz(60)
@given(terms())
def test_a_mark_is_the_same_whichever_labs_are_asked_for(term: Term) -> None:
    whole = read(term, term.rows)

    for lab in whole.labs:
        alone = read(term, term.rows, [lab]).marks["ada", lab]
        assert alone == whole.marks["ada", lab]


@fuzz(60)
@given(terms())
def test_a_mark_is_the_same_whether_one_is_asked_for_or_all(term: Term) -> None:
    whole = read(term, term.rows)

    alone = read(term, term.rows, student="ada")
    asked = {key: mark for key, mark in whole.marks.items() if key[0] == "ada"}
    assert {key: alone.marks.get(key) for key in asked} == asked


def told(book: Gradebook) -> list[Any]:
    marks = [
        (mark.lab, mark.student, mark.points, mark.possible, mark.late_days, mark.slip_days)
        for mark in sorted(book.marks.values(), key=lambda mark: (mark.lab, mark.student))
    ]
    return [*marks, *book.totals.items()]
