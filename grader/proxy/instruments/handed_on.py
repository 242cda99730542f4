"""What compilers have made for a submission: taken out of its workers, given to those that follow.

All of it is the submission's own, and bytes to the judge, which opens none of it and makes no path
of a name.
"""

import contextlib
import json
import struct
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from grader.errors import SubmissionFault
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.values.compare import check
from grader.proxy.values.kinds import expect

MOST_BYTES = 192 << 20  # of a grading
MOST_FILES = 5000  # whose names go to each worker, in one message
MOST_NAMED = 200  # bytes of a name in that message
MESSAGE_BYTES = 48 << 20
KernelFiles = tuple[list[str], list[int], Tensor]  # as ``worker/compiled_files`` packs them
LENGTH = struct.Struct("!q")
WHAT = "what was compiled"
UNFINISHED = ".part"
NOTHING = torch.empty(0, dtype=torch.uint8)


@dataclass(slots=True)
class HandedOn:
    """Files by their names, and what of them the worker at hand has."""

    _files: dict[str, Tensor] = field(default_factory=dict[str, Tensor])  # uint8
    _size: int = 0
    _held: set[str] = field(default_factory=set[str])  # by the worker at hand
    _unsaved: list[str] = field(default_factory=list[str])

    def begin(self) -> None:
        """Know that a fresh worker has none."""
        self._held.clear()

    def take(self, talk: Conversation) -> None:
        """Keep what is new in a worker: nothing of one that is at its end, or lies."""
        if not talk.over:
            with contextlib.suppress(SubmissionFault):
                told = talk.request({"op": "kernels", "known": [*{*self._files} | self._held]})
                new = self._learn(expect(told, KernelFiles, WHAT))
                self._held.update(new)
                self._unsaved += new

    def _learn(self, files: KernelFiles) -> list[str]:
        """Keep files, as many as there is room for; return the names of those that are new."""
        names, sizes, data = files
        whole = len(names) == len(sizes) and data.dtype == torch.uint8 and data.dim() == 1
        check(whole and all(size >= 0 for size in sizes), f"{WHAT} is no list of files")
        check(sum(sizes) == data.numel(), f"{WHAT} is no list of files")
        new: list[str] = []
        for name, content in zip(names, data.split(sizes) if sizes else (), strict=True):
            size = self._size + content.numel()
            fits = size <= MOST_BYTES and len(self._files) < MOST_FILES
            if name not in self._files and fits and len(json.dumps(name)) <= MOST_NAMED:
                self._files[name] = content
                self._size = size
                new.append(name)
        return new

    def give(self, talk: Conversation) -> None:
        """Lay into a worker what it does not have yet; one that ends over it is at its end."""
        missing = [name for name in self._files if name not in self._held]
        self._held.update(missing)
        with contextlib.suppress(SubmissionFault):
            while missing and not talk.over:
                batch, size = [missing.pop()], 0
                while missing and size < MESSAGE_BYTES:
                    batch.append(missing.pop())
                    size += self._files[batch[-1]].numel()
                talk.request({"op": "restore"}, self._packed(batch))

    def _packed(self, names: list[str]) -> KernelFiles:
        contents = [self._files[name] for name in names]
        return names, [content.numel() for content in contents], torch.cat(contents)

    def save(self, file: Path) -> None:
        """Write what is new since the last time as one file, whole or not at all."""
        names, self._unsaved = self._unsaved, []
        _, sizes, data = self._packed(names) if names else (names, [], NOTHING)
        head = json.dumps([names, sizes]).encode()
        unfinished = file.with_suffix(UNFINISHED)
        with unfinished.open("wb") as out:
            out.write(LENGTH.pack(len(head)) + head)
            out.write(data.numpy().tobytes())
        unfinished.rename(file)

    def load(self, file: Path) -> None:
        """Learn what another process of ours has saved."""
        content = bytearray(file.read_bytes())
        start = LENGTH.size + LENGTH.unpack_from(content)[0]
        names, sizes = json.loads(content[LENGTH.size : start])
        some = start < len(content)
        data = torch.frombuffer(content, dtype=torch.uint8, offset=start) if some else NOTHING
        self._learn((names, sizes, data))
