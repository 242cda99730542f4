"""The mark as a rule over attempts: best, last, late, extended, regraded, set by hand."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from stand_ins.classroom import LAB, NOON, after, attempt, course, override, report

from grader.course.config import LateRule, MarkRule
from grader.course.database.records import INFRA_EXIT, Attempt, Correction, Override
from grader.course.gradebook.marks import Mark, days, mark
from grader.course.rules.regrades import RegradeRule

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


# Points by hand


def by_hand(points: float | None, task: str = "norm", **given: Any) -> Correction:
    word = Correction("ada", LAB, "c0ffee", task, points, "A. Teacher", "a typo", after(40))
    return replace(word, **given)


def with_points(
    attempts: Sequence[Attempt], *words: Correction, late: LateRule | None = None
) -> Mark:
    return mark(attempts, [], course(HERE, late=late), "ada", LAB, 0, words)


def halves(**given: Any) -> Attempt:
    """An attempt with 50 points in norm and none in rope."""
    found = report({"norm/a": "passed", "rope/a": "failed"})
    return attempt("ada", 50.0, report=found, **given)


def test_points_by_hand_stand_in_place_of_the_machines() -> None:
    found = with_points([halves()], by_hand(30.0, "rope"), by_hand(40.0))

    assert (found.points, found.possible, found.override) == (70.0, 100.0, None)
    assert "norm set to 40 of 50 by A. Teacher on 2026-10-03 04:00 UTC: a typo" in found.why
    assert "rope set to 30 of 50" in found.why


def test_the_newest_word_on_a_task_holds_and_none_takes_it_back() -> None:
    words = [by_hand(10.0), by_hand(20.0)]

    assert with_points([halves()], *words).points == 20.0
    assert with_points([halves()], *words, by_hand(None)).points == 50.0


def test_points_by_hand_are_of_one_work_of_one_student_alone() -> None:
    others = [
        by_hand(0.0, student="bob"),
        by_hand(0.0, lab="02_batching"),
        by_hand(0.0, commit="b2"),
    ]

    assert with_points([halves()], *others).points == 50.0


def test_points_by_hand_stay_through_a_regrade_which_the_mark_tells() -> None:
    first, again = halves(row=1), replace(halves(row=2, run="2"), points=0.0, report=report({}))
    word = by_hand(45.0, after=1)

    before, regraded = with_points([first], word), with_points([first, again], word)

    assert (before.points, regraded.points) == (45.0, 45.0)
    assert "before it was graded again" not in before.why
    assert regraded.why.endswith("a typo, before it was graded again")


def test_points_by_hand_lose_by_lateness_what_the_machines_would() -> None:
    found = with_points([halves(submitted=after(1))], by_hand(50.0, "rope"), late=TENTH)

    assert found.points == 90.0
    assert "10 % of its 100 points are lost" in found.why


def test_what_a_machine_could_not_judge_a_person_can() -> None:
    partial = report({"norm/a": "passed"})
    partial["tasks"][1]["graded"] = False
    work = attempt("ada", 50.0, possible=50.0, report=partial)

    found = with_points([work], by_hand(25.0, "rope"))

    assert (found.points, found.possible) == (75.0, 100.0)


def test_points_of_a_task_that_is_no_more_count_for_nothing() -> None:
    found = with_points([halves()], by_hand(5.0, "gone"))

    assert found.points == 50.0
    assert "gone, which this grading has no more, does not count" in found.why


def regraded(rule: RegradeRule, *attempts: Attempt, corrections: Sequence[Correction] = ()) -> Mark:
    of = replace(course(HERE), regrade=rule)
    return mark(attempts, (), of, "ada", LAB, corrections=corrections)


@pytest.mark.parametrize(("rule", "points"), [("newest", 60.0), ("better", 80.0)])
def test_a_regrade_that_earns_less_counts_only_by_the_rule_of_the_newest(
    rule: str, points: float
) -> None:
    first, second = attempt("ada", 80.0), attempt("ada", 60.0, run="2")

    found = regraded(RegradeRule(rule), first, second)

    assert found.points == points
    told = "a later grading of it, which earned 60 points alone, does not count"
    assert (told in found.why) == (rule == "better")


def test_by_the_rule_of_the_better_a_regrade_that_earns_more_takes_effect() -> None:
    first, second = attempt("ada", 80.0), attempt("ada", 90.0, run="2")

    found = regraded(RegradeRule.BETTER, first, second, attempt("ada", 85.0, run="3"))

    assert (found.points, found.attempt) == (90.0, second)


def test_points_by_hand_are_part_of_what_is_better() -> None:
    full, none = report({"norm/a": "passed", "rope/a": "passed"}), report({"norm/a": "passed"})
    first = attempt("ada", 100.0, report=full)
    second = attempt("ada", 50.0, run="2", report=none)
    said = Correction("ada", LAB, "c0ffee", "rope", 10.0, "A. Teacher", "copied", after(40))

    found = regraded(RegradeRule.BETTER, first, second, corrections=[said])

    # With the word on rope both are worth the same: then the newer one counts.
    assert (found.points, found.attempt) == (60.0, second)
