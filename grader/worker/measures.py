"""What the judge asks of a worker besides calls: probes, clocks, memory, and answers of its own."""

import functools
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from grader.wire.channel import Channel
from grader.wire.storage import content, held_bytes, trim
from grader.worker import compiled_files, own_objects
from grader.worker.calls import control
from grader.worker.values import Values


class Measures(Values):
    """A worker that is measured, races, and compiles or computes for another one."""

    __slots__ = ("compiler", "file", "harness", "module", "twin")

    def __init__(self, channel: Channel, device: str) -> None:
        super().__init__(channel, device)
        self.module: ModuleType | None = None
        self.file = ""
        self.harness: Any = None
        self.compiler: Any = None
        self.twin: Any = None  # ``Device``, where this worker is one

    def measure(self, header: dict[str, Any], buffers: list[torch.Tensor]) -> Any:
        """Do what a request asks for that is no call; raises ValueError for what is neither."""
        match header["op"]:
            case "graph":
                return self.probes.graph(self.given["tape"], header["number"])
            case "backend":
                return self._compiling("graphs").Backend(self.file)
            case "referee":
                with self.probes.unobserved():
                    graph, values = self.unpack(header["value"], buffers)
                return self._compiling("referee").Referee(self.device).run(graph, values)
            case "own_objects":
                return own_objects.told(header["known"], self._serving())
            case "control":
                control.prove(header["parts"], self.device)
                return control.answer(self.unpack(header["value"], buffers))
            case "held":
                return held_bytes(self.device)
            case "trim":
                trim()
            case "probe":
                return self.probes.run(header["name"], header["action"], self._config(header))
            case "device":
                return self._device(header, buffers)
            case "compile":
                return self.compiler.compile(header["launch"], header["target"])
            case "tuned":
                from grader.worker.metering.autotuned import tuned  # takes Triton

                return tuned()
            case "kernels":
                return compiled_files.collect(frozenset(header["known"]))
            case "restore":
                compiled_files.restore(*self.unpack(header["value"], buffers))
            case "ring":
                self.take_ring(header)
            case "race":
                name = header["function"]
                self._race(name and self._timed(name), header["count"], header["options"])
            case "watched":
                first = len(self.watched) - header["count"]  # calls nest: the latest are meant
                watched, self.watched = self.watched[first:], self.watched[:first]
                with self.probes.unobserved():
                    return [content(item) for item in watched]
            case op:
                raise ValueError(f"unknown request {op}")

    def _config(self, header: dict[str, Any]) -> dict[str, Any]:
        """Return what a probe is started with; a descriptor may have come with the message."""
        config = header["config"]
        if header["action"] == "start" and self.channel.fds:
            return {**config, "fd": self.channel.fds.pop(), "file": self.file}
        return config

    def _device(self, header: dict[str, Any], buffers: list[torch.Tensor]) -> Any:
        """Be what another worker's arguments are hidden in."""
        if header["action"] == "begin":
            # Imported here: no submission's worker needs it.
            from grader.worker.device.device import Device

            assert self.channel.fds
            if self.twin is not None:
                self.twin.close()
            self.file = header["config"]["file"]
            self.twin = Device(self.channel.fds.pop(), header["config"])
            return None
        return self.twin.answer(header, lambda: self.unpack(header["value"], buffers))

    def _timed(self, name: str) -> Any:
        """Return a public name of the submission, else given code that is to work with it."""
        for given in self.given.values():
            if hasattr(given, name) and not hasattr(self.module, name):
                return functools.partial(getattr(given, name), self.module)
        return public(self.module, name, Path(self.file).name)

    def _compiling(self, name: str) -> Any:
        """Import what takes torch's compiler along: seconds, unless the lab has it preloaded."""
        return importlib.import_module(f"grader.worker.compiling.{name}")

    def _serving(self) -> tuple[Any, ...]:
        """Return the objects that answer the judge."""
        return self, self.channel, self.probes, self.objects

    def _race(self, function: Any, count: int, options: dict[str, Any]) -> None:
        if self.probes.running:
            self.harness.run_watched(function, count, options, self.probes.unobserved)
        else:
            self.harness.run(function, count, options)

    def take_ring(self, header: dict[str, Any]) -> None:
        """Map the memory whose descriptor came with the message, and give the last one up."""
        # Imported here: only speed tests need it.
        from grader.wire.memory import SharedMemory
        from grader.wire.ring import Layout
        from grader.worker.calls.harness import Harness

        if self.harness is not None:
            self.harness.close()
        assert self.channel.fds is not None
        memory = SharedMemory(self.channel.fds.pop(), header["size"], self.device)
        self.harness = Harness(memory, Layout.from_json(header["layout"]))


def public(module: ModuleType | None, name: str, file: str) -> Any:
    """Return a public name of the submission, or say that it is missing."""
    if not hasattr(module, name):
        raise AttributeError(f"{file} defines no {name}")
    return getattr(module, name)
