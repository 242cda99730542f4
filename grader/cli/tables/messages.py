"""What ``lab check --messages`` prints: of each wrong answer what its author would see first.

Then how many of these say which contract is broken, what was called, what came of it, and what was
expected or how that departs from it. A run that ended (an error, a signal, a limit) says both.
"""

import re
from collections.abc import Sequence

from grader.labs.lab import Lab
from grader.labs.results import Report, TestResult, Verdict
from grader.report.facts.next_step import guide_to
from grader.report.facts.summary import functions_at_fault, summarize
from grader.text import visible

MOST = 1200  # characters of a message, as at a terminal
PARTS = ("contract", "call", "got", "expected")
CALLS = re.compile(r"^calls?:.*\n(?:  .*\n)*", re.MULTILINE)
WANTED = re.compile(
    r"\b(expected|should|must|may|limit|allowed|nothing was raised|off|changed|modified|moved|twice"
    r"|several|but|not?|none|without|beyond|(?:more|less) than|outside|torch multiplies)\b"
)


def print_messages(lab: Lab, wrong: Sequence[tuple[str, Report]]) -> None:
    """Print for each wrong answer the functions that are named to be mended, and the failure."""
    guide = guide_to(lab)
    said: list[set[str]] = []
    for file, report in wrong:
        name = file.rpartition("/")[2]
        lost = [part for part in summarize(report) if part.begun]
        print(f"{lab.name} {visible(name)}" + (": no failure is explained" if not lost else ""))
        for part in lost[:1]:
            test = part.first
            assert test is not None
            said.append(parts_of(test))
            known = guide.functions.get(part.task.id, ())
            fix = ", ".join(functions_at_fault(part, known)) or f"task {part.task.id}"
            print(visible(f"  fix {fix}: {test.suite} {test.id}, contract {test.contract or '-'}"))
            print("\n".join(f"    {line}" for line in visible(test.message, MOST).splitlines()))
    if said:
        counts = ", ".join(f"{part} {sum(part in each for each in said)}" for part in PARTS)
        whole = sum(len(each) == len(PARTS) for each in said)
        print(f"{lab.name}: of {len(said)} messages: {counts}; all four {whole / len(said):.0%}")


def parts_of(test: TestResult) -> set[str]:
    """Return which of what a message should say this one does."""
    calls = CALLS.search(test.message + "\n")
    explained = test.message[calls.end() if calls else test.message.find("\n") + 1 :]
    ended = test.verdict is not Verdict.FAILED and bool(explained)
    found = {
        "contract": bool(test.contract),
        "call": calls is not None,
        "got": bool(explained.strip()),
        "expected": ended or WANTED.search(explained) is not None,
    }
    return {part for part, holds in found.items() if holds}
