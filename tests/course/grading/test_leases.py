"""GPUs of a class: which there are, one grading at a time on each, and a look at it afterwards."""

import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from test_engines import job

from grader import environment
from grader.course.grading.jobs import grade_job
from grader.course.grading.leases import VISIBLE, beside, leased_gpu, visible_gpus
from grader.errors import CannotGrade
from grader.sandbox.confinement import gpu

HERE = Path(__file__).parents[2]
Smi = Callable[..., None]


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Smi:
    """Put a program called nvidia-smi first on the path; it answers as a test says."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv(VISIBLE, raising=False)
    monkeypatch.setattr(gpu, "PATIENCE_SECONDS", 0.0)

    def answer(text: str, code: int = 0) -> None:
        script = tmp_path / "nvidia-smi"
        script.write_text(f"#!/bin/sh\nprintf '{text}'\nexit {code}\n")
        script.chmod(0o755)

    return answer


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the lock files of tests apart from those of the machine."""
    monkeypatch.setattr("grader.environment.SHARED", tmp_path)
    return tmp_path


def test_all_gpus_of_the_machine_are_used(smi: Smi) -> None:
    smi("0\\n1\\n2\\n")

    assert visible_gpus() == ("0", "1", "2")


def test_those_that_were_chosen_are_used(smi: Smi, monkeypatch: pytest.MonkeyPatch) -> None:
    smi("0\\n1\\n2\\n")
    monkeypatch.setenv(VISIBLE, "2, GPU-5a")

    assert visible_gpus() == ("2", "GPU-5a")


def test_gpus_that_cannot_be_listed_are_one_line(smi: Smi) -> None:
    smi("driver mismatch", code=9)

    with pytest.raises(CannotGrade, match="the GPUs cannot be listed: driver mismatch"):
        visible_gpus()


def test_machine_without_the_tool_has_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(VISIBLE, raising=False)

    assert visible_gpus() == ("0",)


HOLDER = """
import sys, time
sys.path[:0] = [{project!r}]
from pathlib import Path
from grader import environment
from grader.course.grading.leases import leased_gpu
environment.SHARED = Path({locks!r})
with leased_gpu({places}):
    print("held", flush=True)
    time.sleep(100)
"""


def taking(places: int = 1) -> list[str]:
    """Return the command that takes a place on a GPU, says so, and keeps it."""
    project, locks = str(HERE.parent), str(environment.SHARED)
    return [sys.executable, "-c", HOLDER.format(project=project, locks=locks, places=places)]


def hold(number: str) -> "subprocess.Popen[str]":
    """Start a process that holds a GPU, and wait until it does."""
    holder = subprocess.Popen(
        taking(),
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {VISIBLE: number},
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


@pytest.mark.usefixtures("locks")
def test_lease_of_one_gpu_ends_with_its_holder_and_is_not_that_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with hold("0") as first:
        monkeypatch.setenv(VISIBLE, "1")
        with leased_gpu():
            pass  # another GPU: no waiting
        second = subprocess.Popen(
            taking(),
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {VISIBLE: "0"},
        )
        with second:
            assert second.stdout is not None
            waits = not select.select([second.stdout], [], [], 2.0)[0]
            first.kill()
            line = second.stdout.readline()
            second.kill()
    assert waits
    assert line == "held\n"


@pytest.mark.usefixtures("locks")
def test_gpu_has_as_many_places_as_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VISIBLE, "0")

    with leased_gpu(2), leased_gpu(2):
        third = subprocess.Popen(
            taking(2),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert third.stdout is not None
        waits = not select.select([third.stdout], [], [], 2.0)[0]
    with third:
        line = third.stdout.readline()
        third.kill()

    assert waits
    assert line == "held\n"


def test_places_on_a_gpu_are_as_many_as_cores_feed(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    for cores, gpus in ((1, 1), (4, 1), (8, 1), (16, 1), (64, 1), (64, 8), (16, 0)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: {*range(cores)})
        found.append(beside(gpus))

    assert found == [1, 2, 4, 8, 8, 4, 8]


@pytest.mark.usefixtures("locks")
def test_gpu_is_looked_at_after_each_grading_on_it(smi: Smi) -> None:
    smi("Unable to determine the device handle for GPU0: GPU is lost", code=15)

    done = grade_job(job(device="cuda"))

    assert done.infra
    assert "GPU is lost" in done.sick


@pytest.mark.usefixtures("locks")
def test_gpu_is_not_asked_for_on_a_cpu(smi: Smi) -> None:
    smi("GPU is lost", code=15)

    done = grade_job(job(version="another"))

    assert (done.infra, done.sick) == (True, "")
