# en: c0f1839a42a6
"""实验 06：用 Triton kernel 实现 LayerNorm 的前向与反向。

字母：M 行（所有前导维展平），N 列（被归一化的那一维）。
每个函数启动若干 kernel；kernel 由你写在函数上方，以 ``@triton.jit`` 标记，讲义里有一个例子。
为此需要 ``import triton`` 和 ``import triton.language as tl``。没有 GPU 时，kernel 在 Triton
的解释器里运行（``TRITON_INTERPRET=1``）：很慢，program 一个接一个；在那里可以在 kernel 中
使用 ``print``。
"""

from torch import Tensor

# --- Task 1: forward -------------------------------------------------------------------------


def layer_norm_forward(
    x: Tensor,  # [..., N]，任意 stride
    weight: Tensor,  # [N]
    bias: Tensor,  # [N]
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # y [..., N]，dtype 同 x；mean [M] 和 rstd [M]，float32
    """用每一行的均值和有偏方差归一化该行，再逐列缩放和平移。

    y = (x - mean) * rstd * weight + bias，其中 rstd = 1 / sqrt(variance + eps)，用 float32 计算。
    """
    raise NotImplementedError("forward: layer_norm_forward")


# --- Task 2: backward ------------------------------------------------------------------------


def layer_norm_backward(
    dy: Tensor,  # [..., N]，任意 stride
    x: Tensor,  # [..., N]，任意 stride
    weight: Tensor,  # [N]
    mean: Tensor,  # [M] float32，即前向返回的那个
    rstd: Tensor,  # [M] float32，即前向返回的那个
) -> tuple[Tensor, Tensor, Tensor]:  # dx [..., N]，dtype 同 x；dweight 和 dbias [N]，同 weight
    """给定上游梯度 ``dy``，返回 x、weight 和 bias 的梯度。

    允许用 ``torch.sum`` 对你的 kernel 写出的 dweight 和 dbias 部分和求和。
    """
    raise NotImplementedError("backward: layer_norm_backward")


def layer_norm(
    x: Tensor,  # [..., N]，任意 stride
    weight: Tensor,  # [N]
    bias: Tensor,  # [N]
    eps: float = 1e-5,
) -> Tensor:  # [..., N]，dtype 同 x
    """可微地归一化最后一维：架在上面两个函数之上的 ``torch.autograd.Function``。"""
    raise NotImplementedError("backward: layer_norm")
