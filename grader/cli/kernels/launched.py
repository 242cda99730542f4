"""What a command that looks at launches of the public tests says where some may be missing."""

import sys

from grader.labs.results import Report, Verdict
from grader.languages.language import labelled, say
from grader.text import visible_line


def say_what_is_missing(report: Report, found: int, purpose: str) -> None:
    """Tell, on standard error, why launches may be missing; ``purpose`` as in "to compile"."""
    run = [test for test in report.tests if test.suite == "public" and test.verdict.counts]
    broken = [test for test in run if test.verdict is not Verdict.PASSED]
    if not found:
        print(say(f"no kernel was launched: nothing {purpose}"), file=sys.stderr)
    if broken:
        reason = broken[0].message.strip().splitlines() or [""]
        first = visible_line(f"{broken[0].id}: {reason[-1].strip()}", 200)
        told = (
            f"{len(broken)} of {len(run)} public tests did not pass: what they would have launched "
            "later is not here"
        )
        print(f"{labelled('note', say(told))}\n  {first}", file=sys.stderr)
