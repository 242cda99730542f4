"""The untrusted side: load one submission, answer the judge's calls until the process is killed.

It is trusted until ``load``; from then on the submission can rewrite anything here, so nothing that
this process says proves anything. Of ours it can import only what ``stage`` copies for it; what
Triton and speed tests take waits until it is needed.
"""

import functools
import importlib
import importlib.util
import sys
import threading
from pathlib import Path
from typing import Any

import torch

from grader.wire.channel import Channel
from grader.worker.calls.ways import WAYS, backward
from grader.worker.code.faults import describe
from grader.worker.measures import Measures, public

MODULE = "submission"  # the name under which the student's file is registered
MAX_NAMES = 200  # public ones that the judge is told


class Raised(Exception):
    """The judge's object refused a call."""


class Worker(Measures):
    """The conversation with the judge: one thread, strictly nested requests."""

    __slots__ = ("_again", "_thread", "_told", "kept")

    def __init__(self, channel: Channel, device: str) -> None:
        super().__init__(channel, device)
        self.kept: dict[int, Any] = {}  # what calls gave that the judge takes once all are made
        self._again: Any = None  # a call that is made again and again
        self._told: dict[int, dict[str, int]] = {}  # attributes of lent objects, by their numbers
        self._thread = threading.get_ident()

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
            case "library":
                self.load_library(header["file"])
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
            case "set":
                value = self.unpack(header["value"], buffers)
                setattr(self.objects[header["object"]], header["name"], value)
            case "places":
                return places(getattr(self.objects[header["object"]], header["name"]))
            case _:
                return self.measure(header, buffers)

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

    def _target(self, target: list[Any]) -> Any:
        match target:
            case ["function", name]:
                return public(self.module, name, Path(self.file).name)
            case ["operator", name]:
                return operator(name)
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

    # -- the submission --------------------------------------------------------------------

    def load_library(self, file: str) -> None:
        """Load what was built of the submission, which registers its operators."""
        self.file = file
        try:
            torch.ops.load_library(file)
        except OSError as error:  # torch tells the path alone, the loader why
            raise ImportError(f"the library cannot be loaded: {error.__cause__}") from None

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


def operator(name: str) -> Any:
    """Return an operator by the name that it is called by, or say that it is missing."""
    found: Any = torch.ops
    for part in name.removeprefix("torch.ops.").split("."):
        if not hasattr(found, part):
            raise AttributeError(f"no library has registered {name}")
        found = getattr(found, part)
    return found


def places(tensors: Any) -> list[int]:
    """Return where the memory of each tensor begins."""
    return [tensor.untyped_storage().data_ptr() for tensor in tensors]
