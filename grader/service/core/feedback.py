"""What a student reads of a hidden verdict: a report with what the policy holds back left out.

Staff read the report as it is. What is held back is not there at all: no page, file or event made
of what this returns can show it.
"""

from dataclasses import replace

from grader.course.policy import Feedback
from grader.labs.results import Report

HIDDEN = "hidden"  # the suite that students do not have
KEPT = ("device", "seconds", "lab_version", "gpu", "torch", "triton", "submission")
_OF_READERS = ("grading", "status")  # that people give the points, and whether they have
_DRAWN = ("seed",)  # of what was drawn for a grading


def shown_to_student(report: Report, feedback: Feedback) -> Report:
    """Return what a student may read: seeds never, tests of theirs and rules always.

    Of the hidden tests all with their messages, or none; without them the contracts say what held,
    if the policy lets them.
    """
    if feedback is Feedback.MESSAGES:
        kept = {key: value for key, value in report.provenance.items() if key not in _DRAWN}
        return replace(report, provenance=kept)
    return replace(
        report,
        provenance={key: report.provenance[key] for key in KEPT if key in report.provenance},
        extras={key: report.extras[key] for key in _OF_READERS if key in report.extras},
        tests=tuple(test for test in report.tests if test.suite != HIDDEN),
        contracts=report.contracts if feedback is Feedback.TASKS else (),
    )
