"""The oracles of lab 14 against gloo, torch's own losses and schedules, and counts by hand."""

import itertools
import random
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.pipelining import schedules as pipelining
from torch.nn.functional import cross_entropy

from reference import collectives as oracle

ONE = Fraction(1)


# --- rings -----------------------------------------------------------------------------------


def played_by_hand(xs: Tensor, kind: str) -> list[Tensor]:
    """Let every rank's messages of the oracle arrive at its neighbour, and do what it should."""
    world, n = xs.shape
    said = getattr(oracle, kind)
    cuts = [slice(*cut) for cut in oracle.bounds(n, world)]
    parts = xs.clone()
    for step in range(world - 1):
        sent = [said(xs, rank).sent[step] for rank in range(world)]
        for rank in range(world):
            assert torch.equal(sent[rank], parts[rank, cuts[(rank - step - 1) % world]])
        for rank in range(world):
            parts[rank, cuts[(rank - step - 2) % world]] += sent[rank - 1]
    return [parts[rank, cuts[rank]] for rank in range(world)]


@pytest.mark.parametrize(("world", "n"), [(1, 3), (2, 5), (3, 11), (5, 3), (4, 0)])
def test_messages_lead_to_the_sum_where_they_are_passed_on(world, n):
    xs = torch.randint(-9, 9, (world, n), generator=torch.Generator().manual_seed(n))

    got = played_by_hand(xs, "reduce_scatter")

    for rank, part in enumerate(got):
        assert torch.equal(part, oracle.reduce_scatter(xs, rank).result)


def _as_gloo_has_it(rank: int, store: dist.Store, xs: Tensor) -> list[Tensor]:
    """Return a rank's all-reduce, reduce-scatter and all-gather by gloo."""
    world, n = xs.shape
    group = dist.ProcessGroupGloo(store, rank, world, timedelta(seconds=60))
    cuts = oracle.bounds(n, world)
    whole = xs[rank].clone()
    group.allreduce([whole]).wait()
    owned = xs[rank].new_empty(0)
    parts: list[Tensor] = []
    for owner, cut in enumerate(cuts):  # gloo scatters and gathers equal parts alone
        part = xs[rank, slice(*cut)].clone()
        reduce = dist.ReduceOptions()
        reduce.rootRank = owner
        group.reduce([part], reduce).wait()
        owned = part.clone() if rank == owner else owned
        broadcast = dist.BroadcastOptions()
        broadcast.rootRank = owner
        group.broadcast([part], broadcast).wait()
        parts.append(part)
    return [whole, owned, torch.cat(parts)]


def test_results_are_those_of_gloo():
    xs = torch.randint(-99, 99, (3, 11), generator=torch.Generator().manual_seed(3))
    store = dist.HashStore()

    with ThreadPoolExecutor(3) as pool:
        got = [*pool.map(lambda rank: _as_gloo_has_it(rank, store, xs), range(3))]

    for rank, (whole, part, gathered) in enumerate(got):
        assert torch.equal(whole, oracle.all_reduce(xs, rank).result)
        assert torch.equal(part, oracle.reduce_scatter(xs, rank).result)
        assert torch.equal(gathered, oracle.all_gather(whole, rank, 3).result)


# --- vocabulary ------------------------------------------------------------------------------


def test_loss_and_gradient_are_torchs():
    logits = torch.randn(5, 17, dtype=torch.float64, requires_grad=True)
    targets = torch.tensor([0, 16, 3, 3, 9])

    loss, gradient = oracle.cross_entropy(logits.detach(), targets)

    want = cross_entropy(logits, targets, reduction="none")
    want.sum().backward()
    torch.testing.assert_close(loss, want)
    torch.testing.assert_close(gradient, logits.grad)


# --- schedules -------------------------------------------------------------------------------


class _Stage:
    """A stage of torch's that sends and computes nothing, and notes what it is told to do."""

    def __init__(self, index: int, stages: int, group: int) -> None:
        self.stage_index, self.num_stages, self.group_size = index, stages, group
        self.group_rank = index % group
        self.is_first, self.is_last = index == 0, False  # so that no loss is asked for
        self.has_backward, self.submod, self.group = True, torch.nn.Identity(), None
        self.stage_index_to_group_rank: dict[int, int] = {}
        self.done: list[tuple[str, int, int]] = []

    def forward_one_chunk(self, microbatch: int, *_: Any, **__: Any) -> None:
        self.done.append(("F", microbatch, 0))

    def backward_one_chunk(self, microbatch: int, *_: Any, **__: Any) -> None:
        self.done.append(("B", microbatch, 0))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: []


