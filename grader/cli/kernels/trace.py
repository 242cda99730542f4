"""``lab trace``: a small launch of a student's kernels as a picture, a page and in words."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from grader.errors import UsageError
from grader.files import check_writable, write_file
from grader.labs.documents.submission import collect
from grader.labs.lab import Lab, find_lab, find_root
from grader.labs.standing import FOLDER
from grader.languages.language import say
from grader.report.facts.next_step import typed
from grader.text import visible
from grader.trace.page import html_page
from grader.trace.record import Trace
from grader.trace.run import traced
from grader.trace.svg import draw
from grader.trace.words import summary


@dataclass(frozen=True, slots=True)
class Wish:
    """What to trace, and where to write it; None is the usual."""

    lab: str
    task: str | None
    source: Path | None  # of the submission
    script: Path | None  # in place of a submission and its example
    launch: int  # which one the picture shows, from 1
    svg: Path | None
    html: Path | None


def show(wish: Wish) -> int:
    """Run the example of a task, or a script; return 1 if it ended with an error."""
    root = find_root()
    lab = find_lab(wish.lab, root)
    if wish.script is not None:
        name, title = wish.script.stem, f"What {wish.script.name} launches"
        trace = _of_script(lab, wish.script)
    else:
        task, call = _example(lab, wish.task)
        name, title = f"{lab.name}-{task}", f"Lab {lab.number:02d}, {task}: {call}"
        trace = _of_task(lab, wish.source, call)
    print("\n".join(visible(line) for line in summary(trace)))
    if trace.launches:
        _write(wish, lab.root / FOLDER / "trace" / name, trace, title)
    else:
        print(
            say("no kernel was launched before that" if trace.fault else "no kernel was launched")
        )
    return int(trace.fault is not None or not trace.launches)


def _example(lab: Lab, wanted: str | None) -> tuple[str, str]:
    """Return a task and its small call."""
    calls = {task.id: task.example.strip() for task in lab.tasks if task.example.strip()}
    if not calls:
        raise UsageError(
            f"lab {lab.number} has no kernels to trace",
            f"make trace LAB={lab.number} FILE=mine.py traces what a script of yours launches",
        )
    if wanted is None:
        return next(iter(calls.items()))
    lab.task(wanted)
    if wanted not in calls:
        raise UsageError(f"task {wanted} has no kernel to trace", f"these have: {', '.join(calls)}")
    return wanted, calls[wanted]


def _of_task(lab: Lab, source: Path | None, call: str) -> Trace:
    with tempfile.TemporaryDirectory(prefix="inferlab-") as place:
        submission = collect(lab, source, Path(place) / "code")
        return traced(submission.code_path, call, (lab.root,))


def _of_script(lab: Lab, script: Path) -> Trace:
    if not script.is_file():
        raise UsageError(f"{script} is no file", "give a script: make trace LAB=6 FILE=mine.py")
    return traced(script, "", (script.resolve().parent, lab.folder, lab.root))


def _write(wish: Wish, place: Path, trace: Trace, title: str) -> None:
    """Write picture and page."""
    if not 1 <= wish.launch <= len(trace.launches):
        raise UsageError(
            f"there is no launch {wish.launch}", f"there are launches 1 to {len(trace.launches)}"
        )
    svg = wish.svg or place.with_suffix(".svg")
    html = wish.html or place.with_suffix(".html")
    if None in (wish.svg, wish.html):
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            hint = "name files: --svg FILE --html FILE"
            raise UsageError(f"cannot write {place.parent}: {error.strerror}", hint) from None
    last = wish.launch == len(trace.launches)
    picture = draw(trace.launches[wish.launch - 1], fault=trace.fault if last else None)
    for file, text in ((svg, picture), (html, html_page(trace, title))):
        check_writable(str(file))
        write_file(file, text.encode())
    print("\n" + say(f"picture: {typed(svg)}"))
    print(say(f"page:    {typed(html)}"))
