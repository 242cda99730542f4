"""What the gradebook's commands cost for a class of 300 and five labs: ``make bench-course``.

The course is made anew each time: 1,851 recorded attempts, each with a report of the size that
a grading of a lab has. Commands run as a person runs them, in processes of their own.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from grader.course.database.records import Attempt, Student
from grader.course.database.store import Store
from grader.labs.lab import Lab, all_labs, find_root
from grader.labs.results import Report, TaskResult, TestResult, Verdict

DUE = datetime(2026, 10, 1, 12, tzinfo=UTC)
AGAIN = 0.234  # of the students' labs have a second attempt
TESTS = 60  # of a task
SEED = 1


@dataclass(frozen=True, slots=True)
class Row:
    """A command with what it took: seconds, and MiB at most."""

    command: str
    seconds: float
    memory: float


def main() -> int:
    """Make the course, run the commands, and print a row for each."""
    parser = argparse.ArgumentParser(prog="make bench-course", description=__doc__)
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--labs", type=int, default=5)
    order = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="inferlab-course-") as name:
        folder = Path(name)
        count = make_course(folder, order.students, all_labs(find_root())[: order.labs])
        print(f"{order.students} students, {order.labs} labs, {count} attempts")
        for row in measured(folder):
            print(f"{row.command:<44} {row.seconds:8.2f} s {row.memory:8.0f} MiB", flush=True)
    return 0


def make_course(folder: Path, students: int, labs: Sequence[Lab]) -> int:
    """Write a course with its database; return the number of attempts."""
    names = [f"s{number:03d}" for number in range(1, students + 1)]
    (folder / "roster.csv").write_text("id,name\n" + "".join(f"{n},Student {n}\n" for n in names))
    lines = "".join(f"{lab.number} = 2026-10-01T12:00:00Z\n" for lab in labs)
    (folder / "course.toml").write_text(
        f'title = "A class"\n[deadlines]\n{lines}[late]\nper_day = 0.1\ndays = 3\n'
    )
    draw, count = random.Random(SEED), 0
    with Store.open("sqlite:///course.db", folder) as store:
        store.put_students([Student(name, f"Student {name}", "", "") for name in names])
        for lab in labs:
            run = store.start_run(lab.name, DUE)
            for name in names:
                for turn in range(1 + (draw.random() < AGAIN)):
                    store.add_attempt(_attempt(lab, run, name, turn, draw))
                    count += 1
    return count


def _attempt(lab: Lab, run: str, student: str, turn: int, draw: random.Random) -> Attempt:
    report = _report(lab, draw)
    submitted = DUE + timedelta(hours=draw.uniform(-90, 30))
    commit = f"{draw.getrandbits(160):040x}"
    return Attempt(
        *(student, lab.name, run, commit, submitted, DUE + timedelta(days=turn), 9.5),
        *(report.score, report.graded, report.exit_code, report.to_json()),
    )


def _report(lab: Lab, draw: random.Random) -> Report:
    tasks: list[TaskResult] = []
    tests: list[TestResult] = []
    for task in lab.tasks:
        share = draw.choice((0.0, 0.3, 1.0, 1.0))
        tasks.append(TaskResult(task.id, task.title, task.points, task.points * share, True))
        for number in range(TESTS):
            passed = draw.random() < max(share, 0.5)
            verdict = Verdict.PASSED if passed else Verdict.FAILED
            told = "" if passed else f"got {draw.random()}, expected {draw.random()}, row {number}"
            tests.append(
                TestResult(
                    *(f"test_property_{number}[{draw.randrange(9)}-float32]", task.id, "hidden"),
                    *(verdict, told, draw.random()),
                )
            )
    speed: list[dict[str, Any]] = [
        {"group": "forward", "case": f"{size} x 4096", "size": size, "ratio": 1.1, "suspicious": ""}
        for size in (1024, 8192)
    ]
    provenance = {"sandbox": "bwrap", "seed": draw.randrange(1 << 32), "device": "cuda"}
    return Report(
        lab.number, lab.topic, tuple(tasks), tuple(tests), provenance, extras={"speed": speed}
    )


def measured(folder: Path) -> Iterator[Row]:
    """Run each command once, in the course's folder."""
    yield _row(folder, "gradebook")
    yield _row(folder, "gradebook", "--student", "s001")
    yield _row(folder, "gradebook", "--lab", "1")
    yield _row(folder, "gradebook", "--csv", "long", "-o", "marks.csv")
    yield _row(folder, "gradebook", "--html", "pages")


def _row(folder: Path, *arguments: str) -> Row:
    line = [sys.executable, "-m", "grader", *arguments]
    environment = os.environ | {"PYTHONPATH": str(find_root()), "NO_COLOR": "1"}
    started = time.monotonic()
    # A process between has these commands as its only children, and says what they took.
    made = "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:])"
    told = "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"
    done = subprocess.run(
        [sys.executable, "-c", f"{made}; {told}", *line],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    memory = int(done.stdout.splitlines()[-1]) / 1024
    return Row(f"lab {' '.join(arguments)}", time.monotonic() - started, memory)


if __name__ == "__main__":
    sys.exit(main())
