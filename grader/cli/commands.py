"""What each command does between its options and its exit code."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rich.table import Table
from rich.text import Text

from grader.cli.tables.margins import print_ends, print_margins
from grader.cli.tables.messages import print_messages
from grader.cli.tables.mutants import print_mutants
from grader.cli.tables.public import print_catches, print_least, print_shares
from grader.cli.terminal.progress import CheckProgress, GradingProgress
from grader.cli.terminal.watch import saves
from grader.errors import UsageError
from grader.files import json_bytes, write_file
from grader.judge.setup.request import Request
from grader.labs.lab import Lab, all_labs, find_lab, find_root
from grader.labs.results import Report
from grader.labs.standing import ELSEWHERE, Standing, last_file, next_to_do, standing
from grader.languages.language import say
from grader.prove.findings import CheckReport, Finding, Outcome, Proof
from grader.questions.graded import TASK as QUESTIONS
from grader.questions.graded import points_of
from grader.report.facts.changes import changes
from grader.report.facts.next_step import guide_to, typed
from grader.report.facts.summary import score_line
from grader.report.formats.forms import STDOUT, Output, write
from grader.report.formats.terminal import make_console, render_terminal
from grader.text import number, visible

INTERRUPTED = 130  # the exit code


@dataclass(frozen=True, slots=True)
class Order:
    """One grading as asked for; ``source`` None is the lab's own folder."""

    lab: str
    source: Path | None
    device: str
    seed: int | None
    sandbox: str
    suite: str
    tasks: tuple[str, ...] = ()  # none: all

    def request(self, lab: Lab) -> Request:
        """Return what the judge is asked for, of the lab that was found."""
        return Request(
            lab,
            self.source,
            device=self.device,
            seed=self.seed,
            sandbox=self.sandbox,
            suite=self.suite,
            tasks=self.tasks,
            questions=points_of(lab.root) if lab.asks else 0.0,
        )


def grade_one(order: Order, outputs: tuple[Output, ...]) -> int:
    """Grade, write the outputs and show the report."""
    report = _graded(order, outputs)
    return INTERRUPTED if report is None else report.exit_code


def _graded(order: Order, outputs: tuple[Output, ...]) -> Report | None:
    """Do what ``grade_one`` does; returns the report, None if Ctrl-C has ended it."""
    lab = find_lab(order.lab, find_root())
    for task in order.tasks:
        if not (lab.asks and task == QUESTIONS):
            lab.task(task)  # a typing error is told before anything runs
    # What was asked of some tasks alone is no result of the lab; of another file, none of this one.
    kept = None if order.tasks else _keeping_place(lab, order)
    try:
        report = _grade(lab, order, kept)
    except KeyboardInterrupt:
        told = "interrupted"
        if kept and kept.exists():
            told = f"interrupted; what was graded is in {typed(kept)}"
        print(say(told), file=sys.stderr)
        return None
    if order.sandbox == "required" and not lab.is_manual:
        print(f"isolated by {report.provenance.get('isolated_by')}", file=sys.stderr)
    _keep(report, kept)
    write(report, outputs)
    if any(output.target == STDOUT for output in outputs):
        print(say(f"lab {lab.name}: {score_line(report)}"), file=sys.stderr)
    else:
        guide = guide_to(lab, order.source)
        make_console(sys.stdout).print(render_terminal(report, guide))
    return report


def _grade(lab: Lab, order: Order, kept: Path | None) -> Report:
    # Starts the judge, which the other commands do not need.
    if lab.is_manual:
        from grader.judge.manual import look_at

        return look_at(order.request(lab))
    from grader.judge.grade import grade

    with GradingProgress(lab.name, sys.stderr) as progress:
        report = grade(order.request(lab), on_event=progress.on_event, partial_file=kept)
    return report.of_tasks(order.tasks) if order.tasks else report


def _keeping_place(lab: Lab, order: Order) -> Path | None:
    """Where results are kept as they arrive; None in a tree that cannot be written to."""
    own = order.source is None or order.source.resolve().is_relative_to(lab.folder.resolve())
    path = last_file(lab, order.suite if own else ELSEWHERE)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(say(f"note: results are not kept: {error.strerror}: {path.parent}"), file=sys.stderr)
        return None
    return path


def _keep(report: Report, path: Path | None) -> None:
    if path is None:
        return
    try:
        write_file(path, json_bytes(report.to_json()))
    except UsageError as error:
        # The report in hand is worth more than the note of it.
        print(say(f"note: results are not kept: {error.message}"), file=sys.stderr)


def watch(order: Order) -> int:
    """Grade the public tests now and at each save; Ctrl-C ends it."""
    lab = find_lab(order.lab, find_root())
    guide = guide_to(lab, order.source)
    files = (Path(guide.stub), Path(guide.pseudocode))
    try:
        last = _graded(order, ())
        for _ in saves(files) if last else ():
            before, last = last, _graded(order, ())
            if before is None or last is None:
                break
            print("\n".join(f"  {line}" for line in changes(before, last)), flush=True)
    except KeyboardInterrupt:
        pass
    return 0


