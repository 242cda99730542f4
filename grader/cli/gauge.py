"""``lab bench lab``: what the kernels of a submission move and compute, or how fast they are.

Without a GPU the launches of the public tests are counted in the interpreter, and held beside the
roofs of named cards. With one, the graded speed cases are timed by the judge's clock. Neither
earns or costs points.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.cli.launched import say_what_is_missing
from grader.errors import UsageError
from grader.files import check_writable, json_bytes, write_file
from grader.labs.lab import Lab, find_lab, find_root
from grader.labs.metered import Tuned
from grader.report.next_step import typed
from grader.report.rooflines import Gauged, render_rooflines
from grader.report.roofpage import roof_page
from grader.report.roofplot import roof_plot
from grader.report.terminal import make_console


@dataclass(frozen=True, slots=True)
class Wish:
    """What to bench, where, and what to write; None is the usual."""

    lab: str
    source: Path | None
    tasks: tuple[str, ...]
    device: str
    sandbox: str
    as_json: bool
    svg: Path | None
    html: Path | None


def bench_lab(wish: Wish) -> int:
    """Measure or count, and print it; 1 where nothing was, or a test that should was not passed."""
    lab = find_lab(wish.lab, find_root())
    if "triton" not in lab.imports:
        raise UsageError(f"lab {lab.name} has no kernels", "labs 6, 7 and 9 have")
    for task in wish.tasks:
        lab.task(task)
    for file in (wish.svg, wish.html):
        if file is not None:
            check_writable(str(file))
    return _counted(lab, wish)


def _counted(lab: Lab, wish: Wish) -> int:
    """Count what the public tests launch."""
    from grader.judge.grade import grade

    gauged: list[Gauged] = []
    tuned: list[Tuned] = []

    def hear(event: str, data: Any) -> None:
        if event == "metered":
            gauged.append(Gauged.of(data))
        if event == "tuned":
            tuned.append(Tuned.of(data))

    print(
        "running the public tests in the interpreter, counting what they launch …", file=sys.stderr
    )
    report = grade(
        lab,
        wish.source,
        device="cpu",
        sandbox=wish.sandbox,
        suite="public",
        tasks=wish.tasks,
        meters=True,
        on_event=hear,
    )
    if wish.as_json:
        kernels = [one.to_json() for one in gauged]
        told = {"launches": kernels, "autotuned": [kernel.to_json() for kernel in tuned]}
        print(json_bytes({"schema": 1, "lab": lab.number, "device": "cpu", **told}).decode())
    elif gauged:
        make_console(sys.stdout).print(render_rooflines(gauged, tuned))
    say_what_is_missing(report, len(gauged), "to count")
    if gauged:
        _draw(lab, wish, gauged, tuned)
    return int(not gauged)


def _draw(lab: Lab, wish: Wish, gauged: list[Gauged], tuned: list[Tuned]) -> None:
    title = f"Lab {lab.number:02d}: the largest launch of each kernel"
    picture = roof_plot(gauged, title)
    if wish.svg is not None:
        write_file(wish.svg, picture.encode())
        print(f"picture: {typed(wish.svg)}", file=sys.stderr)
    if wish.html is not None:
        write_file(wish.html, roof_page(gauged, tuned, picture, title).encode())
        print(f"page: {typed(wish.html)}", file=sys.stderr)
