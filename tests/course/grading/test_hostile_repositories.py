"""Hostile repositories cost little memory and time, and nobody but the student."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from stand_ins.hostile_repositories import COSTLY, HANDED_IN, ODD
from stand_ins.remotes import Remote

from grader.course.git import LIMITS

ROOT = Path(__file__).parents[3]
MOST_OF_GIT = LIMITS.memory
MOST_OF_OURS = 128 << 20  # 21 MiB on a quiet machine
# Collects a class of two in a process of its own, whose memory is its own.
COLLECT = """
import json, resource, sys, time
from datetime import UTC, datetime
from pathlib import Path
from grader.course.config import Course
from grader.course.database.records import Student
from grader.course.grading.collecting.collect import Collection, collect_class
from grader.course.grading.collecting.fetch import Bounds
from grader.labs.lab import load_lab

folder = Path(sys.argv[1])
due = datetime(2026, 10, 1, 22, tzinfo=UTC)
course = Course(folder=folder, title="T", roster=folder, remote=sys.argv[2], deadlines={90: due})
order = Collection(course, load_lab(Path(sys.argv[3])), due, bounds=Bounds(seconds=100))
students = [Student(name, name, "", f"student/{name}") for name in ("eve", "bob")]
found = {}
began = time.monotonic()
collect_class(order, students, [], 2, lambda item: found.setdefault(item.student.id, item))
ours = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
usage = [int(ours) << 10, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10]
print(json.dumps({
    "remarks": {name: item.remark for name, item in found.items()},
    "outcomes": {name: item.outcome for name, item in found.items()},
    "ours": usage[0], "git": usage[1], "seconds": time.monotonic() - began,
}))
"""


@dataclass(frozen=True)
class Cost:
    remarks: Mapping[str, str]
    outcomes: Mapping[str, str]
    ours: int  # bytes of memory, at most
    git: int  # the same of the largest of its processes
    seconds: float


Collect = Callable[[], Cost]


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    found = Remote(tmp_path / "class.git")
    found.commit("student/bob", {"90_echo/echo.py": "answer"}, HANDED_IN)
    return found


@pytest.fixture
def collect(tmp_path: Path, remote: Remote) -> Collect:
    def call() -> Cost:
        (tmp_path / "course").mkdir()
        lab = ROOT / "tests" / "demo" / "labs" / "90_echo"
        line = [sys.executable, "-c", COLLECT, str(tmp_path / "course"), str(remote.folder), lab]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(line, env=env, check=True, capture_output=True, timeout=300)
        found: dict[str, Any] = json.loads(done.stdout)
        return Cost(**found)

    return call


@pytest.mark.parametrize(("make", "told"), COSTLY, ids=lambda value: getattr(value, "__name__", ""))
def test_what_is_large_when_read_costs_little_and_its_student_alone(
    make: Callable[[Remote], None], told: str, remote: Remote, collect: Collect
) -> None:
    make(remote)

    cost = collect()

    print(make.__name__, f"{cost.ours >> 20} MiB, git {cost.git >> 20} MiB, {cost.seconds:.1f} s")
    assert cost.remarks["eve"].startswith(told)
    assert cost.outcomes["eve"] == ("nothing to collect" if told else "frozen")
    assert (cost.outcomes["bob"], cost.remarks["bob"]) == ("frozen", "")
    assert cost.git <= MOST_OF_GIT
    assert cost.ours <= MOST_OF_OURS


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_in_a_tree_is_told_or_does_not_matter(
    name: str, remote: Remote, collect: Collect
) -> None:
    make, told = ODD[name]
    make(remote)

    cost = collect()

    assert told in cost.remarks["eve"]
    assert cost.outcomes["eve"] == ("nothing to collect" if told else "frozen")
    assert cost.outcomes["bob"] == "frozen"
