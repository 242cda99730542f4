"""A rubric: read by one or two, differences settled by somebody, and points only then."""

from dataclasses import replace

import pytest
from stand_ins.classroom import LAB, NOON

from grader.course.database.records import Correction, Score
from grader.course.reading.rubric import checked_score, read_by, settling
from grader.errors import UsageError
from grader.labs.lab import Lab, find_lab, find_root
from grader.labs.task import Criterion, rubric_problems

STEPS = Criterion("steps", "Steps", 3.0, "Each step is said.")
WHY = Criterion("why", "Invariant", 2.0, "What always holds is said.")


def lab(readers: int = 2) -> Lab:
    found = find_lab("1", find_root())
    return replace(found, rubric=(STEPS, WHY), readers=readers)


def gave(author: str, points: float, criterion: str = "steps", *, settles: bool = False) -> Score:
    reason = "see the handout" if settles else ""
    return Score("ada", LAB, "c0ffee", criterion, points, author, reason, NOON, settles)


def said_in_turn(chosen: Lab, *scores: Score) -> list[Correction]:
    """The points that enter the mark while readers speak one after the other."""
    found: list[Correction] = []
    for count, score in enumerate(scores, 1):
        found += settling(chosen, score)(scores[:count])
    return found


def test_points_enter_when_all_criteria_of_the_task_are_read() -> None:
    [word] = said_in_turn(lab(1), gave("tutor", 2.0), gave("tutor", 1.0, "why"))

    assert (word.task, word.points, word.author) == ("pseudocode", 3.0, "tutor")
    assert word.reason == "by the rubric: Steps 2 of 3, Invariant 1 of 2; read by tutor"


def test_two_readers_who_agree_settle_it() -> None:
    words = [gave("a", 2.0), gave("a", 1.0, "why"), gave("b", 2.0), gave("b", 1.0, "why")]

    assert said_in_turn(lab(), *words[:3]) == []
    assert [word.points for word in said_in_turn(lab(), *words)] == [3.0]


def test_where_they_differ_nothing_enters_before_somebody_settles_it() -> None:
    words = [gave("a", 2.0), gave("b", 3.0), gave("a", 1.0, "why"), gave("b", 1.0, "why")]
    chosen = lab()

    assert said_in_turn(chosen, *words) == []
    steps, why = read_by(chosen, words)
    assert (steps.differs, steps.points, why.points) == (True, None, 1.0)
    assert steps.state == "readers differ: somebody settles it"
    [word] = said_in_turn(chosen, *words, gave("c", 2.5, settles=True))
    assert (word.points, word.author) == (3.5, "c")


def test_a_reader_who_changes_their_mind_can_come_to_agree() -> None:
    words = [gave("a", 1.0, "why"), gave("b", 1.0, "why"), gave("a", 2.0), gave("b", 3.0)]

    [word] = said_in_turn(lab(), *words, gave("a", 3.0))

    assert word.points == 4.0


def test_one_reader_twice_is_not_two() -> None:
    words = [gave("a", 2.0), gave("a", 2.0), gave("a", 1.0, "why"), gave("a", 1.0, "why")]

    assert said_in_turn(lab(), *words) == []
    assert [each.state for each in read_by(lab(), words)] == ["1 of 2 readers"] * 2


def test_the_last_word_comes_after_the_readers() -> None:
    with pytest.raises(UsageError, match="1 of 2 readers"):
        said_in_turn(lab(), gave("a", 2.0), gave("b", 2.0, settles=True))


def test_saying_the_same_again_adds_no_row() -> None:
    words = [gave("a", 2.0), gave("a", 1.0, "why"), gave("a", 2.0)]

    assert len(said_in_turn(lab(1), *words)) == 1


@pytest.mark.parametrize(
    ("criterion", "text", "why"),
    [("steps", "4", "from 0 to 3"), ("steps", "x", "from 0 to 3"), ("none", "1", "steps, why")],
)
def test_points_that_make_no_sense_are_refused(criterion: str, text: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        checked_score(lab(), criterion, text)

    assert why in refused.value.line


@pytest.mark.parametrize(
    ("rubric", "why"),
    [
        ((STEPS,), "add up to 3, not 5"),
        ((STEPS, WHY, replace(WHY, title="x")), "'why' occurs twice"),
        ((replace(STEPS, task="gone"),), "there is no task 'gone'"),
        ((STEPS, WHY), ""),
    ],
)
def test_a_rubric_shares_the_points_of_its_task(rubric: tuple[Criterion, ...], why: str) -> None:
    found = "; ".join(rubric_problems(rubric, {"pseudocode": 5.0}))

    assert (why in found) if why else found == ""
