"""What is more than a plain value in a conversation: tensors, and objects of either side."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import Tensor

from grader.errors import Mismatch
from grader.proxy.loans.budget import Budget
from grader.proxy.loans.loans import MAX_NAME, Loan, Loans
from grader.proxy.loans.watched_arguments import Placed, Watched, WatchedArguments
from grader.wire.codec import Packer, Record, Unpacker
from grader.wire.errors import Misfit, WireError
from grader.wire.objects import MAX_METHODS


class Talk(Protocol):
    """What an object of the worker's is reached by."""

    def call(self, target: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function or object of the submission."""
        ...

    def request(self, header: dict[str, Any]) -> Any:
        """Send a request and return its value."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Hidden:
    """A tensor that kernels alone see; ``decoy`` is what else there is to see in its place."""

    value: Tensor
    decoy: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Far:
    """A tensor that lies in these strides in the worker, whatever memory they reach over."""

    value: Tensor
    strides: tuple[int, ...]


class Elsewhere(Protocol):
    """What has the numbers of hidden arguments."""

    def hide(self, value: Tensor, decoy: Tensor) -> int:
        """Take the numbers of an argument, to lie as a decoy does; return what they go by."""
        ...

    def read(self, told: Any) -> Tensor:
        """Return a result."""
        ...


class Proxy:
    """An object that lives in the worker. Methods, attributes and calls, no operators."""

    __slots__ = ("_conversation", "kind_", "methods_", "number_")

    def __init__(self, talk: Talk, number: int, kind: str, methods: list[str]) -> None:
        self._conversation = talk
        self.number_ = number
        self.methods_ = methods
        self.kind_ = kind

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.invoke_("__call__", args, kwargs)

    def invoke_(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a method, whether the worker has named it or not."""
        return self._conversation.call(["object", self.number_, name], args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.methods_:
            return lambda *args, **kwargs: self.invoke_(name, args, kwargs)
        return self._conversation.request({"op": "get", "object": self.number_, "name": name})

    def __repr__(self) -> str:
        return f"<{self.kind_} of the submission>"


class Values:
    """Packs what is sent to one worker, and unpacks what comes from it."""

    def __init__(self, talk: Talk, loans: Loans, budget: Budget) -> None:
        self._talk = talk
        self._loans = loans
        self._budget = budget
        self.elsewhere: Elsewhere | None = None  # while arguments are hidden there

    def packer(self, depth: int, watching: WatchedArguments) -> Packer:
        """Return what packs a message; ``watching`` is of the last of ``depth`` calls."""
        packer = Packer(lambda item: self._pack(packer, item, depth, watching))
        return packer

    def _pack(self, packer: Packer, value: Any, depth: int, watching: WatchedArguments) -> Any:
        if isinstance(value, Tensor):
            return packer.tensor(value.detach(), whole=True)
        if isinstance(value, Watched):
            return {"w": packer.pack(watching.add(value))}
        if isinstance(value, Placed):
            return value.pack()
        if isinstance(value, Hidden):
            apart, true = self.elsewhere, value.value
            known = true if apart is None else apart.hide(true, value.decoy)
            return {"m": [packer.pack(known), packer.pack(value.decoy)]}
        if isinstance(value, Far):
            return {"z": [packer.pack(value.value), list(value.strides)]}
        if isinstance(value, Proxy):
            return {"h": value.number_}
        if isinstance(value, Loan):
            number = self._loans.lend(value, depth)
            return {"c": [number, list(value.methods), list(value.attributes)]}
        if isinstance(value, torch.Generator):
            return {"g": value.initial_seed()}
        if type(value) is int:
            raise Misfit("an integer of more than 64 bits")
        raise TypeError(f"a {type(value).__name__} cannot be passed to a submission")

    def unpack(self, tree: Any, buffers: list[Tensor]) -> Any:
        """Return the value of an answer, or raise WireError."""
        return Unpacker(buffers, self._resolve).unpack(tree)

    def unpack_argument(self, tree: Any, buffers: list[Tensor]) -> Any:
        """Return what an object of ours is given, or raise WireError."""
        return Unpacker(buffers, self._resolve_argument).unpack(tree)

    def _resolve_argument(self, tag: str, body: Any) -> Any:
        value = self._resolve(tag, body)
        return self._budget.check_tensor(value) if isinstance(value, Tensor) else value

    def _resolve(self, tag: str, body: Any) -> Any:
        match tag:
            case "x":
                tensor, device = body
                # Where the tensor was, as the worker says; compare looks at it.
                tensor.seen_on = device[:20].split(":")[0]
                return tensor
            case "D" if self.elsewhere is not None:
                tensor: Any = self.elsewhere.read(body)
                tensor.seen_on = "cpu"
                return tensor
            case "r":
                return Record(body[0][:MAX_NAME], body[1])
            case "h":
                return self._proxy(*body)
            case _:
                raise WireError("an unknown kind of value")

    def _proxy(self, number: Any, kind: Any, methods: Any) -> Proxy:
        if not isinstance(methods, list) or type(number) is not int or not isinstance(kind, str):
            raise WireError("a malformed object")
        if number < 1:  # ``Kept`` begins there
            raise WireError("an object of no number")
        named = cast(list[Any], methods)
        if len(named) > MAX_METHODS:  # a test may keep many objects
            raise WireError("an object of too many methods")
        names = [name for name in named if isinstance(name, str) and len(name) <= MAX_NAME]
        return Proxy(self._talk, number, kind[:MAX_NAME], names)


def holds_tensors(items: Iterable[Any]) -> bool:
    """Tell whether there are tensors among the arguments of a call."""
    plain = (item.value if isinstance(item, Watched | Hidden | Far) else item for item in items)
    return any(isinstance(item, Tensor) for item in plain)


def assert_device(value: Any, device: str, name: str) -> None:
    """Fail if a function that was given tensors on a device leaves it."""
    items = cast(tuple[Any, ...], value) if isinstance(value, tuple) else (value,)
    for item in items:
        # Of tensors only: to ask a proxy for an attribute is to call the submission.
        seen = getattr(item, "seen_on", device) if isinstance(item, Tensor) else ""
        if seen and seen != device:
            raise Mismatch(f"{name} got tensors on {device} and returned one on {seen}")
