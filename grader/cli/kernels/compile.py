"""``lab compile``: the kernels of a submission as GPUs would get them, on a machine without one."""

import sys
from pathlib import Path
from typing import Any

from grader.cli.kernels.launched import say_what_is_missing
from grader.cli.terminal.progress import GradingProgress
from grader.errors import UsageError
from grader.files import json_bytes
from grader.judge.setup.request import Request
from grader.labs.lab import find_lab, find_root
from grader.report.formats.terminal import make_console
from grader.report.launches.kernels import Made, render_kernels


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
    request = Request(
        lab, source, device="cpu", sandbox=sandbox, suite="public", tasks=tasks, compiles=True
    )
    made: list[Made] = []
    line = "running the public tests, then compiling what they launch …"
    with GradingProgress(lab.name, sys.stderr, line) as progress:

        def hear(event: str, data: Any) -> None:
            progress.on_event(event, data)
            if event == "compiled":
                made.append(Made.of(data))

        report = grade(request, on_event=hear)
    if as_json:
        rows = [{**one.compiled.to_json(), **one.more_json()} for one in made]
        print(json_bytes({"schema": 1, "lab": lab.number, "kernels": rows}).decode())
    elif made:
        make_console(sys.stdout).print(render_kernels(made))
    say_what_is_missing(report, len(made), "to compile")
    return int(not made or any(one.compiled.error for one in made))
