# en: 8b0d914e899a
"""实验 11：让每一步的形状和地址都相同，这样一个 graph 就够所有的步使用。

字母：B 条序列，T 个新 token，G 个 key/value head，D head 宽度，L 层，V 词表大小。
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
    """供 ``slots`` 条序列使用的内存，其后还有一行 scratch，一次建成。

    ``keys`` 和 ``values`` 各是 L 个张量 [slots + 1, G, max_len, D] 的列表。
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
    ) -> Sequence[Cache]:  # L 个对象
        """返回 ``Llama`` 当作 ``caches`` 的东西，供写到这些位置的 token 使用。

        第 i 层的 ``update(k, v)`` 把第 b 行的第 t 个 token，[B, G, T, D]，写到 keys[i] 和
        values[i] 的 (slots[b], positions[b, t])，并返回这些行，[B, G, max_len, D]。
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
    """每条序列进入一个 token；一行中它的位置之后可能是垃圾值。"""
    raise NotImplementedError("step: decode_step")


def compile_step(model: Llama, cache: StaticCache, backend: Any) -> Step:
    """返回编译后的 ``decode_step``，每种 batch 大小至多一个 graph。

    ``backend`` 传给 ``torch.compile``。
    """
    raise NotImplementedError("step: compile_step")


# --- Task 3: prefill -------------------------------------------------------------------------


class Prefill:
    """让 prompt 进入一个 slot，并填充到几种 size 中放得下的最小一种：每种一个 graph。"""

    def __init__(
        self,
        model: Llama,
        cache: StaticCache,
        sizes: list[int],  # 顺序任意，都不大于 max_len
        backend: Any,
    ) -> None:
        raise NotImplementedError("prefill: Prefill")

    def __call__(self, tokens: list[int], slot: int) -> Tensor:  # 最后一个 token 的 logits [V]
        """从位置 0 起填入一个 slot；出错时抛出点名 tokens 或 slot 的 ValueError。"""
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
    """返回贪心解码的续写，不含 prompt 和 EOS；超长时抛出点名 max_len 的 ValueError。"""
    raise NotImplementedError("prefill: generate")


# --- Task 4: buckets -------------------------------------------------------------------------


def bucket(n: int, sizes: list[int]) -> int:
    """返回 >= n 的最小 size，sizes 的顺序任意；没有时抛出点名 n 的 ValueError。"""
    raise NotImplementedError("buckets: bucket")


def plan_sizes(histogram: dict[str, int], count: int) -> list[int]:
    """返回至多 ``count`` 个 batch 大小，升序，使填充的行数最少。

    ``{"5": 120}``：有 120 步是 5 行。count 小于 1 时抛出点名 count 的 ValueError。
    """
    raise NotImplementedError("buckets: plan_sizes")


# --- Task 5: graphs (and 6: speed) -----------------------------------------------------------


class GraphRunner:
    """靠 replay graph 来做 decode，每种 batch 大小一个。

    ``captured`` 列出已有 graph 的 size。
    """

    captured: list[int]

    def __init__(
        self,
        model: Llama,
        cache: StaticCache,
        sizes: list[int],
        make_graph: Callable[[], Any],  # -> 一个对象，接口见 labs/tape.py
    ) -> None:
        raise NotImplementedError("graphs: GraphRunner")

    def step(
        self, tokens: list[int], positions: list[int], slots: list[int]
    ) -> Tensor:  # [n, V]，归调用者所有
        """n 条序列各进入一个 token；参数不合要求时抛出点名该参数的 ValueError。"""
        raise NotImplementedError("graphs: GraphRunner.step")
