"""A class whose work was collected, and an engine that says what it is told to say."""

from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from grader.course.config import Course
from grader.course.database.records import Frozen, Student
from grader.course.database.store import Store
from grader.course.grading.batch import Batch
from grader.course.grading.jobs import Done, Job
from grader.labs.lab import load_lab
from grader.labs.results import Report, TaskResult, TestResult, Verdict

LAB = load_lab(Path(__file__).parents[1] / "demo" / "labs" / "90_echo")
WHEN = datetime(2026, 10, 1, tzinfo=UTC)
OK, BROKEN = Verdict.PASSED, Verdict.INFRA
Say = Callable[[Job, int], Verdict | str]  # from the job and how often it came


class SayingEngine:
    """Says of each job what a test wants: a verdict, or what of ours failed."""

    def __init__(self, say: Say = lambda job, count: OK, places: int = 2) -> None:
        self.places = places
        self.seen: list[str] = []
        self.beside: list[tuple[str, int]] = []  # each student, and how many gradings ran already
        self._say = say
        self._running: deque[Job] = deque()

    def submit(self, job: Job) -> None:
        assert len(self._running) < self.places
        self.beside.append((job.student, len(self._running)))
        self._running.append(job)
        self.seen.append(job.student)

    def wait(self) -> Done:
        job = self._running.popleft()
        said = self._say(job, self.seen.count(job.student))
        if isinstance(said, Verdict):
            return Done(job, 1.5, report(said))
        return Done(job, 1.5, failure=said)

    def close(self) -> None:
        pass


def report(verdict: Verdict) -> Report:
    score = 100.0 if verdict is OK else 0.0
    tasks = (TaskResult("scale", "Scale", 100.0, score, verdict.counts),)
    tests = (TestResult("test_a", "scale", "hidden", verdict, "no\nworker"),)
    return Report(90, "echo", tasks, tests, {"seed": 7, "sandbox": "bwrap"})


def course_in(folder: Path) -> Course:
    return Course(folder=folder, title="T", roster=folder / "roster.csv")


def freeze(store: Store, folder: Path, student: str, commit: str, code: str = "x = 1\n") -> None:
    place = Path("collected", student, commit)
    (folder / place).mkdir(parents=True)
    (folder / place / "echo.py").write_text(code)
    store.add_frozen(Frozen(student, LAB.name, commit, WHEN, WHEN, str(place), ""))


def class_of(store: Store, folder: Path, students: Sequence[str]) -> Batch:
    """Put students on the roster, freeze a commit of each, and return an order to grade them."""
    store.put_students([Student(name, name.upper(), "", f"student/{name}") for name in students])
    for name in students:
        freeze(store, folder, name, f"{name}1")
    return Batch(course_in(folder), LAB, sandbox="required")
