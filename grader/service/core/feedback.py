"""What a student reads of a hidden verdict: a report with what the policy holds back left out.

Staff read the report as it is. What is held back is not there at all: no page, file or event made
of what this returns can show it.
"""

from collections.abc import Iterator
from dataclasses import replace

from grader.course.policy import Feedback
from grader.labs.results import Report, TestResult
from grader.questions.graded import SUITE as QUESTIONS

HIDDEN = "hidden"  # the suite that students do not have
KEPT = ("device", "seconds", "lab_version", "gpu", "torch", "triton", "submission")
_OF_READERS = ("grading", "status")  # that people give the points, and whether they have
_OF_FORM = ("questions",)  # how many answers there are, and which cannot be read
KEPT_EXTRAS = (*_OF_READERS, *_OF_FORM)
_DRAWN = ("seed",)  # of what was drawn for a grading


def shown_to_student(report: Report, feedback: Feedback) -> Report:
    """Return what a student may read: seeds never, tests of theirs and rules always.

    Of the hidden tests all with their messages, or none; without them the contracts say what held,
    if the policy lets them. It lets them know as much of which answers to questions are right.
    """
    if feedback is Feedback.MESSAGES:
        kept = {key: value for key, value in report.provenance.items() if key not in _DRAWN}
        return replace(report, provenance=kept)
    return replace(
        report,
        provenance={key: report.provenance[key] for key in KEPT if key in report.provenance},
        extras={key: report.extras[key] for key in KEPT_EXTRAS if key in report.extras},
        tests=tuple(_tests(report, feedback)),
        contracts=report.contracts if feedback is Feedback.TASKS else (),
    )


def _tests(report: Report, feedback: Feedback) -> Iterator[TestResult]:
    for test in report.tests:
        if test.suite == QUESTIONS:
            yield from [replace(test, message="")] if feedback is Feedback.TASKS else []
        elif test.suite != HIDDEN:
            yield test
