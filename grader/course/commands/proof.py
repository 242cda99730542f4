"""The proof of labs before students get them: all tests, on the model answer and on the stub."""

import sys
from collections.abc import Sequence

from grader.errors import UsageError
from grader.labs.lab import Lab
from grader.prove.findings import CheckReport, Proof
from grader.text import visible

ANSWERS = ("solution", "stub")


def are_right(labs: Sequence[Lab]) -> bool:
    """Tell whether labs pass their model answers and fail their stubs; print what does not hold.

    A proof that came as it should is remembered, as ``lab check`` has it. Raises UsageError for a
    lab without a model answer.
    """
    for lab in labs:
        if not (lab.solutions / lab.code_name).is_file():
            told = f"{lab.name} has no model answer to be proven by"
            raise UsageError(told, "--unproven publishes it all the same")
    names = ", ".join(lab.name for lab in labs)
    print(f"proving {names}: model answer and stub", file=sys.stderr)
    report = _report(labs)
    for finding in report.failed:
        print("\n".join(visible(line) for line in finding.lines()))
    return not report.failed


def _report(labs: Sequence[Lab]) -> CheckReport:
    """Start the judge, which a publication of what is unchanged does not need."""
    from grader.prove.check import check_labs
    from grader.prove.remembered.entries import Remembered
    from grader.prove.remembered.key import Keys

    remembered = Remembered(labs[0].root, Keys(labs))
    remembered.prune()
    return check_labs(labs, Proof(seeds=1, only=ANSWERS), remembered=remembered)
