"""``[late]`` and ``[extra_time]``: curves, grace, slip days, and the line for each mistake."""

import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from stand_ins.classroom import LAB, NOON, after, attempt, course

from grader.course.config import load_course
from grader.course.gradebook.marks import Mark, mark
from grader.course.rules.late import LateRule, late_rule
from grader.errors import CourseError, LabError
from grader.labs.toml import Table

OPENS = "[deadlines]\n1 = 2026-10-11T12:00:00Z\n[service.opens]\n1 = 2026-10-01T12:00:00Z\n"


def read(text: str) -> LateRule:
    return late_rule(Table("course.toml", "late", tomllib.loads(text)))


def marked(rule: LateRule, hours: float, *, points: float = 80.0, slip_days: int = 0) -> Mark:
    work = [attempt("ada", points, submitted=after(hours))]
    return mark(work, [], course(Path("/course"), late=rule), "ada", LAB, slip_days)


def test_every_key_arrives() -> None:
    assert read("") == LateRule()
    assert read("per_day = 0.1\ndays = 5") == LateRule(0.1, 5)
    assert read("steps = [0.9, 0.7, 0.5]") == LateRule(0.0, 3, (0.9, 0.7, 0.5))
    assert read('curve = "none after"\ndays = 2') == LateRule(0.0, 2)
    assert read("grace = 15\nslip_days = 5\nslip_per_lab = 2") == LateRule(
        grace=timedelta(minutes=15), slip_days=5, slip_per_lab=2
    )
    assert read("slip_days = 5").slip_per_lab == 5


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('curve = "cubic"', 'curve: must be one of "linear", "steps", "none after", not \'cubic\''),
        ('curve = "steps"', "steps: is missing: the shares that are kept"),
        ('curve = "none after"', "days: is missing: after how many days does nothing count?"),
        ('curve = "none after"\ndays = 2\nper_day = 0.1', 'per_day: belongs to the curve "linear"'),
        ('curve = "linear"\nsteps = [0.9]', 'steps: belongs to the curve "steps", and this is'),
        ("steps = [0.9]\nper_day = 0.1", 'per_day: belongs to the curve "linear"'),
        ("steps = [0.9, 0.5]\ndays = 2", "days: follows from the 2 steps: leave it out"),
        ("steps = []", "steps: must be a list of shares"),
        ("steps = 0.9", "steps: must be a list of shares"),
        ("steps = [1.5]", "steps: must hold shares from 0 to 1 only, not 1.5"),
        ("steps = [nan]", "steps: must hold shares from 0 to 1 only, not nan"),
        ("steps = [true]", "steps: must hold shares from 0 to 1 only, not True"),
        ("steps = [0.5, 0.7]", "steps: must not rise: 0.7 comes after 0.5"),
        ("grace = -1", "grace: must be a whole number of minutes, 0 or more, not -1"),
        ("grace = 1441", "grace: must be at most 1440, not 1441"),
        ("slip_days = 1.5", "slip_days: must be a whole number of days"),
        ("slip_per_lab = 2", "slip_per_lab: needs slip_days"),
        ("slip_days = 2\nslip_per_lab = 3", "slip_per_lab: must be 1 to 2, as there are slip_days"),
        ("slip_days = 2\nslip_per_lab = 0", "slip_per_lab: must be 1 to 2, as there are slip_days"),
        ("slips = 2", "slips: is no key of this table"),
    ],
)
def test_a_mistake_is_told_by_file_and_key(text: str, problem: str) -> None:
    with pytest.raises(LabError) as error:
        read(text)

    assert error.value.message.startswith(f"course.toml: late.{problem}")


@pytest.mark.parametrize(
    ("hours", "points"), [(0, 80.0), (1, 72.0), (25, 56.0), (49, 40.0), (73, 0.0)]
)
def test_steps_say_what_is_kept_day_by_day(hours: float, points: float) -> None:
    assert marked(read("steps = [0.9, 0.7, 0.5]"), hours).points == points


def test_none_after_loses_nothing_and_then_all() -> None:
    rule = read('curve = "none after"\ndays = 2')

    assert [marked(rule, hours).points for hours in (1, 48, 48.1)] == [80.0, 80.0, 0.0]
    assert marked(rule, 1).why.endswith(": 0 % of its 80 points are lost")


def test_grace_moves_every_limit() -> None:
    rule = read("per_day = 0.1\ndays = 1\ngrace = 30")

    found = [marked(rule, hours) for hours in (0.5, 0.6, 24.5, 24.6)]

    assert [item.late_days for item in found] == [0, 1, 1, 2]
    assert [item.points for item in found] == [80.0, 72.0, 72.0, 0.0]
    assert course(Path("/course"), late=rule).end(NOON) == after(24.5)


def test_slip_days_are_spent_where_they_help_and_the_words_say_so() -> None:
    rule = read("per_day = 0.1\ndays = 3\nslip_days = 5\nslip_per_lab = 2")

    found = marked(rule, 70, slip_days=4)

    assert (found.points, found.slip_days) == (72.0, 2)
    due = "3 days late (due 2026-10-01 12:00 UTC)"
    lost = "10 % of its 80 points are lost"
    assert found.why.endswith(f"{due}: 2 slip days spent, 2 of 5 left: {lost}")
    assert marked(rule, 1, slip_days=0).points == 72.0
    assert marked(rule, 1, points=0.0, slip_days=5).slip_days == 0
    assert marked(rule, 24 * 9, slip_days=5).slip_days == 0


def test_slip_days_reach_beyond_the_late_days() -> None:
    rule = read("slip_days = 2")

    found = [marked(rule, hours, slip_days=2) for hours in (30, 48.1)]

    assert [(item.points, item.slip_days) for item in found] == [(80.0, 2), (0.0, 0)]
    assert course(Path("/course"), late=rule).end(NOON) == after(48)


def test_extra_time_is_a_share_of_the_time_a_lab_is_open(tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text(
        f'title = "T"\n{OPENS}[extra_time]\nada = 25\ncyd = 10\n'
        "[extensions.cyd]\n1 = 2026-10-20T12:00:00Z\n"
    )

    found = load_course(tmp_path / "course.toml")

    assert found.deadline("ada", 1) == datetime(2026, 10, 14, tzinfo=UTC)
    assert found.deadline("bob", 1) == datetime(2026, 10, 11, 12, tzinfo=UTC)
    assert found.deadline("cyd", 1) == datetime(2026, 10, 20, 12, tzinfo=UTC)  # the later of both


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{OPENS}[extra_time]\nada = 0", "extra_time.ada: must be above 0"),
        (f"{OPENS}[extra_time]\nada = 25.5", "extra_time.ada: must be a whole number"),
        (f"{OPENS}[extra_time]\nada = 1001", "extra_time.ada: must be at most 1000"),
        (
            "[deadlines]\n1 = 2026-10-11T12:00:00Z\n[extra_time]\nada = 25",
            "extra_time.ada: needs to know when lab 1 opens: 1 in [service.opens]",
        ),
        (
            f"{OPENS}[extra_time]\nada = 25".replace("10-01", "10-12"),
            "extra_time.ada: lab 1 opens at its deadline or after it",
        ),
    ],
)
def test_extra_time_that_cannot_be_reckoned_is_a_mistake(
    tmp_path: Path, text: str, problem: str
) -> None:
    (tmp_path / "course.toml").write_text(f'title = "T"\n{text}')

    with pytest.raises(CourseError) as error:
        load_course(tmp_path / "course.toml")

    assert error.value.message.startswith(f"course.toml: {problem}")
