"""A small class for the tests of course operations: students, attempts, a course, its database."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from grader.course.config import Course, LateRule, MarkRule
from grader.course.database.records import Attempt, Frozen, Override, Student

LAB = "01_llama"
NOON = datetime(2026, 10, 1, 12, tzinfo=UTC)
HOSTILE_NAME = "<script>alert('name')</script>=1+1 Ünï\u202ecødé"
HOSTILE_MESSAGE = "<script>alert('message')</script><img src=x onerror=alert(2)>"
ADA = Student("ada", "Ada L.", "", "student/ada")
BOB = Student("bob", HOSTILE_NAME, "", "student/bob")
CYD = Student("cyd", "Cyd", "", "student/cyd")


def after(hours: float) -> datetime:
    return NOON + timedelta(hours=hours)


def course(folder: Path, *, late: LateRule | None = None, rule: MarkRule = MarkRule.BEST) -> Course:
    """A course with a deadline at noon and one day more for cyd."""
    return Course(
        folder=folder,
        title="Inference & <b>friends</b>",
        roster=folder / "roster.csv",
        deadlines={1: NOON},
        extensions={("cyd", 1): after(24)},
        late=late or LateRule(),
        mark=rule,
    )


def report(verdicts: Mapping[str, str], message: str = "") -> dict[str, Any]:
    """A report of the tasks norm and rope, 50 points each, with a test per key ("norm/a")."""
    tests = [
        {
            "id": f"test_{name}",
            "task": name.split("/")[0],
            "suite": "hidden",
            "verdict": verdict,
            "message": "" if verdict == "passed" else message,
            "seconds": 0.5,
            "output": "",
        }
        for name, verdict in verdicts.items()
    ]
    tasks = [
        {"id": task, "title": task.title(), "points": 50.0, "score": 0.0, "graded": True}
        for task in ("norm", "rope")
    ]
    for task in tasks:
        own = [test["verdict"] == "passed" for test in tests if test["task"] == task["id"]]
        task["score"] = 50.0 * sum(own) / len(own) if own else 0.0
    provenance = {"sandbox": "bwrap", "started": NOON.isoformat(), "seed": 7}
    score = sum(task["score"] for task in tasks)
    whole = {"schema": 1, "lab": 1, "topic": "llama", "score": score, "graded": 100.0}
    whole |= {"total": 100.0, "tasks": tasks, "tests": tests, "provenance": provenance}
    return whole | {"partial": False, "extras": {}}


def attempt(student: str, points: float = 50.0, **given: Any) -> Attempt:
    """An attempt handed in an hour before the deadline, in run 1, unless told otherwise."""
    values: dict[str, Any] = {
        "lab": LAB, "run": "1", "commit": "c0ffee", "submitted": after(-1), "graded": after(30),
        "seconds": 9.5, "possible": 100.0, "exit_code": 1, "report": report({}),
    }  # fmt: skip
    return Attempt(student=student, points=points, **{**values, **given})


def override(student: str, points: float | None, reason: str = "oral exam") -> Override:
    return Override(student, LAB, points, "A. Teacher", reason, after(40))


def frozen(student: str, path: str = "", problem: str = "") -> Frozen:
    return Frozen(student, LAB, "c0ffee", after(-1), after(1), path, problem)
