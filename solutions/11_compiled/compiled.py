"""Model answer of lab 11: one graph for every step.

Letters: B sequences, T new tokens, G key/value heads, D head width, L layers, V vocabulary.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from labs.llama import Llama

Step = Callable[[Tensor, Tensor, Tensor], Tensor]  # int64 [B] x3 -> logits [B, V]


class _Rows:
    """One layer of a cache, for the rows and places of one call."""

    def __init__(self, keys: Tensor, values: Tensor, positions: Tensor, slots: Tensor) -> None:
        self._keys = keys
        self._values = values
        self._positions = positions
        self._slots = slots

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        # The indices have a slice between them, so their axes come first: [B, T, G, D].
        rows = self._slots.unsqueeze(1)
        self._keys[rows, :, self._positions] = k.transpose(1, 2)
        self._values[rows, :, self._positions] = v.transpose(1, 2)
        return self._keys[self._slots], self._values[self._slots]


class StaticCache:
    """Memory for ``slots`` sequences and one row of scratch, made once."""

    def __init__(
        self,
        config: Any,
        slots: int,
        max_len: int,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ) -> None:
        self.slots = slots
        self.max_len = max_len
        shape = slots + 1, config.num_kv_heads, max_len, config.head_dim
        self.keys, self.values = (
            [torch.zeros(shape, dtype=dtype, device=device) for _ in range(config.num_layers)]
            for _ in "kv"
        )

    def layers(self, positions: Tensor, slots: Tensor) -> list[_Rows]:  # int64 [B, T], [B]
        """Return for each layer what ``Llama`` asks of its cache, for these places."""
        pairs = zip(self.keys, self.values, strict=True)
        return [_Rows(keys, values, positions, slots) for keys, values in pairs]


def _forward(
    model: Llama, cache: StaticCache, tokens: Tensor, positions: Tensor, slots: Tensor
) -> Tensor:  # int64 [B, T] x2, [B] -> logits [B, T, V]
    # Whatever lies behind a token's own position is garbage, of this sequence or an earlier one.
    keys = torch.arange(cache.max_len, device=positions.device)
    mask = (keys <= positions.unsqueeze(-1)).unsqueeze(1)  # [B, 1, T, max_len]
    return model(tokens, positions, mask, cache.layers(positions, slots))


def decode_step(
    model: Llama, cache: StaticCache, tokens: Tensor, positions: Tensor, slots: Tensor
) -> Tensor:  # int64 [B] x3 -> logits [B, V]
    """Let one token of each sequence enter, and return what comes next."""
    return _forward(model, cache, tokens.unsqueeze(1), positions.unsqueeze(1), slots)[:, 0]


def compile_step(model: Llama, cache: StaticCache, backend: Any) -> Step:
    """Return ``decode_step`` as one graph for each batch size at most."""

    @torch.compile(backend=backend, fullgraph=True)
    def step(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
        return decode_step(model, cache, tokens, positions, slots)

    return step


class Prefill:
    """Reads prompts, padded to a few lengths so that there are as few graphs."""

    def __init__(self, model: Llama, cache: StaticCache, sizes: list[int], backend: Any) -> None:
        self._cache = cache
        self._sizes = sizes

        @torch.compile(backend=backend, fullgraph=True)
        def forward(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
            return _forward(model, cache, tokens, positions, slots)

        self._forward = forward

    def __call__(self, tokens: list[int], slot: int) -> Tensor:  # logits [V]
        count = len(tokens)
        if not 0 < count <= min(max(self._sizes), self._cache.max_len):
            raise ValueError(f"tokens: {count} of them do not fit")
        if not 0 <= slot < self._cache.slots:
            raise ValueError(f"slot {slot} is none of {self._cache.slots}")
        size = min(size for size in self._sizes if size >= count)
        device = self._cache.keys[0].device
        # Padding writes behind the prompt, where each place is written again before it is read.
        padded = torch.tensor([tokens + [0] * (size - count)], device=device)
        positions = torch.arange(size, device=device).unsqueeze(0)
        return self._forward(padded, positions, torch.tensor([slot], device=device))[0, count - 1]


def generate(
    model: Llama,
    prompt: list[int],
    max_new_tokens: int,
    eos_ids: Sequence[int],
    max_len: int,
    sizes: list[int],
    backend: Any,
) -> list[int]:
    """Return the greedy continuation, without prompt and EOS."""
    if len(prompt) + max_new_tokens > max_len:
        text = f"{len(prompt)} + {max_new_tokens} tokens are more than max_len {max_len}"
        raise ValueError(text)
    new: list[int] = []
    if max_new_tokens == 0:
        return new
    weight = model.embed_tokens.weight
    device = weight.device
    cache = StaticCache(model.config, 1, max_len, weight.dtype, device)
    step = compile_step(model, cache, backend)
    slots = torch.zeros(1, dtype=torch.int64, device=device)
    token = int(Prefill(model, cache, sizes, backend)(prompt, 0).argmax())
    while token not in eos_ids:
        new.append(token)
        if len(new) == max_new_tokens:
            break
        position = torch.tensor([len(prompt) + len(new) - 1], device=device)
        token = int(step(torch.tensor([token], device=device), position, slots).argmax())
    return new


def bucket(n: int, sizes: list[int]) -> int:
    """Return the smallest size that holds n."""
    fitting = [size for size in sizes if size >= n]
    if not fitting:
        raise ValueError(f"n {n} is more than any of {sizes}")
    return min(fitting)


def plan_sizes(histogram: dict[str, int], count: int) -> list[int]:
    """Return at most ``count`` sizes that carry every step with the fewest padded rows."""
    if count < 1:
        raise ValueError(f"count {count} is less than 1")
    rows = sorted((int(n), times) for n, times in histogram.items())
    # best[j]: padded rows and sizes for the j smallest, the last of which is a size.
    best: list[tuple[int, list[int]]] = [(0, [])]
    best += [(0, [])] * len(rows)
    for used in range(1, count + 1):
        before, best = best, [best[0]]
        for j in range(1, len(rows) + 1):
            top = rows[j - 1][0]
            options: list[tuple[int, list[int]]] = []
            for i in range(j):
                if i and used == 1:
                    continue  # one size carries all
                padded = sum(times * (top - n) for n, times in rows[i:j])
                options.append((before[i][0] + padded, [*before[i][1], top]))
            best.append(min(options))
    return best[-1][1]


class GraphRunner:
    """Decodes by replaying graphs, one for each batch size."""

    def __init__(
        self, model: Llama, cache: StaticCache, sizes: list[int], make_graph: Callable[[], Any]
    ) -> None:
        self._model = model
        self._cache = cache
        self._sizes = sizes
        self._graphs: dict[int, tuple[Any, Tensor, Tensor]] = {}
        for size in sorted(sizes, reverse=True):  # on a GPU the largest makes room for the others
            self._graphs[size] = self._capture(size, make_graph())

    @property
    def captured(self) -> list[int]:
        """The batch sizes that have a graph."""
        return [*self._graphs]

    def _capture(self, size: int, graph: Any) -> tuple[Any, Tensor, Tensor]:
        device = self._cache.keys[0].device
        inputs = torch.zeros(3, size, dtype=torch.int64, device=device)
        inputs[2] = self._cache.slots  # scratch: warm-up and padding write there alone
        decode = decode_step
        if device.type == "cuda":
            # A graph spares launches; fewer kernels, each with less to read, a compiler makes.
            torch.compiler.config.recompile_limit = 256  # each size is compiled by itself
            decode = torch.compile(decode_step, fullgraph=True, dynamic=False)
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.no_grad(), torch.cuda.stream(stream):
                for _ in range(2):
                    decode(self._model, self._cache, *inputs)
            torch.cuda.current_stream().wait_stream(stream)
        with graph.capture():
            logits = decode(self._model, self._cache, *inputs)
        return graph, inputs, logits

    def step(self, tokens: list[int], positions: list[int], slots: list[int]) -> Tensor:  # [n, V]
        """Let one token of each sequence enter; rows that the batch lacks go to scratch."""
        n = len(tokens)
        self._check(tokens, positions, slots)
        size = bucket(n, self._sizes)
        graph, inputs, logits = self._graphs[size]
        padding = [0] * (size - n), [0] * (size - n), [self._cache.slots] * (size - n)
        given = zip((tokens, positions, slots), padding, strict=True)
        inputs.copy_(torch.tensor([[*some, *more] for some, more in given]))
        graph.replay()
        return logits[:n].clone()

    def _check(self, tokens: list[int], positions: list[int], slots: list[int]) -> None:
        n = len(tokens)
        if not (0 < n <= max(self._sizes) and n == len(positions) == len(slots)):
            text = f"{n} tokens, {len(positions)} positions and {len(slots)} slots"
            raise ValueError(f"{text}: as many of each, at least 1, at most {max(self._sizes)}")
        if len({*slots}) < n or not all(0 <= slot < self._cache.slots for slot in slots):
            raise ValueError(f"slots {slots} must be different ones below {self._cache.slots}")
        if not all(0 <= position < self._cache.max_len for position in positions):
            raise ValueError(f"positions {positions} must be below {self._cache.max_len}")
