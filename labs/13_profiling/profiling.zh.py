# en: 78850051ceae
"""实验 13：先知道时间，再去测量。

字母：B 条序列，T 个新 token，S 上下文长度（到目前为止的所有 token，含新的），H 个 query
head，G 个 key/value head，D head 宽度，E 模型宽度，F MLP 中间层宽度，V 词表大小，L 层。
trace 的时间以微秒计。事件是字典，就是 ``read_trace`` 返回的样子：按 ``ts`` 排序，``ts`` 和
``dur`` 是 float。
"""

from collections.abc import Callable
from typing import Any

from labs.common import LlamaConfig

Event = dict[str, Any]

# --- Task 1: flops ---------------------------------------------------------------------------


def step_flops(
    config: LlamaConfig,
    batch: int,  # B
    new: int,  # T
    context: int,  # S
) -> dict[str, int]:  # "qkv", "scores", "values", "output", "mlp", "head"
    """数出一步中所有矩阵乘的运算量，一次乘加算两次。"""
    raise NotImplementedError("flops: step_flops")


def causal_pairs(
    new: int,  # T
    context: int,  # S
) -> int:
    """数出因果 mask 留下的 query 与 key 的对，只算一行的一个 head。"""
    raise NotImplementedError("flops: causal_pairs")


# --- Task 2: bytes ---------------------------------------------------------------------------


def step_bytes(
    config: LlamaConfig,
    batch: int,  # B
    new: int,  # T
    context: int,  # S
    weight_bytes: float = 2.0,  # 一个元素的字节数：四比特为 0.5
    cache_bytes: float = 2.0,
) -> dict[str, int]:  # "weights", "cache_read", "cache_write"
    """数出一步必须读写的字节：权重一次，以及 cache。"""
    raise NotImplementedError("bytes: step_bytes")


# --- Task 3: roofline ------------------------------------------------------------------------


def roofline(
    flops: float,
    nbytes: float,
    peak: float,  # FLOP/s
    bandwidth: float,  # 字节/秒
) -> dict[str, Any]:  # "intensity", "attainable" (FLOP/s), "seconds", "bound": "compute" | "memory"
    """说明一台设备能有多快，以及它受哪一个上限约束。"""
    raise NotImplementedError("roofline: roofline")


def compute_bound_batch(
    config: LlamaConfig,
    context: int,  # S
    peak: float,
    bandwidth: float,
    limit: int = 4096,  # 所考虑的最大 batch
) -> int | None:
    """返回使一步 decode 计算受限的最小 batch，超出 limit 则为 None。"""
    raise NotImplementedError("roofline: compute_bound_batch")


# --- Task 4: trace ---------------------------------------------------------------------------


def read_trace(path: str) -> list[Event]:
    """读出 Chrome trace 的切片和瞬时事件，压缩与否都可以，按 ts 的次序。"""
    raise NotImplementedError("trace: read_trace")


def device_busy(events: list[Event]) -> float:
    """返回各设备工作了多久：同一设备的各 stream 同时做的只算一次。"""
    raise NotImplementedError("trace: device_busy")


def self_times(events: list[Event]) -> dict[str, float]:
    """对每个名字，返回该名字的切片在其轨道上处于最内层的时间。"""
    raise NotImplementedError("trace: self_times")


def attribute(events: list[Event]) -> dict[str, float]:
    """返回设备时间，按包住其启动的最内层标注归类。"""
    raise NotImplementedError("trace: attribute")


# --- Task 5: memory --------------------------------------------------------------------------


def largest_tensor(
    config: LlamaConfig,
    batch: int,  # B
    new: int,  # T
    context: int,  # S
) -> list[Any]:  # [名字, 元素数]；"scores"、"mlp"、"hidden" 或 "keys"
    """返回一层产生的最大张量的名字和元素数。"""
    raise NotImplementedError("memory: largest_tensor")


def peak_memory(events: list[Event]) -> list[Any]:  # [字节数, ts]
    """返回一个设备持有的字节数比开始时最多多出多少，以及首次达到的时刻。"""
    raise NotImplementedError("memory: peak_memory")


def plan_memory(
    tensors: list[list[int]],  # 每个张量的 [字节大小, 第一步, 最后一步]
) -> list[int]:
    """返回每个张量的偏移，它们都在同一块内存里，这块内存越小越好。"""
    raise NotImplementedError("memory: plan_memory")


# --- Task 6: measure -------------------------------------------------------------------------


def measure(
    fn: Callable[[], object],  # 把工作放进设备的队列就返回
    clock: Callable[[], float],
    synchronize: Callable[[], object],  # 等设备做完队列里的所有工作才返回
    warmup: int,
    repeats: int,
) -> dict[str, Any]:  # "times": list[float], "median", "minimum"
    """为 ``fn`` 的调用计时，调用返回之后设备仍在继续工作。"""
    raise NotImplementedError("measure: measure")
