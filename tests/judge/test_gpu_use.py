"""A grading's place on the GPU, beside gradings that race."""

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader import environment
from grader.judge.plugin.gpu_use import GpuUse
from grader.proxy.conversation.spent import Spent
from grader.sandbox.confinement import gpu


class Workers:
    """A student that notes what becomes of its worker."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self.spent_ = Spent()

    def take_compiled_(self) -> None:
        self.did.append("take")

    def give_compiled_(self) -> None:
        self.did.append("give")

    def close_(self) -> None:
        self.did.append("close")


def item(*fixtures: str) -> Any:
    return SimpleNamespace(fixturenames=[*fixtures])


def test_grading_makes_way_between_two_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "SHARED", tmp_path)
    workers: Any = Workers()
    use, racer = GpuUse(workers, None), gpu.lease()
    raced = threading.Event()

    def race() -> None:
        racer.take(alone=True)
        raced.set()
        racer.close()

    use.take("forward", item())
    use.take("forward", item())
    assert workers.did == ["take", "close", "give"]  # one worker for both
    thread = threading.Thread(target=race)
    thread.start()
    deadline = time.monotonic() + 30
    while not use._in_the_way() and time.monotonic() < deadline:
        time.sleep(0.001)
    assert not raced.is_set()

    use.take("forward", item())

    assert raced.is_set()
    assert workers.did[3:] == ["take", "close"]
    thread.join()
