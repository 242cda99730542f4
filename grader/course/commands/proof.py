"""The proof of labs before students get them: all tests, on the model answer and on the stub."""

import sys
from collections.abc import Sequence

from grader.errors import UsageError
from grader.labs.lab import Lab
from grader.prove.files import check_files
from grader.prove.findings import CheckReport, Finding, Proof
from grader.text import visible

ANSWERS = ("solution", "stub")


def are_right(labs: Sequence[Lab]) -> bool:
    """Tell whether labs pass their model answers and fail their stubs; print what does not hold.

    Of a lab that people grade the files are looked at. A proof that came as it should is
    remembered, as ``lab check`` has it. Raises UsageError for a judged lab without a model answer.
    """
    judged = [lab for lab in labs if not lab.is_manual]
    for lab in judged:
        if not (lab.solutions / lab.code_name).is_file():
            told = f"{lab.name} has no model answer to be proven by"
            raise UsageError(told, "--unproven publishes it all the same")
    failed = _of_files([lab for lab in labs if lab.is_manual])
    if judged:
        names = ", ".join(lab.name for lab in judged)
        print(f"proving {names}: model answer and stub", file=sys.stderr)
        failed = [*failed, *_report(judged).failed]
    for finding in failed:
        print("\n".join(visible(line) for line in finding.lines()))
    return not failed


def _of_files(labs: Sequence[Lab]) -> Sequence[Finding]:
    """Return what is wrong with the files of labs that people grade: there is nothing to run."""
    for lab in labs:
        print(f"proving {lab.name}: its files, since people grade it", file=sys.stderr)
    return CheckReport(tuple(each for lab in labs for each in check_files(lab))).failed


def _report(labs: Sequence[Lab]) -> CheckReport:
    """Start the judge, which a publication of what is unchanged does not need."""
    from grader.prove.check import check_labs
    from grader.prove.remembered.entries import Remembered
    from grader.prove.remembered.key import Keys

    remembered = Remembered(labs[0].root, Keys(labs))
    remembered.prune()
    return check_labs(labs, Proof(seeds=1, only=ANSWERS), remembered=remembered)
