"""``[labs.N]``, ``[groups.NAME]`` and ``[total]`` of ``course.toml``: how labs make a total."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from grader.course.rules.keys import lab_of_key
from grader.errors import LabError
from grader.labs.toml import Table, kind_of

KEYS = ("labs", "groups", "total")
MOST_PERCENT = 1000.0


@dataclass(frozen=True, slots=True)
class LabRule:
    """What a lab is to the total."""

    weight: float = 1.0
    bonus: bool = False  # adds to the total, never to what is possible
    counts: bool = True


PLAIN = LabRule()


@dataclass(frozen=True, slots=True)
class Choice:
    """Labs of which only the best count: ``best`` of them, or all but the ``drop`` lowest."""

    name: str = ""  # of the group; "" where it is of all labs
    labs: frozenset[int] = frozenset()  # of the group
    best: int | None = None
    drop: int = 0

    def kept(self, count: int) -> int:
        """Return how many of so many labs count; one that is there is never dropped alone."""
        return max(min(count, 1), count - self.drop) if self.best is None else min(self.best, count)


@dataclass(frozen=True, slots=True)
class TotalRule:
    """How marks make a total; a lab without a rule of its own is ``PLAIN``."""

    labs: Mapping[int, LabRule] = field(default_factory=dict[int, LabRule])
    choices: tuple[Choice, ...] = ()  # no lab is in two; one without a name stands alone
    cap: float | None = None  # percent of what is possible

    def of(self, lab: int) -> LabRule:
        """Return what a lab is to the total."""
        return self.labs.get(lab, PLAIN)


def total_rule(top: Table, due: Iterable[int]) -> TotalRule | None:
    """Read and check the three tables; ``due`` are the labs that have deadlines.

    None without any of them: then nobody asked for a total.
    """
    tables = [top.table(key) for key in KEYS]
    if not any(key in top.data for key in KEYS):
        return None
    labs, groups, total = tables
    rules = dict(_labs(labs))
    counted = {number for number in {*due, *rules} if _is_counted(rules.get(number, PLAIN))}
    choices = tuple(_groups(groups, rules))
    choice = _choice(total, Choice(), len(counted) if set(due) else None)
    cap = total.number("cap") if "cap" in total.data else None
    total.value("cap", None)
    total.finish()
    if cap is not None and cap > MOST_PERCENT:
        raise total.error("cap", f"must be at most {MOST_PERCENT:g} percent, not {cap:g}")
    if choice and choices:
        key = "drop" if choice.best is None else "best"
        raise total.error(key, "labs are chosen by [groups] already: say it in each of them")
    return TotalRule(rules, (choice,) if choice else choices, cap)


def _is_counted(rule: LabRule) -> bool:
    return rule.counts and not rule.bonus


def _labs(labs: Table) -> Iterator[tuple[int, LabRule]]:
    found: set[int] = set()
    for key in labs.data:
        number = lab_of_key(labs, key)
        if number in found:
            raise labs.error(key, f"lab {number} has a table already")
        found.add(number)
        yield number, _lab(labs.table(key))


def _lab(table: Table) -> LabRule:
    rule = LabRule(
        weight=table.number("weight", 1.0),
        bonus=_flag(table, "bonus", default=False),
        counts=_flag(table, "counts", default=True),
    )
    table.finish()
    if not rule.counts:
        for key in ("weight", "bonus"):
            if key in table.data:
                raise table.error(key, "the lab does not count: counts is false")
    return rule


def _flag(table: Table, key: str, *, default: bool) -> bool:
    value = table.value(key, default)
    if not isinstance(value, bool):
        raise table.error(key, f"must be true or false, not {kind_of(value)}")
    return value


def _groups(groups: Table, rules: Mapping[int, LabRule]) -> Iterator[Choice]:
    owner: dict[int, str] = {}
    for name in groups.data:
        table = groups.table(name)
        labs = _members(table)
        choice = _choice(table, Choice(name, frozenset(labs)), len(labs))
        table.finish()
        for number in labs:
            if number in owner:
                raise table.error("labs", f"lab {number} is in {owner[number]} already")
            if not _is_counted(rules.get(number, PLAIN)):
                why = "is a bonus" if rules[number].counts else "does not count"
                raise table.error("labs", f"lab {number} {why}, so nothing can be chosen of it")
            owner[number] = name
        if choice is None:
            raise table.error("best", "is missing: how many of the labs count? (or drop)")
        yield choice


def _members(table: Table) -> Sequence[int]:
    values = table.value("labs")
    if not isinstance(values, list) or not values:
        raise table.error("labs", "must be a list of labs, such as [6, 7, 9]")
    found: list[int] = []
    for value in cast(list[Any], values):
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise table.error("labs", f"must be a list of labs, such as [6, 7, 9], not {value!r}")
        try:
            found.append(lab_of_key(table, str(value)))
        except LabError:
            raise table.error("labs", f"{value!r} is no lab") from None
    if len(set(found)) < len(found):
        raise table.error("labs", "names a lab twice")
    return found


def _choice(table: Table, of: Choice, count: int | None) -> Choice | None:
    """Read ``best`` or ``drop``; None without either. ``count`` is of the labs, None: unknown."""
    best = table.whole("best") if "best" in table.data else None
    drop = table.whole("drop") if "drop" in table.data else 0
    table.value("best", None)
    table.value("drop", None)
    many = "" if count is None else f"there {'is' if count == 1 else 'are'} {count} to count"
    if best is not None and drop:
        raise table.error("drop", "best says already how many count: leave out one of them")
    if count is not None and best is not None and best > count:
        raise table.error("best", f"is {best}, and {many}")
    if count is not None and drop and drop >= count:
        raise table.error("drop", f"is {drop}, and {many}: none would be left")
    return Choice(of.name, of.labs, best, drop) if best is not None or drop else None
