"""A course's total against all choices of labs tried one by one, and the words that explain it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins.fuzzing import fuzz
from stand_ins.totals import POINTS, best_total, total_rules

from grader.course.rules.total import Standing, Total, total
from grader.course.rules.weights import Choice, LabRule, TotalRule


@st.composite
def standings(draw: st.DrawFn, labs: int = 6) -> list[Standing]:
    each = st.builds(
        lambda points, possible, out: (points, possible, out),
        st.one_of(st.none(), POINTS),
        st.sampled_from([100.0, 100.0, 75.0, 0.0]),
        st.sampled_from(["", "", "", "not due yet"]),
    )
    drawn = draw(st.lists(each, min_size=labs, max_size=labs))
    return [Standing(lab, *values) for lab, values in enumerate(drawn, 1)]


# -- against it ------------------------------------------------------------------------------------


@fuzz(400)
@given(standings(), total_rules())
def test_the_total_is_the_best_that_any_choice_gives(labs: list[Standing], rule: TotalRule) -> None:
    found, wanted = total(labs, rule), best_total(labs, rule)

    assert (found.percent is None) == (wanted is None)
    if wanted is not None:
        assert found.percent == round(float(wanted), 4)
        assert found.points == pytest.approx(float(wanted) * found.possible / 100, abs=1e-3)


@fuzz(400)
@given(standings(), total_rules(), st.integers(0, 5), POINTS)
def test_more_points_in_a_lab_never_lower_a_total(
    labs: list[Standing], rule: TotalRule, place: int, points: float
) -> None:
    old = labs[place]
    raised = max(points, old.points or 0.0)
    more = [*labs]
    more[place] = Standing(old.lab, raised, old.possible, old.left_out)

    before, after = total(labs, rule), total(more, rule)

    assert (before.percent is None) == (after.percent is None)
    assert (after.percent or 0.0) >= (before.percent or 0.0)


@fuzz(100)
@given(standings(), total_rules(), st.randoms(use_true_random=False))
def test_the_order_of_labs_is_no_matter(labs: list[Standing], rule: TotalRule, draw) -> None:
    other = [*labs]
    draw.shuffle(other)

    assert total(other, rule) == total(labs, rule)


@fuzz(100)
@given(standings(), total_rules())
def test_every_lab_is_named_unless_it_is_a_bonus(labs: list[Standing], rule: TotalRule) -> None:
    why = total(labs, rule).why

    assert [each.lab for each in labs if f"{each.lab:02d}" not in why] == []


# -- its words -------------------------------------------------------------------------------------


def of(*points: float | None, rule: TotalRule, **given) -> Total:
    labs = (Standing(lab, each, **given) for lab, each in enumerate(points, 1))
    return total(labs, rule)


def test_the_words_say_what_counts_and_what_was_dropped() -> None:
    rule = TotalRule({1: LabRule(weight=2.0)}, (Choice(best=4),))

    found = of(95.0, 80.0, 40.0, 90.0, 70.0, rule=rule)

    assert found.line == (
        "86 % (430 of 500): the best 4 of 5 labs: 01 (\N{MULTIPLICATION SIGN}2) 95, 02 80, 04 90,"
        " 05 70; dropped: 03 40"
    )
    assert found.shown == "86 %"


def test_a_bonus_adds_to_points_only_and_the_cap_is_said() -> None:
    rule = TotalRule({2: LabRule(bonus=True, weight=0.2)}, cap=100.0)

    assert of(90.0, 40.0, rule=rule).line == (
        "98 % (98 of 100): 01 90; bonus: 02 (\N{MULTIPLICATION SIGN}0.2) 40"
    )
    capped = of(95.0, 40.0, rule=rule)
    assert (capped.percent, capped.points) == (100.0, 100.0)
    assert capped.why.endswith("; at most 100 % count")


def test_what_is_left_out_and_what_is_nothing_is_said() -> None:
    rule = TotalRule({3: LabRule(counts=False)})
    labs = [
        *(Standing(1, 80.0), Standing(2, None), Standing(3, 10.0)),
        *(Standing(4, None, left_out="not due yet"), Standing(5, None, left_out="not due yet")),
    ]

    assert total(labs, rule).line == (
        "40 % (80 of 200): 01 80, 02 0; 02 as nothing, since due and without a mark;"
        " without 03 (counts = false); without 04, 05 (not due yet)"
    )


def test_before_anything_is_due_there_is_no_percentage() -> None:
    found = of(None, rule=TotalRule(), left_out="not due yet")

    assert (found.percent, found.shown) == (None, "-")
    assert found.line == "nothing was possible yet (0 of 0): without 01 (not due yet)"


def test_the_lowest_is_never_dropped_alone() -> None:
    rule = TotalRule(choices=(Choice("kernels", frozenset({1, 2}), drop=1),))

    assert of(30.0, rule=rule).line == (
        "30 % (30 of 100): the only lab of kernels, of which the lowest 1 will go: 01 30"
    )
    assert of(30.0, 60.0, rule=rule).why == "the best 1 of 2 labs of kernels: 02 60; dropped: 01 30"
