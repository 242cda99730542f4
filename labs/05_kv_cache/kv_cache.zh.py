# en: d6aa058ac3d6
"""实验 05：每个 token 只付一次代价。

字母：B 序列数，T 新 token 数，S 上下文位置数（到目前为止的全部 token，包括新的），H query head 数，
G key/value head 数，D head 宽度，V 词表大小。
给定的代码在 ``labs/common.py`` 和 ``labs/llama.py``：读一读后者的 ``Attention.forward``，
看一层在什么时候调用它的 cache 和 ``attend``。
"""

from collections.abc import Callable, Collection

import torch
from torch import Tensor

from labs.common import LlamaConfig
from labs.llama import Cache, Llama

# --- Task 1: growing -------------------------------------------------------------------------


class GrowingCache:
    """到目前为止所有 token 的 key 和 value，不论多少。``length``（int）：保存的 token 数。"""

    def __init__(self) -> None:
        raise NotImplementedError("growing: GrowingCache")

    def update(
        self,
        k: Tensor,  # [B, G, T, D]
        v: Tensor,  # [B, G, T, D]
    ) -> tuple[Tensor, Tensor]:  # 到目前为止的全部 key、全部 value，各为 [B, G, S, D]
        """加入 T 个 token；cache 保存拷贝，k 和 v 仍归调用者，可以随意改动。"""
        raise NotImplementedError("growing: GrowingCache.update")

    def rewind(self, n: int) -> None:
        """丢弃最后 n 个 token；不足 n 个时抛出 ValueError，点名 n，什么也不改变。"""
        raise NotImplementedError("growing: GrowingCache.rewind")


# --- Task 2: static --------------------------------------------------------------------------


class StaticCache:
    """同上，但内存只创建一次，够放 max_len 个 token。``length``（int）：保存的 token 数。"""

    def __init__(
        self,
        batch: int,
        kv_heads: int,
        max_len: int,
        head_dim: int,
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> None:
        raise NotImplementedError("static: StaticCache")

    def update(
        self,
        k: Tensor,  # [B, G, T, D]，任意浮点 dtype：转换成 cache 的 dtype
        v: Tensor,  # [B, G, T, D]
    ) -> tuple[Tensor, Tensor]:  # 已填充部分的视图，各为 [B, G, S, D]
        """加入 T 个 token，不分配内存。

        超出 max_len，或 batch 大小不同：抛出 ValueError，点名 max_len 或 batch，什么也不改变。
        """
        raise NotImplementedError("static: StaticCache.update")

    def rewind(self, n: int) -> None:
        """丢弃最后 n 个 token；不足 n 个时抛出 ValueError，点名 n，什么也不改变。"""
        raise NotImplementedError("static: StaticCache.rewind")

    def reset(self) -> None:
        """丢弃所有 token；内存留着。"""
        raise NotImplementedError("static: StaticCache.reset")


# --- Task 3: attend --------------------------------------------------------------------------


def attend(
    q: Tensor,  # [B, H, T, D]，新的 token
    k: Tensor,  # [B, G, S, D]，到目前为止的全部 token，新的在最后
    v: Tensor,  # [B, G, S, D]
) -> Tensor:  # [B, H, T, D]
    """因果注意力：最后一个 query 看到最后一个 key；第 h 个 head 读第 h // (H / G) 个 key head。

    无论什么 dtype，分数、softmax 和求和都用 float32；结果的 dtype 与 q 相同。
    """
    raise NotImplementedError("attend: attend")


# --- Task 4: generate ------------------------------------------------------------------------


def generate(
    model: Llama,  # model(tokens [1,T], positions [1,T], caches=..., attend=...) -> [1, T, V]
    prompt: list[int],
    max_new_tokens: int,
    eos_ids: Collection[int],  # 其中任何一个都结束序列
    make_cache: Callable[[], Cache],  # 创建一层的 cache；共需 ``model.num_layers`` 个
) -> list[int]:  # 新的 token：不含 prompt，不含 EOS
    """贪心续写 prompt；每个 token 只进入模型一次。"""
    raise NotImplementedError("generate: generate")


# --- Task 5: bytes ---------------------------------------------------------------------------


def cache_bytes(config: LlamaConfig, batch: int, length: int, dtype: torch.dtype) -> int:
    """返回每条序列 ``length`` 个 token 时，所有层的 cache 一共保存多少字节。"""
    raise NotImplementedError("bytes: cache_bytes")
