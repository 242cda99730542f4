# en: c0afcc567a99
"""实验 02：一次前向处理多种长度的 prompt。

字母：B 序列数，T 填充后 batch 的列数（query 和 key 都是 T 列），V 词表大小。
从上到下写：每个任务都用到前一个。给定的代码在 ``labs/common.py`` 和 ``labs/llama.py``；
做最后一个任务之前，先读 ``Llama`` 的 docstring。
"""

from collections.abc import Callable, Sequence

from torch import Tensor

# model(tokens [B, T], positions [B, T], mask [B, 1, T, T]) -> logits [B, T, V]
Model = Callable[[Tensor, Tensor, Tensor], Tensor]


# --- Task 1: pad -----------------------------------------------------------------------------


def left_pad(
    prompts: list[list[int]],  # B 个 prompt，都不为空
    pad_id: int,
) -> tuple[
    Tensor, Tensor, Tensor
]:  # tokens int64 [B, T]，positions int64 [B, T]，valid bool [B, T]
    """把各 prompt 右端对齐；T 是最长 prompt 的长度。

    位置从每行第一个真实 token 起由 0 数起，填充处为 0；valid 在真实 token 处为 True。
    prompt 为空时抛出 ValueError。
    """
    raise NotImplementedError("pad: left_pad")


# --- Task 2: mask ----------------------------------------------------------------------------


def causal_mask(
    valid: Tensor,  # bool [B, T]，任意模式
) -> Tensor:  # bool [B, 1, T, T]，query（行）可以关注 key（列）处为 True
    """让真实 token 看到直到它自己为止的真实 token，让填充只看到它自己。

    mask 与 ``valid`` 在同一设备上。
    """
    raise NotImplementedError("mask: causal_mask")


# --- Task 3: waste ---------------------------------------------------------------------------


def padding_waste(lengths: list[int]) -> float:
    """返回填充后的 batch 中填充所占的比例；batch 里什么都没有时返回 0.0。

    出现负的长度时抛出 ValueError。
    """
    raise NotImplementedError("waste: padding_waste")


# --- Task 4: generate ------------------------------------------------------------------------


def generate(
    model: Model,
    prompts: list[list[int]],  # B 个 prompt，都不为空
    max_new_tokens: int,  # 每行最多这么多 token
    eos_ids: Sequence[int],  # 其中任何一个都结束所在的行
    pad_id: int,
) -> list[list[int]]:  # 每行的新 token：不含 prompt，不含 EOS，不含填充
    """贪心续写所有 prompt，每一步对模型只调用一次，所有行一起。

    每次调用都传入到目前为止的完整序列。使最后一行结束的那次调用就是最后一次。
    """
    raise NotImplementedError("generate: generate")


# --- Task 5: engine --------------------------------------------------------------------------


class BatchEngine:
    """输入文本，输出文本：一个 checkpoint、它的 tokenizer 和 ``generate``。"""

    def __init__(self, model_path: str) -> None:
        raise NotImplementedError("engine: BatchEngine")

    def execute(self, prompts: list[str], max_new_tokens: int = 128) -> list[str]:
        """按相同的顺序返回每个 prompt 的贪心续写，不含 prompt。"""
        raise NotImplementedError("engine: BatchEngine.execute")
