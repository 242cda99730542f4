# en: 9adcdbbbcb21
"""实验 03：选出下一个 token，或最好的序列。

字母：B 序列数，T 一条序列到目前为止的 token 数，V 词表大小。从上到下写。过滤器接收 logits，返回新的
logits：去掉的变成 -inf，其余的留在原来的位置。所有过滤器都不改动传入的参数，用 float32 或更高精度
计算，返回的 dtype 与收到的相同。
"""

from collections.abc import Callable

from torch import Generator, Tensor

Filter = Callable[[Tensor], Tensor]  # logits [B, V] -> 新的 logits [B, V]
Model = Callable[[Tensor], Tensor]  # tokens [B, T] -> 下一个 token 的 logits [B, V]


# --- Task 1: filters -------------------------------------------------------------------------


def temperature(
    logits: Tensor,  # [B, V]
    t: float,  # > 0，否则 ValueError
) -> Tensor:  # [B, V]
    """除以 t：小于 1 使分布更尖锐，大于 1 使分布更平坦。"""
    raise NotImplementedError("filters: temperature")


def top_k(
    logits: Tensor,  # [B, V]
    k: int,  # >= 1，否则 ValueError；k >= V 时全部保留
) -> Tensor:  # [B, V]
    """恰好保留每行最大的 k 个 logit；相等时保留 id 较小的。"""
    raise NotImplementedError("filters: top_k")


def top_p(
    logits: Tensor,  # [B, V]
    p: float,  # 0 < p <= 1，否则 ValueError
) -> Tensor:  # [B, V]
    """保留概率之和达到 p 的最小 token 集合。

    越过 p 的那个 token 也在集合里；logit 相等时，id 小的优先。
    """
    raise NotImplementedError("filters: top_p")


def min_p(
    logits: Tensor,  # [B, V]
    p: float,  # 0 <= p <= 1，否则 ValueError
) -> Tensor:  # [B, V]
    """保留概率至少是最大概率 p 倍的 token。"""
    raise NotImplementedError("filters: min_p")


def repetition_penalty(
    logits: Tensor,  # [B, V]
    history: list[list[int]],  # B 个列表，其中的 id 小于 V，否则 ValueError；列表可以为空
    penalty: float,  # > 1 时抑制已经说过的
) -> Tensor:  # [B, V]
    """对每行 history 中的 token，正的 logit 除以 penalty，负的乘以 penalty。

    每个 id 只做一次，不论它出现过多少次：与 Hugging Face 相同。
    """
    raise NotImplementedError("filters: repetition_penalty")


# --- Task 2: sampler -------------------------------------------------------------------------


class Sampler:
    """输入 logits，输出每行一个 token。"""

    def __init__(self, *filters: Filter, greedy: bool = False) -> None:
        """保存过滤器，以后按这个顺序应用；greedy 又带过滤器时抛出 ValueError。"""
        raise NotImplementedError("sampler: Sampler")

    def __call__(
        self,
        logits: Tensor,  # [B, V]
        generator: Generator | None = None,  # 与 logits 在同一设备；None：torch 的全局生成器
    ) -> Tensor:  # int64 [B]
        """每行从过滤后 logits 的 softmax 中抽取一个 token，各行独立。

        随机数只来自 ``generator``，不来自别处。贪心时取最大的 logit，不抽取随机数。
        """
        raise NotImplementedError("sampler: Sampler.__call__")


# --- Task 3: beam ----------------------------------------------------------------------------


def beam_search(
    model: Model,
    prompt: list[int],
    num_beams: int,
    max_new_tokens: int,
    eos_id: int,
    length_penalty: float = 1.0,
) -> list[tuple[list[int], float]]:  # （含 EOS 的新 token，得分），最好的在最前
    """寻找得分最高的新 token 序列：得分 = 对数概率之和 / len ** penalty。

    每一步用词表中的每个 token 扩展每个活着的 beam，在这些扩展和已结束的 beam 当中保留最好的
    num_beams 个；已结束的 beam 保持位置和得分。当保留的 beam 全部结束，或都有 max_new_tokens 个
    token 时终止。概率为 0 的 beam 不保留。
    """
    raise NotImplementedError("beam: beam_search")
