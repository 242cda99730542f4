# en: a8040291bec5
"""实验 07：从不造出分数矩阵的注意力。

字母：B 条序列，T 个 query 行，S 个 key 位置，H 个 query head，G 个 key/value head（H 是 G 的
倍数），D head 宽度。query head h 读 key head h // (H / G)。分数是 query 与 key 的点积乘以
``scale``；在 ``causal`` 下最后一个 query 看得到最后一个 key，所以 query t 看到直到 t + S - T
的 key。``lse`` 是一行 exp(分数) 之和的自然对数，float32。看不到任何 key 的行，结果为 0，lse 为
-inf。

从上往下做。没有 GPU 时，Triton 解释执行你的 kernel（TRITON_INTERPRET=1，由评分程序设置）：
很慢，但可以在 kernel 里 print。
"""

from torch import Tensor

# --- Task 1: merge ---------------------------------------------------------------------------


def merge(
    o1: Tensor,  # [..., T, D]
    lse1: Tensor,  # [..., T] float32
    o2: Tensor,  # [..., T, D]
    lse2: Tensor,  # [..., T] float32
) -> tuple[Tensor, Tensor]:  # o [..., T, D]，dtype 同 o1；lse [..., T] float32
    """把对一些 key 的注意力与对另一些 key 的注意力合并。

    任一边或两边都可能在某一行里没有看到任何 key：lse 为 -inf，结果为 0。
    """
    raise NotImplementedError("merge: merge")


# --- Task 2: tiled ---------------------------------------------------------------------------


def flash_attention_torch(
    q: Tensor,  # [B, H, T, D]
    k: Tensor,  # [B, G, S, D]
    v: Tensor,  # [B, G, S, D]
    causal: bool = False,
    block: int = 64,  # 一个 tile 至多有这么多 key；若对 query 行也分 tile，则行数也至多这么多
) -> tuple[Tensor, Tensor]:  # o [B, H, T, D]，dtype 同 q；lse [B, H, T] float32
    """在 PyTorch 中用滚动的 softmax 逐个 tile 做注意力；缩放系数是 D**-0.5。

    最大值、和与结果都以 float32 保存。S = 0 是合法的。
    """
    raise NotImplementedError("tiled: flash_attention_torch")


# --- Task 3: triton (and speed) --------------------------------------------------------------


def flash_attention(
    q: Tensor,  # [B, H, T, D]，D 从 1 到 256，任意 stride
    k: Tensor,  # [B, G, S, D]
    v: Tensor,  # [B, G, S, D]
    causal: bool = False,
    scale: float | None = None,  # None 时为 D**-0.5；可以是零或负数
) -> tuple[Tensor, Tensor]:  # o [B, H, T, D]，dtype 同 q；lse [B, H, T] float32
    """用一个 Triton kernel 做注意力；分配内存、取视图、转换 dtype 可以交给 torch。"""
    raise NotImplementedError("triton: flash_attention")


# --- Task 4: varlen --------------------------------------------------------------------------


def flash_attention_varlen(
    q: Tensor,  # [total queries, H, D]
    k: Tensor,  # [total keys, G, D]
    v: Tensor,  # [total keys, G, D]
    cu_seqlens_q: Tensor,  # [B + 1] int32：序列 b 拥有第 cu[b] 到 cu[b + 1] - 1 行
    cu_seqlens_k: Tensor,  # [B + 1] int32，key 和 value 也是一样
    causal: bool = False,
) -> Tensor:  # [total queries, H, D]，dtype 同 q
    """对首尾相接的 B 条序列，在每条序列内部做注意力；缩放系数是 D**-0.5。

    任一边的长度都可以是零。在 ``causal`` 下，序列的最后一个 query 看得到它的最后一个 key。
    """
    raise NotImplementedError("varlen: flash_attention_varlen")
