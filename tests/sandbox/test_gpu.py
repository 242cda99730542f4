"""The state of a GPU as nvidia-smi tells it, and what keeps one from being graded on."""

import multiprocessing
import threading
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from grader import environment
from grader.errors import CannotGrade
from grader.judge.grade import choose_device
from grader.locks import Turns
from grader.sandbox.confinement import gpu
from grader.sandbox.confinement.bubblewrap import worker_environment

FREE = "NVIDIA H200, 580.1, 1980, 1980, 3201, 31, 80.5, 140000, 143771"
FULL = "NVIDIA H200, 580.1, 1980, 1980, 3201, 31, [N/A], 20000, 143771"


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a program called nvidia-smi first on the path; it answers as a test says."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(gpu, "PATIENCE_SECONDS", 0.0)

    def answer(state: str, pids: str = "", code: int = 0) -> None:
        script = tmp_path / "nvidia-smi"
        script.write_text(
            "#!/bin/sh\n"
            f'case "$*" in *compute-apps*) printf "{pids}" ;;\n'
            f'*) echo "{state}"; exit {code} ;; esac\n'
        )
        script.chmod(0o755)

    return answer


def test_state_is_read_with_its_units(smi) -> None:
    smi(FREE)

    state = gpu.read_state()

    assert state["name"] == "NVIDIA H200"
    assert state["sm_clock_mhz"] == 1980.0
    assert state["power_w"] == 80.5
    assert state["free_gb"] == 136.7
    assert state["others"] == 0


def test_processes_of_others_are_counted(smi) -> None:
    smi(FREE, pids="1\\n999999\\n")

    assert gpu.read_state()["others"] == 2


def test_reading_that_is_not_available_is_none(smi) -> None:
    smi(FULL)

    assert gpu.read_state()["power_w"] is None


@pytest.mark.parametrize(("told", "name"), [("9.0", "sm_90"), ("12.1", "sm_121"), ("[N/A]", "")])
def test_what_a_compiler_builds_for_is_named(smi, told: str, name: str) -> None:
    smi(told)

    assert gpu.architecture() == name


LISTED = "0, GPU-aaaa\\n1, GPU-bbbb"


