"""The untrusted side: load one submission, answer the judge's calls until the process is killed.

It is trusted until ``load``; from then on the submission can rewrite anything here, so nothing that
this process says proves anything. Of ours it can import only what ``stage`` copies for it; what
Triton and speed tests take waits until it is needed.
"""

import dataclasses
import functools
import importlib
import importlib.util
import mmap
import os
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from grader.wire.channel import Channel
from grader.wire.codec import DTYPES, Packer, Record, Unpacker
from grader.wire.objects import Kept, Stub
from grader.wire.storage import content, held_bytes, odd_tensor, place, trim
from grader.worker import compiled_files, own_objects, probes
from grader.worker.calls import control, sparse
from grader.worker.calls.ways import WAYS, backward
from grader.worker.code.faults import describe

MODULE = "submission"  # the name under which the student's file is registered
MAX_NAMES = 200  # public ones that the judge is told


class Raised(Exception):
    """The judge's object refused a call."""


class Worker:
    """The conversation with the judge: one thread, strictly nested requests."""

    __slots__ = (
        *("channel", "device", "module", "file", "given", "objects", "watched", "probes"),
        *("harness", "compiler", "kept", "twin", "_again", "_told", "_thread"),
    )

    def __init__(self, channel: Channel, device: str) -> None:
        self.channel = channel
        self.device = torch.device(device)
        self.module: ModuleType | None = None
        self.file = ""
        self.given: dict[str, ModuleType] = {}
        self.objects = Kept()
        self.watched: list[Any] = []  # tensors, and lists of plain values
        self.probes = probes.Probes()
        self.harness: Any = None
        self.compiler: Any = None
        self.twin: Any = None  # ``Device``, where this worker is one
        self.kept: dict[int, Any] = {}  # what calls gave that the judge takes once all are made
        self._again: Any = None  # a call that is made again and again
        self._told: dict[int, dict[str, int]] = {}  # attributes of lent objects, by their numbers
        self._thread = threading.get_ident()

    # -- values ---------------------------------------------------------------------------

    def pack(self, value: Any) -> tuple[Any, list[torch.Tensor]]:
        packer = Packer(lambda item: self._special(packer, item))
        return packer.pack(value), packer.buffers

    def _special(self, packer: Packer, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            what = odd_tensor(value)
            if not what:
                plain = torch.Tensor.detach(value).resolve_conj().resolve_neg()
                true = self.probes.true(plain)
                if isinstance(true, dict):
                    return true
                return packer.tensor(true.cpu(), whole=False, device=str(value.device))
            return self.objects.handle(value, what)
        known = self._given_class(type(value).__name__)
        if dataclasses.is_dataclass(value) and known is type(value):
            fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
            return packer.pack(Record(type(value).__name__, fields))
        return self.objects.handle(value, type(value).__name__)

    def _given_class(self, name: str) -> Any:
        found = (getattr(module, name, None) for module in self.given.values())
        return next((cls for cls in found if dataclasses.is_dataclass(cls)), None)

    def unpack(
        self,
        tree: Any,
        buffers: list[torch.Tensor],
        device: torch.device | None = None,
        mapped: mmap.mmap | None = None,
    ) -> Any:
        """Rebuild a value; its tensors land on ``device``, the worker's own if None.

        ``mapped`` is the memory in which the storages of some lie, which the judge maps too.
        """
        where = device or self.device
        resolve = functools.partial(self._resolve, where, mapped)
        return Unpacker(buffers, resolve, views=True).unpack(tree)

    def _resolve(self, device: torch.device, mapped: mmap.mmap | None, tag: str, body: Any) -> Any:
        match tag:
            case "x":
                return place(body[0], device)
            case "s":
                return placed(mapped, *body)
            case "z":
                return sparse.apart(*body)
            case "w":  # remembered, so that the judge can look at its storage after the call
                self.watched.append(body)
                return body
            case "m":
                self.channel.wipe()  # what was sent is still there
                return self.probes.hide(*body)
            case "g":
                return torch.Generator(self.device).manual_seed(body)
            case "r":
                name, fields = body
                return self._given_class(name)(**fields)
            case "h":
                return self.objects[body]
            case "c":
                return Stub(self.ask, *body)
            case _:
                raise ValueError(f"unknown tag {tag}")

    # -- requests --------------------------------------------------------------------------

    def serve(self) -> None:
        """Answer requests for ever; the judge ends it by killing the process."""
        while True:
            self.answer(*self.receive())

    def receive(self) -> tuple[dict[str, Any], list[torch.Tensor]]:
        """Return the judge's next message."""
        with self.probes.unobserved():
            return self.channel.receive(None)

    def send(self, header: dict[str, Any], buffers: list[torch.Tensor]) -> None:
        """Send a message to the judge."""
        with self.probes.unobserved():
            self.channel.send(header, buffers, None)

    def answer(self, header: dict[str, Any], buffers: list[torch.Tensor]) -> None:
        """Answer one request."""
        self._told.clear()  # the judge may have used its objects itself
        reply: dict[str, Any]
        try:
            value = self.perform(header, buffers)
            with self.probes.unobserved():
                tree, out = self.pack(value)
            reply = {"op": "value", "value": tree}
        except BaseException as error:
            reply, out = {"op": "error", **describe(error, self.file)}, []
        try:
            self.send({**reply, "id": header["id"]}, out)
        except ValueError as error:  # the value is larger than a message may be
            reply = {"op": "error", **describe(error, self.file), "id": header["id"]}
            self.send(reply, [])

    def perform(self, header: dict[str, Any], buffers: list[torch.Tensor]) -> Any:
        """Do what a request asks for."""
        match header["op"]:
            case "load":
                return self.load(header["file"])
            case "call":
                with self.probes.unobserved():
                    args, kwargs = self.arguments(header, buffers)
                target = self._target(header["target"])
                del buffers
                return target(*args, **kwargs)
            case "keep":
                number = header["number"]
                self.kept[number] = self.perform({**header, "op": "call"}, buffers)
            case "kept":
                return self.kept.pop(header["number"])
            case "each":
                self._again = header["target"], header["value"], buffers
            case "next":
                return self._made_again(header["value"], buffers)
            case "get":
                return getattr(self.objects[header["object"]], header["name"])
            case "handle":
                return self._target(header["target"])
            case "generator":
                return torch.Generator(self.device).manual_seed(header["seed"])
            case "graph":
                return self.probes.graph(self.given["tape"], header["number"])
            case "backend":
                return self._compiling("graphs").Backend(self.file)
            case "referee":
                with self.probes.unobserved():
                    graph, values = self.unpack(header["value"], buffers)
                return self._compiling("referee").Referee(self.device).run(graph, values)
            case "set":
                value = self.unpack(header["value"], buffers)
                setattr(self.objects[header["object"]], header["name"], value)
            case "places":
                return places(getattr(self.objects[header["object"]], header["name"]))
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

    def arguments(self, header: dict[str, Any], buffers: list[torch.Tensor]) -> Any:
        """Return the arguments of a call, and those by name."""
        mapped = self._mapped(header.get("mapped", 0))
        return self.unpack(header["value"], buffers, mapped=mapped)

    def _made_again(self, last: Any, buffers: list[torch.Tensor]) -> Any:
        """Make the call of a series once more, on copies of its arguments and a last one."""
        with self.probes.unobserved():
            target, tree, storages = self._again
            args = self.unpack(tree, [storage.clone() for storage in storages])
            args = *args, self.unpack(last, buffers)
        del buffers
        return self._target(target)(*args)

    def _mapped(self, size: int) -> mmap.mmap | None:
        """Map the memory whose descriptor came with the message, if one did."""
        if not size:
            return None
        assert self.channel.fds is not None
        fd = self.channel.fds.pop()
        memory = mmap.mmap(fd, size)
        os.close(fd)
        return memory

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

    def _target(self, target: list[Any]) -> Any:
        match target:
            case ["function", name]:
                return public(self.module, name, Path(self.file).name)
            case ["given", module, name]:
                return getattr(self.given[module], name)
            case ["backward", int(number), _]:
                return functools.partial(backward, self.kept.pop(number))
            case [str(way), name] if way in WAYS:
                function = public(self.module, name, Path(self.file).name)
                return functools.partial(WAYS[way], function)
            case ["object", number, "__call__"]:
                return self.objects[number]
            case ["object", number, method]:
                return getattr(self.objects[number], method)
            case _:
                raise ValueError("unknown target")

    def ask(self, number: int, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        """Ask the judge's object; requests that arrive before its answer are served first."""
        if threading.get_ident() != self._thread:
            raise Raised("this object may be used by the main thread only")
        told = self._told.get(number, {})
        if args is None and name in told:
            return told[name]
        self._told.pop(number, None)
        with self.probes.unobserved():
            tree, buffers = self.pack(None if args is None else (tuple(args), kwargs))
        self.send({"op": "ask", "object": number, "name": name, "value": tree}, buffers)
        while True:
            header, buffers = self.receive()
            if header["op"] == "answer":
                self._told[number] = header["told"]
                # As a model would, the judge's object answers where its arguments were.
                given = (
                    a for a in (*(args or ()), *kwargs.values()) if isinstance(a, torch.Tensor)
                )
                where = next((tensor.device for tensor in given), None)
                with self.probes.unobserved():
                    return self.unpack(header["value"], buffers, where)
            if header["op"] == "refuse":
                kind = {"ValueError": ValueError, "IndexError": IndexError, "TypeError": TypeError}
                raise kind.get(header["kind"], Raised)(header["message"])
            self.answer(header, buffers)

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

    # -- the submission --------------------------------------------------------------------

    def load(self, file: str) -> list[str]:
        """Import the submission and return its public names."""
        if self.device.type == "cuda":
            torch.zeros(1, device=self.device)  # to wake the GPU is not the submission's time
        self.file = file
        spec = importlib.util.spec_from_file_location(MODULE, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # Dataclasses, pickle and Triton look their source up by this name.
        sys.modules[MODULE] = module
        spec.loader.exec_module(module)
        self.module = module
        return [name for name in vars(module) if not name.startswith("_")][:MAX_NAMES]


def placed(memory: Any, place: int, size: int, dtype: str, *view: Any) -> torch.Tensor:
    """Return a tensor whose storage lies in memory that the judge maps too."""
    storage = torch.frombuffer(memory, dtype=torch.uint8, count=size, offset=place)
    return storage.view(DTYPES[dtype]).as_strided(*view)


def places(tensors: Any) -> list[int]:
    """Return where the memory of each tensor begins."""
    return [tensor.untyped_storage().data_ptr() for tensor in tensors]


def public(module: ModuleType | None, name: str, file: str) -> Any:
    """Return a public name of the submission, or say that it is missing."""
    if not hasattr(module, name):
        raise AttributeError(f"{file} defines no {name}")
    return getattr(module, name)
