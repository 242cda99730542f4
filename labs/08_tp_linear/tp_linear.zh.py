# en: c898911f002d
"""实验 08：权重拆分到进程组各个 rank 上的线性层。

字母：O 输出特征数，I 输入特征数，W world（组内的 rank 数），E 模型宽度，F MLP 中间层宽度，
H query head 数，G key/value head 数，D head 宽度。权重形状是 [out, in]：y = x @ weight.T。
每个 rank 都用同样的完整权重调用同样的代码，只留下自己的那一份。``group`` 是 torch.distributed
的进程组，None 表示默认的进程组；rank 指组内的 rank。
"""

from torch import Tensor, nn
from torch.distributed import ProcessGroup

# --- Task 1: shards --------------------------------------------------------------------------


def column_shard(
    weight: Tensor,  # [O, I]
    rank: int,  # 0 到 world - 1
    world: int,
) -> Tensor:  # [O / world, I]
    """返回该 rank 的输出特征；O 不能被 world 整除时抛出 ValueError。"""
    raise NotImplementedError("shards: column_shard")


def row_shard(
    weight: Tensor,  # [O, I]
    rank: int,  # 0 到 world - 1
    world: int,
) -> Tensor:  # [O, I / world]
    """返回该 rank 的输入特征对应的那一份；I 不能被 world 整除时抛出 ValueError。"""
    raise NotImplementedError("shards: row_shard")


# --- Task 2: column --------------------------------------------------------------------------


class ColumnParallelLinear(nn.Module):
    """拆分输出特征的线性层；参数为 ``weight`` 和 ``bias``。"""

    def __init__(
        self,
        weight: Tensor,  # [O, I]，完整的权重
        bias: Tensor | None,  # [O]
        group: ProcessGroup | None,
        gather_output: bool = False,
    ) -> None:
        raise NotImplementedError("column: ColumnParallelLinear")

    def forward(
        self,
        x: Tensor,  # [..., I]，每个 rank 上都相同
    ) -> Tensor:  # [..., O / W]，带 gather_output 时为 [..., O]
        """前向不发送任何东西，或者聚集输出；反向对各 rank 的 x 的梯度求和。"""
        raise NotImplementedError("column: ColumnParallelLinear.forward")


# --- Task 3: row -----------------------------------------------------------------------------


class RowParallelLinear(nn.Module):
    """拆分输入特征的线性层；``weight`` 是一份，``bias`` 是完整的。"""

    def __init__(
        self,
        weight: Tensor,  # [O, I]，完整的权重
        bias: Tensor | None,  # [O]
        group: ProcessGroup | None,
    ) -> None:
        raise NotImplementedError("row: RowParallelLinear")

    def forward(
        self,
        x: Tensor,  # [..., I / W]，该 rank 的那一份输入
    ) -> Tensor:  # [..., O]，每个 rank 上都相同
        """前向一次 all-reduce，反向没有。"""
        raise NotImplementedError("row: RowParallelLinear.forward")


# --- Task 4: qkv -----------------------------------------------------------------------------


class QKVParallelLinear(nn.Module):
    """注意力之前的投影，按 head 拆分；参数为 ``wq``、``wk`` 和 ``wv``。

    一个 rank 持有 H / W 个 query head，以及它们所读的 key/value head：G / W 个；或者一个，由 W / G
    个 rank 共有。H 不能被 W 整除，或 G 与 W 互不整除：ValueError。
    """

    def __init__(
        self,
        wq: Tensor,  # [H * D, E]
        wk: Tensor,  # [G * D, E]
        wv: Tensor,  # [G * D, E]
        num_heads: int,  # H
        num_kv_heads: int,  # G
        group: ProcessGroup | None,
    ) -> None:
        raise NotImplementedError("qkv: QKVParallelLinear")

    def forward(
        self,
        x: Tensor,  # [..., E]，每个 rank 上都相同
    ) -> tuple[Tensor, Tensor, Tensor]:  # 该 rank 各 head 的 q、k、v，每个都是 [..., heads * D]
        """前向不发送任何东西；反向对 x 的梯度、以及共有的 head 的梯度求和。"""
        raise NotImplementedError("qkv: QKVParallelLinear.forward")


# --- Task 5: mlp -----------------------------------------------------------------------------


class ParallelMLP(nn.Module):
    """拆分 F 个特征的 SwiGLU MLP；参数为 ``w_gate``、``w_up`` 和 ``w_down``。"""

    def __init__(
        self,
        w_gate: Tensor,  # [F, E]
        w_up: Tensor,  # [F, E]
        w_down: Tensor,  # [E, F]
        group: ProcessGroup | None,
    ) -> None:
        raise NotImplementedError("mlp: ParallelMLP")

    def forward(
        self,
        x: Tensor,  # [..., E]，每个 rank 上都相同
    ) -> Tensor:  # [..., E]，每个 rank 上都相同
        """返回 (silu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T；前向、反向各一次 all-reduce。"""
        raise NotImplementedError("mlp: ParallelMLP.forward")


# --- Task 6: cost ----------------------------------------------------------------------------


def communication_bytes(
    op: str,  # "all_reduce"、"all_gather"、"reduce_scatter" 或 "broadcast"
    elements: int,  # 完整张量的元素数
    element_size: int,  # 字节
    world: int,
) -> float:
    """返回 op 以环的方式运行时，最忙的那个 rank 发送的字节数。

    只有一个 rank 时不发送任何东西。其他的 op 抛出 ValueError。
    """
    raise NotImplementedError("cost: communication_bytes")
