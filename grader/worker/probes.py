"""The probes that run beside the submission, inside its worker: counters and the rule guard.

They police cost and rules; a submission that rewrites its worker can lie to them, so what decides
correctness is never counted here.
"""

import contextlib
from collections.abc import Generator
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

from grader.worker.hidden.box import own_names
from grader.worker.hidden.decoys import Decoys
from grader.worker.hidden.sender import Sender
from grader.worker.metering.launches import Recorder
from grader.worker.metering.meter import Meter
from grader.worker.operators.counters import Flops, Largest, Launches, Memory, Operators, Silenced
from grader.worker.operators.delegation import children
from grader.worker.operators.guard import Guard
from grader.worker.sanitizer.grids import Grids
from grader.worker.sanitizer.sanitizer import Sanitizer

# Whose code may take numbers out of where probes keep them.
OURS = (
    *("wire.codec", "worker.serve", "worker.measures", "worker.values", "worker.probes"),
    *("worker.operators.counters", "worker.hidden.box", "worker.hidden.decoys"),
    "worker.hidden.swaps",
)
STOPPED = ("guard", "launches", "silenced", "grids", "memory", "recorder", "meter")  # at once


class Probes:
    """The probes that are running."""

    __slots__ = ("_ours", "_own", "running")

    def __init__(self) -> None:
        self.running: dict[str, Any] = {}
        self._ours = children()
        self._own = own_names(*OURS)

    def run(self, name: str, action: str, config: dict[str, Any]) -> Any:
        """Start a probe, or stop it and return what it saw."""
        if action == "start":
            self.running[name] = self._start(name, config)
            return None
        return self._stop(name, self.running.pop(name))

    def hide(self, true: Any, seen: Tensor) -> Tensor:
        """Return what the submission gets for an argument; ``true`` is a number on the device."""
        return self._hider().hide(true, seen)

    def true(self, tensor: Tensor) -> Any:
        """Return a result as the judge should see it, or data that says where it is."""
        hider = self._hider()
        return tensor if hider is None else hider.true(tensor)

    def graph(self, tape: Any, number: int) -> Any:
        """Return a graph that is replayed where arguments are hidden; ``tape`` is the given one."""
        # Imported here: one lab has graphs.
        from grader.worker.hidden.captures import lend

        return lend(tape, self.running["sender"], number)

    def _hider(self) -> Any:
        return self.running.get("decoys") or self.running.get("sender")

    def unobserved(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context in which no probe counts: our copying is not the submission's cost."""
        return self._paused() if self.running else contextlib.nullcontext()

    @contextlib.contextmanager
    def _paused(self) -> Generator[None, None, None]:
        memory = self.running.get("memory")
        if memory is not None:
            memory.pause()
        with _disable_current_modes():
            yield
        if memory is not None:
            memory.resume()

    def _start(self, name: str, config: dict[str, Any]) -> Any:
        match name:
            case "guard":
                return Guard(config, self._ours)
            case "flops":
                return Flops().__enter__()
            case "largest":
                return Largest().__enter__()
            case "operators":
                return Operators().__enter__()
            case "launches":
                return Launches()
            case "silenced":
                return Silenced()
            case "grids":
                return Grids()
            case "memory":
                return Memory()
            case "recorder":
                return Recorder()
            case "meter":
                return Meter()
            case "decoys":
                return Decoys(**config, own=self._own).__enter__()
            case "sender":
                return Sender(**config).__enter__()
            case "sanitizer":
                return Sanitizer(config["order"], config["seed"]).__enter__()
            case _:
                raise ValueError(f"unknown probe {name}")

    def _stop(self, name: str, probe: Any) -> Any:
        if name in STOPPED:
            return probe.stop()
        probe.__exit__(None, None, None)
        if name in ("decoys", "sanitizer", "sender"):
            with _disable_current_modes():
                return probe.stop()
        return probe.reading
