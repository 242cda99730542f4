"""Of all gradings of one work the one that counts; none is ever changed."""

from collections.abc import Iterable, Sequence

from grader.course.database.records import Attempt, Correction
from grader.course.reading.points import corrected
from grader.course.rules.regrades import RegradeRule
from grader.text import number


def counting(
    gradings: Iterable[Attempt], rule: RegradeRule, corrections: Sequence[Correction] = ()
) -> tuple[Attempt | None, list[str]]:
    """Return the grading that counts, and what is to be said of later ones.

    They come in the order of their recording. By the rule of the better a later one takes effect
    only where it earns as much, points that people gave included.
    """
    found: Attempt | None = None
    notes: list[str] = []
    for grading in gradings:
        if grading.infra:
            notes.append("failed by our fault")
        elif found is not None and grading.possible < found.possible:
            notes.append(f"could judge {number(grading.possible)} points only")
        elif (
            found is not None and rule is RegradeRule.BETTER and _loses(grading, found, corrections)
        ):
            notes.append(f"earned {number(corrected(grading, corrections).points)} points alone")
        else:
            found, notes = grading, []
    return found, notes


def _loses(grading: Attempt, before: Attempt, corrections: Sequence[Correction]) -> bool:
    return corrected(grading, corrections).points < corrected(before, corrections).points
