"""A model with a cache of its own, as lab 10 wants target and draft."""

from pathlib import Path

from torch import Tensor

from labs.assembly import Assembly
from labs.common import LlamaConfig, load_weights
from labs.pieces import Work


class Reader:
    """A model and its cache; without your lab 05 each call repeats the text."""

    def __init__(self, model: Assembly, room: int) -> None:  # tokens that the cache may hold
        self.calls = 0
        self._model = model
        self._caches = model.make_caches(room)
        self._tokens: list[int] = []

    @property
    def length(self) -> int:
        """Tokens in the cache."""
        return len(self._tokens)

    def forward(self, tokens: list[int]) -> Tensor:  # [T, V]
        """Add tokens; return the logits behind each of them."""
        self.calls += 1
        start = self.length
        self._tokens += tokens
        if self._caches is not None:
            return self._model(*self._model.lay_out(tokens, start), self._caches)[0]
        return self._model(*self._model.lay_out(self._tokens, 0))[0, start:]

    def rewind(self, n: int) -> None:
        """Drop the last n tokens."""
        del self._tokens[self.length - n :]
        for cache in self._caches or ():
            cache.rewind(n)


def load(folder: Path, works: dict[int, Work]) -> Assembly:
    """Load a checkpoint in float32, with the pieces of these works.

    In bfloat16 the number of tokens in a call already changes which one is best.
    """
    weights = {name: weight.float() for name, weight in load_weights(folder).items()}
    return Assembly(works, LlamaConfig.from_pretrained(folder), weights)
