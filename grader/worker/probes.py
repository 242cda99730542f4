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

from grader.worker.counters import Flops, Largest, Launches, Memory, Operators, Silenced
from grader.worker.delegation import children
from grader.worker.guard import Guard


class Probes:
    """The probes that are running."""

    def __init__(self) -> None:
        self.running: dict[str, Any] = {}
        self._ours = children()

    def run(self, name: str, action: str, config: dict[str, Any]) -> Any:
        """Start a probe, or stop it and return what it saw."""
        if action == "start":
            self.running[name] = self._start(name, config)
            return None
        return self._stop(name, self.running.pop(name))

    def hide(self, true: Tensor, seen: Tensor) -> Tensor:
        """Return what the submission gets for an argument of which kernels alone see the truth."""
        return self.running["decoys"].hide(true, seen)

    def true(self, tensor: Tensor) -> Tensor:
        """Return a result as the judge should see it."""
        decoys = self.running.get("decoys")
        return tensor if decoys is None else decoys.true(tensor)

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
            case "memory":
                return Memory()
            case "decoys":
                # Imported here: it patches Triton, which only labs that write kernels have.
                from grader.worker.decoys import Decoys

                return Decoys(config["free"], config["elements"]).__enter__()
            case "sanitizer":
                from grader.worker.sanitizer import Sanitizer

                return Sanitizer(config["order"], config["seed"]).__enter__()
            case _:
                raise ValueError(f"unknown probe {name}")

    def _stop(self, name: str, probe: Any) -> Any:
        if name in ("guard", "launches", "silenced", "memory"):
            return probe.stop()
        probe.__exit__(None, None, None)
        match name:
            case "flops":
                return probe.total
            case "operators":
                return probe.seen
            case "decoys" | "sanitizer":
                with _disable_current_modes():
                    return probe.stop()
            case _:
                return probe.elements
