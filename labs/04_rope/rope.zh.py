# en: 1ae3d8a645fe
"""实验 04：旋转位置编码，以及一个不认识自己 cache 的注意力。

字母：B 序列数，T 新 token 数，S 上下文位置数，H query head 数，G key/value head 数
（H 是 G 的倍数），D head 宽度（偶数）。位置就是数据：batch 的每一行有自己的位置，可以重复、跳跃，
顺序任意。从上到下写。
"""

from typing import Any

from torch import Tensor

# keys（已旋转）[B,G,S,D]，values [B,G,S,D]，key_positions int64 [B,S]，query_positions int64 [B,T]
Update = tuple[Tensor, Tensor, Tensor, Tensor]

# 任何具有 update(k, v, positions) -> Update 和 length 的对象。没有一张列出各个类的清单。
Cache = Any


# --- Task 1: frequencies ---------------------------------------------------------------------


def rope_frequencies(
    dim: int,  # D
    theta: float,
    scaling: dict | None = None,  # Llama 3.1：键与 Hugging Face 的 config 相同
) -> Tensor:  # float32 [D/2]
    """返回每个位置各对旋转多少：theta ** (-2i / D)，需要时加以缩放。"""
    raise NotImplementedError("frequencies: rope_frequencies")


# --- Task 2: rotate --------------------------------------------------------------------------


def rotate(
    x: Tensor,  # [B, H, T, D]
    positions: Tensor,  # int64 [B, T]，>= 0
    frequencies: Tensor,  # float32 [D/2]
) -> Tensor:  # [B, H, T, D]，dtype 与 x 相同
    """把每一对 (i, i + D/2) 旋转 position * frequency；角度用 float32。"""
    raise NotImplementedError("rotate: rotate")


# --- Task 3: caches --------------------------------------------------------------------------


class PostRopeCache:
    """每个 key 到来时旋转一次，存旋转过的 key。"""

    length: int  # 到目前为止存下的 token 数

    def __init__(self, frequencies: Tensor) -> None:  # float32 [D/2]
        raise NotImplementedError("caches: PostRopeCache")

    def update(
        self,
        k: Tensor,  # [B, G, T, D]，未旋转
        v: Tensor,  # [B, G, T, D]
        positions: Tensor,  # int64 [B, T]
    ) -> Update:
        """加入 T 个 token；返回全部 S 个 key（已旋转）、value、key 的位置，以及 ``positions``。

        token 保持到来的顺序。
        """
        raise NotImplementedError("caches: PostRopeCache.update")


class PreRopeCache:
    """原样存下到来的每个 key，每次要用时旋转全部 key。"""

    length: int  # 到目前为止存下的 token 数

    def __init__(self, frequencies: Tensor) -> None:  # float32 [D/2]
        raise NotImplementedError("caches: PreRopeCache")

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        """所做的和所返回的，都与 ``PostRopeCache.update`` 相同。"""
        raise NotImplementedError("caches: PreRopeCache.update")


# --- Task 4: attend --------------------------------------------------------------------------


def attend(
    q: Tensor,  # [B, H, T, D]，未旋转
    k: Tensor,  # [B, G, T, D]，未旋转
    v: Tensor,  # [B, G, T, D]
    positions: Tensor,  # int64 [B, T]，交给 cache
    cache: Cache,  # 任何具有这两个成员的对象；此外什么也不要问它
    frequencies: Tensor,  # float32 [D/2]，用于 q
) -> Tensor:  # [B, H, T, D]
    """把 k 和 v 交给 cache，然后在 key_position <= query_position 处做注意力。

    这两种位置，以及 S 个 key 和 value，都是 ``cache.update`` 返回的。
    """
    raise NotImplementedError("attend: attend")


# --- Task 5: sink ----------------------------------------------------------------------------


class SinkCache:
    """StreamingLLM：最前 ``sinks`` 个 token 和最后 ``window`` 个，每次重新编号。"""

    length: int  # 保留的 token 数

    def __init__(
        self,
        frequencies: Tensor,  # float32 [D/2]
        sinks: int,  # >= 0
        window: int,  # >= 1
    ) -> None:
        raise NotImplementedError("sink: SinkCache")

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        """加入 T 个 token，驱逐，返回留下的；位置是其中的下标。

        接收 ``positions``，但不使用。T > window 时抛出 ValueError，什么也不改变。
        """
        raise NotImplementedError("sink: SinkCache.update")
