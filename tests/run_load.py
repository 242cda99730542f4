"""``make load``: many gradings of lab 02, right, wrong and hostile, two at a time.

Every report must be as expected and none lost; the judge's memory and descriptors must be at the
end what they were after the first few gradings.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from stand_ins import expectation
from stand_ins.isolation import is_required, look_around

from grader.errors import InferlabError
from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.judge.setup.start import ForkServer, Starter
from grader.labs.lab import Lab
from grader.labs.results import Expected
from grader.prove.answers.edits import build
from grader.prove.expected import Graded, Role, judge
from grader.prove.files import fails_line, variants, wrong_answers
from grader.prove.findings import Outcome
from grader.sandbox.confinement import limits
from grader.sandbox.level import probe

LAB = "02_batching"
WARM_UP = 4  # gradings after which the judge has what it needs
SETTLE_SECONDS = 10.0
GROWTH_MIB = 16.0  # of the judge's memory that is no leak: pools of the allocator
# What takes the place of the model answer's first function, on which all but two tasks rest.
HOSTILE = {
    "exit": "import os; os._exit(0)",
    "segfault": "import ctypes; ctypes.string_at(0)",
    "garbage": "import os, sys; os.write(int(sys.argv[1]), bytes(1000))",
    "output": "print('a' * 50_000_000); raise SystemExit(0)",
    "memory": "kept = [bytearray(1 << 28) for _ in range(1000)]",
    "orphan": "import os, time; os.fork() or [os.setsid(), time.sleep(1000)]; raise ValueError",
    "open files": "kept = [open('/dev/null') for _ in range(10**6)]",
    "recursion": "return left_pad(prompts, pad_id)",
    "signals": "import os; os.kill(-1, 9); os.kill(os.getpid(), 9)",
    "fake": 'print(\'["test", {"verdict": "passed"}]\'); return True, True, True',
}
SPOILED = frozenset({"pad", "generate", "engine"})


@dataclass(frozen=True, slots=True)
class Case:
    """One submission and what it must earn."""

    kind: str  # "right", "wrong" or "hostile"
    source: Path
    fails: frozenset[str]


@dataclass(frozen=True, slots=True)
class Usage:
    """What the judge holds: MiB of memory, and numbers of descriptors, threads and processes."""

    memory: float
    descriptors: int
    threads: int
    processes: int

    def __str__(self) -> str:
        counts = f"{self.descriptors} descriptors, {self.threads} threads"
        return f"{self.memory:.0f} MiB, {counts}, {self.processes} processes"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the gradings, print the figures, and return 0 if all is as it should be."""
    parser = argparse.ArgumentParser(prog="make load", description=__doc__.partition("\n")[0])
    parser.add_argument("--gradings", type=int, default=200, metavar="N")
    count = parser.parse_args(arguments).gradings
    if count <= WARM_UP:
        parser.error(f"give more than {WARM_UP} gradings")
    if problem := probe():
        print(f"load: not run: {problem}", file=sys.stderr)
        return 3 if is_required() else 0
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        for name in ("stages", "submissions"):
            (place / name).mkdir()
        tempfile.tempdir = str(place / "stages")
        try:
            return run(expectation.find(LAB), count, place / "submissions")
        finally:
            tempfile.tempdir = None


def run(lab: Lab, count: int, folder: Path) -> int:
    """Grade and compare."""
    cases = list(islice(mixed(lab, folder), count))
    before, started = look_around(lab.folder, lab.solutions), time.monotonic()
    server = ForkServer()
    try:
        with ThreadPoolExecutor(2) as pool:
            problems = list(pool.map(lambda case: attempt(lab, case, server), cases[:WARM_UP]))
            first = usage()
            problems += pool.map(lambda case: attempt(lab, case, server), cases[WARM_UP:])
            last = usage()
    finally:
        server.close()
    seconds, kinds = time.monotonic() - started, Counter(case.kind for case in cases)
    odd = [f"{case.source.name}: {p}" for case, p in zip(cases, problems, strict=True) if p]
    odd += before.harm()
    if last.descriptors > first.descriptors or last.processes > first.processes:
        odd.append("the judge holds more descriptors or processes than at first")
    if last.memory - first.memory > GROWTH_MIB:
        odd.append(f"the judge's memory has grown by {last.memory - first.memory:.0f} MiB")
    mix = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    print(f"{len(problems)} gradings of lab 02 ({mix}) in {seconds:.0f} s, two at a time")
    print(f"as expected: {sum(not p for p in problems)}; lost: {count - len(problems)}")
    print(f"the judge after {WARM_UP} gradings: {first}\nthe judge at the end: {last}")
    for line in odd:
        print(f"! {line}")
    return 1 if odd else 0


def mixed(lab: Lab, folder: Path) -> Iterator[Case]:
    """Yield right, wrong and hostile submissions in turn, for ever, in an order that is fixed."""
    answer = (lab.solutions / lab.code_name).read_text()
    head = answer.index("def left_pad(")
    body = answer.index('"""Line the prompts up', head)
    hostile: list[Path] = []
    for name, line in HOSTILE.items():
        hostile.append(folder / f"{name.replace(' ', '_')}.py")
        # The line comes first in the function: what follows is never reached.
        hostile[-1].write_text(f"{answer[:body]}{line}\n    {answer[body:]}")
    right = [lab.solutions / lab.code_name, *variants(lab)]
    wrong: list[tuple[Path, frozenset[str]]] = []
    for file in wrong_answers(lab):
        wrong.append((folder / file.name, fails_line(lab, file)[0]))
        wrong[-1][0].write_text(build(file))
    order = random.Random(2)
    order.shuffle(wrong)
    kinds = (
        cycle([Case("right", file, frozenset()) for file in right]),
        cycle([Case("wrong", file, fails) for file, fails in wrong]),
        cycle([Case("hostile", file, SPOILED) for file in hostile]),
    )
    while True:
        yield from map(next, kinds)


def attempt(lab: Lab, case: Case, start: Starter) -> str:
    """Grade one submission; return what is not as expected, or an empty string."""
    manifest: list[Expected] = []

    def hear(event: str, data: list[Expected]) -> None:
        if event == "manifest":
            manifest.extend(data)

    try:
        request = Request(lab, case.source, device="cpu", seed=7, sandbox="required")
        report = grade(request, start=start, on_event=hear)
    except InferlabError as error:
        return error.message
    role = Role.VARIANT if case.kind == "right" else Role.WRONG
    graded = Graded(
        *(lab, role, case.source.name, case.source, 7),
        *(case.fails, tuple(manifest), {}, report),
    )
    bad = [f for f in judge(graded) if f.outcome not in (Outcome.OK, Outcome.NOT_CHECKED)]
    return "; ".join(f"{f.rule}: {f.got}" for f in bad)


def usage() -> Usage:
    """Measure the judge: this process and the one that forks sessions, once no session is left."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while len(pids := limits.descendants(os.getpid())) > 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    return Usage(
        sum(map(proportional, pids)) / 1024,
        sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids),
        sum(len(os.listdir(f"/proc/{pid}/task")) for pid in pids),
        len(pids),
    )


def proportional(pid: int) -> int:
    """Return the KiB of a process, pages that are shared divided among those that share them."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    sys.exit(main())