@pytest.fixture
def two_gpus(smi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show two GPUs whose nodes are numbered the other way round than nvidia-smi's list."""
    smi(LISTED)
    gpu._uuids.cache_clear()
    driver, nodes = tmp_path / "driver", tmp_path / "dev"
    for bus, uuid, minor in (("0000:1b", "GPU-aaaa", 1), ("0000:2c", "GPU-bbbb", 0)):
        (driver / bus).mkdir(parents=True)
        told = f"Model: \t NVIDIA H200\nGPU UUID: \t {uuid}\nDevice Minor: \t {minor}\n"
        (driver / bus / "information").write_text(told)
    nodes.mkdir()
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (nodes / name).touch()
    monkeypatch.setattr(gpu, "DRIVER", driver)
    monkeypatch.setattr(gpu, "DEVICES", nodes)
    yield
    gpu._uuids.cache_clear()


def names(nodes: list[Path]) -> list[str]:
    return [node.name for node in nodes]


@pytest.mark.usefixtures("two_gpus")
def test_worker_sees_the_chosen_gpu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(gpu.VISIBLE, "1")

    assert worker_environment("cuda", "/tmp")[gpu.VISIBLE] == "GPU-bbbb"
    assert names(gpu.device_nodes()) == ["nvidia-uvm", "nvidia0", "nvidiactl"]
    assert gpu.count() == 1


@pytest.mark.usefixtures("two_gpus")
def test_groups_need_a_gpu_for_each_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(gpu.VISIBLE, raising=False)

    assert [choose_device("auto", ranks) for ranks in (1, 2, 4)] == ["cuda", "cuda", "cpu"]
    assert choose_device("cuda", 4) == "cuda"  # as far as it goes
    monkeypatch.setenv(gpu.VISIBLE, "")
    assert choose_device("auto") == "cpu"


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize("choice", [None, "", "1,0", "GPU-aaaa,GPU-bbbb", "7", "MIG-cccc"])
def test_worker_sees_all_gpus_unless_one_is_chosen(
    choice: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if choice is None:
        monkeypatch.delenv(gpu.VISIBLE, raising=False)
    else:
        monkeypatch.setenv(gpu.VISIBLE, choice)

    assert len(gpu.device_nodes()) == 4
    seen = worker_environment("cuda", "/tmp").get(gpu.VISIBLE)
    assert seen == {"1,0": "GPU-bbbb,GPU-aaaa", "": None}.get(choice or "", choice)


def test_free_gpu_is_fit(smi) -> None:
    smi(FREE)

    gpu.assert_fit()


def test_machine_without_the_tool_is_taken_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert gpu.read_state() == {}
    gpu.assert_fit()


def test_gpu_that_is_lost_cannot_be_graded_on(smi) -> None:
    smi("Unable to determine the device handle for GPU0: GPU is lost", code=15)

    with pytest.raises(CannotGrade, match="GPU is lost"):
        gpu.assert_fit()


def test_who_waited_in_vain_waits_no_more(smi, monkeypatch: pytest.MonkeyPatch) -> None:
    smi("Unable to determine the device handle: GPU is lost", code=15)
    monkeypatch.setattr(gpu, "PATIENCE_SECONDS", 3600.0)

    assert "lost" in gpu.lasting_trouble(patient=False)


def test_gpu_whose_memory_is_taken_cannot_be_graded_on(smi) -> None:
    smi(FULL)

    with pytest.raises(CannotGrade, match="20000 of 143771 MiB are free"):
        gpu.assert_fit()


def hold(folder: str, alone: bool, started: Event, release: Event) -> None:
    environment.SHARED = Path(folder)
    with gpu.leased(alone=alone):
        started.set()
        release.wait(60)


def test_gpu_is_looked_at_while_nothing_is_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, smi
) -> None:
    smi(FULL)  # as long as the race of another grading lasts
    monkeypatch.setattr(environment, "SHARED", tmp_path)
    context = multiprocessing.get_context("spawn")
    started, release, looked = context.Event(), context.Event(), threading.Event()
    other = context.Process(target=hold, args=(str(tmp_path), True, started, release))
    other.start()
    assert started.wait(60)

    def look() -> None:
        gpu.assert_fit()
        looked.set()

    looker = threading.Thread(target=look)
    looker.start()
    looked_beside_the_race = looked.wait(0.3)
    smi(FREE)
    release.set()
    looker.join()
    other.join()

    assert not looked_beside_the_race
    assert looked.is_set()


def test_who_waits_to_be_alone_is_not_overtaken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "SHARED", tmp_path)
    first, alone, late = gpu.lease(), gpu.lease(), gpu.lease()
    order: list[str] = []
    first.take(alone=False)
    assert not first.awaited

    def take(place: Turns, name: str, *, by_itself: bool) -> None:
        place.take(alone=by_itself)
        order.append(name)
        place.close()

    threads = [threading.Thread(target=take, args=(alone, "alone"), kwargs={"by_itself": True})]
    threads[0].start()
    deadline = time.monotonic() + 30
    while not first.awaited and time.monotonic() < deadline:
        time.sleep(0.001)
    assert first.awaited
    # Beside the first there is room for one more that shares.
    threads.append(threading.Thread(target=take, args=(late, "late"), kwargs={"by_itself": False}))
    threads[1].start()
    time.sleep(0.2)
    assert order == []
    first.close()
    for thread in threads:
        thread.join()

    assert order == ["alone", "late"]


@pytest.mark.parametrize(
    ("theirs", "ours", "waits"), [(False, False, False), (False, True, True), (True, False, True)]
)
def test_what_is_timed_has_the_gpu_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: bool, ours: bool, waits: bool
) -> None:
    monkeypatch.setattr(environment, "SHARED", tmp_path)
    context = multiprocessing.get_context("spawn")
    started, release, taken = context.Event(), context.Event(), threading.Event()
    other = context.Process(target=hold, args=(str(tmp_path), theirs, started, release))
    other.start()
    assert started.wait(60)

    def take() -> None:
        with gpu.leased(alone=ours):
            taken.set()

    taker = threading.Thread(target=take)
    taker.start()
    got_it_beside_the_other = taken.wait(0.3 if waits else 30)
    release.set()
    taker.join()
    other.join()

    assert got_it_beside_the_other is not waits
    assert taken.is_set()
