"""Grade one submission of one lab: ``grade`` is the whole way from files to a Report."""

import contextlib
import os
import secrets
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from grader.environment import MODEL
from grader.errors import UsageError
from grader.judge.builds import build_all, build_tests
from grader.judge.listener import Listener, OnEvent, Progress, save
from grader.judge.provenance import begun
from grader.judge.questions import judge_questions, scored_lab
from grader.judge.runner import run_again, run_session, started
from grader.judge.setup.configuration import Configuration, Run
from grader.judge.setup.request import Request
from grader.judge.setup.start import Starter, start_anew
from grader.labs.documents.submission import Submission, collect
from grader.labs.lab import Lab
from grader.labs.results import RULES, Report, Verdict
from grader.readers import Budget
from grader.reading import rules
from grader.reading.pseudocode import pseudocode
from grader.reading.reader import Reader, read_code
from grader.sandbox import allowance
from grader.sandbox.confinement import gpu, users
from grader.sandbox.level import are_divided, choose_level
from grader.sandbox.setting import Setting
from grader.sandbox.stage import staged


def grade(
    request: Request,
    *,
    start: Starter = start_anew,
    read: Reader = read_code,
    on_event: OnEvent | None = None,
    partial_file: Path | None = None,
) -> Report:
    """Make one grading and return its report, which ``partial_file`` has as far as it is known.

    ``start`` starts the session and ``read`` reads the code: for files of ours there are quicker
    ways. Raises UsageError for what the caller got wrong and CannotGrade where this machine is at
    fault.
    """
    lab = request.lab
    if lab.code_name not in lab.handed_in:
        raise UsageError(
            f"people grade lab {lab.number}: it has no code to run", f"make grade LAB={lab.number}"
        )
    device = choose_device(request.device, lab.limits.ranks)
    if device == "cuda":
        gpu.assert_fit()
    checkpoints = find_checkpoints(lab)
    level, why_not = choose_level(request.sandbox)
    allowance.assert_allowed(lab, device, level)
    if level == "bwrap" and (os.geteuid() == 0 or are_divided(level, device)):
        allowance.assert_readable(checkpoints)
    with _turn(lab, device, level), staged(lab, checkpoints, level) as stage:
        budget = Budget()  # of all that reads the submission
        submission = freeze(lab, request.source, stage / "submission", budget)
        # Drawn after the submission is frozen: it cannot depend on it.
        seed = secrets.randbits(31) if request.seed is None else request.seed
        setting = worker_setting(lab, stage, checkpoints, device, level)
        provenance = begun(request, submission, seed, setting, why_not)
        progress = Progress(scored_lab(request), provenance, {}, [], [])
        hear = Listener(progress, on_event, partial_file, submission.places)
        hear.keep()  # from here on a file of an earlier run cannot pass for this one
        # The session starts while files are judged.
        with started(start, stage) as session:
            closed = _judge_files(lab, submission, hear, read, budget)
            judge_questions(request, submission, hear)
            ungraded = _build(request, submission, setting, hear, closed)
            run = Run.of(request, device, seed, closed, ungraded)
            configuration = Configuration(run, setting, submission.text)
            died = run_session(session, configuration, hear)
        run_again(died, configuration, start, hear)
        provenance["seconds"] = round(time.monotonic() - hear.started, 2)
        report = hear.progress.report(partial=False)
    if partial_file is not None:
        save(report, partial_file)
    return report


def _turn(lab: Lab, device: str, level: str) -> AbstractContextManager[None]:
    """Return a place among gradings that could take from each other what the kernel counts by user.

    Groups of ranks need most of that: they have the machine alone.
    """
    if level == "none" or are_divided(level, device):
        return contextlib.nullcontext()
    return users.in_turn(alone=lab.limits.ranks > 1)


