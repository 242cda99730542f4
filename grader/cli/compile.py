"""``lab compile``: the kernels of a submission as GPUs would get them, on a machine without one."""

import sys
from pathlib import Path
from typing import Any

from grader.errors import UsageError
from grader.files import json_bytes
from grader.labs.lab import find_lab, find_root
from grader.labs.results import Report, Verdict
from grader.report.kernels import Made, render_kernels
from grader.report.terminal import make_console
from grader.text import visible_line


def compile_lab(
    lab_text: str, source: Path | None, tasks: tuple[str, ...], sandbox: str, *, as_json: bool
) -> int:
    """Run the public tests, compile what they launch, and print it; 1 if a kernel has an error."""
    from grader.judge.grade import grade

    lab = find_lab(lab_text, find_root())
    if "triton" not in lab.imports:
        raise UsageError(f"lab {lab.name} has no kernels", "labs 6, 7, 9 and 12 have")
    for task in tasks:
        lab.task(task)
    made: list[Made] = []

    def hear(event: str, data: Any) -> None:
        if event == "compiled":
            made.append(Made.of(data))

    print("running the public tests, then compiling what they launch …", file=sys.stderr)
    report = grade(
        lab,
        source,
        device="cpu",
        sandbox=sandbox,
        suite="public",
        tasks=tasks,
        compiles=True,
        on_event=hear,
    )
    if as_json:
        rows = [{**one.compiled.to_json(), **one.more_json()} for one in made]
        print(json_bytes({"schema": 1, "lab": lab.number, "kernels": rows}).decode())
    elif made:
        make_console(sys.stdout).print(render_kernels(made))
    _say_what_is_missing(report, made)
    return int(not made or any(one.compiled.error for one in made))


def _say_what_is_missing(report: Report, made: list[Made]) -> None:
    """Tell, on standard error, why launches may be missing."""
    run = [test for test in report.tests if test.suite == "public" and test.verdict.counts]
    broken = [test for test in run if test.verdict is not Verdict.PASSED]
    if not made:
        print("no kernel was launched: nothing to compile", file=sys.stderr)
    if broken:
        reason = broken[0].message.strip().splitlines() or [""]
        first = visible_line(f"{broken[0].id}: {reason[-1].strip()}", 200)
        text = f"{len(broken)} of {len(run)} public tests did not pass: what they would have"
        print(f"note: {text} launched later is not here\n  {first}", file=sys.stderr)
