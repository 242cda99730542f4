"""What tests ask of a submission beyond plain calls, and of objects that live in its worker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.proxy import series
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.instruments.graphs import Backend
from grader.proxy.instruments.instruments import raises
from grader.proxy.loans.loans import Loan
from grader.proxy.loans.watched_arguments import Watched
from grader.proxy.values.kinds import expect
from grader.proxy.values.values import Proxy
from grader.sandbox.setting import Setting
from grader.sandbox.tripwire.process_memory import private_bytes
from grader.wire.codec import Record


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that both sides can read: ``host`` is our path, ``path`` the submission's."""

    host: Path
    path: str


class Offers:
    """What tests have without asking a worker."""

    def record(self, name: str, /, **fields: Any) -> Record:
        """Return an instance of a dataclass of the given code."""
        return Record(name, fields)

    def lend(
        self,
        target: Any,
        methods: tuple[str, ...] = ("__call__",),
        attributes: tuple[str, ...] = (),
        *,
        keep: bool = False,
        steady: bool = False,
    ) -> Loan:
        """Let the submission use one of our objects, by these names, in the call it is passed to.

        ``keep`` extends that to the rest of the test. With ``steady`` each answer tells the
        attributes too, which saves asking: numbers that change in the object's own methods alone.
        ``Refusal`` raised in it reaches the submission.
        """
        return Loan(target, methods, attributes, keep, steady)

    def watch(self, value: Any) -> Watched:
        """Return a stand-in for an argument, for ``compare.assert_unmodified`` after the call.

        A tensor, a list or dictionary of tensors and plain values, or a ``record``.
        """
        return Watched(value)

    def raises(self, kind: type[Exception], naming: str = "") -> AbstractContextManager[None]:
        """Expect the submission to raise ``kind``, with ``naming`` as a word of the message."""
        return raises(kind, naming)


class Requests(Offers, ABC):
    """The part of the proxy that asks; each method is one request at most."""

    _setting: Setting

    @abstractmethod
    def _conversation(self) -> Conversation:
        """Return the conversation with a worker that has loaded the submission."""

    def gradients(
        self, name: str, tensors: tuple[Any, ...], upstream: Any, **options: Any
    ) -> Any:  # a tuple as long as tensors: a gradient, or None, for each
        """Call a function on tensors that require gradients, and let autograd go back through it.

        What is differentiated is the sum of its result times ``upstream``, which has its shape.
        """
        target = ["gradients", name]
        return self._conversation().call(target, (tensors, upstream), options)

    def each(self, name: str, args: tuple[Any, ...], *lasts: Any) -> list[Any]:
        """Call a function on ``args`` and each of ``lasts`` in turn; a result for each."""
        return series.each(self._conversation(), name, args, lasts)

    def together(self, name: str, *cases: tuple[Any, ...]) -> list[Any]:
        """Call a function on each case in turn; no result leaves the worker before the last call.

        A result that shares memory with a later one holds the later one's values.
        """
        return series.together(self._conversation(), ["function", name], cases)

    def gradients_together(self, name: str, *cases: tuple[tuple[Any, ...], Any]) -> list[Any]:
        """Do what ``gradients`` does for several (tensors, upstream), as for layers of one model.

        All go forward before the first goes back. Returns a list of what ``gradients`` returns.
        """
        return series.gradients_together(self._conversation(), name, cases)

    def together_of(self, owner: Proxy, method: str, *cases: tuple[Any, ...]) -> list[Any]:
        """Do what ``together`` does for a method of an object."""
        target = ["object", owner.number_, method]
        return series.together(self._conversation(), target, cases)

    def backend(self) -> Backend:
        """Return a new backend for ``torch.compile`` that counts, and can tell its graphs.

        What was compiled before is forgotten, so that torch's limits and guesses begin anew.
        """
        value = self._conversation().request({"op": "backend"})
        return Backend(expect(value, Proxy, "a backend"))

    def assign(self, owner: Proxy, name: str, value: Any) -> None:
        """Set an attribute of an object in the worker."""
        header = {"op": "set", "object": owner.number_, "name": name}
        self._conversation().request(header, value)

    def places(self, owner: Proxy, name: str) -> list[int]:
        """Return where the memory of each tensor begins in a list that an object has."""
        value = self._conversation().request(
            {"op": "places", "object": owner.number_, "name": name}
        )
        return expect(value, list[int], f"where {name} lie")

    def given(self, module: str) -> _Given:
        """Return a given module as it is inside the worker."""
        return _Given(self, module)

    def handle(self, name: str, given: str = "") -> Proxy:
        """Return a name itself, uncalled: a class of the submission, or a name of a given module.

        ``student.handle("Int8Linear").from_float(linear)`` calls a classmethod.
        """
        target = ["given", given, name] if given else ["function", name]
        value = self._conversation().request({"op": "handle", "target": target})
        return expect(value, Proxy, name)

    def held_bytes(self) -> int:
        """Return the bytes of all tensors that are alive in the worker, shared storages once."""
        return expect(self._conversation().request({"op": "held"}), int, "the bytes held")

    def private_bytes(self) -> int | None:
        """Return the bytes of the worker's process alone, as the kernel counts them.

        What is held in numpy, bytes or C counts too, and so does the interpreter: compare two
        readings that lie megabytes apart, the first after a call like those in between. None on a
        GPU, whose memory it does not cover, and where the kernel does not tell.
        """
        talk = self._conversation()
        talk.request({"op": "trim"})
        pid = talk.worker.channel.sender
        return private_bytes(pid) if pid and self._setting.device == "cpu" else None

    def generator(self, seed: int) -> Proxy:
        """Return a generator that lives in the worker, and goes on from call to call.

        A ``torch.Generator`` that is passed as it is starts anew in each call.
        """
        value = self._conversation().request({"op": "generator", "seed": seed})
        return expect(value, Proxy, "a generator")

    def overwritten(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a function, and then write over all that it returned; a copy comes back.

        An argument that shares memory with the result shows it, if it is watched.
        """
        return self._conversation().call(["overwritten", name], args, kwargs)

    def checkpoint(self, name: str) -> Folder:
        """Return a checkpoint that the lab lists."""
        seen = f"{self._setting.seen('given')}/labs/checkpoints/{name}"
        return Folder(self._setting.checkpoints[name], seen)


class _Given:
    """A given module inside the worker."""

    def __init__(self, student: Requests, module: str) -> None:
        self._student = student
        self._module = module

    def __getattr__(self, name: str) -> Callable[..., Any]:
        talk = self._student._conversation()  # pyright: ignore[reportPrivateUsage]
        return lambda *args, **kwargs: talk.call(["given", self._module, name], args, kwargs)
