"""``make crowd``: right answers to all labs on a machine that is asked for too much.

Each core is given processes that only compute (``--spinners``) and there may be hogs beside: one
fills memory over and over, one starts processes, one writes files. No right answer may lose a
point. One that takes longer than a machine may take from a grading is ``infra``, not lost: it is
counted, and graded once more when nothing else runs.

With ``--beside N`` others are graded all the while: first N right answers to lab 02 at a time, then
N that start spinners in each worker, which must not take more from their neighbours.
"""

import argparse
import contextlib
import itertools
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from stand_ins import expectation
from stand_ins.isolation import is_required

from grader.errors import InferlabError
from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.judge.setup.start import ForkServer
from grader.labs.lab import Lab
from grader.labs.results import Report, Verdict
from grader.prove.files import solution, variants
from grader.sandbox.level import probe

DESCRIPTION = "grade right answers to all labs on a machine that is asked for too much"
HOGS = {
    "spinner": "while True: pass",
    "memory": "block = bytearray(1 << 28)\nwhile True: block[:] = bytes(1 << 28)",
    "processes": "import os\nwhile True:\n    os.fork() or os._exit(0)\n    os.wait()",
    "files": (
        "import tempfile\nwith tempfile.TemporaryFile() as file:\n"
        "    while True: file.seek(0); file.write(bytes(1 << 26)); file.flush()"
    ),
}


NEIGHBOURS = "02_batching"
MOST_SLOWER = 1.5
# In front of a right answer: each with a session, and so a share, of its own where one has that.
GREEDY = """import os
for _ in range(8):
    if os.fork() == 0:
        os.setsid()
        while True:
            pass
"""


