# en: a74465a2caed
"""实验 10：猜测，验证，保持分布。

字母：k 一轮的猜测数，V 词表大小，T 一次调用中进入模型的 token 数。从上往下做：
``speculative_generate`` 是套在前两个函数外面的一个循环。
"""

from collections.abc import Collection
from typing import Protocol

from torch import Generator, Tensor


class _Model(Protocol):
    """目标模型和草稿模型能做的事；交给你时，两者的 cache 都是空的。"""

    length: int  # cache 中的 token 数

    def forward(self, tokens: list[int]) -> Tensor:  # [T, V]
        """把 T 个 token 加入 cache；返回每个 token 之后的 logits。"""
        ...

    def rewind(self, n: int) -> None:
        """丢掉 cache 中最后 n 个 token。"""
        ...


# --- Task 1: greedy --------------------------------------------------------------------------


def accept_greedy(
    draft: list[int],  # k 个猜测，k >= 0
    target_logits: Tensor,  # [k+1, V]：第 i 行是目标模型在第 i 个猜测之前的回答
) -> list[int]:  # 要输出的 token，1 到 k+1 个
    """返回目标模型同意的猜测，后面接上它自己的 token。"""
    raise NotImplementedError("greedy: accept_greedy")


# --- Task 2: sample --------------------------------------------------------------------------


def accept_sample(
    draft: list[int],  # k 个猜测，k >= 0；第 i 个猜测抽取自 draft_probs[i]
    draft_probs: Tensor,  # float32 [k, V]，每一行加起来等于 1，只差舍入误差
    target_probs: Tensor,  # float32 [k+1, V]
    generator: Generator | None,  # 属于张量所在的设备；None：torch 的全局生成器
) -> list[int]:  # 要输出的 token，1 到 k+1 个
    """接受猜测，替换第一个被拒绝的，或在最后一个之后再加一个 token。

    猜测 x 以概率 min(1, p(x) / q(x)) 留下，p 是目标模型的概率，q 是草稿模型的。
    """
    raise NotImplementedError("sample: accept_sample")


# --- Task 3: generate ------------------------------------------------------------------------


def speculative_generate(
    target: _Model,
    draft: _Model,
    prompt: list[int],  # 至少一个 token
    k: int,  # 一轮的猜测数，>= 0；0 就是没有草稿的解码
    max_new_tokens: int,
    eos_ids: Collection[int],  # 其中任何一个都结束文本
    temperature: float = 0.0,  # 两个模型共用；0 取最优的 token
    generator: Generator | None = None,  # 属于模型 logits 所在的设备
) -> tuple[list[int], dict[str, int]]:  # 新的 token，不含 prompt 和 EOS；统计量
    """像目标模型独自续写那样续写 prompt，但调用它的次数更少。

    统计量是 "target_calls"、"drafted" 和 "accepted"。
    """
    raise NotImplementedError("generate: speculative_generate")


# --- Task 4: speedup -------------------------------------------------------------------------


def expected_speedup(
    acceptance: float,  # 一个猜测被接受的概率，0 到 1，含两端
    k: int,  # 一轮的猜测数，>= 0
    cost_ratio: float,  # 草稿模型一次调用的秒数 / 目标模型一次调用的秒数，>= 0
) -> float:
    """返回用投机采样时每秒的 token 数 / 不用时的（Leviathan et al., 2023）。"""
    raise NotImplementedError("speedup: expected_speedup")
