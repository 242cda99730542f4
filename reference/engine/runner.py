"""The forward passes of an engine, plainly: one step at a time, nothing compiled."""

import torch
from torch import Tensor

from reference.checkpoint import Model
from reference.engine.decoder import Decoder, StaticCache


class Runner:
    """A model with a cache of ``slots`` sequences of at most ``max_len`` tokens."""

    def __init__(
        self,
        model: Model,
        slots: int,
        max_len: int,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
        bits: int | None = None,
        sizes: list[int] | None = None,
        compiled: bool = True,
    ) -> None:
        if bits is not None:
            raise ValueError("quantized weights are not supported yet")
        self._decoder = Decoder(model, max_len, dtype, device)
        self._cache = StaticCache(model.fields, slots, max_len, dtype, device)
        self._device, self._max_len = device, max_len
        self.num_bytes = self._decoder.num_bytes

    @torch.inference_mode()
    def prefill(self, tokens: list[int], slot: int, start: int = 0) -> Tensor:  # -> [V]
        """Read tokens at positions ``start`` and on; return the logits behind the last."""
        if start:
            return self.extend(torch.tensor(tokens), start, slot)[-1]
        last = self._ids([len(tokens) - 1])
        return self._decoder.prefill(self._cache, self._ids(tokens), self._ids([slot]), last)

    @torch.inference_mode()
    def step(self, tokens: list[int], positions: list[int], slots: list[int]) -> Tensor:  # [n, V]
        """Read one token of each of n sequences."""
        reach = max(positions) + 1
        places = self._ids(positions), self._ids(slots)
        return self._decoder.step(self._cache, self._ids(tokens), *places, reach)

    @torch.inference_mode()
    def extend(self, tokens: Tensor, position: int, slot: int) -> Tensor:  # [T] -> [T, V]
        """Read T tokens of one sequence; return the logits behind each."""
        ids: list[int] = tokens.tolist()
        return torch.cat([self.step([id_], [position + i], [slot]) for i, id_ in enumerate(ids)])

    def greedy(
        self, tokens: list[int], positions: list[int], slots: list[int], count: int
    ) -> Tensor:  # int64 [n, count]
        """Take ``count`` best tokens, each fed back."""
        found: list[Tensor] = []
        for i in range(count):
            best = self.step(tokens, [place + i for place in positions], slots).argmax(-1)
            found.append(best)
            tokens = best.tolist()
        return torch.stack(found, dim=1)

    def _ids(self, values: list[int]) -> Tensor:
        return torch.tensor(values, device=self._device)
