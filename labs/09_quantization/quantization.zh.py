# en: 9a43af21d8c7
"""实验 09：用更少的比特存放权重和 cache，并直接用它们做乘法。

字母：O、I 线性层的输出与输入特征数，M x 的行数，B 序列数，G key/value head 数，T 新 token 数，
S 迄今全部 token 数，D head 宽度。
写 kernel 需要 ``import triton`` 和 ``import triton.language as tl``；没有 GPU 时，它在 Triton
的解释器里运行。
"""

from collections.abc import Collection
from typing import Any, Self

from torch import Tensor, nn

# --- Task 1: int8 ----------------------------------------------------------------------------


def quantize_int8(
    w: Tensor,  # [O, I]，float32、float16 或 bfloat16，任意 stride
) -> tuple[Tensor, Tensor]:  # 编码 int8 [O, I]，scale float32 [O]
    """对每一行做对称量化：scale = max|w| / 127，编码在 -127..127 之内，中间值舍入到偶数。

    全零的行 scale 为 1。
    """
    raise NotImplementedError("int8: quantize_int8")


def dequantize_int8(
    q: Tensor,  # int8 [O, I]
    scale: Tensor,  # float32 [O]
) -> Tensor:  # float32 [O, I]
    """返回编码所代表的权重。"""
    raise NotImplementedError("int8: dequantize_int8")


# --- Task 2: int4 ----------------------------------------------------------------------------


def quantize_int4(
    w: Tensor,  # [O, I]，float32、float16 或 bfloat16，任意 stride
    group: int,  # 共用一个 scale 和一个 zero 的列数
) -> tuple[Tensor, Tensor, Tensor]:  # packed uint8 [O, I/2]，scale float32、zero uint8 [O, I/group]
    """把每一组量化到 0..15；其范围延伸到包含 0，等于 15 个 scale。

    zero = round(-min / scale)；全零的组 scale 为 1，zero 为 0。一对列中的偶数列在所属字节的低半
    字节。I 为奇数时抛出点名 w 的 ValueError，group 不能整除 I 时抛出点名 group 的 ValueError。
    """
    raise NotImplementedError("int4: quantize_int4")


def dequantize_int4(
    packed: Tensor,  # uint8 [O, I/2]
    scale: Tensor,  # float32 [O, I/group]
    zero: Tensor,  # uint8 [O, I/group]
    group: int,
) -> Tensor:  # float32 [O, I]
    """返回编码所代表的权重：(编码 - zero) * scale。"""
    raise NotImplementedError("int4: dequantize_int4")


# --- Task 3: linears -------------------------------------------------------------------------


class Int8Linear(nn.Module):
    """线性层，只保存 int8 编码、scale 以及可有可无的 bias，不保存浮点权重。"""

    @classmethod
    def from_float(cls, linear: nn.Linear) -> Self:
        """量化一个层，该层保持原样。"""
        raise NotImplementedError("linears: Int8Linear.from_float")

    def forward(self, x: Tensor) -> Tensor:  # [..., I] -> [..., O]，dtype 与 x 相同
        raise NotImplementedError("linears: Int8Linear.forward")


class Int4Linear(nn.Module):
    """线性层，只保存打包的 int4 编码、scale、zero 以及可有可无的 bias。"""

    @classmethod
    def from_float(cls, linear: nn.Linear, group: int = 32) -> Self:
        """量化一个层，该层保持原样；ValueError 与 quantize_int4 相同。"""
        raise NotImplementedError("linears: Int4Linear.from_float")

    def forward(self, x: Tensor) -> Tensor:  # [..., I] -> [..., O]，dtype 与 x 相同
        raise NotImplementedError("linears: Int4Linear.forward")


# --- Task 4: kernel, and task 7: speed -------------------------------------------------------


def int4_matmul(
    x: Tensor,  # [M, I]，float32、float16 或 bfloat16，任意 stride
    packed: Tensor,  # uint8 [O, I/2]
    scale: Tensor,  # float32 [O, I/group]
    zero: Tensor,  # uint8 [O, I/group]
    group: int,
) -> Tensor:  # [M, O]，dtype 与 x 相同
    """在一个 Triton kernel 里边反量化边算出 x @ W.T：W 从不出现在显存里。"""
    raise NotImplementedError("kernel: int4_matmul")


# --- Task 5: model ---------------------------------------------------------------------------


def quantize_model(
    model: nn.Module,
    linear_cls: Any,  # 任何带有 from_float(linear) -> nn.Module 的对象
    skip: Collection[str] = ("lm_head",),  # 名字，不含最后一个点之前的部分
) -> nn.Module:
    """返回一个新模型，其中的 nn.Linear 层已经量化；参数保持原样。

    名字的最后一段在 ``skip`` 中的层保持浮点。
    """
    raise NotImplementedError("model: quantize_model")


# --- Task 6: cache ---------------------------------------------------------------------------


class QuantizedCache:
    """迄今所有 token 的 key 和 value，以 int8 保存，每个 token 的每个 head 一个 scale。

    ``length`` (int)：保存的 token 数。
    """

    def __init__(self) -> None:
        raise NotImplementedError("cache: QuantizedCache")

    def update(
        self,
        k: Tensor,  # [B, G, T, D]
        v: Tensor,  # [B, G, T, D]
    ) -> tuple[Tensor, Tensor]:  # 全部 key，全部 value，[B, G, S, D]，dtype 与 k 相同
        """加入 T 个 token；cache 以前为旧 token 返回过什么，现在仍逐位返回什么。"""
        raise NotImplementedError("cache: QuantizedCache.update")

    def rewind(self, n: int) -> None:
        """丢掉最后 n 个 token；若没有这么多，抛出点名 n 的 ValueError，且什么也不改变。"""
        raise NotImplementedError("cache: QuantizedCache.rewind")
