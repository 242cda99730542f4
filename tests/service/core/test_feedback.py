"""What of a hidden verdict a student reads under each policy."""

import json

import pytest

from grader.course.policy import Feedback
from grader.labs.results import ContractResult, Report, State, TaskResult, TestResult, Verdict
from grader.service.core.feedback import shown_to_student

REPORT = Report(
    lab=2,
    topic="batching",
    tasks=(TaskResult("pad", "Padding", 100.0, 40.0, True),),
    tests=(
        TestResult(
            "test_secret", "pad", "hidden", Verdict.FAILED, "a message of it", 1.0, "printed"
        ),
        TestResult("test_theirs", "pad", "public", Verdict.FAILED, "a public message"),
    ),
    provenance={"seed": 1746638861, "device": "cpu", "host": "grader-3"},
    extras={"differences": ["numbers"]},
    contracts=(ContractResult(1, "pad", "each row is padded", State.BROKEN, 10.0, 0.0),),
)
HELD_BACK = {
    Feedback.POINTS: ("test_secret", "a message of it", "printed", "each row is padded", "numbers"),
    Feedback.TASKS: ("test_secret", "a message of it", "printed", "numbers"),
    Feedback.MESSAGES: (),
}


@pytest.mark.parametrize("feedback", Feedback)
def test_seeds_are_in_nothing_that_students_read(feedback: Feedback) -> None:
    assert "1746638861" not in json.dumps(shown_to_student(REPORT, feedback).to_json())


@pytest.mark.parametrize("feedback", Feedback)
def test_what_is_held_back_is_not_there(feedback: Feedback) -> None:
    told = json.dumps(shown_to_student(REPORT, feedback).to_json())

    for text in ("test_secret", "a message of it", "printed", "each row is padded", "numbers"):
        assert (text in told) is (text not in HELD_BACK[feedback])


@pytest.mark.parametrize("feedback", Feedback)
def test_points_and_public_tests_are_always_told(feedback: Feedback) -> None:
    found = shown_to_student(REPORT, feedback)

    assert (found.score, found.graded, found.tasks) == (40.0, 100.0, REPORT.tasks)
    assert REPORT.tests[1] in found.tests
