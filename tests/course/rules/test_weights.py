"""The tables of ``course.toml`` that make a total: what is read, and the line for each mistake."""

import tomllib

import pytest

from grader.course.rules.weights import Choice, LabRule, TotalRule, total_rule
from grader.errors import LabError
from grader.labs.toml import Table

DUE = (1, 2, 3, 4, 5)


def read(text: str) -> TotalRule | None:
    return total_rule(Table("course.toml", "", tomllib.loads(text)), DUE)


def test_without_the_tables_there_is_no_rule() -> None:
    assert read("[deadlines]") is None
    assert read("[total]") == TotalRule()


def test_every_key_arrives() -> None:
    text = "[labs]\n3 = {weight = 2}\n05_kv_cache.bonus = true\n4.counts = false\n"

    assert read(text + "[total]\nbest = 2\ncap = 100") == TotalRule(
        {3: LabRule(weight=2.0), 5: LabRule(bonus=True), 4: LabRule(counts=False)},
        (Choice(best=2),),
        100.0,
    )
    assert read('[groups.kernels]\nlabs = [1, "02_batching"]\ndrop = 1') == TotalRule(
        choices=(Choice("kernels", frozenset({1, 2}), drop=1),)
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[labs.3]\nweigth = 2", "labs.3.weigth: is no key of this table (known: bonus, counts, w"),
        ("[labs.3]\nweight = 0", "labs.3.weight: must be above 0"),
        ("[labs.3]\nweight = -1", "labs.3.weight: must be above 0"),
        ("[labs.3]\nweight = nan", "labs.3.weight: must be above 0"),
        ('[labs.3]\nweight = "2"', "labs.3.weight: must be a number, not a string"),
        ("[labs.3]\nbonus = 1", "labs.3.bonus: must be true or false, not a whole number"),
        ("[labs.3]\ncounts = false\nweight = 2", "labs.3.weight: the lab does not count"),
        ("[labs.3]\ncounts = false\nbonus = true", "labs.3.bonus: the lab does not count"),
        ("[labs.three]\nweight = 2", "labs.three: is no lab: give its number"),
        ("[labs.3]\n[labs.03]\n", "labs.03: lab 3 has a table already"),
        ("labs = 3", "labs: must be a table, not a whole number"),
        ("[total]\nbest = 6", "total.best: is 6, and there are 5 to count"),
        ("[labs.1]\nbonus = true\n[total]\nbest = 5", "total.best: is 5, and there are 4 to count"),
        ("[total]\nbest = 0", "total.best: must be above 0"),
        ("[total]\nbest = true", "total.best: must be a whole number, not a boolean"),
        ("[total]\ndrop = 5", "total.drop: is 5, and there are 5 to count: none would be left"),
        ("[total]\nbest = 4\ndrop = 1", "total.drop: best says already how many count"),
        ("[total]\ncap = -1", "total.cap: must be above 0"),
        ("[total]\ncap = 1001", "total.cap: must be at most 1000 percent"),
        ("[total]\nmost = 4", "total.most: is no key of this table (known: best, cap, drop)"),
        ("[groups.a]\nlabs = [1, 2]", "groups.a.best: is missing"),
        ("[groups.a]\nbest = 1", "groups.a.labs: is missing"),
        ("[groups.a]\nlabs = []\nbest = 1", "groups.a.labs: must be a list of labs"),
        ("[groups.a]\nlabs = [1, 1]\nbest = 1", "groups.a.labs: names a lab twice"),
        ("[groups.a]\nlabs = [1, 1.5]\nbest = 1", "groups.a.labs: must be a list of labs"),
        ("[groups.a]\nlabs = ['x']\nbest = 1", "groups.a.labs: 'x' is no lab"),
        ("[groups.a]\nlabs = [1, 2]\nbest = 3", "groups.a.best: is 3, and there are 2 to count"),
        (
            "[groups.a]\nlabs = [1, 2]\nbest = 1\n[groups.b]\nlabs = [2, 3]\nbest = 1",
            "groups.b.labs: lab 2 is in a already",
        ),
        (
            "[labs.2]\nbonus = true\n[groups.a]\nlabs = [1, 2]\nbest = 1",
            "groups.a.labs: lab 2 is a bonus, so nothing can be chosen of it",
        ),
        (
            "[groups.a]\nlabs = [1, 2]\nbest = 1\n[total]\ndrop = 1",
            "total.drop: labs are chosen by [groups] already",
        ),
    ],
)
def test_a_mistake_is_told_by_file_and_key(text: str, problem: str) -> None:
    with pytest.raises(LabError) as error:
        read(text)

    assert error.value.message.startswith(f"course.toml: {problem}")
