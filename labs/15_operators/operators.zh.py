# en: e8226bbfddf3
"""算子，实验 15：除了 kernel，PyTorch 还需要什么。

由 ``operators.cpp`` 编译出的库在此之前已经加载：torch.ops.inferlab15 有 silu_mul、
silu_mul_backward、add_rms_norm 和 int4_linear。
"""


def register() -> None:
    """注册四个算子的 fake，以及 silu_mul 和 int4_linear 的梯度。"""
    raise NotImplementedError("fake: register")
