# en: d8cc3f902ed5
"""实验 12：按 block 划分的内存，每步都变的 batch。

字母：池中有 N 个 block，每个 P 个 token，一行的表有 M 项；B 条序列，T 个新 token，H 个
query head，G 个 key/value head（H 是 G 的倍数），D head 宽度。query head h 读 key head
h // (H / G)。序列的第 p 个 token 位于 block table[p // P]，偏移为 p % P。

从上往下做。``Scheduler`` 可以使用你的 ``BlockManager``。没有 GPU 时，你的 kernel 在 Triton
的解释器里运行（TRITON_INTERPRET=1，由评判程序设置）。
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

# --- Task 1: blocks (and task 2, sharing) ----------------------------------------------------


class BlockManager:
    """哪条序列持有哪些 block。``num_free``（int）：没有人持有的 block 数。

    seq 未知或已存在时抛出点名 seq 的 ValueError；报错时什么都不改变。
    """

    def __init__(self, num_blocks: int, block_size: int, share: bool = False) -> None:
        raise NotImplementedError("blocks: BlockManager")

    def admit(self, seq: int, tokens: list[int]) -> int | None:
        """给一条新序列分配它的 token 所需的 block。

        返回开头有多少个 token 位于另一条序列的 block 中（没有 ``share`` 时为 0）；block 不够时返回
        None，什么都不改变。没有 token 时抛出点名 tokens 的 ValueError。
        """
        raise NotImplementedError("blocks: BlockManager.admit")

    def append(self, seq: int, token: int) -> list[list[int]] | None:
        """为一条序列再腾出一个 token 的位置。

        返回 []；若须先把一个 block 拷贝到另一个，则返回 [[source, target]]；没有剩余的 block 时返回
        None，什么都不改变。
        """
        raise NotImplementedError("blocks: BlockManager.append")

    def fork(self, parent: int, child: int) -> None:
        """开始一条序列，作为另一条的孪生：它持有相同的 block，包括最后一个。"""
        raise NotImplementedError("sharing: BlockManager.fork")

    def release(self, seq: int) -> None:
        """结束一条序列：它放掉自己的 block。"""
        raise NotImplementedError("blocks: BlockManager.release")

    def table(self, seq: int) -> list[int]:
        """返回一条序列的 block，按其 token 的次序。"""
        raise NotImplementedError("blocks: BlockManager.table")

    def length(self, seq: int) -> int:
        """返回一条序列有多少个 token。"""
        raise NotImplementedError("blocks: BlockManager.length")


# --- Task 3: torch ---------------------------------------------------------------------------


def write_kv(
    k_pool: Tensor,  # [N, P, G, D]，任意 stride；原地写入
    v_pool: Tensor,  # [N, P, G, D]
    k: Tensor,  # [T, G, D]
    v: Tensor,  # [T, G, D]
    slots: Tensor,  # [T] int64：每个 token 的 block * P + offset，-1 表示跳过
) -> None:
    """把 T 个 token 的 key 和 value 写到各自的位置，此外什么也不写。"""
    raise NotImplementedError("torch: write_kv")


def paged_attention_torch(
    q: Tensor,  # [B, H, D]，每条序列一个 query
    k_pool: Tensor,  # [N, P, G, D]，任意 stride
    v_pool: Tensor,  # [N, P, G, D]
    tables: Tensor,  # [B, M] int32；一行的 block 之后的各项可以是任何数
    lengths: Tensor,  # [B] int32，每行的 token 数，可以为 0
) -> Tensor:  # [B, H, D]，dtype 同 q
    """让每一行对自己的 token 做注意力，缩放为 D**-0.5；没有 token 的行得到 0。"""
    raise NotImplementedError("torch: paged_attention_torch")


# --- Task 4: triton (and speed) --------------------------------------------------------------


def paged_attention(
    q: Tensor,  # [B, H, D]，D 从 1 到 256
    k_pool: Tensor,  # [N, P, G, D]，P 从 1 到 128
    v_pool: Tensor,  # [N, P, G, D]
    tables: Tensor,  # [B, M] int32
    lengths: Tensor,  # [B] int32
) -> Tensor:  # [B, H, D]，dtype 同 q
    """同样的事，用 Triton kernel 来做，由 kernel 自己查表。"""
    raise NotImplementedError("triton: paged_attention")


# --- Task 5: scheduler -----------------------------------------------------------------------


class Scheduler:
    """在每一步之前决定哪些请求计算自己的哪些 token。

    ``waiting`` 和 ``running``（int 的列表）：排队的请求，以及持有 block 的请求，后者按接纳的次序。
    """

    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        max_running: int,
        max_tokens: int,
        share: bool = False,
    ) -> None:
        raise NotImplementedError("scheduler: Scheduler")

    def add(self, request: int, prompt: list[int], max_new_tokens: int, eos_ids: list[int]) -> None:
        """把一个请求放到队尾。

        请求永远无法完成时，抛出点名 prompt、request 或 max_new_tokens 的 ValueError。
        """
        raise NotImplementedError("scheduler: Scheduler.add")

    def plan(self) -> dict[str, list]:
        """返回下一步。

        "rows"：[[request, start, stop]]，要计算的 token；"tables"：每一行一个 block 的列表；
        "preempted"：[request]，按它们不得不离开的次序。
        """
        raise NotImplementedError("scheduler: Scheduler.plan")

    def commit(self, tokens: list[int]) -> list[int]:
        """为上一次 plan 的每一行收进一个新 token；返回已结束的请求。"""
        raise NotImplementedError("scheduler: Scheduler.commit")

    def output(self, request: int) -> list[int]:
        """返回一个请求到目前为止的新 token，不含 EOS。"""
        raise NotImplementedError("scheduler: Scheduler.output")
