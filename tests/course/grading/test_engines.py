"""Where a class is graded: places that die, GPUs that fall ill, and a command that is killed."""

import os
import threading
import time
from pathlib import Path

import pytest
from stand_ins.isolation import require_sandbox

from grader.course.grading import engines
from grader.course.grading.engines import LocalEngine, Place
from grader.course.grading.jobs import Done, Job, lab_version
from grader.errors import CannotGrade
from grader.labs.lab import load_lab

HERE = Path(__file__).parents[2]
LAB = load_lab(HERE / "demo" / "labs" / "90_echo")
RIGHT = (LAB.solutions / LAB.code_name).read_bytes()
ENDLESS = b"while True:\n    pass\n"


def job(student: str = "ada", code: bytes = RIGHT, **changes: object) -> Job:
    fields: dict[str, object] = {
        "student": student,
        "commit": "c1",
        "lab": str(LAB.folder),
        "version": lab_version(LAB),
        "files": {LAB.code_name: code},
        "device": "cpu",
        "sandbox": "required",
        "seed": 7,
    }
    return Job(**(fields | changes))  # type: ignore[arg-type]


# -- a place ---------------------------------------------------------------------------------


def test_place_grades_one_job_after_another_in_one_process() -> None:
    require_sandbox()
    place = Place(nice=3)
    try:
        first, second = place.grade(job()), place.grade(job("bob", b"def broken(:\n"))
        pid = place._process.pid if place._process else 0
        behind = os.getpriority(os.PRIO_PROCESS, pid) - os.getpriority(os.PRIO_PROCESS, 0)
    finally:
        place.close()

    assert behind == 3
    assert first.report is not None
    assert (first.report.score, first.failure, first.infra) == (95, "", False)
    assert first.report.provenance["seed"] == 7
    assert second.report is not None
    assert (second.report.score, second.infra) == (0, False)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_death_of_a_process_is_ours_and_the_next_job_gets_a_new_one() -> None:
    require_sandbox()
    place = Place()
    killer = threading.Timer(1.0, place.kill)
    killer.start()
    try:
        first = place.grade(job(code=ENDLESS))
        second = place.grade(job(version="another"))
    finally:
        killer.cancel()
        place.close()

    assert first.infra
    assert first.failure == "the process that graded it ended with SIGKILL"
    assert "another version of 90_echo" in second.failure


def test_process_that_breaks_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "BOOT", "raise ImportError('no torch')#{path}{fd}")
    place = Place()

    done = place.grade(job())

    assert done.failure == "the process that graded it ended with status 1: ImportError: no torch"


def test_process_ends_with_the_one_that_started_it() -> None:
    place = Place()
    place.grade(job(version="another"))
    assert place._process is not None
    assert place._connection is not None

    place._connection.close()

    assert place._process.wait(timeout=20) == 0
    place.close()


# -- places side by side -----------------------------------------------------------------------


BOTH = threading.Barrier(2)


class Told(Place):
    """A place whose GPU falls ill under a job of that name."""

    def grade(self, job: Job) -> Done:
        if job.student == "on both":
            BOTH.wait(10)
        sick = "GPU is lost" if self.gpu == "0" and job.student != "bob" else ""
        return Done(job, 0.0, failure=f"on {self.gpu}", sick=sick)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "Place", Told)


@pytest.mark.usefixtures("told")
def test_sick_gpu_is_set_aside_and_the_others_go_on() -> None:
    engine = LocalEngine(8, gpus=["0", "1"])
    try:
        assert engine.places == 2
        for _ in range(2):
            engine.submit(job("on both"))
        first = {engine.wait().failure for _ in range(2)}
        for _ in range(6):
            engine.submit(job("eve"))
        rest = {engine.wait().failure for _ in range(6)}
    finally:
        engine.close()

    assert first == {"on 0", "on 1"}
    assert rest == {"on 1"}
    assert (engine.places, engine.set_aside) == (1, {"0": "GPU is lost"})


@pytest.mark.usefixtures("told")
def test_gradings_beside_each_other_leave_a_sick_gpu_together() -> None:
    engine = LocalEngine(8, gpus=["0"], beside=2)
    told: list[str] = []
    try:
        assert engine.places == 2
        for _ in range(4):
            engine.submit(job("eve"))
        with pytest.raises(CannotGrade, match="no GPU is left"):
            told.extend(engine.wait().failure for _ in range(4))
    finally:
        engine.close()

    assert 1 <= told.count("on 0") == len(told) <= 2  # one of its places, or both at once
    assert (engine.places, engine.set_aside) == (0, {"0": "GPU is lost"})


@pytest.mark.usefixtures("told")
def test_no_gpu_left_is_one_line() -> None:
    engine = LocalEngine(1, gpus=["0"])
    try:
        engine.submit(job())
        assert engine.wait().failure == "on 0"
        with pytest.raises(CannotGrade, match=r"no GPU is left to grade on \(GPU 0: GPU is lost"):
            engine.wait()
    finally:
        engine.close()


def test_closing_ends_what_still_runs() -> None:
    require_sandbox()
    engine = LocalEngine(1)
    engine.submit(job(code=ENDLESS))
    time.sleep(1.0)

    engine.close()

    assert not any(thread.is_alive() for thread in engine._threads)
    assert all(place._process is None for place in engine._places)


def test_fault_of_a_place_is_raised_and_nobody_waits_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken(Place):
        def grade(self, job: Job) -> Done:
            raise ValueError("cannot be unpickled")

    monkeypatch.setattr(engines, "Place", Broken)
    engine = LocalEngine(1)
    engine.submit(job())

    with pytest.raises(ValueError, match="cannot be unpickled"):
        engine.wait()
    engine.close()
