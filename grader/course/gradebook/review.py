"""What a person has to look at before a mark is final: measurements that are not plausible.

Their tiers count as missed. An override decides, also one that leaves the points as they are; it
holds for every commit that was graded before it, through any regrade.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.course.database.records import Attempt, Override
from grader.course.database.stored_report import StoredReport
from grader.course.gradebook.gradebook import Gradebook
from grader.course.gradebook.marks import SHOWN_COMMIT, lab_number
from grader.report.facts.measured import speed_cases
from grader.report.facts.stored import report_of
from grader.text import visible_line

SUSPICIOUS = re.compile(rb'"suspicious":"[^"]')  # in a report's JSON, whoever wrote that


@dataclass(frozen=True, slots=True)
class Review:
    """Something that was seen in one commit of a student, and that nobody has decided yet."""

    student: str
    lab: str
    commit: str
    case: str  # "forward, 8192 x 8192"
    seen: str

    @property
    def mark(self) -> tuple[str, str]:
        """Student and lab, by which a gradebook has the mark."""
        return self.student, self.lab

    @property
    def line(self) -> str:
        """What was seen, in one line; the text comes from a report, and is made visible."""
        told = visible_line(f"{self.case}: {self.seen}", 300)
        return f"{self.student}, {self.lab}, {self.commit[:SHOWN_COMMIT]}: {told}"

    @property
    def decided_by(self) -> str:
        """The command that decides."""
        lab = lab_number(self.lab)
        return f"lab gradebook override {self.student} {lab} POINTS --author NAME --reason TEXT"


def reviews(book: Gradebook) -> list[Review]:
    """Everything in a gradebook that waits for a person."""
    return [
        review
        for student in book.students
        for lab in book.labs
        for review in reviews_of(book, student.id, lab)
    ]


def reviews_of(book: Gradebook, student: str, lab: str) -> list[Review]:
    """What waits for a person of one student in one lab, in any commit that was graded."""
    word = book.marks[student, lab].override
    return list(_open(book.attempts.get((student, lab), ()), word))


def _open(attempts: Sequence[Attempt], word: Override | None) -> Iterable[Review]:
    commits: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        if not attempt.infra:
            commits.setdefault(attempt.commit, []).append(attempt)
    for graded in commits.values():
        # As they were recorded: a clock that ran ahead makes no grading the newest.
        if word is None or not word.is_of(graded[0]):
            yield from _seen(graded[-1])


def _seen(attempt: Attempt) -> Iterable[Review]:
    report = attempt.report
    if isinstance(report, StoredReport) and not report.may_say(SUSPICIOUS):
        return  # as most do, and a class has thousands
    for case in speed_cases(report_of(report)):
        if case.suspicious:
            yield Review(attempt.student, attempt.lab, attempt.commit, case.name, case.suspicious)
