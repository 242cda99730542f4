"""A worker weighs what one process does, however many it starts."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from grader.sandbox.confinement import limits, share, watcher

KIND = limits.detect()
SPINS = "import os\nfor _ in range(5): os.fork()\nwhile True: pass"


@pytest.fixture
def crowd() -> Iterator[subprocess.Popen[bytes]]:
    """32 processes that only compute, in a session of their own."""
    process = subprocess.Popen([sys.executable, "-c", SPINS], start_new_session=True)
    while len(limits.descendants(process.pid)) < 32:
        time.sleep(0.01)
    yield process
    end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    for pid in reversed(limits.descendants(process.pid)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
    process.wait()


@pytest.mark.skipif(not limits.divides(KIND), reason="no control group divides the processor here")
@pytest.mark.parametrize("shares", [1, 4])
def test_a_control_group_weighs_as_much_as_its_shares(
    shares: int, crowd: subprocess.Popen[bytes]
) -> None:
    group = limits.Cgroup(KIND, crowd.pid, 4 << 30, 100, shares)
    file, of_one = limits.SHARE[KIND]
    folder = group.folder
    if KIND == "cgroup1":
        folder = limits.controller("cpu") / folder.name
    try:
        assert (folder / file).read_text().strip() == str(of_one * shares)
        assert len((folder / "cgroup.procs").read_text().split()) == 32
    finally:
        end(crowd)
        group.close()
    assert not folder.exists()


class Fake:
    """The files of version two that the kernel would make in a new group."""

    def __init__(self, root: Path, controllers: str) -> None:
        self.control = root / "cgroup.subtree_control"
        self.control.write_text(controllers)
        self._files = ["memory.max", "pids.max"]
        self._files += ["cpu.weight"] if "cpu" in controllers else []

    def mkdir(self, folder: Path) -> None:
        os.mkdir(folder)
        for file in self._files:
            (folder / file).touch()


@pytest.mark.parametrize(
    ("controllers", "weight"), [("cpu memory pids", "300"), ("memory pids", "")]
)
def test_version_two_divides_by_weight_where_it_may(
    controllers: str, weight: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = Fake(tmp_path, controllers)
    monkeypatch.setattr(limits, "ROOT", tmp_path)
    monkeypatch.setattr(limits, "_own_groups", lambda: ["0::/"])
    monkeypatch.setattr(Path, "mkdir", lambda folder: fake.mkdir(folder))

    group = limits.Cgroup("cgroup2", None, 1 << 30, 10, shares=3)

    file = group.folder / "cpu.weight"
    assert (file.read_text() if file.exists() else "") == weight
    assert (group.folder / "pids.max").read_text() == "10"
    # Asked for where it is missing, after what must be there.
    assert fake.control.read_text() == ("+cpu" if not weight else controllers)


def test_niceness_makes_many_weigh_what_one_does() -> None:
    assert [share.niceness(count) for count in (0, 1, 2, 3, 8, 40, 4000)] == [
        0,
        0,
        0,
        5,
        10,
        17,
        19,
    ]
    assert share.niceness(8, shares=4) == 0
    for count in range(3, 60):
        assert count * share.STEP ** -share.niceness(count) <= 1.0


def test_what_the_watcher_sees_running_in_a_crowd_becomes_nice(
    crowd: subprocess.Popen[bytes],
) -> None:
    watching = watcher.Watcher(crowd.pid, 8 << 30, 100)
    ends, found = time.monotonic() + 60, {0}
    try:
        while time.monotonic() < ends:
            found = {os.getpriority(os.PRIO_PROCESS, p) for p in limits.descendants(crowd.pid)}
            if min(found) >= 10:
                break
            time.sleep(0.1)
    finally:
        watching.close()

    assert min(found) >= 10
    assert watching.why_killed() == ""


def test_watcher_goes_on_once_there_is_memory_again(
    crowd: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = watcher.descendants(crowd.pid)
    watching = watcher.Watcher(crowd.pid, 8 << 30, 100)
    none = Mock(side_effect=[MemoryError, MemoryError, *[seen] * 1000])
    monkeypatch.setattr(watcher, "descendants", none)

    ends = time.monotonic() + 30
    while none.call_count < 6 and time.monotonic() < ends:
        time.sleep(0.01)
    watching.close()

    assert none.call_count >= 6