def torchs_orders(kind: str, stages: int, microbatches: int, chunks: int) -> list[list[Any]]:
    """Return per stage what torch's own schedule does, or of several chunks would do."""
    made = getattr(pipelining, kind)
    if chunks == 1:
        every = [_Stage(index, stages, stages) for index in range(stages)]
        for stage in every:
            schedule = made(stage, microbatches)
            schedule._initialize_stage = lambda *_: None
            schedule._step_microbatches()
        return [stage.done for stage in every]
    own: Any = [_Stage(chunk * stages, stages * chunks, stages) for chunk in range(chunks)]
    actions = made(own, microbatches).pipeline_order
    orders: list[list[Any]] = []
    for rank in range(stages):
        cells = [re.fullmatch(r"(\d+)([FB])(\d+)", str(action)) for action in actions[rank]]
        items = [(int(cell[1]), cell[2], int(cell[3])) for cell in cells if cell]
        orders.append([(kind, microbatch, stage // stages) for stage, kind, microbatch in items])
    return orders


@pytest.mark.parametrize(
    ("kind", "chunks"),
    [("ScheduleGPipe", 1), ("Schedule1F1B", 1), ("ScheduleInterleaved1F1B", 2)],
)
@pytest.mark.parametrize(("stages", "microbatches"), [(2, 4), (4, 8), (3, 6)])
def test_torchs_schedules_take_what_the_formula_says(kind, chunks, stages, microbatches):
    schedule = torchs_orders(kind, stages, microbatches, chunks)

    played = oracle.play(schedule, ONE, 2 * ONE)

    assert played is not None
    assert played.makespan == oracle.least_time(stages, microbatches, chunks, ONE, 2 * ONE)
    if kind == "ScheduleGPipe":
        assert played.peak == [microbatches] * stages
    if kind == "Schedule1F1B":
        assert played.peak == [min(microbatches, stages - stage) for stage in range(stages)]


def ends_in_torch(schedule: oracle.Schedule, tmp_path: Any) -> bool:
    """Write a schedule in torch's CSV form, read it again, and let torch place all transfers."""
    stages = len(schedule)
    chunks = 1 + max(item[2] for order in schedule for item in order)
    split = any(item[0] == "W" for order in schedule for item in order)
    letters = {"F": "F", "B": "I" if split else "B", "W": "W"}
    file = tmp_path / "schedule.csv"
    file.write_text(
        "".join(
            ",".join(f"{chunk * stages + rank}{letters[kind]}{mb}" for kind, mb, chunk in order)
            + "\n"
            for rank, order in enumerate(schedule)
        )
    )
    rows = [line.split(",") for line in file.read_text().splitlines()]
    read = {
        rank: [pipelining._Action.from_str(cell) for cell in row] for rank, row in enumerate(rows)
    }
    try:
        placed = pipelining._add_send_recv(
            read, stage_to_rank=lambda stage: stage % stages, num_stages=stages * chunks
        )
        pipelining._simulate_comms_compute(placed, lambda stage: stage % stages, stages * chunks)
    except (AssertionError, RuntimeError, ValueError):
        return False
    return True


@pytest.mark.parametrize("kinds", ["FB", "FBW"])
def test_any_order_ends_in_torch(tmp_path, kinds):
    draw = random.Random(15)
    for stages, chunks in ((1, 2), (2, 1), (3, 2), (4, 1)):
        schedule = oracle.any_order(stages, 3, chunks, kinds, draw.randrange)

        assert oracle.play(schedule, ONE, ONE) is not None
        assert ends_in_torch(schedule, tmp_path)


def test_torch_finds_the_deadlocks_that_we_find(tmp_path):
    draw = random.Random(14)  # without W: torch lets one come before its B
    ended = 0
    for _ in range(40):
        schedule = oracle.any_order(draw.randint(2, 3), 3, 2, "FB", draw.randrange)
        one, other = draw.sample(range(len(schedule[0])), 2)
        schedule[0][one], schedule[0][other] = schedule[0][other], schedule[0][one]
        ends = oracle.play(schedule, ONE, ONE) is not None
        ended += ends

        assert ends_in_torch(schedule, tmp_path) == ends

    assert 5 < ended < 35


def test_a_small_schedule_by_hand():
    # Stage 0: F F . . B B, stage 1: . F B F B . with B twice as long, and 1/2 between the stages.
    schedule = [
        [("F", 0, 0), ("F", 1, 0), ("B", 0, 0), ("B", 1, 0)],
        [("F", 0, 0), ("B", 0, 0), ("F", 1, 0), ("B", 1, 0)],
    ]

    played = oracle.play(schedule, ONE, 2 * ONE, Fraction(1, 2))

    assert played is not None
    # 1, + 1/2, + 6 on stage 1, + 1/2, + 2
    assert played.makespan == 10
    assert played.bubble == 1 - Fraction(12, 20)
    assert played.peak == [2, 1]


# --- cost ------------------------------------------------------------------------------------


def clocked_ring(world: int, size: float, rounds: int, alpha: float, beta: float) -> float:
    """Let every rank have a clock, which a message pushes on."""
    clocks = [0.0] * world
    for _ in range(rounds * (world - 1)):
        arrived = [clock + alpha + size / beta for clock in clocks]
        clocks = [max(arrived[rank], arrived[rank - 1]) for rank in range(world)]
    return max(clocks)


@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_a_ring_takes_what_its_clocks_say(world):
    got = [oracle.ring_seconds(op, 6e6, world, 1e-5, 3e9) for op in ("all_reduce", "all_to_all")]

    assert got[0] == pytest.approx(clocked_ring(world, 6e6 / world, 2, 1e-5, 3e9))
    assert got[1] == pytest.approx(clocked_ring(world, 6e6 / world, 1, 1e-5, 3e9))


def test_the_levels_of_a_tree():
    got = [oracle.tree_seconds(0, world, 1.0, 1.0) for world in (1, 2, 3, 4, 5, 8, 9, 512)]

    assert got == [0, 2, 4, 4, 6, 6, 8, 18]


def test_the_bus_carries_what_a_ring_sends():
    for op, world in itertools.product(("all_reduce", "all_gather", "reduce_scatter"), (2, 3, 8)):
        no_latency = oracle.ring_seconds(op, 7e9, world, 0.0, 1.0)

        assert oracle.bus_bytes(op, 7e9, world) == pytest.approx(no_latency)
