"""What is asked of an engine, and what came of it."""

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum

from torch import Generator

from reference.engine.sampling import Sampling


class Ending(StrEnum):
    """Why a request got no more tokens."""

    LENGTH = "length"
    EOS = "eos"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt to continue by at most ``max_new_tokens``; an EOS ends it and is not returned."""

    prompt: list[int]
    max_new_tokens: int
    eos_ids: Collection[int] = ()
    sampling: Sampling = field(default_factory=Sampling)


@dataclass(frozen=True, slots=True)
class Output:
    """The new tokens of a request that is over."""

    tokens: list[int]
    ending: Ending


@dataclass(slots=True, eq=False)
class Running:
    """A request in a slot; the last token of ``text`` has not entered the model."""

    number: int
    request: Request
    slot: int
    text: list[int]
    generator: Generator

    @property
    def new(self) -> list[int]:
        return self.text[len(self.request.prompt) :]

    @property
    def remaining(self) -> int:
        return len(self.request.prompt) + self.request.max_new_tokens - len(self.text)


def check(request: Request, vocab: int, max_len: int) -> None:
    """Raise ValueError for a request that no engine of that size can serve."""
    if not request.prompt:
        raise ValueError("the prompt is empty")
    wrong = [token for token in request.prompt if not 0 <= token < vocab]
    if wrong:
        raise ValueError(f"the prompt holds {wrong[0]}, which is no token of 0 to {vocab - 1}")
    if request.max_new_tokens < 0:
        raise ValueError(f"max_new_tokens is {request.max_new_tokens}; it must be 0 or more")
    # The last token is returned and never enters.
    needed = len(request.prompt) + request.max_new_tokens - 1
    if needed > max_len:
        raise ValueError(
            f"a prompt of {len(request.prompt)} tokens and {request.max_new_tokens} new ones need"
            f" {needed} places; a slot of this engine has {max_len}"
        )
