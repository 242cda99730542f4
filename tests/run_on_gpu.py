"""``make test-gpu``: prove all that only a GPU can, on as many as there are.

Each job has a GPU of its own, several at a time on each; groups of ranks have all of them, and come
first. What has passed on such a machine in this state of the project is not run again, so
what was cut off goes on: no job begins after ``--seconds``. ``--part 2/4`` takes one job in four.
"""

import argparse
import functools
import os
import platform
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from stand_ins import gpu_ledger
from stand_ins.gpu_grader import Grader
from stand_ins.gpu_jobs import Job, environment, jobs
from stand_ins.gpu_ledger import Entry, Machine

from bench.page import read_page
from grader import ROOT
from grader.errors import CannotGrade
from grader.files import write_file
from grader.sandbox.confinement import gpu

CORES_OF_A_JOB = 3
CORES_OF_A_GROUP = 16  # each of its ranks, of each size, is a process with a GPU
SAID = 1500  # characters of the end of a job's output
PAGE = ROOT / "docs" / "gpu.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the jobs that are left; return 0 if all of this part have passed, 1 if not."""
    parser = argparse.ArgumentParser(prog="make test-gpu", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as 'check 08 *'")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="one job in N")
    parser.add_argument("--seconds", type=float, default=480.0, help="after which none begins")
    parser.add_argument("--ledger", type=Path, default=ROOT / ".inferlab" / "gpu.jsonl")
    parser.add_argument("--write", action="store_true", help="write the page docs/gpu.md")
    parser.add_argument("--list", action="store_true", help="name the jobs, and run none")
    order = parser.parse_args(arguments)
    part, parts = map(int, order.part.split("/"))
    every = jobs(order.names)
    chosen = every[part - 1 :: parts]
    if order.list:
        print("\n".join(job.name for job in chosen))
        return 0
    try:
        machine = look()
    except CannotGrade as error:
        print(f"error: {error.message}", file=sys.stderr)
        return 3
    order.ledger.parent.mkdir(parents=True, exist_ok=True)
    known = gpu_ledger.remembered(order.ledger, machine)
    left = [job for job in chosen if job.name not in known or known[job.name].code]
    print(f"{machine.name}: {len(chosen)} jobs, {len(left)} of them to run", flush=True)
    Round(machine, order.ledger, time.monotonic() + order.seconds).run(left)
    found = gpu_ledger.remembered(order.ledger, machine)
    text = gpu_ledger.section(machine, found.values(), [job.kind for job in every])
    print(text)
    if order.write:
        page = gpu_ledger.into(read_page(str(PAGE)), machine, text)
        write_file(PAGE, page.encode())
    return 0 if all(job.name in found and found[job.name].code == 0 for job in chosen) else 1


class Round:
    """Some jobs, on all GPUs of a machine."""

    def __init__(self, machine: Machine, ledger: Path, until: float) -> None:
        self._machine = machine
        self._ledger = ledger
        self._until = until
        self._lock = threading.Lock()

    def run(self, left: Sequence[Job]) -> None:
        """Run jobs that need all GPUs, then the others on one each."""
        cores, count = self._machine.cores, self._machine.gpus
        groups = [job for job in left if job.all_gpus]
        self._work(groups, [range(count)], max(1, cores // CORES_OF_A_GROUP))
        others = [job for job in left if not job.all_gpus]
        each = [range(number, number + 1) for number in range(count)]
        self._work(others, each, max(1, cores // CORES_OF_A_JOB // count))

    def _work(self, left: Sequence[Job], places: Sequence[range], at_a_time: int) -> None:
        """Run jobs in each place, so many at a time."""
        queue = deque(left)
        graders = [Grader(environment(gpus), at_a_time) for gpus in places]
        threads = [
            threading.Thread(target=self._serve, args=(queue, gpus, grader))
            for gpus, grader in zip(places, graders, strict=True)
            for _ in range(at_a_time)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for grader in graders:
            grader.close()

    def _serve(self, queue: deque[Job], gpus: range, grader: Grader) -> None:
        while time.monotonic() < self._until:
            with self._lock:
                if not queue:
                    return
                job = queue.popleft()
            entry = run(job, gpus) if job.command else graded(job, grader)
            with self._lock:
                gpu_ledger.remember(self._ledger, self._machine, entry)
                word = "ok  " if entry.code == 0 else "FAIL"
                print(f"{word} {entry.seconds:6.1f} s  {entry.job}", flush=True)
                if entry.code:
                    print("".join(f"    {line}\n" for line in entry.said.splitlines()), flush=True)


def graded(job: Job, grader: Grader) -> Entry:
    """Grade an answer, and return what came of it."""
    started = time.monotonic()
    try:
        told = grader.ask(job.answer, job.seconds)
    except (TimeoutError, RuntimeError, OSError) as error:
        said = str(error) or f"not graded after {job.seconds} s"
        return Entry(job.name, job.kind, 124, round(time.monotonic() - started, 1), said)
    return Entry(job.name, job.kind, told["code"], told["seconds"], told["said"][-SAID:])


def run(job: Job, gpus: range) -> Entry:
    """Run a command on some GPUs, and return what came of it."""
    started = time.monotonic()
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(
        job.command, cwd=ROOT, env=environment(gpus), start_new_session=True, **options
    )
    try:
        said, _ = process.communicate(timeout=job.seconds)
        code = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
        said, code = f"{said}\nended after {job.seconds} s", 124
    return Entry(job.name, job.kind, code, round(time.monotonic() - started, 1), said[-SAID:])


def look() -> Machine:
    """Return what this machine is; raises CannotGrade where there is no GPU."""
    count = gpu.count()
    state = gpu.read_state() if count else {}
    if not state:
        raise CannotGrade("this machine shows no NVIDIA GPU")
    return Machine(
        card=str(state["name"]),
        gpus=count,
        cores=len(os.sched_getaffinity(0)),
        driver=str(state["driver"]),
        python=platform.python_version(),
        torch=version("torch"),
        triton=version("triton"),
        state=commit(),
        date=f"{datetime.now(UTC):%Y-%m-%d}",
    )


@functools.cache
def version(package: str) -> str:
    """Return the version of a package, without what it was built for."""
    from importlib import metadata

    return metadata.version(package).partition("+")[0]


def commit() -> str:
    """Return the state of the project, in short; a copy of it is told by INFERLAB_STATE."""
    if told := os.environ.get("INFERLAB_STATE"):
        return told
    line = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
