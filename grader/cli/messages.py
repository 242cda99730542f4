"""What ``lab check --messages`` prints: of each wrong answer what its author would see first."""

from collections.abc import Sequence

from grader.labs.lab import Lab
from grader.labs.results import Report
from grader.report.next_step import guide_to
from grader.report.summary import functions_at_fault, summarize
from grader.text import visible

MOST = 1200  # characters of a message, as at a terminal


def print_messages(lab: Lab, wrong: Sequence[tuple[str, Report]]) -> None:
    """Print for each wrong answer the functions that are named to be mended, and the failure."""
    guide = guide_to(lab)
    for file, report in wrong:
        name = file.rpartition("/")[2]
        lost = [part for part in summarize(report) if part.begun]
        print(f"{lab.name} {visible(name)}" + (": no failure is explained" if not lost else ""))
        for part in lost[:1]:
            test = part.first
            assert test is not None
            known = guide.functions.get(part.task.id, ())
            fix = ", ".join(functions_at_fault(part, known)) or f"task {part.task.id}"
            print(visible(f"  fix {fix}: {test.suite} {test.id}, contract {test.contract or '-'}"))
            print("\n".join(f"    {line}" for line in visible(test.message, MOST).splitlines()))
