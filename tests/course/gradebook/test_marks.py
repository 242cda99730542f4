"""The mark as a rule over attempts: best, last, late, extended, regraded, set by hand."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from stand_ins.classroom import LAB, NOON, after, attempt, course, override

from grader.course.config import LateRule, MarkRule
from grader.course.database.records import INFRA_EXIT, Attempt, Override
from grader.course.gradebook.marks import Mark, days, mark

HERE = Path("/course")
TENTH = LateRule(per_day=0.1, days=3)


def marked(
    attempts: Sequence[Attempt],
    *overrides: Override,
    student: str = "ada",
    late: LateRule | None = None,
    rule: MarkRule = MarkRule.BEST,
) -> Mark:
    return mark(attempts, overrides, course(HERE, late=late, rule=rule), student, LAB)


def test_nothing_graded_is_no_mark() -> None:
    found = marked([attempt("bob", 90.0), attempt("ada", 80.0, lab="02_batching")])

    assert (found.points, found.attempt, found.why) == (None, None, "nothing was graded")


def test_the_best_commit_counts_by_default() -> None:
    attempts = [attempt("ada", 70.0, commit="a1"), attempt("ada", 90.0, commit="b2")]
    attempts += [attempt("ada", 80.0, commit="c3", submitted=after(-0.5))]

    found = marked(attempts)

    assert (found.points, found.attempt) == (90.0, attempts[1])
    assert found.why == "the best of 3 graded commits, b2 of 2026-10-01 11:00 UTC, in run 1"


def test_the_last_commit_on_time_counts_by_the_other_rule() -> None:
    attempts = [
        attempt("ada", 80.0, commit="c3", submitted=after(-1)),
        attempt("ada", 95.0, commit="a1", submitted=after(-2)),
        attempt("ada", 99.0, commit="d4", submitted=after(1)),
    ]

    found = marked(attempts, rule=MarkRule.LAST)

    assert (found.points, found.late_days) == (80.0, 0)
    assert found.why == "the last of 3 graded commits, c3 of 2026-10-01 11:00 UTC, in run 1"


def test_by_the_rule_last_a_late_commit_counts_only_if_it_earns_more() -> None:
    on_time = attempt("ada", 0.0, commit="a1")
    late = attempt("ada", 60.0, commit="b2", submitted=after(1))

    assert marked([on_time, late], late=TENTH, rule=MarkRule.LAST).points == 54.0
    worse = attempt("ada", 55.0, commit="a1")
    assert marked([worse, late], late=TENTH, rule=MarkRule.LAST).points == 55.0


@pytest.mark.parametrize(
    ("hours", "points", "late_days"),
    [
        (-1, 80.0, 0),
        (0, 80.0, 0),
        (0.001, 72.0, 1),
        (24, 72.0, 1),
        (24.001, 64.0, 2),
        (72, 56.0, 3),
        (72.001, 0.0, 4),
    ],
)
def test_each_started_day_costs_its_share(hours: float, points: float, late_days: int) -> None:
    found = marked([attempt("ada", 80.0, submitted=after(hours))], late=TENTH)

    assert (found.points, found.late_days) == (pytest.approx(points), late_days)


def test_the_words_say_what_lateness_cost() -> None:
    found = marked([attempt("ada", 80.0, submitted=after(30))], late=TENTH)
    too_late = marked([attempt("ada", 80.0, submitted=after(100))], late=TENTH)
    never = marked([attempt("ada", 80.0, submitted=after(1))])

    due = "late (due 2026-10-01 12:00 UTC)"
    assert found.why.endswith(f"2 days {due}: 20 % of its 80 points are lost")
    assert too_late.why.endswith(f"5 days {due}: nothing counts after 3 days")
    assert never.why.endswith(f"1 day {due}: too late")
    assert (too_late.points, never.points) == (0.0, 0.0)


def test_a_late_commit_that_is_worth_less_does_not_replace_one_on_time() -> None:
    attempts = [
        attempt("ada", 80.0, commit="a1"),
        attempt("ada", 85.0, commit="b2", submitted=after(1)),
    ]

    assert marked(attempts, late=TENTH).attempt == attempts[0]
    attempts[1] = attempt("ada", 95.0, commit="b2", submitted=after(1))
    assert marked(attempts, late=TENTH).points == 85.5


def test_points_are_never_below_zero() -> None:
    harsh = LateRule(per_day=0.6, days=9)

    assert marked([attempt("ada", 80.0, submitted=after(30))], late=harsh).points == 0.0


def test_an_extension_moves_the_deadline_of_one_student() -> None:
    attempts = [attempt(name, 80.0, submitted=after(20)) for name in ("ada", "cyd")]

    assert marked(attempts, late=TENTH, student="cyd").points == 80.0
    assert marked(attempts, late=TENTH, student="ada").points == 72.0


def test_a_commit_of_unknown_time_is_taken_as_on_time_and_the_words_say_so() -> None:
    found = marked([attempt("ada", 80.0, submitted=None)])

    assert found.points == 80.0
    assert found.why == "the commit, c0ffee of an unknown time, in run 1; taken as on time"


def test_the_newest_grading_of_a_commit_counts_also_if_it_is_lower() -> None:
    attempts = [
        attempt("ada", 90.0, run="1", graded=after(30)),
        attempt("ada", 70.0, run="2", graded=after(60)),
    ]

    assert marked(attempts).points == 70.0
    assert marked(attempts).why.endswith("in run 2")


def test_the_newest_grading_is_the_one_recorded_last_whatever_clocks_said() -> None:
    attempts = [
        attempt("ada", 83.0, run="1", graded=after(9999)),
        attempt("ada", 100.0, run="2", graded=after(60)),
    ]

    assert marked(attempts).points == 100.0


def test_of_commits_without_a_date_the_last_recorded_is_the_last() -> None:
    attempts = [
        attempt("ada", 60.0, commit="a1", submitted=None, graded=after(9999)),
        attempt("ada", 90.0, commit="b2", submitted=None, graded=after(60)),
        attempt("ada", 60.0, commit="a1", submitted=None, run="2", graded=after(70)),
    ]

    assert marked(attempts, rule=MarkRule.LAST).points == 90.0
    dated = attempt("ada", 10.0, commit="c3", submitted=after(-1), graded=after(80))
    assert marked([*attempts, dated], rule=MarkRule.LAST).points == 10.0
    assert marked([dated, *attempts], rule=MarkRule.LAST).points == 90.0


def test_a_late_day_is_one_of_the_calendar() -> None:
    # The clock is put back in the night of 25 October: noon to noon are 25 hours.
    berlin, due = ZoneInfo("Europe/Berlin"), datetime(2026, 10, 24, 10, tzinfo=UTC)
    held = replace(course(HERE, late=TENTH), zone=berlin, deadlines={1: due})
    one, two = (
        attempt("ada", 80.0, submitted=due + timedelta(hours=hours)) for hours in (25, 25.001)
    )

    assert mark([one], [], held, "ada", LAB).late_days == 1
    assert mark([two], [], held, "ada", LAB).late_days == 2
    assert mark([one], [], replace(held, zone=UTC), "ada", LAB).late_days == 2


@pytest.mark.parametrize("rule", MarkRule)
def test_a_grading_that_failed_by_our_fault_never_replaces_one(rule: MarkRule) -> None:
    attempts = [
        attempt("ada", 70.0, run="1"),
        attempt("ada", 0.0, run="2", graded=after(60), exit_code=3),
        attempt("ada", 100.0, commit="b2", submitted=after(-0.5), exit_code=3),
    ]

    assert marked(attempts, rule=rule).points == 70.0
    assert "a later grading of it, which failed by our fault" in marked(attempts, rule=rule).why
    alone = marked(attempts[1:], rule=rule)
    assert (alone.points, alone.why) == (None, "its grading failed by our fault")


def test_a_machine_that_could_judge_less_replaces_nothing() -> None:
    attempts = [
        attempt("ada", 95.0, run="1", graded=after(30)),
        attempt("ada", 70.0, run="2", graded=after(60), possible=75.0),
    ]

    assert marked(attempts).points == 95.0
    assert marked(attempts).why.endswith(
        "a later grading of it, which could judge 75 points only, does not count"
    )
    assert marked(attempts[1:]).why.endswith("75 points could be judged on that machine")


def test_a_person_has_the_last_word_through_regrades() -> None:
    attempts = [attempt("ada", 70.0)]
    word = override("ada", 85.0)

    before = marked(attempts, word)
    attempts.append(attempt("ada", 100.0, run="2", graded=after(99)))
    regraded = marked(attempts, word)

    assert (before.points, regraded.points, regraded.override) == (85.0, 85.0, word)
    assert regraded.why.startswith(
        "set to 85 by A. Teacher on 2026-10-03 04:00 UTC: oral exam (else 100: the commit, c0ffee"
    )
    assert regraded.attempt == attempts[1]


def test_a_mark_can_be_set_where_nothing_was_graded() -> None:
    found = marked([], override("ada", 40.0))

    assert (found.points, found.attempt) == (40.0, None)
    assert found.why.endswith("oral exam (nothing was graded)")


def test_the_newest_word_holds_and_can_be_taken_back() -> None:
    attempts = [attempt("ada", 70.0)]
    words = [override("ada", 85.0), override("ada", 60.0), override("bob", 10.0)]

    assert marked(attempts, *words).points == 60.0
    taken_back = marked(attempts, *words, override("ada", None, "wrong student"))
    assert (taken_back.points, taken_back.override) == (70.0, None)
    assert "taken back by A. Teacher" in taken_back.why
    assert taken_back.why.endswith("wrong student")


def test_without_a_deadline_nothing_is_late() -> None:
    late = attempt("ada", 80.0, lab="02_batching", submitted=NOON + timedelta(days=99))

    assert mark([late], [], course(HERE, late=TENTH), "ada", "02_batching").points == 80.0


def test_days_are_counted_in_words() -> None:
    assert (days(1), days(2)) == ("1 day", "2 days")


def test_what_public_tests_alone_judged_counts_until_hidden_ones_have() -> None:
    public = [
        attempt("ada", points, commit=commit, suite="public")
        for commit, points in (("one", 100.0), ("two", 90.0))
    ]
    hidden = attempt("ada", 40.0, commit="two", graded=after(60))
    broken = attempt("ada", 0.0, commit="two", graded=after(60), exit_code=INFRA_EXIT)

    assert marked(public).points == 100.0
    assert marked([*public, broken]).points == 100.0
    assert marked([*public, hidden]).points == 40.0
