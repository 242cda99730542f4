"""What the README of a student's tree says of handing in."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from grader.course.config import Course, LateRule
from grader.course.policy import ServicePolicy
from grader.course.publishing.beside.handing import NO_TERMS, Terms, hand_in, terms_of
from grader.labs.lab import Lab, all_labs

LABS = all_labs(Path(__file__).resolve().parents[3])[:2]
DUE = datetime(2026, 10, 1, 21, 59, tzinfo=UTC)


def said(terms: Terms, labs: tuple[Lab, ...] = LABS) -> str:
    return " ".join(hand_in(terms, labs).split())


def test_without_a_course_the_instructor_is_asked() -> None:
    text = said(NO_TERMS)

    assert "`make submit LAB=1`" in text
    assert "from the branch that your instructor names" in text
    assert "until" not in text


def test_course_says_branch_and_deadlines_of_the_labs_that_are_there(tmp_path: Path) -> None:
    course = Course(
        tmp_path, "T", tmp_path, deadlines={2: DUE, 7: DUE}, late=LateRule(per_day=0.1, days=3)
    )

    text = hand_in(terms_of(course), LABS)

    assert "from the branch `student/{id}`, with your own id" in " ".join(text.split())
    assert "| 02 | 2026-10-01 21:59 UTC |" in text
    assert "| 07 |" not in text
    assert "Later work loses 10 % of its points for each day that has begun; after 3 days" in text


def test_strict_course_says_that_late_work_does_not_count() -> None:
    assert "Later work is not counted." in said(Terms(deadlines={1: DUE}))


def test_course_with_a_service_says_where_it_is_and_the_hour_of_its_zone(tmp_path: Path) -> None:
    service = ServicePolicy(address="https://labs.example.org")
    zone = ZoneInfo("Europe/Berlin")
    course = Course(tmp_path, "T", tmp_path, zone=zone, deadlines={1: DUE}, service=service)

    text = hand_in(terms_of(course), LABS)

    assert "`make login URL=https://labs.example.org`" in " ".join(text.split())
    assert "<https://labs.example.org>" in text
    assert "student/{id}" not in text
    assert "| 01 | 2026-10-01 23:59 CEST |" in text


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (
            LateRule(days=2, steps=(0.9, 0.5)),
            "Late work keeps 90 %, 50 % of its points, by the day; then it is not counted.",
        ),
        (LateRule(days=3), "Late work keeps its points for 3 days; then it is not counted."),
        (
            LateRule(grace=timedelta(minutes=15), slip_days=5, slip_per_lab=2),
            "Up to 15 minutes late is on time. You have 5 late days in all labs that cost nothing,"
            " 2 of them in one lab at most. Later work is not counted.",
        ),
    ],
)
def test_what_lateness_costs_is_said_of_each_curve(rule: LateRule, told: str) -> None:
    assert f"{told} Your own extension" in said(Terms(deadlines={1: DUE}, late=rule))


@pytest.mark.parametrize("branch", ["x`y", "a\nb"])
def test_branch_cannot_break_the_page(branch: str) -> None:
    text = hand_in(Terms(branch=branch), LABS)

    assert text.count("`") % 2 == 0
    assert branch not in text
