"""Grade one submission of one lab: ``grade`` is the whole way from files to a Report."""

import contextlib
import json
import os
import secrets
import threading
import time
from collections import Counter
from collections.abc import Collection, Generator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from grader.errors import JudgeError, UsageError
from grader.judge.listener import Listener, OnEvent, Progress, follow, save
from grader.judge.provenance import begun
from grader.judge.scoring import fill_missing
from grader.judge.start import Session, Starter, start_anew
from grader.labs.lab import Lab
from grader.labs.results import Report, Verdict
from grader.labs.submission import Submission, collect
from grader.reading import pseudocode, rules
from grader.reading.reader import Reader, read_code
from grader.sandbox import gpu, limits, users
from grader.sandbox.level import are_divided, choose_level
from grader.sandbox.process import Setting
from grader.sandbox.stage import staged

MOST_SESSIONS = 6  # of one grading, where they end in the middle of tests
JUDGE_MEMORY = 2 << 30  # bytes that a session may take, on a CPU: CUDA maps what it likes
SLACK_SECONDS = 90.0  # what a session may take beyond the lab's own limit: start-up and imports
THREADS_OF_A_RANK = 8  # of torch.distributed and ours, beside what the submission may start
GPU_SLACK_SECONDS = 3600.0  # there it may wait for others, and the time of races is the judge's
MODEL_VARIABLE = "MODEL"


def grade(
    lab: Lab,
    source: Path | Submission | None,
    *,
    device: str = "auto",
    seed: int | None = None,
    sandbox: str = "auto",
    suite: str = "all",
    until_lost: bool = False,
    tasks: Collection[str] = (),
    compiles: bool = False,
    meters: bool = False,
    start: Starter = start_anew,
    read: Reader = read_code,
    on_event: OnEvent | None = None,
    partial_file: Path | None = None,
) -> Report:
    """Grade what lies at ``source`` (None: the lab's own folder) and return the report.

    ``until_lost`` leaves out the rest of a task that has lost a point or is sure to: to know which
    tasks are lost, not how many points. With ``tasks`` only the tests of these run; others are not
    graded. ``compiles`` lets the kernels that the tests launch be compiled afterwards: of each
    ("compiled", dict[str, Any]) is heard. ``meters`` lets ("metered", dict[str, Any]) be heard, of
    each launch on a CPU, and ("tuned", dict[str, Any]), of each kernel with an autotuner. ``start``
    starts the session and ``read`` reads the code: for files of ours there are quicker ways.
    ``on_event`` hears ("manifest", list[Expected]), ("begin", Expected), ("test", TestResult), and
    four that no report holds: ("measured", list[dict[str, Any]]), of each test that compared
    numbers the comparison that came closest to its limit; ("asked", dict[str, list[str]]), the
    public names that the tests of each task called; ("spent", dict[str, float]), what the session's
    seconds went to (``proxy/spent``); and ("alone", float), for how many of them it had the GPU to
    itself.
    Raises UsageError for what the caller got wrong and CannotGrade where this machine is at fault.
    """
    device = choose_device(device, lab.limits.ranks)
    if device == "cuda":
        gpu.assert_fit()
    checkpoints = find_checkpoints(lab)
    level, why_not = choose_level(sandbox)
    with _turn(lab, device, level), staged(lab, checkpoints, level) as stage:
        submission = freeze(lab, source, stage / "submission")
        # Drawn after the submission is frozen: it cannot depend on it.
        seed = secrets.randbits(31) if seed is None else seed
        setting = worker_setting(lab, stage, checkpoints, device, level)
        provenance = begun(submission, seed, setting, why_not)
        if suite == "public" or not lab.hidden_suite.is_file():
            provenance["suite"] = "public"  # its points do not compare with those of all tests
        progress = Progress(lab, provenance, {}, [], [])
        hear = Listener(progress, on_event, partial_file)
        hear.keep()  # from here on a file of an earlier run cannot pass for this one
        # The session starts while files are judged.
        with _started(start, stage) as session:
            closed = _judge_files(lab, submission, progress, hear, read)
            config = _config(
                *(lab, setting, submission),
                seed=seed,
                suite=suite,
                until_lost=until_lost,
                tasks=sorted(tasks),
                compiles=compiles,
                meters=meters,
                closed=closed,
            )
            died = _run_session(session, config, lab, progress, hear)
        _repeat(died, start, stage, config, lab, progress, hear)
        provenance["seconds"] = round(time.monotonic() - hear.started, 2)
        report = progress.report(partial=False)
    if partial_file is not None:
        save(report, partial_file)
    return report


def _config(lab: Lab, setting: Setting, submission: Submission, **asked: Any) -> dict[str, Any]:
    """Return what a session is told: what it grades, and what is ``asked`` of it."""
    return {
        "lab": str(lab.folder),
        "setting": asdict(setting),
        "source": submission.code.decode("utf-8", errors="replace"),
        "fatal": {},
        **asked,
    }


def _turn(lab: Lab, device: str, level: str) -> AbstractContextManager[None]:
    """Return a place among gradings that could take from each other what the kernel counts by user.

    Groups of ranks need most of that: they have the machine alone.
    """
    if level == "none" or are_divided(level, device):
        return contextlib.nullcontext()
    return users.in_turn(alone=lab.limits.ranks > 1)


