"""Lab 11: give each step the same shapes and addresses, so that one graph does for all.

Letters: B sequences, T new tokens, G key/value heads, D head width, L layers, V vocabulary.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from labs.common import LlamaConfig
from labs.llama import Cache, Llama

Step = Callable[[Tensor, Tensor, Tensor], Tensor]  # int64 [B] x3 -> logits [B, V]

# --- Task 1: cache ---------------------------------------------------------------------------


class StaticCache:
    """Memory for ``slots`` sequences and a row of scratch behind them, made once.

    ``keys`` and ``values`` are lists of L tensors [slots + 1, G, max_len, D].
    """

    def __init__(
        self,
        config: LlamaConfig,
        slots: int,
        max_len: int,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ) -> None:
        raise NotImplementedError("cache: StaticCache")

    def layers(
        self,
        positions: Tensor,  # int64 [B, T], 0 <= position < max_len
        slots: Tensor,  # int64 [B], 0 <= slot <= slots
    ) -> Sequence[Cache]:  # L objects
        """Return what ``Llama`` takes as ``caches``, for tokens that go to these places.

        ``update(k, v)`` of layer i writes token t of row b, [B, G, T, D], to (slots[b],
        positions[b, t]) of keys[i] and values[i], and returns those rows, [B, G, max_len, D].
        """
        raise NotImplementedError("cache: StaticCache.layers")


# --- Task 2: step ----------------------------------------------------------------------------


def decode_step(
    model: Llama,
    cache: StaticCache,
    tokens: Tensor,  # int64 [B]
    positions: Tensor,  # int64 [B]
    slots: Tensor,  # int64 [B]
) -> Tensor:  # logits [B, V]
    """Let one token of each sequence enter; behind its position a row may hold garbage."""
    raise NotImplementedError("step: decode_step")


def compile_step(model: Llama, cache: StaticCache, backend: Any) -> Step:
    """Return ``decode_step`` as one graph for each batch size at most.

    ``backend`` goes to ``torch.compile``.
    """
    raise NotImplementedError("step: compile_step")


# --- Task 3: prefill -------------------------------------------------------------------------


class Prefill:
    """Lets a prompt enter a slot, padded to the smallest of a few sizes: one graph for each."""

    def __init__(
        self,
        model: Llama,
        cache: StaticCache,
        sizes: list[int],  # in any order, none above max_len
        backend: Any,
    ) -> None:
        raise NotImplementedError("prefill: Prefill")

    def __call__(self, tokens: list[int], slot: int) -> Tensor:  # logits [V] of the last token
        """Fill a slot from position 0 on; ValueError naming tokens or slot."""
        raise NotImplementedError("prefill: Prefill.__call__")


def generate(
    model: Llama,
    prompt: list[int],
    max_new_tokens: int,
    eos_ids: Sequence[int],
    max_len: int,
    sizes: list[int],
    backend: Any,
) -> list[int]:
    """Return the greedy continuation, without prompt and EOS; ValueError naming max_len."""
    raise NotImplementedError("prefill: generate")


# --- Task 4: buckets -------------------------------------------------------------------------


def bucket(n: int, sizes: list[int]) -> int:
    """Return the smallest size >= n, of sizes in any order; ValueError naming n."""
    raise NotImplementedError("buckets: bucket")


def plan_sizes(histogram: dict[str, int], count: int) -> list[int]:
    """Return at most ``count`` batch sizes, ascending, with the fewest padded rows.

    ``{"5": 120}``: 120 steps had 5 rows. ValueError naming count if it is below 1.
    """
    raise NotImplementedError("buckets: plan_sizes")


# --- Task 5: graphs (and 6: speed) -----------------------------------------------------------


class GraphRunner:
    """Decodes by replaying graphs, one for each batch size.

    ``captured`` lists the sizes that have a graph.
    """

    captured: list[int]

    def __init__(
        self,
        model: Llama,
        cache: StaticCache,
        sizes: list[int],
        make_graph: Callable[[], Any],  # -> an object as labs/tape.py has it
    ) -> None:
        raise NotImplementedError("graphs: GraphRunner")

    def step(
        self, tokens: list[int], positions: list[int], slots: list[int]
    ) -> Tensor:  # [n, V], the caller's own
        """Let one token of each of n sequences enter; ValueError naming what does not fit."""
        raise NotImplementedError("graphs: GraphRunner.step")