def choose_device(wanted: str, ranks: int = 1) -> str:
    """Return "cpu" or "cuda"; asking for a GPU that is not there raises UsageError.

    "auto" is "cuda" where each of ``ranks`` has a GPU of its own: with fewer, most tests of groups
    could not be graded, and on CPUs all of them can.
    """
    gpus = gpu.count()
    if wanted == "auto":
        return "cuda" if gpus >= ranks else "cpu"
    if wanted not in ("cpu", "cuda"):
        raise UsageError(f"there is no device {wanted!r}", "give auto, cpu or cuda")
    if wanted == "cuda" and not gpus:
        raise UsageError("this machine shows no NVIDIA GPU", "run with --device cpu")
    return wanted


def find_checkpoints(lab: Lab) -> dict[str, Path]:
    """Return the checkpoints by name; MODEL=path stands in for the target."""
    folders = dict(zip(lab.checkpoints, lab.checkpoint_folders, strict=True))
    model = os.environ.get(MODEL)
    if model and "target" in folders:
        folders["target"] = Path(model).expanduser().resolve()
    for name, folder in folders.items():
        if not (folder / "config.json").is_file():
            hint = f"{MODEL} must name a checkpoint folder" if model else "restore it"
            raise UsageError(f"no checkpoint {name} at {folder}", hint)
    return folders


def freeze(lab: Lab, source: Path | Submission | None, into: Path, budget: Budget) -> Submission:
    """Copy the submission onto the stage, readable by every uid."""
    if isinstance(source, Submission):
        into.mkdir()
        for name, data in source.files.items():
            (into / name).write_bytes(data)
        submission = replace(source, folder=into)
    else:
        submission = collect(lab, source, into, budget)
    into.chmod(0o755)
    for file in into.iterdir():
        file.chmod(0o644)
    return submission


def _judge_files(
    lab: Lab, submission: Submission, hear: Listener, read: Reader, budget: Budget
) -> dict[str, str]:
    """Judge what needs no running: rules and pseudocode. Return the tasks that a rule closes."""
    progress = hear.progress
    static = rules.static_check(lab, submission, read, budget)
    notes = pseudocode.grade_pseudocode(lab, submission, budget)
    progress.expected += [*rules.rule_tests(lab), *pseudocode.pseudocode_tests(lab)]
    progress.extras |= {
        "pseudocode": notes.extras,
        "code": {"logical_lines": static.logical_lines, "annotated": static.annotated},
        "builds_on": static.builds_on,
    }
    closed: dict[str, str] = {}
    for result in (*rules.rule_results(lab, submission, static), *notes.results):
        hear.result(result)
        if result.suite == RULES and result.verdict.counts:
            if result.verdict is not Verdict.PASSED:
                closed[result.task] = result.id
    return closed


def _build(
    request: Request,
    submission: Submission,
    setting: Setting,
    hear: Listener,
    closed: dict[str, str],
) -> Mapping[str, str]:
    """Build what workers load; failures are added to ``closed``. Return what is not graded here."""
    lab = request.lab
    if not lab.builds:
        return {}
    hear.progress.expected += build_tests(lab, request.tasks)
    outcome = build_all(lab, submission.files, setting, {*closed}, request.tasks)
    for result in outcome.results:
        hear.result(result)
        if result.verdict.counts and result.verdict not in (Verdict.PASSED, Verdict.SKIPPED):
            closed[result.task] = result.id
    return outcome.ungraded


def worker_setting(
    lab: Lab, stage: Path, checkpoints: dict[str, Path], device: str, level: str
) -> Setting:
    """Return what the workers of a lab get."""
    limits, mebi = lab.limits, 1 << 20
    processes = allowance.processes_of(lab)
    return Setting(
        stage=stage,
        checkpoints=checkpoints,
        given=lab.given,
        device=device,
        level=level,
        memory=limits.memory_mb * mebi,
        processes=processes,
        rlimits={
            "NOFILE": limits.open_files,
            "FSIZE": limits.file_mb * mebi,
            "NPROC": processes,
            "CORE": 0,
        },
        output=limits.output_kb << 10,
        triton="triton" in lab.imports,
        preload=lab.preload,
        ranks=limits.ranks,
        divided=are_divided(level, device),
    )
