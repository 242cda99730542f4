"""Where a student goes from here, in words: by a report, and by what it alone does not know."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.labs.build import build_of
from grader.labs.documents.notebook import notebook_name
from grader.labs.lab import ANSWERED, PSEUDOCODE, Lab, lab_names
from grader.labs.manual import FILES, READ, WAITING
from grader.labs.results import RULES, Report
from grader.languages.language import say
from grader.report.facts.contracts import hidden_only, numbers_text
from grader.report.facts.origins import origins
from grader.report.facts.summary import TaskSummary, ahead, functions_at_fault, is_unwritten
from grader.text import visible_line


@dataclass(frozen=True, slots=True)
class Guide:
    """Names and paths for the next step, as the student would type them."""

    title: str
    stub: str
    pseudocode: str
    handout: str
    functions: Mapping[str, Sequence[str]]  # task -> names to write, in the order of the stub
    next_lab: int | None = None
    source: str = ""  # as it was given; "" is the lab's own folder
    compiled: Mapping[str, str] = field(default_factory=dict[str, str])  # task -> its last source
    in_code: frozenset[str] = frozenset()  # tasks with such a source whose work is not in it alone


def guide_to(lab: Lab, source: Path | None = None) -> Guide:
    """The guide for a submission taken from ``source`` (None: the lab's own folder)."""
    later = [int(name[:2]) for name in lab_names(lab.root) if int(name[:2]) > lab.number]
    code = own_file(lab, source)
    return Guide(
        title=lab.title,
        stub=typed(code),
        pseudocode=typed(code.with_name(lab.pseudocode.name)),
        handout=typed(lab.handout),
        functions={task.id: task.functions for task in lab.tasks},
        next_lab=min(later, default=None),
        source="" if source is None else typed(source),
        compiled=_compiled(lab, code),
        in_code=frozenset(task.id for task in lab.tasks if not task.alone),
    )


def _compiled(lab: Lab, code: Path) -> dict[str, str]:
    """Map each task that loads what is built to the source that is for it, not for others too."""
    sources = {build.name: build.sources[-1] for build in lab.builds}
    tasks = [task for task in lab.tasks if task.builds]
    return {task.id: typed(code.with_name(sources[task.builds[-1]])) for task in tasks}


def typed(path: Path) -> str:
    """A path relative to the working directory if it lies below it, else absolute."""
    absolute = path.absolute()
    here = Path.cwd()
    return os.fspath(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute)


def own_file(lab: Lab, source: Path | None) -> Path:
    """Return the file that a student edits: code, or a notebook where that is all there is."""
    if lab.is_manual:
        return (lab.folder if source is None else source) / lab.files[0]
    if source is None:
        return lab.stub
    if source.is_file():
        return source
    for folder in (source / lab.name, source / "labs" / lab.name, source):
        for name in (lab.code_name, notebook_name(lab)):
            if (folder / name).is_file():
                return folder / name
    return lab.stub


def next_step(report: Report, lost: Sequence[TaskSummary], guide: Guide | None) -> str:
    """Say what to do now; ``lost`` are the tasks that have not earned all, in the lab's order."""
    if report.partial:
        return say(f"{grade_command(report, guide)}, since this one was cut off")
    if report.is_manual:
        return _for_readers(report, guide)
    if not lost:
        return _after_success(report, guide)
    ready = [part for part in lost if not part.waiting]
    goal = next((part for part in ready if not origins(report, part)), (ready or lost)[0])
    names = names_of(goal, guide)
    step = _step(goal, names, _place_of(goal, guide))
    if goal.first is not None and goal.first.suite == RULES:
        step = say(f"fix {_place_of(goal, guide)}")  # what was only read has no function at fault
    lines = [*_by_function(report, goal, guide), *ahead(lost)]
    return "\n".join([say(f"{step}, then {grade_command(report, guide)}"), *lines])


def _step(goal: TaskSummary, names: str, place: str) -> str:
    unwritten = goal.first is not None and is_unwritten(goal.first)
    if goal.untouched or unwritten:
        return say(f"write {names} in {place}")
    return say(f"fix {names} in {place}")


def _at_fault(part: TaskSummary, guide: Guide | None) -> dict[str, int]:
    return functions_at_fault(part, guide.functions.get(part.task.id, ()) if guide else ())


def _by_function(report: Report, goal: TaskSummary, guide: Guide | None) -> list[str]:
    """Say how many tests of each function fail, and how to try this task alone."""
    counts = [] if goal.untouched else [*_at_fault(goal, guide).items()]
    if not counts:
        return []
    told = ", ".join(f"{visible_line(name)} {count}" for name, count in counts)
    alone = f"{grade_command(report, guide)} TASK={visible_line(goal.task.id)}"
    return [say(f"tests that fail: {told}; this task alone: {alone}")]


def _after_success(report: Report, guide: Guide | None) -> str:
    if report.exit_code == 3:
        return say(f"make doctor, then {grade_command(report, guide)}")
    left = numbers_text(hidden_only(report))
    done = say("all that was graded here passed")
    if left:
        done = say(f"{done}; read in the handout what the hidden tests alone try: {left}")
    if report.provenance.get("suite") == "public" and not (guide and guide.source):
        done = say(f"{done}; hand it in: make submit LAB={report.lab}")
    if guide and guide.next_lab is not None:
        return say(f"{done}; go on with make grade LAB={guide.next_lab}")
    return done


def _for_readers(report: Report, guide: Guide | None) -> str:
    if report.extras.get("status") == READ:
        return say("read what they said of it")
    if report.extras.get("status") == WAITING:
        return say("nothing: you have handed it in, and people read it")
    names = [visible_line(t.id) for t in report.tests if t.suite == FILES and t.message]
    if names:
        return say(f"write {', '.join(names)}, then {grade_command(report, guide)}")
    if report.exit_code:
        return say(f"look at the tests that fail, then {grade_command(report, guide)}")
    return say(f"people read it once you have handed it in: make submit LAB={report.lab}")


def grade_command(report: Report, guide: Guide | None) -> str:
    """Return the command that grades the same submission again."""
    source = f" FROM={visible_line(guide.source)}" if guide and guide.source else ""
    return f"make grade LAB={report.lab}{source}"


def repeat_lines(report: Report, lost: Sequence[TaskSummary], guide: Guide | None) -> list[str]:
    """Return how to step through the first public test that is shown as failed, if one is."""
    shown = (test for part in lost if part.begun for test in (part.first, *part.others))
    test = next((x for x in shown if x and x.suite == "public" and not is_unwritten(x)), None)
    if test is None:
        return []
    source = f" FROM={visible_line(guide.source)}" if guide and guide.source else ""
    name = visible_line(shlex.quote(test.id))
    seed = report.provenance["seed"]
    command = f"make repeat LAB={report.lab} TEST={name} SEED={seed}{source}"
    return [say(f"step through it: {command}")]


def is_alone(report: Report, guide: Guide) -> bool:
    """Tell whether one task of several was graded alone, as with TASK=."""
    return len(report.tasks) == 1 < len(guide.functions)


def names_of(part: TaskSummary, guide: Guide | None) -> str:
    """Name the functions of a task that are at fault, or all that it asks for."""
    known = list(guide.functions.get(part.task.id, ())) if guide else []
    names = [] if part.untouched else list(_at_fault(part, guide))
    names = names or known
    if not names:
        return say(f"task {part.task.id}")
    return say(f"{', '.join(names[:3])} (task {part.task.id})")


def hint_command(report: Report, part: TaskSummary) -> str:
    """Return the command that shows the hint of a task."""
    if part.task.id == "questions":
        return f"make questions LAB={report.lab}"
    return f"make hint LAB={report.lab} TASK={visible_line(part.task.id)}"


def stub_of(guide: Guide | None) -> str:
    """Name the file that the student edits."""
    return guide.stub if guide else say("the lab's file")


def _place_of(part: TaskSummary, guide: Guide | None) -> str:
    task = part.task.id
    if task == PSEUDOCODE:
        return guide.pseudocode if guide else "PSEUDOCODE.md"
    if task == "questions":
        return typed(Path(guide.pseudocode).with_name(ANSWERED)) if guide else ANSWERED
    not_built = part.first is not None and part.first.id == build_of(task)
    if guide and task in guide.compiled and (not_built or task not in guide.in_code):
        return guide.compiled[task]
    return stub_of(guide)


def handout_of(guide: Guide | None) -> str:
    """Name the text of the lab."""
    return guide.handout if guide else say("the lab's README.md")
