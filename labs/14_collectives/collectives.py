"""Lab 14: what ranks say to each other, in a ring, in a pipeline, and what it costs.

Letters: W ranks, r a rank, n elements or bytes of the whole tensor, N tokens, V vocabulary, E model
width, H query heads, G key/value heads, T tokens of a rank, D head width, p stages, m microbatches,
v chunks of a stage. A ``peer`` is a rank's end of the network: it has ``rank`` and ``world``, and

    peer.send(x, to)                 ends when rank ``to`` has received x
    peer.recv(source) -> Tensor      waits for the next message of rank ``source``
    peer.exchange(x, to, source) -> Tensor    both at once

In ``vocab_embedding`` and ``vocab_cross_entropy`` it has ``peer.all_reduce(x, "sum" | "max")``,
which gives every rank the same new tensor, and nothing else.
"""

from typing import Any

from torch import Tensor

# An item of a schedule: ["F", "B" or "W", microbatch, chunk].
Schedule = list[list[list[Any]]]  # per stage, its items in order

# --- Task 1: reduce_scatter ------------------------------------------------------------------


def chunks(n: int, world: int) -> list[list[int]]:
    """Return [start, stop] of each rank's chunk; the first n % world are one longer."""
    raise NotImplementedError("reduce_scatter: chunks")


def reduce_scatter(
    peer: Any,
    x: Tensor,  # [n]
) -> Tensor:  # [the rank's chunk]
    """Return the rank's chunk of the sum of all ranks' x, in W - 1 steps."""
    raise NotImplementedError("reduce_scatter: reduce_scatter")


# --- Task 2: all_gather ----------------------------------------------------------------------


def all_gather(
    peer: Any,
    chunk: Tensor,  # [the rank's chunk of n]
    n: int,
) -> Tensor:  # [n]
    """Return the chunks of all ranks, joined in their order, in W - 1 steps."""
    raise NotImplementedError("all_gather: all_gather")


# --- Task 3: all_reduce ----------------------------------------------------------------------


def all_reduce(
    peer: Any,
    x: Tensor,  # [n]
) -> Tensor:  # [n]
    """Return the sum of all ranks' x."""
    raise NotImplementedError("all_reduce: all_reduce")


# --- Task 4: vocabulary ----------------------------------------------------------------------


def vocab_embedding(
    peer: Any,  # with all_reduce alone
    tokens: Tensor,  # int64 [N], the same on every rank
    shard: Tensor,  # [V / W, E], the rank's rows of the table
    start: int,  # the first of them
) -> Tensor:  # [N, E]
    """Return the tokens' rows of the whole table; one all_reduce."""
    raise NotImplementedError("vocabulary: vocab_embedding")


def vocab_cross_entropy(
    peer: Any,  # with all_reduce alone
    logits: Tensor,  # [N, V / W], the rank's columns
    targets: Tensor,  # int64 [N], the same on every rank
    start: int,  # the first column
) -> tuple[Tensor, Tensor]:  # float32 [N], [N, V / W]
    """Return each row's loss, and the rank's columns of the gradient of their sum."""
    raise NotImplementedError("vocabulary: vocab_cross_entropy")


# --- Task 5: ring_attention ------------------------------------------------------------------


def ring_attention(
    peer: Any,
    q: Tensor,  # [H, T, D], of the rank's tokens r * T to (r + 1) * T - 1
    k: Tensor,  # [G, T, D]
    v: Tensor,  # [G, T, D]
    causal: bool,
) -> Tensor:  # [H, T, D]
    """Attend from the rank's tokens to those of all ranks; keys and values go round the ring."""
    raise NotImplementedError("ring_attention: ring_attention")


# --- Task 6: schedules -----------------------------------------------------------------------


def gpipe(stages: int, microbatches: int) -> Schedule:
    """Return for each stage all forwards, then all backwards."""
    raise NotImplementedError("schedules: gpipe")


def one_f_one_b(stages: int, microbatches: int) -> Schedule:
    """Return a schedule in which a stage goes back as soon as it can."""
    raise NotImplementedError("schedules: one_f_one_b")


def interleaved(stages: int, microbatches: int, chunks: int) -> Schedule:
    """Return a schedule of several chunks a stage; chunk c of stage r is block c * stages + r.

    Microbatches that are no multiple of the stages are a ValueError naming microbatches.
    """
    raise NotImplementedError("schedules: interleaved")


def zero_bubble(stages: int, microbatches: int) -> Schedule:
    """Return ZB-H1: as one_f_one_b, with B for the input's gradient and W for the weights'."""
    raise NotImplementedError("schedules: zero_bubble")


def simulate(
    schedule: Schedule,
    forward: float,  # a stage's time for one microbatch, over all its chunks
    backward: float,  # the same; with W in the schedule, half of it is B and half is W
    hop: float = 0.0,  # between two stages
) -> dict[str, Any]:
    """Return "makespan", "bubble" (idle share of stages * makespan), "peak" (F without B a stage).

    A schedule in which a stage waits for ever is a ValueError naming schedule.
    """
    raise NotImplementedError("schedules: simulate")


# --- Task 7: cost ----------------------------------------------------------------------------


def seconds(
    op: str,  # "all_reduce", "all_gather", "reduce_scatter" or "all_to_all"
    nbytes: float,  # of the whole tensor
    world: int,
    alpha: float,  # seconds that a message takes before its first byte
    beta: float,  # bytes a second
    algorithm: str = "ring",  # or "tree", of all_reduce
    per_node: list[float] | None = None,  # [ranks of a node, alpha and beta between nodes]
) -> float:
    """Return the seconds that a collective takes; op, algorithm, per_node may be ValueErrors."""
    raise NotImplementedError("cost: seconds")


def bus_bandwidth(
    op: str,  # those of seconds, "broadcast" or "reduce"
    nbytes: float,  # of the whole tensor
    world: int,
    seconds: float,  # that it took
) -> float:
    """Return bytes a second as NCCL's tests count them; another op is a ValueError naming op."""
    raise NotImplementedError("cost: bus_bandwidth")
