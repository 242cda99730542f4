"""What a rank speaks through when the judge is its network: who may say what to whom."""

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor

from grader.proxy.loans.loans import Refusal
from grader.proxy.values.kinds import describe

METHODS = ("send", "recv", "exchange")
ATTRIBUTES = ("rank", "world")


class Peer(ABC):
    """One rank's end of a network of ours, to be lent.

    What cannot be said is refused with an exception of the submission's: a rank that there is not,
    oneself, what is no tensor.
    """

    def __init__(self, rank: int, world: int) -> None:
        self.rank = rank
        self.world = world

    @abstractmethod
    def swap(self, x: Tensor | None, to: int | None, source: int | None) -> Tensor | None:
        """Pass a message on, wait for another, or both at once; None: there is no such half."""

    def send(self, x: Any, to: Any) -> None:
        """Send a message; it ends when the message has been received."""
        self.swap(_message(x), self._other("to", to), None)

    def recv(self, source: Any) -> Tensor | None:
        """Return the next message of a rank."""
        return self.swap(None, None, self._other("source", source))

    def exchange(self, x: Any, to: Any, source: Any) -> Tensor | None:
        """Send a message and return one of a rank, at once."""
        return self.swap(_message(x), self._other("to", to), self._other("source", source))

    def _other(self, name: str, rank: Any) -> int:
        if type(rank) is not int:
            raise Refusal(TypeError(f"{name} is {describe(rank)}, and should be a rank, an int"))
        if not 0 <= rank < self.world:
            raise Refusal(ValueError(f"{name}={rank}, but ranks are 0 to {self.world - 1}"))
        if rank == self.rank:
            raise Refusal(ValueError(f"{name}={rank} is this rank: it has no link to itself"))
        return rank


def _message(x: Any) -> Tensor:
    if not isinstance(x, Tensor):
        raise Refusal(TypeError(f"a message is {describe(x)}, and should be a tensor"))
    return x