@dataclass(frozen=True, slots=True)
class Graded:
    """What one right answer has got, and how long that took."""

    lab: Lab
    source: Path
    report: Report | None
    seconds: float
    error: str = ""

    @property
    def lost(self) -> float:
        """Points that a right answer should have here and has not."""
        return round(self.report.graded - self.report.score, 4) if self.report else 0.0

    @property
    def is_infra(self) -> bool:
        """Whether it has to be graded again."""
        if self.report is None:
            return True
        return self.report.partial or any(
            test.verdict is Verdict.INFRA for test in self.report.tests
        )

    def __str__(self) -> str:
        name = f"{self.lab.number:02} {self.source.stem}"
        if self.report is None:
            return f"{name:<28} {self.error}"
        odd = [
            f"{test.id}: {test.verdict.value}: {test.message}"
            for test in self.report.tests
            if test.verdict not in (Verdict.PASSED, Verdict.NOT_GRADED)
        ]
        points = f"{self.report.score:g} of {self.report.graded:g}"
        return "\n    ".join([f"{name:<28} {points:<14} {self.seconds:6.0f} s", *odd])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the gradings, print a line for each and the sum, return 0 if no point is lost."""
    parser = argparse.ArgumentParser(prog="make crowd", description=DESCRIPTION)
    parser.add_argument("--labs", type=int, nargs="*", default=range(1, 11), metavar="N")
    parser.add_argument("--answers", type=int, default=5, metavar="N", help="of each lab")
    parser.add_argument("--spinners", type=int, default=10, metavar="N", help="for each core")
    parser.add_argument("--hogs", type=int, default=0, metavar="N", help="of each kind, in all")
    parser.add_argument("--beside", type=int, default=0, metavar="N", help="gradings, right or not")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="gradings at a time")
    options = parser.parse_args(arguments)
    if problem := probe():
        print(f"crowd: not run: {problem}", file=sys.stderr)
        return 3 if is_required() else 0
    cases = list(right_answers(options.labs, options.answers))
    if options.beside:
        return compare(cases, options.beside, options.jobs)
    started = time.monotonic()
    with crowd(options.spinners, options.hogs):
        results = run(cases, options.jobs)
    took = time.monotonic() - started
    again = run([(each.lab, each.source) for each in results if each.is_infra], 1)
    lost = [each for each in results if each.lost]
    print(f"{len(results)} gradings of right answers in {took:.0f} s, {options.jobs} at a time,")
    print(f"beside {options.spinners} spinners a core and {options.hogs} hogs of each other kind")
    print(f"lost points: {sum(each.lost for each in lost):g}, in {len(lost)} gradings")
    print(f"infra, to be graded again: {len(again)}")
    return 1 if lost or any(each.lost or each.is_infra for each in again) else 0


def compare(cases: Sequence[tuple[Lab, Path]], count: int, jobs: int) -> int:
    """Grade answers beside right and then beside greedy ones; return 0 if it is the same."""
    lab = expectation.find(NEIGHBOURS)
    right = solution(lab)
    took: list[float] = []
    lost = 0.0
    with tempfile.TemporaryDirectory(prefix="crowd-") as folder:
        greedy = Path(folder) / right.name
        greedy.write_text(GREEDY + right.read_text())
        for neighbour in (right, greedy):
            with neighbours(lab, neighbour, count):
                results = run(cases, jobs)
            took.append(sum(each.seconds for each in results))
            lost += sum(each.lost + each.is_infra for each in results)
    slower = took[1] / took[0]
    print(
        f"{len(cases)} gradings of right answers, {jobs} at a time, {count} gradings beside them:"
    )
    print(
        f"beside right ones {took[0]:.0f} s, beside greedy ones {took[1]:.0f} s: {slower:.2f} times"
    )
    print(f"lost, or to be graded again: {lost:g}")
    return int(bool(lost) or slower > MOST_SLOWER)


@contextlib.contextmanager
def neighbours(lab: Lab, source: Path, count: int) -> Generator[None]:
    """Grade an answer over and over, so many times at once, as long as this lasts."""
    server, over = ForkServer(), threading.Event()

    def go_on() -> None:
        while not over.is_set():
            with contextlib.suppress(InferlabError):
                grade(Request(lab, source, device="cpu", sandbox="required"), start=server)

    with ThreadPoolExecutor(count) as pool:
        running = [pool.submit(go_on) for _ in range(count)]
        try:
            yield
        finally:
            over.set()
            for each in running:
                each.result()
            server.close()


def right_answers(numbers: Sequence[int], count: int) -> Iterator[tuple[Lab, Path]]:
    """Yield the model answer and some variants of each lab, the labs in turn."""
    folders = sorted((expectation.HERE.parent / "labs").glob("[0-9][0-9]_*"))
    labs = [expectation.find(each.name) for each in folders if int(each.name[:2]) in numbers]
    columns = [[(lab, file) for file in [solution(lab), *variants(lab)][:count]] for lab in labs]
    for row in itertools.zip_longest(*columns):
        yield from (case for case in row if case is not None)


@contextlib.contextmanager
def crowd(spinners: int, hogs: int) -> Generator[None]:
    """Let others compute as long as this lasts."""
    codes = [HOGS["spinner"]] * (spinners * len(os.sched_getaffinity(0)))
    codes += [code for name, code in HOGS.items() if name != "spinner"] * hogs
    others = [subprocess.Popen([sys.executable, "-I", "-c", code]) for code in codes]
    try:
        yield
    finally:
        for other in others:
            other.kill()
        for other in others:
            other.wait()


def run(cases: Sequence[tuple[Lab, Path]], jobs: int) -> list[Graded]:
    """Grade some answers, so many at a time."""
    server = ForkServer()

    def attempt(case: tuple[Lab, Path]) -> Graded:
        started = time.monotonic()
        try:
            report = grade(Request(*case, device="cpu", sandbox="required"), start=server)
        except InferlabError as error:
            graded = Graded(*case, None, time.monotonic() - started, error.message)
        else:
            graded = Graded(*case, report, time.monotonic() - started)
        print(graded, flush=True)
        return graded

    try:
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(attempt, cases))
    finally:
        server.close()


if __name__ == "__main__":
    sys.exit(main())
