# en: 3c23e275ab43
"""实验 14：rank 之间在环上、在流水线中说些什么，以及这要花多少时间。

字母：W 个 rank，r 是其中一个，整个张量的 n 个元素或字节，N 个 token，V 词表大小，E 模型宽度，
H 个 query head，G 个 key/value head，一个 rank 的 T 个 token，D head 宽度，p 个 stage，m 个
microbatch，一个 stage 的 v 个分块。``peer`` 是一个 rank 在网络上的那一端：它有 ``rank`` 和
``world``，以及

    peer.send(x, to)                 rank ``to`` 收到 x 之后才结束
    peer.recv(source) -> Tensor      等待 rank ``source`` 的下一条消息
    peer.exchange(x, to, source) -> Tensor    两件事同时做

在 ``vocab_embedding`` 和 ``vocab_cross_entropy`` 中，它有 ``peer.all_reduce(x, "sum" | "max")``，
给每个 rank 同一个新张量，此外什么也没有。
"""

from typing import Any

from torch import Tensor

# 调度表中的一项：["F"、"B" 或 "W", microbatch, chunk]。
Schedule = list[list[list[Any]]]  # 每个 stage 的各项，按次序

# --- Task 1: reduce_scatter ------------------------------------------------------------------


def chunks(n: int, world: int) -> list[list[int]]:
    """返回每个 rank 的分块的 [start, stop]；前 n % world 个长一个元素。"""
    raise NotImplementedError("reduce_scatter: chunks")


def reduce_scatter(
    peer: Any,
    x: Tensor,  # [n]
) -> Tensor:  # [该 rank 的分块]
    """返回所有 rank 的 x 之和中属于该 rank 的分块，用 W - 1 步。"""
    raise NotImplementedError("reduce_scatter: reduce_scatter")


# --- Task 2: all_gather ----------------------------------------------------------------------


def all_gather(
    peer: Any,
    chunk: Tensor,  # [该 rank 在 n 个元素中的分块]
    n: int,
) -> Tensor:  # [n]
    """返回所有 rank 的分块，按次序拼接，用 W - 1 步。"""
    raise NotImplementedError("all_gather: all_gather")


# --- Task 3: all_reduce ----------------------------------------------------------------------


def all_reduce(
    peer: Any,
    x: Tensor,  # [n]
) -> Tensor:  # [n]
    """返回所有 rank 的 x 之和。"""
    raise NotImplementedError("all_reduce: all_reduce")


# --- Task 4: vocabulary ----------------------------------------------------------------------


def vocab_embedding(
    peer: Any,  # 只有 all_reduce
    tokens: Tensor,  # int64 [N]，各 rank 相同
    shard: Tensor,  # [V / W, E]，表中属于该 rank 的行
    start: int,  # 其中的第一行
) -> Tensor:  # [N, E]
    """返回各 token 在整张表中的行；一次 all_reduce。"""
    raise NotImplementedError("vocabulary: vocab_embedding")


def vocab_cross_entropy(
    peer: Any,  # 只有 all_reduce
    logits: Tensor,  # [N, V / W]，属于该 rank 的列
    targets: Tensor,  # int64 [N]，各 rank 相同
    start: int,  # 第一列
) -> tuple[Tensor, Tensor]:  # float32 [N]，[N, V / W]
    """返回每一行的损失，以及损失之和的梯度中属于该 rank 的列。"""
    raise NotImplementedError("vocabulary: vocab_cross_entropy")


# --- Task 5: ring_attention ------------------------------------------------------------------


def ring_attention(
    peer: Any,
    q: Tensor,  # [H, T, D]，该 rank 的 token，第 r * T 到 (r + 1) * T - 1 个
    k: Tensor,  # [G, T, D]
    v: Tensor,  # [G, T, D]
    causal: bool,
) -> Tensor:  # [H, T, D]
    """从该 rank 的 token 对所有 rank 的 token 做注意力；key 和 value 绕环传送。"""
    raise NotImplementedError("ring_attention: ring_attention")


# --- Task 6: schedules -----------------------------------------------------------------------


def gpipe(stages: int, microbatches: int) -> Schedule:
    """对每个 stage，先返回所有前向，再返回所有反向。"""
    raise NotImplementedError("schedules: gpipe")


def one_f_one_b(stages: int, microbatches: int) -> Schedule:
    """返回一个调度表，其中每个 stage 一有可能就做反向。"""
    raise NotImplementedError("schedules: one_f_one_b")


def interleaved(stages: int, microbatches: int, chunks: int) -> Schedule:
    """返回每个 stage 有几个分块的调度表；stage r 的分块 c 是 block c * stages + r。

    microbatch 数不是 stage 数的倍数时抛出点名 microbatches 的 ValueError。
    """
    raise NotImplementedError("schedules: interleaved")


def zero_bubble(stages: int, microbatches: int) -> Schedule:
    """返回 ZB-H1：与 one_f_one_b 相仿，B 是输入的梯度，W 是权重的梯度。"""
    raise NotImplementedError("schedules: zero_bubble")


def simulate(
    schedule: Schedule,
    forward: float,  # 一个 stage 处理一个 microbatch 的时间，包括它的所有分块
    backward: float,  # 同上；调度表中有 W 时，一半是 B，一半是 W
    hop: float = 0.0,  # 两个 stage 之间
) -> dict[str, Any]:
    """返回 "makespan"、"bubble"（stages * makespan 中空闲的比例）、"peak"（各 stage 未做 B 的 F）。

    调度表使某个 stage 永远等下去时抛出点名 schedule 的 ValueError。
    """
    raise NotImplementedError("schedules: simulate")


# --- Task 7: cost ----------------------------------------------------------------------------


def seconds(
    op: str,  # "all_reduce"、"all_gather"、"reduce_scatter" 或 "all_to_all"
    nbytes: float,  # 整个张量的
    world: int,
    alpha: float,  # 一条消息在第一个字节之前所需的秒数
    beta: float,  # 每秒字节数
    algorithm: str = "ring",  # 或 "tree"，仅用于 all_reduce
    per_node: list[float] | None = None,  # [一个节点的 rank 数, 节点之间的 alpha 和 beta]
) -> float:
    """返回一次集合通信所需的秒数；op、algorithm、per_node 可能引起 ValueError。"""
    raise NotImplementedError("cost: seconds")


def bus_bandwidth(
    op: str,  # seconds 的那些，以及 "broadcast" 或 "reduce"
    nbytes: float,  # 整个张量的
    world: int,
    seconds: float,  # 它所用的秒数
) -> float:
    """返回每秒字节数，数法与 NCCL 的测试相同；其他 op 抛出点名 op 的 ValueError。"""
    raise NotImplementedError("cost: bus_bandwidth")
