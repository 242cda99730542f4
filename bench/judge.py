"""What the judge itself costs, measured on this machine: ``make bench``."""

import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from bench.account import seconds_of
from grader.errors import UsageError
from grader.labs.lab import Lab, all_labs, find_root
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.sandbox.fork_server import ForkServer
from grader.sandbox.level import are_divided, choose_level
from grader.sandbox.pool import WarmPool
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting
from grader.sandbox.stage import staged

SUBMISSION = """
import torch
LARGE = torch.ones(64 << 20)
def same(x): return x
def take(x): return None
def give(): return LARGE
"""
LARGE_BYTES = 256 << 20
ROUNDS = 7
PAUSE_SECONDS = 4.0  # for the next worker to get warm


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    measure: str
    median: str
    range: str
    target: str


def run_bench() -> Iterator[Row]:
    """Yield each measurement as it is made: the median, and the range over the rounds."""
    labs = [lab for lab in all_labs(find_root()) if lab.solutions.is_dir()]
    if not labs:
        hint = "the full repository has it; make bench LAB=6 is about kernels of yours"
        raise UsageError("this tree has no answers to measure the judge with", hint)
    level, _ = choose_level("auto")
    with tempfile.TemporaryDirectory() as folder, staged(labs[0], {}, level) as stage:
        (stage / "submission").mkdir(mode=0o755)
        (stage / "submission" / "bench.py").write_text(SUBMISSION)
        setting = Setting(
            *(stage, {}, (), "cpu", level, 4 << 30, 200, {"CORE": 0}, 1 << 16),
            divided=are_divided(level, "cpu"),
        )
        yield from _starts(setting)
        talk = _talk(WorkerProcess(setting), setting)
        yield from _calls(talk)
        talk.end(None)
        for lab in labs:
            yield from _ratios(lab, Path(folder))


def _row(name: str, values: list[float], unit: str, target: str) -> Row:
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return Row(name, f"{statistics.median(values):.3g} {unit}", f"{low} to {high}", target)


def _seconds(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def _talk(worker: WorkerProcess, setting: Setting) -> Conversation:
    worker.wait_ready()
    talk = Conversation(worker, "cpu", Clock(120), SUBMISSION)
    talk.request({"op": "load", "file": f"{setting.seen('submission')}/bench.py"})
    return talk


def _starts(setting: Setting) -> Iterator[Row]:
    cold: list[float] = []
    for _ in range(ROUNDS):
        worker: list[WorkerProcess] = []
        cold.append(_seconds(lambda w=worker: _start(w, setting)) * 1e3)
        worker[0].kill()
    fork_server = ForkServer()
    pool = WarmPool(lambda: fork_server.start(setting))
    pool.expect(ROUNDS + 1)
    warm: list[float] = []
    for _ in range(ROUNDS):
        time.sleep(PAUSE_SECONDS)
        worker = []
        warm.append(_seconds(lambda w=worker: w.append(pool.take())) * 1e3)
        worker[0].kill()
    fork_server.close()
    pool.close()
    yield _row("switch to a warm worker", warm, "ms", "<= 50 ms")
    yield _row("cold start of a worker", cold, "ms", "about 1200 ms")


def _start(into: list[WorkerProcess], setting: Setting) -> None:
    into.append(WorkerProcess(setting))
    into[0].wait_ready()


def _calls(talk: Conversation) -> Iterator[Row]:
    def small() -> None:
        for _ in range(500):
            talk.call(["function", "same"], (1,), {})

    small()
    yield _row("small call", [_seconds(small) * 1e6 / 500 for _ in range(ROUNDS)], "us", "<= 100")
    large = torch.ones(LARGE_BYTES // 4)
    ways: list[tuple[str, Callable[[], object]]] = [
        ("256 MB to the worker", lambda: talk.call(["function", "take"], (large,), {})),
        ("256 MB from the worker", lambda: talk.call(["function", "give"], (), {})),
    ]
    for name, way in ways:
        for _ in range(3):
            way()  # the arena's pages are taken once
        rates = [LARGE_BYTES / 1e9 / _seconds(way) for _ in range(ROUNDS)]
        yield _row(name, rates, "GB/s", ">= 1")


def _ratios(lab: Lab, folder: Path) -> Iterator[Row]:
    """Compare a whole grading with the same suites in one process, in turn, three times each."""
    root = find_root()
    direct = f"import sys; sys.path.insert(0, {str(root)!r}); from bench.judge import run_direct; "
    alone = [sys.executable, "-P", "-B", "-c", f"{direct}run_direct({lab.name!r})"]
    source = str(lab.solutions / lab.code_name)
    whole = [sys.executable, "-m", "grader", "grade", lab.name, "--from", source, "--device", "cpu"]
    whole += ["--json", str(folder / "report.json")]
    runs = [(_timed(whole, root), _timed(alone, root)) for _ in range(3)]
    took, used = ([ours[i] / theirs[i] for ours, theirs in runs] for i in (0, 1))
    name = f"lab {lab.number}: whole grading / one process"
    yield _row(name, took, "x", "<= 1.5")
    if not any(map(math.isnan, used)):
        yield _row(f"{name}, processor", used, "x", "<= 1.2")


def _timed(command: list[str], root: Path) -> tuple[float, float]:
    """Return seconds, and processor seconds: of a command."""
    started = time.perf_counter()
    used = seconds_of(command, root)
    return time.perf_counter() - started, used


def run_direct(name: str) -> None:
    """Run the suites of a lab on its solution in this process; exit 1 if a test fails."""
    from bench.direct import DirectStudent
    from grader.judge.grade import find_checkpoints
    from grader.judge.session import run_pytest
    from grader.judge.setup.configuration import Run
    from grader.labs.lab import load_lab

    lab = load_lab(find_root() / "labs" / name)
    student = DirectStudent(lab, lab.solutions / lab.code_name, find_checkpoints(lab))
    torch.set_num_threads(1)
    failed: list[object] = []

    def emit(event: str, data: object) -> None:
        if event == "test" and getattr(data, "verdict", "") not in ("passed", "not_graded"):
            failed.append(data)

    run_pytest(Run(lab, seed=1), student, emit)
    if failed:
        print(failed, file=sys.stderr)
        sys.exit(1)
