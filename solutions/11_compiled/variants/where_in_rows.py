"""Whole rows by ``where``, modules that are compiled, one buffer of inputs for all graphs."""

import bisect
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from labs.llama import Llama

# Each size has a graph of its own: there may be more of them than torch keeps as a rule.
torch.compiler.config.recompile_limit = 256


class StaticCache:
    def __init__(
        self,
        config: Any,
        slots: int,
        max_len: int,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ) -> None:
        # Keys and values of all layers are one piece of memory.
        size = config.num_kv_heads, max_len, config.head_dim
        kind = {"dtype": dtype, "device": device}
        self._all = torch.zeros(2, config.num_layers, slots + 1, *size, **kind)
        self.keys, self.values = (list(half) for half in self._all)

    def layers(self, positions: Tensor, slots: Tensor) -> list[Any]:
        places = torch.arange(self._all.shape[4], device=positions.device)
        hits = positions.unsqueeze(2) == places  # [B, T, max_len]
        token = hits.int().argmax(1)[:, None, :, None]  # which of the new ones goes to a place
        new = hits.any(1)[:, None, :, None]
        pairs = zip(self.keys, self.values, strict=True)
        return [_Layer(pair, token, new, slots) for pair in pairs]


class _Layer:
    def __init__(self, pair: Any, token: Tensor, new: Tensor, slots: Tensor) -> None:
        self.pair, self.token, self.new, self.slots = pair, token, new, slots

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        rows: list[Tensor] = []
        for memory, x in zip(self.pair, (k, v), strict=True):
            old = memory.index_select(0, self.slots)
            spread = x.gather(2, self.token.expand(old.shape))
            rows.append(torch.where(self.new, spread, old))
            memory.index_copy_(0, self.slots, rows[-1])
        return rows[0], rows[1]


