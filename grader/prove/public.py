"""What the tests that a student can read catch alone, of the answers that are wrong.

Who stops when all public tests pass should not be surprised by the hidden ones: they vary inputs,
and ask for what would give an answer away if it were shown.
"""

from collections.abc import Iterable, Iterator, Sequence

from grader.labs.results import RULES, Report, TestResult, Verdict
from grader.prove.expected import Graded, Role
from grader.prove.findings import Catch, Finding, Outcome, verdict

ENOUGH = 0.75  # of the wrong answers of a lab
OF_THE_FIELD = 0.85  # of the mistakes that engines of the world have had
_FINE = (Verdict.PASSED, Verdict.NOT_GRADED, Verdict.INFRA)


def catches_of(gradings: Iterable[Graded]) -> list[Catch]:
    """Return for each wrong answer, graded by public tests, what those say of it first."""
    return [
        Catch(item.lab.name, item.file, first_seen(item.report))
        for item in gradings
        if item.role is Role.WRONG and item.report is not None and _can_be_graded(item)
    ]


def judge_public(graded: Graded) -> Iterator[Finding]:
    """Give the finding of one grading by public tests: right answers pass, whoever wrote them."""
    report, lab = graded.report, graded.lab.name
    if report is None:
        yield verdict(lab, "can be graded", graded.file, graded.failure)
    elif any(test.verdict is Verdict.INFRA for test in report.tests):
        yield verdict(lab, "the judge stays whole", graded.file, "a public test broke")


def enough(catches: Sequence[Catch], lab: str) -> Iterator[Finding]:
    """Hold the share of a lab's wrong answers that public tests catch against the least."""
    own = [item for item in catches if item.lab == lab]
    field = [item for item in own if item.file.startswith("tests/field/")]
    wrong = [item for item in own if item not in field]
    yield _enough(wrong, lab, "public tests catch what is wrong", ENOUGH, "its wrong answers")
    if field:
        rule = "public tests catch the field's bugs"
        yield _enough(field, lab, rule, OF_THE_FIELD, "those in tests/field")


def _enough(own: Sequence[Catch], lab: str, rule: str, least: float, of: str) -> Finding:
    share = sum(item.first is not None for item in own) / len(own) if own else 1.0
    outcome = Outcome.OK if share >= least else Outcome.FAILED
    wanted, got = f"{least:.0%} of {of}", f"{share:.0%} of {len(own)}"
    return Finding(lab, rule, f"labs/{lab}", outcome, wanted, got)


def first_seen(report: Report) -> TestResult | None:
    """Return the first test that a student would see fail; rules count, since they are shown."""
    failed = [test for test in report.tests if test.verdict not in (*_FINE, Verdict.SKIPPED)]
    return next((test for test in failed if test.suite in ("public", RULES)), None)


def _can_be_graded(graded: Graded) -> bool:
    """Tell whether this machine has a say in any of the tasks that the answer should lose."""
    if graded.report is None:
        return True
    races = {task.id for task in graded.lab.tasks if task.ladders}
    return any(task.graded and task.id in graded.fails - races for task in graded.report.tasks)