def hint(lab_text: str, task_id: str | None) -> int:
    """Print one task's hint, or the tasks to choose from."""
    lab = find_lab(lab_text, find_root())
    if task_id is not None:
        print(visible(say(lab.task(task_id).hint.strip())))
        return 0
    table = Table.grid(padding=(0, 2))
    for task in lab.tasks:
        names = ", ".join(task.functions)
        points = say(f"{number(task.points)} points")
        table.add_row(*map(Text, (task.id, say(task.title), points, names)))
    make_console(sys.stdout).print(table)
    print("\n" + say(f"a hint: make hint LAB={lab.number} TASK={lab.tasks[0].id}"))
    return 0


def status() -> int:
    """Print every lab with the points of its last grading, and the next lab."""
    standings = [standing(lab) for lab in all_labs(find_root())]
    table = Table.grid(padding=(0, 2))
    for row in standings:
        table.add_row(*map(Text, _status_row(row)))
    make_console(sys.stdout).print(table)
    goal = next_to_do(standings)
    told = f"next: make grade LAB={goal.lab.number}" if goal else "all labs are done"
    print("\n" + say(told))
    return 0


def _status_row(row: Standing) -> tuple[str, str, str, str]:
    lab = row.lab
    if row.score is None:
        return f"{lab.number:02d}", say(lab.title), say("not graded yet"), ""
    if lab.is_manual:
        return f"{lab.number:02d}", say(lab.title), say("people read it"), _when(row.started)
    points = say(f"{number(row.score)} of {number(row.graded)}")
    cut = say(", cut off") if row.partial else ""
    return f"{lab.number:02d}", say(lab.title), points + cut, _when(row.started)


def _when(started: str) -> str:
    try:
        return datetime.fromisoformat(started).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        return ""


def doctor() -> int:
    """Print each check as it is made; 1 if something that grading needs is missing."""
    from grader.cli import doctor

    return doctor.main()


def check(names: Sequence[str], proof: Proof) -> int:
    """Prove labs: print what does not hold, and one line per lab."""
    root = find_root()
    labs = [find_lab(text, root) for text in names] or all_labs(root)
    for lab in labs:
        if not (lab.solutions.is_dir() or lab.is_manual):
            raise UsageError(
                f"{lab.name} has no solutions to check with", "use the instructors' repository"
            )
    with CheckProgress(sys.stderr) as progress:
        report = _prove(labs, proof, progress)
    if not report.findings:
        raise UsageError("nothing was checked", "see what --only must match in lab check --help")
    for lab in labs:
        print_margins([item for item in report.margins if item.lab == lab.name])
        print_catches([item for item in report.catches if item.lab == lab.name])
        if proof.messages:
            print_messages(
                lab, [(file, said) for name, file, said in report.wrong if name == lab.name]
            )
        _print_findings(lab, [item for item in report.findings if item.lab == lab.name])
        print_least([loss for loss in report.losses if loss.lab == lab.name])
    print_ends(report.ends)
    if report.gradings:
        late = f", {report.late} more had no turn in time" if report.late else ""
        print(f"{report.gradings} gradings, {report.recalled} remembered{late}")
    if proof.public:
        print_shares(report.catches)
    if proof.mutants:
        print_mutants(report.mutants)
    return report.exit_code


def _prove(labs: Sequence[Lab], proof: Proof, progress: CheckProgress) -> CheckReport:
    """Start the judge, which the other commands do not need."""
    if proof.mutants:
        from grader.prove.mutants.survivors import check_mutants

        return check_mutants(labs, proof, on_progress=progress.on_progress)
    from grader.prove.check import check_labs
    from grader.prove.remembered.entries import Remembered
    from grader.prove.remembered.key import Keys

    remembered: Remembered | None = None
    if not proof.measures:  # else nothing is recalled, and to read all that counts takes a while
        remembered = Remembered(labs[0].root, Keys(labs), anew=proof.anew)
        remembered.prune()
    return check_labs(labs, proof, on_progress=progress.on_progress, remembered=remembered)


def _print_findings(lab: Lab, findings: Sequence[Finding]) -> None:
    for finding in findings:
        if finding.outcome is not Outcome.OK:
            print("\n".join(visible(line) for line in finding.lines()))
    counts = Counter(finding.outcome for finding in findings)
    told = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])
    print(f"{lab.name}: {told or 'nothing to check'}")


def bench() -> int:
    """Print what the judge's own benchmark measures."""
    try:
        from bench.judge import run_bench
    except ModuleNotFoundError:
        raise UsageError("this tree has no benchmark", "the full repository has it") from None
    for row in run_bench():
        # One at a time: each takes a while to measure.
        print(f"{row.measure:<44} {row.median:>14}  {row.range:>22}  {row.target}", flush=True)
    return 0