class _Step(nn.Module):
    """A model and its cache: tokens and positions [B, T], slots [B] -> logits [B, T, V]."""

    def __init__(self, model: Llama, cache: StaticCache) -> None:
        super().__init__()
        self.model, self.cache = model, cache

    def forward(self, tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
        keys = torch.arange(self.cache.keys[0].shape[2], device=tokens.device)
        mask = positions.unsqueeze(2).ge(keys).unsqueeze(1)
        return self.model(tokens, positions, mask, self.cache.layers(positions, slots))


def decode_step(
    model: Llama, cache: StaticCache, tokens: Tensor, positions: Tensor, slots: Tensor
) -> Tensor:
    return _Step(model, cache)(tokens[:, None], positions[:, None], slots).squeeze(1)


def compile_step(
    model: Llama, cache: StaticCache, backend: Any
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    run = torch.compile(_Step(model, cache), backend=backend, fullgraph=True, dynamic=False)
    return lambda tokens, positions, slots: run(tokens[:, None], positions[:, None], slots)[:, 0]


class Prefill:
    def __init__(self, model: Llama, cache: StaticCache, sizes: list[int], backend: Any) -> None:
        self.slots, _, self.longest, _ = cache.keys[0].shape
        self.device = cache.keys[0].device
        self.sizes = sorted(sizes)
        self.run = torch.compile(
            _Step(model, cache), backend=backend, fullgraph=True, dynamic=False
        )

    def __call__(self, tokens: list[int], slot: int) -> Tensor:
        n = len(tokens)
        if n == 0 or n > self.sizes[-1] or n > self.longest:
            raise ValueError(f"tokens: {n} do not fit")
        if slot not in range(self.slots - 1):
            raise ValueError(f"slot: there is no {slot}")
        size = bucket(n, self.sizes)
        text = torch.tensor([*tokens, *tokens[:1] * (size - n)], device=self.device)
        places = torch.arange(size, device=self.device)
        logits = self.run(text[None], places[None], torch.tensor([slot], device=self.device))
        return logits[0, n - 1].clone()


def generate(
    model: Llama,
    prompt: list[int],
    max_new_tokens: int,
    eos_ids: Sequence[int],
    max_len: int,
    sizes: list[int],
    backend: Any,
) -> list[int]:
    if len(prompt) + max_new_tokens > max_len:
        raise ValueError(f"max_len: {max_len} places are too few")
    parameter = next(model.parameters())
    cache = StaticCache(model.config, 1, max_len, parameter.dtype, parameter.device)
    step, new = compile_step(model, cache, backend), list[int]()
    while len(new) < max_new_tokens:
        if new:
            last = [new[-1:], [len(prompt) + len(new) - 1], [0]]
            logits = step(*(torch.tensor(x, device=parameter.device) for x in last))[0]
        else:
            logits = Prefill(model, cache, sizes, backend)(prompt, 0)
        token = logits.argmax().item()
        if token in eos_ids:
            break
        new.append(int(token))
    return new


def bucket(n: int, sizes: list[int]) -> int:
    ordered = sorted(sizes)
    place = bisect.bisect_left(ordered, n)
    if place == len(ordered):
        raise ValueError(f"n = {n} is above {ordered[-1]}")
    return ordered[place]


def plan_sizes(histogram: dict[str, int], count: int) -> list[int]:
    if count < 1:
        raise ValueError("count must be 1 or more")
    kinds = sorted((int(rows), times) for rows, times in histogram.items())

    @functools.cache
    def best(stop: int, left: int) -> tuple[int, tuple[int, ...]]:
        """Padded rows and sizes for the smallest kinds, the largest of which is a size."""
        if stop == 0:
            return 0, ()
        size = kinds[stop - 1][0]
        options: list[tuple[int, tuple[int, ...]]] = []
        for start in range(stop if left > 1 else 1):
            padded, sizes = best(start, left - 1)
            own = sum((size - rows) * times for rows, times in kinds[start:stop])
            options.append((padded + own, (*sizes, size)))
        return min(options)

    return list(best(len(kinds), count)[1])


class GraphRunner:
    def __init__(
        self, model: Llama, cache: StaticCache, sizes: list[int], make_graph: Callable[[], Any]
    ) -> None:
        self.captured: list[int] = []
        self.sizes, self.make_graph = sorted(sizes), make_graph
        self.scratch, _, self.longest, _ = (n - 1 for n in cache.keys[0].shape)
        self.on_gpu = cache.keys[0].is_cuda
        self.run: Callable[..., Tensor] = _Step(model, cache)
        if self.on_gpu:
            self.run = torch.compile(self.run, fullgraph=True, dynamic=False)
        # Tokens, positions and slots of all graphs; the smaller ones read its beginning.
        self.inputs = torch.zeros(3, max(sizes), dtype=torch.int64).to(cache.keys[0].device)
        self.graphs: dict[int, tuple[Any, Tensor]] = {}

    def fill(self, *lists: list[int]) -> None:
        rest = len(self.inputs[0]) - len(lists[0])
        padded = [x + [fill] * rest for x, fill in zip(lists, (0, 0, self.scratch), strict=True)]
        self.inputs.copy_(torch.tensor(padded))

    def capture(self, size: int) -> None:
        self.fill([], [], [])
        tokens, positions, slots = self.inputs[:, :size]
        given = tokens[:, None], positions[:, None], slots
        if self.on_gpu:
            side, main = torch.cuda.Stream(), torch.cuda.current_stream()
            side.wait_stream(main)
            with torch.no_grad(), torch.cuda.stream(side):
                self.run(*given)
            main.wait_stream(side)
        graph = self.make_graph()
        with graph.capture():
            logits = self.run(*given)
        self.graphs[size] = graph, logits
        self.captured.append(size)

    def step(self, tokens: list[int], positions: list[int], slots: list[int]) -> Tensor:
        n = len(tokens)
        if not {len(positions), len(slots)} == {n} or not 1 <= n <= self.sizes[-1]:
            raise ValueError("tokens, positions and slots: so many rows are no step")
        if min(slots) < 0 or max(slots) >= self.scratch or len(set(slots)) != n:
            raise ValueError("slots must be different ones of the cache")
        if min(positions) < 0 or max(positions) > self.longest:
            raise ValueError("positions must be places of the cache")
        size = bucket(n, self.sizes)
        if size not in self.graphs:
            self.capture(size)
        graph, logits = self.graphs[size]
        self.fill(tokens, positions, slots)
        graph.replay()
        return logits[:n, 0] + 0.0
