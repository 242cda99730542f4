"""Values of a worker: how a reply is packed, and what numbers and tags of a request stand for."""

import dataclasses
import functools
import mmap
import os
from types import ModuleType
from typing import Any

import torch

from grader.wire.channel import Channel
from grader.wire.codec import DTYPES, Packer, Record, Unpacker
from grader.wire.objects import Kept, Stub
from grader.wire.storage import odd_tensor, place
from grader.worker import probes
from grader.worker.calls import sparse


class Values:
    """A worker's end of the wire, with the objects that values may stand for."""

    __slots__ = ("channel", "device", "given", "objects", "probes", "watched")

    def __init__(self, channel: Channel, device: str) -> None:
        self.channel = channel
        self.device = torch.device(device)
        self.given: dict[str, ModuleType] = {}
        self.objects = Kept()
        self.watched: list[Any] = []  # tensors, and lists of plain values
        self.probes = probes.Probes()

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

    def _mapped(self, size: int) -> mmap.mmap | None:
        """Map the memory whose descriptor came with the message, if one did."""
        if not size:
            return None
        assert self.channel.fds is not None
        fd = self.channel.fds.pop()
        memory = mmap.mmap(fd, size)
        os.close(fd)
        return memory

    def ask(self, number: int, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        """Ask the judge's object."""
        raise NotImplementedError


def placed(memory: Any, place: int, size: int, dtype: str, *view: Any) -> torch.Tensor:
    """Return a tensor whose storage lies in memory that the judge maps too."""
    storage = torch.frombuffer(memory, dtype=torch.uint8, count=size, offset=place)
    return storage.view(DTYPES[dtype]).as_strided(*view)
