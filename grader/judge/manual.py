"""What a student learns before people read: whether all files are there, and their own tests.

Nothing here gives a point. What was handed in is not run: tests of a manual lab are the student's.
"""

import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from grader.judge.grade import grade
from grader.judge.listener import OnEvent
from grader.judge.setup.request import Request
from grader.labs.documents.submission import Submission, collect
from grader.labs.documents.untouched import touched
from grader.labs.lab import Lab
from grader.labs.manual import FILES, unread
from grader.labs.results import RULES, Report, TestResult, Verdict

READY, NOT_READY = "ready to be handed in", "not ready to be handed in"


def look_at(request: Request, *, on_event: OnEvent | None = None) -> Report:
    """Look at the files of a manual lab, and run the public tests if it has any.

    Raises UsageError where there is nothing to look at, and what ``grade`` does.
    """
    lab = request.lab
    submission = _submission(request)
    tests = _file_tests(lab, submission)
    provenance = {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "submission_sha256": submission.sha256,
    }
    if lab.public_suite.is_file() and lab.code_name in submission.files:
        public = replace(request, source=submission, suite="public")
        graded = grade(public, on_event=on_event)
        tests += [test for test in graded.tests if test.suite in ("public", RULES)]
        provenance = graded.provenance
    broken = any(test.verdict is not Verdict.PASSED for test in tests)
    status = NOT_READY if broken else READY
    return replace(unread(lab.number, lab.topic, lab.tasks, tests, status), provenance=provenance)


def _submission(request: Request) -> Submission:
    if isinstance(request.source, Submission):
        return request.source
    with tempfile.TemporaryDirectory(prefix="inferlab-") as folder:
        return collect(request.lab, request.source, Path(folder) / "submission")


def _file_tests(lab: Lab, submission: Submission) -> list[TestResult]:
    own = touched(lab, submission.files)
    return [_file_test(name, submission, own) for name in lab.files]


def _file_test(name: str, submission: Submission, own: list[str]) -> TestResult:
    if name not in submission.files:
        told = f"{name} is not there"
    else:
        told = "" if name in own else f"{name} is as it was given out"
    return TestResult(name, "", FILES, Verdict.FAILED if told else Verdict.PASSED, told)