@contextlib.contextmanager
def _started(start: Starter, stage: Path) -> Generator[Session, None, None]:
    """Start a session; whatever happens, it ends with us."""
    with start(str(stage)) as session:
        try:
            yield session
        finally:
            session.kill()


@dataclass(frozen=True, slots=True)
class Death:
    """The test in which a session ended by itself, and why: "memory" or an empty string."""

    test: str
    why: str


def _repeat(
    died: Death | None,
    start: Starter,
    stage: Path,
    config: dict[str, Any],
    lab: Lab,
    progress: Progress,
    hear: Listener,
) -> None:
    """Grade anew, under other seeds, while sessions end in the middle of a test, ``died``.

    Once may be this machine. Twice in one test it is what the submission made of it: it is not run
    again, and is lost.
    """
    deaths: Counter[str] = Counter()
    for _ in range(MOST_SESSIONS - 1):
        if died is None:
            return
        deaths[died.test] += 1
        if deaths[died.test] > 1:
            config["fatal"][died.test] = died.why
        config["seed"] += 1
        progress.provenance["seed"] = config["seed"]
        for told in ("speed", "plots", "differences"):
            progress.extras.pop(told, None)
        with _started(start, stage) as session:
            died = _run_session(session, config, lab, progress, hear)


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
    model = os.environ.get(MODEL_VARIABLE)
    if model and "target" in folders:
        folders["target"] = Path(model).expanduser().resolve()
    for name, folder in folders.items():
        if not (folder / "config.json").is_file():
            hint = f"{MODEL_VARIABLE} must name a checkpoint folder" if model else "restore it"
            raise UsageError(f"no checkpoint {name} at {folder}", hint)
    return folders


def freeze(lab: Lab, source: Path | Submission | None, into: Path) -> Submission:
    """Copy the submission onto the stage, readable by every uid."""
    if isinstance(source, Submission):
        into.mkdir()
        for name, data in source.files.items():
            (into / name).write_bytes(data)
        submission = replace(source, folder=into)
    else:
        submission = collect(lab, source, into)
    into.chmod(0o755)
    for file in into.iterdir():
        file.chmod(0o644)
    return submission


def _judge_files(
    lab: Lab, submission: Submission, progress: Progress, hear: Listener, read: Reader
) -> dict[str, str]:
    """Judge what needs no running: rules and pseudocode. Return the tasks that a rule closes."""
    static = rules.static_check(lab, submission, read)
    notes = pseudocode.grade_pseudocode(lab, submission)
    progress.expected += [*rules.rule_tests(lab), *pseudocode.pseudocode_tests(lab)]
    progress.extras |= {
        "pseudocode": notes.extras,
        "code": {"logical_lines": static.logical_lines, "annotated": static.annotated},
        "builds_on": static.builds_on,
    }
    closed: dict[str, str] = {}
    for result in (*rules.rule_results(lab, submission, static), *notes.results):
        hear.result(result)
        if result.suite == rules.SUITE and result.verdict.counts:
            if result.verdict is not Verdict.PASSED:
                closed[result.task] = result.id
    return closed


def worker_setting(
    lab: Lab, stage: Path, checkpoints: dict[str, Path], device: str, level: str
) -> Setting:
    """Return what the workers of a lab get."""
    limits, mebi = lab.limits, 1 << 20
    forked = sum(range(limits.ranks + 1)) if limits.ranks > 1 else 0
    processes = limits.processes + THREADS_OF_A_RANK * forked
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


def _run_session(
    session: Session, config: dict[str, Any], lab: Lab, progress: Progress, hear: Listener
) -> Death | None:
    """Run the suites in a process of their own; a silent test is not the student's fault.

    Returns the test in which the process ended by itself; None if it did not.
    """
    assert session.stdin is not None
    assert session.stdout is not None
    on_cpu = config["setting"]["device"] == "cpu"
    slack = SLACK_SECONDS if on_cpu else GPU_SLACK_SECONDS
    group = limits.judge_group(config["setting"]["cage"], JUDGE_MEMORY) if on_cpu else None
    config["group"] = str(group.folder) if group else ""
    alarm = threading.Timer(lab.limits.total_seconds + slack, session.kill)
    alarm.start()
    hear.current = ""
    try:
        with contextlib.suppress(BrokenPipeError):
            session.stdin.write(json.dumps(config, default=str).encode())
            session.stdin.close()
        code = follow(session.stdout, progress, hear)
    finally:
        late = not alarm.is_alive()
        alarm.cancel()
        session.kill()  # it has ended, or is of no more use
        why = _close(group)
    # A manifest without a test comes from a suite that cannot be read: pytest says 2, or 5.
    if code not in (0, 1) and not (hear.begun or (code is None and hear.announced)):
        raise JudgeError(
            f"the suite of lab {lab.number} could not be run", "see the messages above"
        )
    message = "the judge stopped before it had run this test"
    progress.results = list(
        fill_missing(progress.expected, progress.results, Verdict.INFRA, message)
    )
    return Death(hear.current, why) if hear.current and code is None and not late else None


def _close(group: limits.Cgroup | None) -> str:
    """Remove a session's group; return "memory" if it was killed for that."""
    if group is None:
        return ""
    why = group.why_killed()
    group.close()
    return why
