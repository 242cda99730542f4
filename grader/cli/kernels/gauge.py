"""``lab bench lab``: how fast the kernels of a submission are, or what they move and compute.

With a GPU the speed cases are timed by the judge's clock. Without one the launches of the public
tests, or of a script, are counted in the interpreter and held beside the roofs of named cards.
Neither earns or costs points.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.cli.kernels.launched import say_what_is_missing
from grader.cli.kernels.python import environment_of
from grader.errors import UsageError
from grader.files import check_writable, json_bytes, write_file
from grader.judge.setup.request import Request
from grader.labs.lab import Lab, find_lab, find_root
from grader.labs.metered import Metered, Tuned
from grader.labs.results import Report
from grader.languages.language import say
from grader.report.facts.next_step import typed
from grader.report.formats.races import chosen, races_below, races_table, render_races
from grader.report.formats.terminal import make_console
from grader.report.launches.rooflines import Gauged, render_rooflines, render_tuned
from grader.report.launches.roofpage import roof_page
from grader.report.launches.roofplot import roof_plot
from grader.report.markup.chart import speed_figures
from grader.report.markup.web import escaped, figures, page
from grader.text import visible_line

METERED = "grader.worker.scripts.metered"


@dataclass(frozen=True, slots=True)
class Wish:
    """What to bench, where, and what to write; None is the usual."""

    lab: str
    source: Path | None
    script: Path | None  # in place of a submission and the public tests
    tasks: tuple[str, ...]
    device: str
    sandbox: str
    as_json: bool
    svg: Path | None
    html: Path | None

    def request(self, lab: Lab, device: str, suite: str, tasks: Sequence[str]) -> Request:
        """Return what the judge is asked for: a grading that is metered."""
        return Request(
            lab,
            self.source,
            device=device,
            sandbox=self.sandbox,
            suite=suite,
            tasks=tasks,
            meters=True,
        )


@dataclass(slots=True)
class Heard:
    """What a session tells of launches and of kernels with an autotuner."""

    gauged: list[Gauged] = field(default_factory=list[Gauged])
    tuned: list[Tuned] = field(default_factory=list[Tuned])

    def hear(self, event: str, data: Any) -> None:
        """Keep what is ours."""
        if event == "metered":
            self.gauged.append(Gauged.of(data))
        if event == "tuned":
            self.tuned.append(Tuned.of(data))


def bench_lab(wish: Wish) -> int:
    """Time or count, and print it; 1 if nothing could be."""
    from grader.judge.grade import choose_device

    lab = find_lab(wish.lab, find_root())
    if "triton" not in lab.imports:
        raise UsageError(f"lab {lab.name} has no kernels", "labs 6, 7, 9 and 12 have")
    for task in wish.tasks:
        lab.task(task)
    for file in (wish.svg, wish.html):
        if file is not None:
            check_writable(str(file))
    if wish.script is not None:
        return _scripted(lab, wish, wish.script)
    if choose_device(wish.device) == "cpu":
        return _counted(lab, wish)
    if lab.hidden_suite.is_file() or lab.speed_suite.is_file():
        return _timed(lab, wish)
    _say("note: this tree has no sizes of this lab to time")
    return _counted(lab, wish)


def _graded(request: Request, heard: Heard) -> Report:
    from grader.judge.grade import grade

    return grade(request, on_event=heard.hear)


# Without a GPU


def _counted(lab: Lab, wish: Wish) -> int:
    heard = Heard()
    _say("running the public tests in the interpreter, counting what they launch …")
    report = _graded(wish.request(lab, "cpu", "public", wish.tasks), heard)
    _show(lab, wish, heard, f"Lab {lab.number:02d}: the largest launch of each kernel")
    say_what_is_missing(report, len(heard.gauged), "to count")
    return int(not heard.gauged)


def _scripted(lab: Lab, wish: Wish, script: Path) -> int:
    """Count what a script launches, which runs with the rights of who asks."""
    from grader.judge.observers.kernels import described

    if not script.is_file():
        raise UsageError(f"{script} is no file", "give a script: make bench LAB=6 FILE=mine.py")
    _say(f"running {visible_line(script.name)} in the interpreter, counting what it launches …")
    with tempfile.TemporaryDirectory(prefix="inferlab-bench-") as place:
        out = Path(place) / "launches.json"
        command = [sys.executable, "-m", METERED, str(script.resolve()), str(out)]
        environment = environment_of(lab) | {"TRITON_INTERPRET": "1"}
        done = subprocess.run(command, env=environment, check=False, stdout=sys.stderr)
        told = json.loads(out.read_text("utf-8")) if out.is_file() else []
    heard = Heard([Gauged(Metered.of(item), described(item)) for item in told])
    _show(lab, wish, heard, f"What {script.name} launches: the largest of each kernel")
    if done.returncode:
        _say(f"the script ended with code {done.returncode}: later launches are not here")
    elif not heard.gauged:
        _say("no kernel was launched: nothing to count")
    return int(done.returncode != 0 or not heard.gauged)


def _show(lab: Lab, wish: Wish, heard: Heard, title: str) -> None:
    """Print launches, and write what is to be written."""
    if wish.as_json:
        launches = [one.to_json() for one in heard.gauged]
        _print_json(lab, "cpu", launches=launches, autotuned=_plain(heard.tuned))
    elif heard.gauged:
        make_console(sys.stdout).print(render_rooflines(heard.gauged, heard.tuned))
    if heard.gauged:
        picture = roof_plot(heard.gauged, title)
        _write("picture", wish.svg, picture)
        _write("page", wish.html, roof_page(heard.gauged, heard.tuned, picture, title))


# On a GPU


def _timed(lab: Lab, wish: Wish) -> int:
    heard = Heard()
    functions = [name for task in wish.tasks for name in lab.task(task).functions]
    timed = [task.id for task in lab.tasks if task.ladders]
    _say("timing the speed cases beside the baseline …")
    report = _graded(wish.request(lab, "cuda", "speed", timed), heard)
    cases = chosen(report, functions)
    if wish.as_json:
        speed = report.extras.get("speed", [])
        gpu = report.extras.get("gpu", {})
        _print_json(lab, "cuda", speed=speed, gpu=gpu, autotuned=_plain(heard.tuned))
    else:
        console = make_console(sys.stdout)
        console.print(render_races(report, cases))
        if heard.tuned:
            console.print()
            console.print(render_tuned(heard.tuned))
    drawn = speed_figures(cases)
    for number, figure in enumerate(drawn):
        svg = wish.svg and wish.svg.with_stem(f"{wish.svg.stem}{f'-{number + 1}' * bool(number)}")
        _write("picture", svg, figure["svg"])
    title = f"Lab {lab.number:02d}: speed"
    body = [f"<h1>{escaped(title)}</h1>", *figures(drawn), races_table(cases)]
    _write("page", wish.html, page(title, [*body, *races_below(report, cases)]))
    return int(not cases)


# What both do


def _say(text: str) -> None:
    print(say(text), file=sys.stderr, flush=True)


def _plain(tuned: Sequence[Tuned]) -> list[dict[str, Any]]:
    return [kernel.to_json() for kernel in tuned]


def _print_json(lab: Lab, device: str, **told: Any) -> None:
    data = {"schema": 1, "lab": lab.number, "device": device, **told}
    print(json_bytes(data).decode(), end="")


def _write(what: str, file: Path | None, text: str) -> None:
    if file is not None:
        write_file(file, text.encode())
        _say(f"{what}: {typed(file)}")
