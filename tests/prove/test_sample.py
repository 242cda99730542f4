"""The sample: what a day draws, and what is said when the two ways differ."""

import itertools
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import test_check
from test_check import Judge, failures

from grader.judge.setup.request import Request
from grader.labs.lab import Lab
from grader.labs.results import Report, Verdict
from grader.prove.check import Judges, check_labs
from grader.prove.expected import Graded, Role
from grader.prove.findings import CheckReport, Proof
from grader.prove.sample import ONE_IN, compare, draw, of_the_day, turns
from grader.prove.trials import Trial

lab = test_check.lab
DAY = "2026-11-23"


def trials(lab: Lab, right: int, wrong: int) -> list[Trial]:
    """Make a lab's trials under two seeds, with a stub first."""
    roles = [Role.STUB, *[Role.VARIANT] * right, *[Role.WRONG] * wrong]
    return [
        Trial(lab, role, f"{role}/{number}", f"{lab.name}/{role}/{number}.py", Path(), seed)
        for seed in (1, 2)
        for number, role in enumerate(roles)
    ]


def prove(lab: Lab, whole: Judge, quick: Judge, **asked: Any) -> CheckReport:
    judges = Judges(whole, lambda _: quick)
    return check_labs([lab], Proof(sandbox="auto", device="cpu", **asked), judges=judges)


def test_a_day_draws_one_file_in_25(lab: Lab) -> None:
    chosen = draw(trials(lab, 1000, 4000), DAY)

    assert 0.7 < len(chosen) * ONE_IN / 5001 < 1.3


def test_a_day_repeats_itself_and_no_other(lab: Lab) -> None:
    many = trials(lab, 100, 400)

    assert draw(many, DAY) == draw(many, DAY) != draw(many, "2026-11-24")


def test_what_is_drawn_does_not_depend_on_what_else_is_there(lab: Lab) -> None:
    many = trials(lab, 100, 400)

    chosen = {many[place].file for place in draw(many, DAY)}
    fewer = [trial for trial in many if trial.file in chosen]

    assert {fewer[place].file for place in draw(fewer, DAY)} == chosen


@pytest.mark.parametrize("day", range(1, 29))
def test_every_lab_has_a_right_and_a_wrong_answer_in_it(lab: Lab, day: int) -> None:
    other = replace(lab, name="02_letters")
    many = [*trials(lab, 3, 4), *trials(other, 2, 5)]

    drawn = [many[place] for place in draw(many, f"2026-02-{day:02}")]

    kinds = {(trial.lab.name, trial.role) for trial in drawn if trial.role is not Role.STUB}
    assert len(kinds) == 4
    assert {trial.seed for trial in drawn} == {1}


def test_what_is_drawn_is_graded_both_ways_with_one_seed(lab: Lab) -> None:
    whole, quick = Judge(), Judge()

    report = prove(lab, whole, quick, sample_date=DAY)

    assert failures(report) == []
    assert {name.split(" ", 1)[1] for name in whole.graded} == {"1 cpu auto"}
    assert {name.rsplit(" ", 1)[1] for name in quick.graded} == {"none"}
    again = {name.rsplit(" ", 1)[0] for name in whole.graded}
    assert again < {name.rsplit(" ", 1)[0] for name in quick.graded}
    assert "adds_one.py 1 cpu" in again
    assert whole.chosen == quick.chosen
    assert sum("alike both ways" in item.rule for item in report.findings) == len(again)


@pytest.mark.parametrize(
    ("options", "twice"),
    [({"only": ["wrong/*"]}, 0), ({"only": ["wrong/*"], "sample_date": DAY}, 1)],
    ids=["what is picked by hand", "unless a day is named"],
)
def test_no_sample_of(lab: Lab, options: dict[str, object], twice: int) -> None:
    whole = Judge()

    prove(lab, whole, Judge(), **options)

    assert len(whole.graded) == twice


@pytest.mark.parametrize("share", [1, 2, 3])
def test_every_variant_and_wrong_answer_has_its_day(lab: Lab, share: int) -> None:
    other = replace(lab, name="02_letters")
    many = [*trials(lab, 3, 7), *trials(other, 2, 5)]
    days = [of_the_day(many, f"2026-02-{day:02}", share) for day in range(1, share + 1)]

    for day in days:
        assert [trial for trial in day if trial.role is Role.STUB] == [
            trial for trial in many if trial.role is Role.STUB
        ]
        kinds = {(trial.lab.name, trial.role) for trial in day}
        assert len(kinds) == 6  # each lab has one of each at least
    drawn = [trial for day in days for trial in day if trial.role is not Role.STUB]
    assert {trial.file for trial in drawn} == {t.file for t in many if t.role is not Role.STUB}
    # A file has its turn once in these days, under both seeds; of two variants one every day.
    assert len(drawn) == 2 * (3 + 7 + 5 + max(2, share))


