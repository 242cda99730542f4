"""A student's total: marks by weight, of which the best count, in percent of what is possible.

What is chosen is what gives the highest percentage, so more points in a lab never lower it: by the
weights alone a better mark in a heavy lab could. Sums are exact, in fractions.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from grader.course.rules.weights import Choice, TotalRule
from grader.text import number, visible_line

DIGITS = 10_000  # points are told to four digits
FULL = 100.0


@dataclass(frozen=True, slots=True)
class Standing:
    """What a student has in a lab; ``left_out`` says why it is not in the total, "" if it is."""

    lab: int
    points: float | None  # None: no mark, which is nothing unless the lab is left out
    possible: float = FULL
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Total:
    """Points and what was possible, both by weight; ``percent`` None: nothing was possible yet."""

    points: float
    possible: float
    percent: float | None
    why: str

    @property
    def shown(self) -> str:
        """For example "86 %", or a dash where nothing was possible yet."""
        return "-" if self.percent is None else f"{number(self.percent)} %"

    @property
    def head(self) -> str:
        """For example "86 % (430 of 500)"."""
        of = f"{number(self.points)} of {number(self.possible)}"
        if self.percent is None:
            return f"nothing was possible yet ({of})"
        return f"{number(self.percent)} % ({of})"

    @property
    def line(self) -> str:
        """The head, and why."""
        return f"{self.head}: {self.why}" if self.why else self.head


@dataclass(frozen=True, slots=True)
class _Part:
    """A lab that is in the total, by weight."""

    standing: Standing
    weight: Fraction
    points: Fraction
    possible: Fraction

    @property
    def line(self) -> str:
        """For example "01 95", with the weight where it is not 1."""
        weight = number(float(self.weight))
        times = "" if self.weight == 1 else f" (\N{MULTIPLICATION SIGN}{weight})"
        of = self.standing.possible
        rest = "" if of == FULL else f" of {number(of)}"
        return f"{self.standing.lab:02d}{times} {number(self.standing.points or 0.0)}{rest}"


@dataclass(frozen=True, slots=True)
class _Pick:
    """Labs of which some count."""

    choice: Choice
    parts: Sequence[_Part]

    @property
    def count(self) -> int:
        return self.choice.kept(len(self.parts))

    def best(self, ratio: Fraction) -> list[_Part]:
        """Return those that are furthest above a ratio of points to what is possible."""
        order = sorted(self.parts, key=lambda p: (ratio * p.possible - p.points, p.standing.lab))
        return order[: self.count]


def total(standings: Iterable[Standing], rule: TotalRule) -> Total:
    """Add up what a student has in the labs of a course; the order of the labs is no matter."""
    labs = sorted(standings, key=lambda each: each.lab)
    parts = [_part(each, rule) for each in labs if not _left_out(each, rule)]
    bonus = [part for part in parts if rule.of(part.standing.lab).bonus]
    counted = [part for part in parts if not rule.of(part.standing.lab).bonus]
    picks = [pick for choice in rule.choices if (pick := _pick(choice, counted)).parts]
    always = [part for part in counted if not any(part in pick.parts for pick in picks)]
    extra = sum((part.points for part in bonus), Fraction(0))
    chosen = _choose(always, picks, extra)
    kept = [*always, *(part for group in chosen for part in group)]
    earned = extra + sum(part.points for part in kept)
    possible = Fraction(sum(part.possible for part in kept))
    points = earned if rule.cap is None else min(earned, Fraction(rule.cap) * possible / 100)
    told = [
        *(line for pick, group in zip(picks, chosen, strict=True) for line in _picked(pick, group)),
        *([", ".join(part.line for part in always)] if always else []),
        *([f"bonus: {', '.join(part.line for part in bonus)}"] if bonus else []),
        *([f"at most {number(rule.cap)} % count"] if rule.cap and points < earned else []),
        *_absent(labs, rule),
    ]
    percent = round(float(100 * points / possible), 4) if possible else None
    return Total(round(float(points), 4), round(float(possible), 4), percent, "; ".join(told))


def _left_out(standing: Standing, rule: TotalRule) -> str:
    """Say why a lab is not in a total; "" if it is."""
    if not rule.of(standing.lab).counts:
        return "counts = false"
    return standing.left_out or ("" if standing.possible > 0 else "nothing of it could be judged")


def _part(standing: Standing, rule: TotalRule) -> _Part:
    weight = Fraction(rule.of(standing.lab).weight).limit_denominator(DIGITS)
    points, possible = (
        weight * Fraction(round(value * DIGITS), DIGITS)
        for value in (standing.points or 0.0, standing.possible)
    )
    return _Part(standing, weight, points, possible)


def _pick(choice: Choice, counted: Sequence[_Part]) -> _Pick:
    is_of_all = not choice.labs
    return _Pick(choice, [p for p in counted if is_of_all or p.standing.lab in choice.labs])


def _choose(always: Sequence[_Part], picks: Sequence[_Pick], extra: Fraction) -> list[list[_Part]]:
    """Return what counts of each choice: that which together gives the highest percentage.

    Dinkelbach's method (Management Science 13, 1967): each turn takes what is furthest above the
    ratio of the turn before, until that ratio rises no more.
    """
    base, whole = extra + sum(p.points for p in always), sum(p.possible for p in always)
    ratio: Fraction | None = None
    found = [pick.best(Fraction(0)) for pick in picks]
    while picks:
        kept = [part for group in found for part in group]
        reached = (base + sum(p.points for p in kept)) / (whole + sum(p.possible for p in kept))
        if ratio is not None and reached <= ratio:
            break
        ratio = reached
        found = [pick.best(ratio) for pick in picks]
    return found


def _picked(pick: _Pick, kept: Sequence[_Part]) -> Iterator[str]:
    ids = {id(part) for part in kept}
    name = f" of {visible_line(pick.choice.name)}" if pick.choice.name else ""
    told = ", ".join(part.line for part in pick.parts if id(part) in ids)
    gone = [part.line for part in pick.parts if id(part) not in ids]
    if not gone:
        labs = "the only lab" if len(kept) == 1 else f"all {len(kept)} labs"
        yield f"{labs}{name}, of which {_most(pick.choice)}: {told}"
    else:
        yield f"the best {len(kept)} of {len(pick.parts)} labs{name}: {told}"
        yield f"dropped: {', '.join(gone)}"


def _most(choice: Choice) -> str:
    return f"the best {choice.best} count" if choice.best else f"the lowest {choice.drop} will go"


def _absent(labs: Sequence[Standing], rule: TotalRule) -> Iterator[str]:
    """Say which labs are not in the total and why, and which are as nothing in it."""
    out: dict[str, list[str]] = {}
    nothing: list[str] = []
    for each in labs:
        why = _left_out(each, rule)
        if why:
            out.setdefault(why, []).append(f"{each.lab:02d}")
        elif each.points is None and not rule.of(each.lab).bonus:
            nothing.append(f"{each.lab:02d}")
    if nothing:
        yield f"{', '.join(nothing)} as nothing, since due and without a mark"
    for why, names in out.items():
        yield f"without {', '.join(names)} ({why})"
