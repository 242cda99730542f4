"""``make test-gpu``: prove all that only a GPU can, on as many as there are.

Each job is a process with a GPU of its own, several on each; groups of ranks have all of them, and
come first. What has passed on such a machine in this state of the project is not run again, so
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
from stand_ins.gpu_jobs import Job, environment, jobs
from stand_ins.gpu_ledger import Entry, Machine

from bench.page import read_page
from grader import ROOT
from grader.errors import CannotGrade
from grader.files import write_file
from grader.sandbox import gpu

CORES_OF_A_JOB = 2
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
        count = self._machine.gpus
        groups = deque(job for job in left if job.all_gpus)
        self._work(groups, [range(count)] * max(1, self._machine.cores // CORES_OF_A_GROUP))
        slots = max(1, self._machine.cores // CORES_OF_A_JOB)
        others = deque(job for job in left if not job.all_gpus)
        self._work(others, [range(slot % count, slot % count + 1) for slot in range(slots)])

    def _work(self, queue: deque[Job], places: Sequence[range]) -> None:
        threads = [threading.Thread(target=self._serve, args=(queue, place)) for place in places]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _serve(self, queue: deque[Job], gpus: range) -> None:
        while time.monotonic() < self._until:
            with self._lock:
                if not queue:
                    return
                job = queue.popleft()
            entry = run(job, gpus)
            with self._lock:
                gpu_ledger.remember(self._ledger, self._machine, entry)
                word = "ok  " if entry.code == 0 else "FAIL"
                print(f"{word} {entry.seconds:6.1f} s  {entry.job}", flush=True)
                if entry.code:
                    print("".join(f"    {line}\n" for line in entry.said.splitlines()), flush=True)


def run(job: Job, gpus: range) -> Entry:
    """Run a job on some GPUs, and return what came of it."""
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