@pytest.mark.parametrize("share", [1, 2, 3, 4])
def test_a_group_has_a_turn_every_day_and_each_of_its_places_in_so_many(share: int) -> None:
    groups = ["wire", "read", "wire", "wire", "read", "lone", "wire", "wire", "wire", "wire"]

    days = [turns(groups, f"2026-02-{day:02}", share) for day in range(1, 13)]

    for day in days:
        assert {*itertools.compress(groups, day)} == {*groups}
    for place, group in enumerate(groups):
        assert sum(day[place] for day in days) == 12 // min(share, groups.count(group))
    assert turns([], "2026-02-01", share) == []


def test_a_share_of_the_wrong_answers_is_graded(lab: Lab) -> None:
    file = lab.root / test_check.WRONG_FILE
    shutil.copy(file, file.with_name("adds_one_too.py"))
    graded: list[set[str]] = []
    for day in ("2026-11-23", "2026-11-24"):
        judge = Judge()
        proof = Proof(seeds=1, only=("wrong/*",), share=2, sample_date=day)
        check_labs([lab], proof, judges=Judges(judge))
        graded.append({*judge.graded})
    whole = Judge()
    check_labs([lab], Proof(seeds=1, only=("wrong/*",)), judges=Judges(whole))

    assert graded[0] | graded[1] == {*whole.graded}
    assert not graded[0] & graded[1]


def test_without_time_left_what_other_days_can_have_is_not_begun(lab: Lab) -> None:
    whole, quick = Judge(), Judge()

    every = prove(lab, Judge(), Judge(), seeds=1, sample_date=DAY)
    report = prove(lab, whole, quick, seeds=1, sample_date=DAY, within=0.0)

    names = {name.split(" ", 1)[0] for name in (*quick.graded, *whole.graded)}
    assert not {"adds_one.py", "shift.py"} & names
    assert lab.name in names  # the stub, or the solution
    assert every.late == 0 < report.late == every.gradings - report.gradings
    assert failures(report) == []


def test_what_has_its_turn_on_any_day_comes_first_where_time_may_run_out(lab: Lab) -> None:
    judge = Judge()

    report = prove(lab, Judge(), judge, jobs=1, seeds=1, sample_date=DAY, within=1e6)

    assert report.late == 0
    assert [name.split(" ", 1)[0] for name in judge.graded][-1] == "adds_one.py"


def test_a_lab_without_a_quick_way_goes_the_whole_way_once(lab: Lab) -> None:
    whole = Judge()

    report = check_labs([lab], Proof(seeds=1, sample_date=DAY), judges=Judges(whole))

    assert failures(report) == []
    assert len(set(whole.graded)) == len(whole.graded) - 1  # the stub's folder has the lab's name


def test_a_difference_names_the_file_and_the_test(lab: Lab) -> None:
    class Lenient(Judge):
        """Says of halves that all are right."""

        def _try(self, code: Path, test: Callable[..., bool]) -> bool:
            return "Halver" in test.__code__.co_consts or super()._try(code, test)

    test_check.edit(lab, test_check.WRONG_FILE, "round(x / 2", "round(x / 3")
    test_check.edit(lab, test_check.WRONG_FILE, "Fails: double", "Fails: double, halve")

    report = prove(lab, Judge(), Lenient(), sample_date=DAY)

    found = [item for item in report.failed if "alike" in item.rule]
    assert [item.file for item in found] == [test_check.WRONG_FILE]
    assert found[0].details == (
        "  hidden test_halve (halve): passed the quick way, failed the whole way",
        "  score of halve: 35.000000 the quick way, 0.000000 the whole way",
    )


def graded(lab: Lab, report: Report | None, failure: str = "", role: Role = Role.VARIANT) -> Graded:
    fails = frozenset[str]()
    return Graded(lab, role, "x.py", Path("x.py"), 1, fails, (), {}, report, failure)


def test_what_is_missing_or_refused_one_way_is_a_difference(lab: Lab) -> None:
    report = Judge()(Request(lab, lab.solutions, "cpu", 1, "none"), on_event=lambda *_: None)
    first, *rest = report.tests
    odd = {
        "a verdict": replace(report, tests=(replace(first, verdict=Verdict.TIMEOUT), *rest)),
        "a test that is missing": replace(report, tests=tuple(rest)),
        "no report": None,
    }

    assert compare(graded(lab, report), graded(lab, report)).outcome == "ok"
    assert compare(graded(lab, None, "no"), graded(lab, None, "no")).outcome == "ok"
    for other in odd.values():
        assert compare(graded(lab, report), graded(lab, other)).outcome == "failed"
    # Of a wrong answer a test may differ by chance; what it loses may not.
    wrong = {name: graded(lab, other, role=Role.WRONG) for name, other in odd.items()}
    less = replace(report, tasks=tuple(replace(task, score=0.0) for task in report.tasks))
    wrong["other tasks lost"] = graded(lab, less, role=Role.WRONG)
    found = {n: compare(graded(lab, report, role=Role.WRONG), w) for n, w in wrong.items()}
    assert {name: str(item.outcome) for name, item in found.items()} == {
        "a verdict": "warning",
        "a test that is missing": "warning",
        "no report": "failed",
        "other tasks lost": "failed",
    }
