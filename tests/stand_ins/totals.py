"""A course's total by trying every choice of labs, and drawn rules for it: an oracle for tests."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product

from hypothesis import strategies as st

from grader.course.rules.total import Standing
from grader.course.rules.weights import Choice, LabRule, TotalRule

POINTS = st.integers(0, 400).map(lambda quarter: quarter / 4)


@st.composite
def total_rules(draw: st.DrawFn, labs: int = 6) -> TotalRule:
    """Any rule over labs 1 to ``labs``: one choice of all, or groups, or neither."""
    lab = st.builds(
        LabRule,
        weight=st.sampled_from([1.0, 2.0, 0.5, 3.25]),
        bonus=st.sampled_from([False, False, True]),
        counts=st.sampled_from([True, True, False]),
    )
    found = draw(st.dictionaries(st.integers(1, labs), lab))
    least = st.one_of(
        st.builds(lambda n: {"best": n}, st.integers(1, labs)),
        st.builds(lambda n: {"drop": n}, st.integers(1, labs)),
    )
    shape = draw(st.sampled_from(["none", "all", "groups"]))
    choices: tuple[Choice, ...] = ()
    if shape == "all":
        choices = (Choice(**draw(least)),)
    elif shape == "groups":
        cut = draw(st.integers(1, labs - 1))
        halves = (frozenset(range(1, cut + 1)), frozenset(range(cut + 1, labs + 1)))
        choices = tuple(Choice(f"g{min(half)}", half, **draw(least)) for half in halves)
    cap = draw(st.sampled_from([None, 100.0, 80.0, 110.0]))
    return TotalRule(found, choices, cap)


def best_total(labs: Sequence[Standing], rule: TotalRule) -> Fraction | None:
    """The highest percentage of all that the choices allow; None where nothing is possible."""
    parts: dict[int, tuple[Fraction, Fraction]] = {}
    extra = Fraction(0)
    for each in labs:
        own = rule.labs.get(each.lab, LabRule())
        if not own.counts or each.left_out or each.possible == 0:
            continue
        points = Fraction(own.weight) * Fraction(each.points or 0)
        if own.bonus:
            extra += points
        else:
            parts[each.lab] = points, Fraction(own.weight) * Fraction(each.possible)
    groups = [[lab for lab in parts if not c.labs or lab in c.labs] for c in rule.choices]
    free = [lab for lab in parts if not any(lab in group for group in groups)]
    options = [
        list(combinations(group, least(choice, len(group))))
        for choice, group in zip(rule.choices, groups, strict=True)
    ]
    reached: list[Fraction] = []
    for picked in product(*options):
        kept = [parts[lab] for lab in (*free, *(lab for group in picked for lab in group))]
        possible = sum(part[1] for part in kept)
        if possible:
            reached.append(100 * (extra + sum(part[0] for part in kept)) / possible)
    if not reached:
        return None
    return max(reached) if rule.cap is None else min(Fraction(rule.cap), max(reached))


def least(choice: Choice, count: int) -> int:
    if choice.best is not None:
        return min(choice.best, count)
    return max(1, count - choice.drop) if count else 0
