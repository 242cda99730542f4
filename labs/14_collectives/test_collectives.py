"""Public tests of lab 14: the handout's examples and a few more, by the handout's numbers.

A rank is alone here: what its neighbours say is written down, and what it says is compared.
"""

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.suite import (
    Mismatch,
    Network,
    Peer,
    PerRank,
    assert_close,
    assert_equal,
    assert_new,
    assert_unmodified,
    check,
    expect,
    task,
)

PAIR = tuple[Tensor, Tensor]


class Ring(Peer):
    """A rank's neighbours: the left one says ``gets``; ``sends`` is what the right one hears."""

    def __init__(
        self, rank: int, world: int, sends: Sequence[Tensor], gets: Sequence[Tensor]
    ) -> None:
        super().__init__(rank, world)
        self.sends, self.gets = [*sends], [*gets]
        self.sent = self.got = 0

    def swap(self, x: Tensor | None, to: int | None, source: int | None) -> Tensor | None:
        """Compare a message, give one, or both."""
        right, left = (self.rank + 1) % self.world, (self.rank - 1) % self.world
        if x is not None:
            check(to == right, f"sends to rank {to}, expected {right}")
            most = f"sends message {self.sent + 1}, expected {len(self.sends)}"
            check(self.sent < len(self.sends), most)
            check(self.got >= self.sent, "sends twice before it has received")
            assert_equal(x, self.sends[self.sent], f"message {self.sent}")
            self.sent += 1
        if source is None:
            return None
        check(source == left, f"waits for rank {source}, expected {left}")
        say = f"waits for message {self.got + 1}, expected {len(self.gets)}"
        check(self.got < len(self.gets), say)
        check(self.sent >= self.got, "receives twice before it has sent")
        self.got += 1
        return self.gets[self.got - 1].clone()

    def end(self) -> None:
        """Fail unless all has been said."""
        check(self.sent == len(self.sends), f"sent {self.sent}, expected {len(self.sends)}")
        check(self.got == len(self.gets), f"received {self.got}, expected {len(self.gets)}")


def lent(student: Any, peer: Ring) -> Any:
    methods, attributes = ("send", "recv", "exchange"), ("rank", "world")
    return student.lend(peer, methods, attributes, steady=True)


def parts(n: int, world: int) -> list[list[int]]:
    """Return the chunks: rank r begins behind all elements that ranks before it have."""
    sizes = [len(range(rank, n, world)) for rank in range(world)]
    return [[sum(sizes[:r]), sum(sizes[: r + 1])] for r in range(world)]


def ring_case(name: str, xs: Tensor, rank: int) -> tuple[Ring, tuple[Any, ...], Tensor]:
    """Return a rank's neighbours, its arguments and its result; xs [W, n] are whole numbers."""
    world, n = xs.shape
    whole = xs[0] if name == "all_gather" else xs.sum(0, dtype=xs.dtype)

    def cut(x: Tensor, c: int) -> Tensor:
        start, stop = parts(n, world)[c % world]
        return x[start:stop].clone()

    def said(r: int) -> list[Tensor]:
        """What rank r sends: sums of the ranks to its left, then chunks that are whole."""
        sums = [
            torch.stack([cut(xs[(r - back) % world], r - s - 1) for back in range(s + 1)]).sum(
                0, dtype=xs.dtype
            )
            for s in range(world - 1)
        ]
        gathered = [cut(whole, r - s) for s in range(world - 1)]
        kinds = {"reduce_scatter": sums, "all_gather": gathered, "all_reduce": sums + gathered}
        return kinds[name]

    args = (cut(whole, rank), n) if name == "all_gather" else (xs[rank].clone(),)
    want = cut(whole, rank) if name == "reduce_scatter" else whole
    return Ring(rank, world, said(rank), said((rank - 1) % world)), args, want


def run_ring(student: Any, name: str, xs: Tensor, rank: int) -> None:
    ring, args, want = ring_case(name, xs, rank)

    got = getattr(student, name)(lent(student, ring), *args)

    assert_equal(got, want, f"the result on rank {rank} of {len(xs)}")
    ring.end()


EXAMPLE = torch.tensor([[1, 2, 3, 4, 5], [10, 20, 30, 40, 50], [100, 200, 300, 400, 500]])
FORMS = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)


def run_forms(student: Any, name: str, dtype: torch.dtype) -> None:
    for world, n in ((1, 4), (2, 5), (4, 2), (3, 0), (5, 13)):
        xs = (torch.arange(world * n).reshape(world, n) % 7 - 3).to(dtype)
        for rank in range(world):
            run_ring(student, name, xs, rank)


def run_arguments(student: Any, name: str) -> None:
    for xs in (EXAMPLE, EXAMPLE[:1]):
        ring, (first, *rest), _ = ring_case(name, xs, len(xs) - 1)
        watched = student.watch(first)
        expect(getattr(student, name)(lent(student, ring), watched, *rest), Tensor)
        assert_unmodified(watched, "the argument")

        ring, (first, *rest), _ = ring_case(name, xs, len(xs) - 1)
        watched = student.watch(first)
        expect(student.overwritten(name, lent(student, ring), watched, *rest), Tensor)
        assert_new(watched, "the argument")


# --- Tasks 1, 2 and 3: the ring --------------------------------------------------------------


@task("reduce_scatter", contract=1)
@pytest.mark.parametrize(("n", "world"), [(5, 3), (6, 3), (2, 4), (0, 2), (7, 1), (11, 4)])
def test_chunks(student, n, world):
    """The first n % world chunks are one longer, and they lie in order."""
    assert_equal(student.chunks(n, world), parts(n, world), "the chunks")


@task("reduce_scatter", contract=2)
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_example_of_reduce_scatter(student, rank):
    """The table of the handout: three ranks, five elements."""
    run_ring(student, "reduce_scatter", EXAMPLE, rank)


@task("reduce_scatter", contract=3)
@FORMS
def test_reduce_scatter_of_any_form(student, dtype):
    """Any dtype and number of ranks, with chunks that are empty."""
    run_forms(student, "reduce_scatter", dtype)


@task("reduce_scatter", contract=4)
def test_reduce_scatter_leaves_x_alone(student):
    """x is unchanged, and the result is memory of its own."""
    run_arguments(student, "reduce_scatter")


@task("all_gather", contract=5)
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_example_of_all_gather(student, rank):
    """Three ranks, five elements: each passes on what came last."""
    run_ring(student, "all_gather", EXAMPLE, rank)


@task("all_gather", contract=6)
@FORMS
def test_all_gather_of_any_form(student, dtype):
    """Any dtype and number of ranks, with chunks that are empty."""
    run_forms(student, "all_gather", dtype)


@task("all_gather", contract=7)
def test_all_gather_leaves_chunk_alone(student):
    """chunk is unchanged, and the result is memory of its own."""
    run_arguments(student, "all_gather")


@task("all_reduce", contract=8)
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_example_of_all_reduce(student, rank):
    """One and then the other, on three ranks."""
    run_ring(student, "all_reduce", EXAMPLE, rank)


@task("all_reduce", contract=9)
@FORMS
def test_all_reduce_of_any_form(student, dtype):
    """Any dtype and number of ranks, with chunks that are empty."""
    run_forms(student, "all_reduce", dtype)


@task("all_reduce", contract=10)
def test_all_reduce_leaves_x_alone(student):
    """x is unchanged, and the result is memory of its own."""
    run_arguments(student, "all_reduce")


@task("all_reduce", contract=11)
@pytest.mark.parametrize("world", [2, 3])
def test_all_ranks_come_to_an_end(student, world):
    """Every rank is a process with your code, and all of them come to an end."""
    group = student.spawn(world)
    xs = EXAMPLE[:world]
    for name in ("reduce_scatter", "all_gather", "all_reduce"):
        cases = [ring_case(name, xs, rank) for rank in range(world)]
        network = Network(world)

        got = group.among(network, name, PerRank(c[1][0] for c in cases), *cases[0][1][1:])

        for rank, (ring, _, want) in enumerate(cases):
            assert_equal(got[rank], want, f"the result on rank {rank}")
            said = [message.shape for message in network.sent_by(rank)]
            assert_equal(said, [tuple(x.shape) for x in ring.sends], f"sizes that rank {rank} sent")


# --- Task 4: vocabulary ----------------------------------------------------------------------


class Sums:
    """The all-reduce of rank 0 of two: ``other`` is what rank 1 gives each time."""

    def __init__(self, ops: Sequence[str], other: Sequence[Tensor]) -> None:
        self.ops, self.other = ops, other
        self.given: list[Tensor] = []

    def all_reduce(self, x: Any, op: Any) -> Tensor:
        """Note what a rank gives, and return the whole."""
        number = len(self.given)
        check(number < len(self.ops), f"all_reduce is called more than {number} times")
        if op != self.ops[number]:
            raise Mismatch(f"all_reduce {number + 1} should be {self.ops[number]!r}")
        other = self.other[number]
        expect(x, Tensor, "what all_reduce gets")
        check(
            x.shape == other.shape, f"all_reduce of {list(x.shape)}, expected {list(other.shape)}"
        )
        check(x.dtype == other.dtype, f"all_reduce of {x.dtype}, expected {other.dtype}")
        self.given.append(x.clone())
        return torch.maximum(x, other) if op == "max" else x + other


def sums(student: Any, peer: Sums) -> Any:
    return student.lend(peer, ("all_reduce",))


TABLE = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
IDS = torch.tensor([3, 0, 1, 2, 0])


@task("vocabulary", contract=12)
@FORMS
def test_example_of_the_embedding(student, dtype):
    """Rank 0 of two has rows 0 and 1 of four, and gives 0 for ids 2 and 3."""
    for start in (0, 2):
        own = (start <= IDS) & (start + 2 > IDS)
        rows = TABLE[IDS].to(dtype)
        peer = Sums(["sum"], [rows.masked_fill(own[:, None], 0)])
        shard = TABLE[start : start + 2].to(dtype)

        got = student.vocab_embedding(sums(student, peer), IDS, shard, start)

        assert_equal(got, rows, "the result")
        check(len(peer.given) == 1, f"all_reduce is called {len(peer.given)} times, expected 1")
        assert_equal(peer.given[0], rows.masked_fill(~own[:, None], 0), "what all_reduce gets")


def loss_case(logits: Tensor, targets: Tensor, start: int) -> tuple[Sums, Tensor, Tensor, Tensor]:
    """Return the all-reduce of a rank with half of the columns, what it gives, loss, gradient."""
    half = logits.shape[1] // 2
    wide = logits.double()
    own = slice(start, start + half)
    rest = slice(half - start, 2 * half - start)
    shifted = wide - wide.amax(-1, keepdim=True)
    score = shifted.gather(1, targets[:, None])[:, 0]
    mine = (targets >= start) & (targets < start + half)
    other = torch.stack([shifted[:, rest].exp().sum(-1), score.masked_fill(mine, 0)])
    gives = torch.stack([shifted[:, own].exp().sum(-1), score.masked_fill(~mine, 0)])
    peer = Sums(["max", "sum"], [wide[:, rest].amax(-1).float(), other.float()])
    loss = wide.logsumexp(-1) - wide.gather(1, targets[:, None])[:, 0]
    hot = torch.zeros_like(wide).scatter_(1, targets[:, None], 1.0)
    return peer, gives, loss, (torch.softmax(wide, -1) - hot)[:, own]


def run_loss(student: Any, logits: Tensor, targets: Tensor) -> None:
    half = logits.shape[1] // 2
    for start in (0, half):
        peer, gives, loss, gradient = loss_case(logits, targets, start)
        own = logits[:, start : start + half].clone()

        got = student.vocab_cross_entropy(sums(student, peer), own, targets, start)

        got_loss, got_gradient = expect(got, PAIR, "the result")
        check(len(peer.given) == 2, f"all_reduce is called {len(peer.given)} times, expected 2")
        assert_equal(peer.given[0], own.float().amax(-1), "the maximum of each row")
        size = logits.double().abs().amax(-1) + 1
        at = {"scale": 1.0, "off": size * 1e-6}
        assert_close(peer.given[1], gives, "elementwise", what="what is summed", **at)
        assert_close(got_loss, loss, "elementwise", what="the loss", **at)
        at = {"scale": 1.0, "like": logits, "off": gradient.abs() * 1e-5 + 1e-6}
        assert_close(got_gradient, gradient, "elementwise", what="the gradient", **at)


LOGITS = torch.tensor([[1.0, 2.0, 0.0, -1.0], [0.5, 0.0, 3.0, 1.0], [0.0, 0.0, 0.0, 0.0]])


@task("vocabulary", contract=13)
@pytest.mark.parametrize("targets", [[1, 2, 3], [0, 1, 0], [2, 3, 3]], ids=str)
def test_example_of_the_loss(student, targets):
    """Two ranks with two columns each."""
    run_loss(student, LOGITS, torch.tensor(targets))


@task("vocabulary", contract=14)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_dtypes_of_loss_and_gradient(student, dtype):
    """The loss is float32, the gradient has the dtype of logits."""
    rows = torch.sin(torch.arange(6 * 50).reshape(6, 50) * 1.7) * 3
    run_loss(student, rows.to(dtype), torch.tensor([0, 49, 24, 25, 3, 33]))


@task("vocabulary", contract=15)
@pytest.mark.parametrize("shift", [-1e4, 1e4])
def test_large_logits(student, shift):
    """Logits of 1e4 on either side give finite numbers."""
    run_loss(student, LOGITS + shift, torch.tensor([1, 2, 3]))
    far = LOGITS + torch.tensor([shift, shift, 0.0, 0.0])
    run_loss(student, far, torch.tensor([1, 2, 3]))


@task("vocabulary", contract=16)
def test_vocabulary_leaves_arguments_alone(student):
    """No argument changes, and no tensor has the elements of all logits."""
    logits, targets = waves(9, 128, step=1.9), torch.arange(9) * 13
    peer = loss_case(logits, targets, 0)[0]
    own, ids = student.watch(logits[:, :64].clone()), student.watch(targets)
    with student.largest_tensor() as largest:
        expect(student.vocab_cross_entropy(sums(student, peer), own, ids, 0), PAIR)
    check(largest.elements < 9 * 128, f"a tensor has {largest.elements} elements, N * V are 1152")
    assert_unmodified(own, "logits")
    assert_unmodified(ids, "targets")

    peer = Sums(["sum"], [torch.zeros(5, 2)])
    ids, shard = student.watch(IDS), student.watch(TABLE[:2].clone())
    expect(student.vocab_embedding(sums(student, peer), ids, shard, 0), Tensor)
    assert_unmodified(ids, "tokens")
    assert_unmodified(shard, "shard")


# --- Task 5: ring_attention ------------------------------------------------------------------


def attention(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    """Attend with all scores at once, in float64; the last query stands on the last key."""
    q, k, v = (x.double() for x in (q, k, v))
    k, v = (x.repeat_interleave(len(q) // len(x), 0) for x in (k, v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if causal:
        hidden = torch.ones(scores.shape[1:], dtype=torch.bool).triu(1 + k.shape[1] - q.shape[1])
        scores.masked_fill_(hidden, -math.inf)
    return torch.softmax(scores, -1) @ v


def waves(*shape: int, step: float) -> Tensor:
    return torch.sin(torch.arange(math.prod(shape)) * step).reshape(shape) * 2


def round_case(
    world: int,
    rank: int,
    causal: bool,
    heads: tuple[int, int] = (2, 1),
    length: int = 3,
    width: int = 4,
    dtype: torch.dtype = torch.float32,
    size: float = 1.0,
    below: bool = False,
) -> tuple[Ring, list[Tensor], Tensor]:
    many, few = heads
    q = (waves(many, world * length, width, step=1.3) * size).to(dtype)
    k = (waves(few, world * length, width, step=0.7) * size).to(dtype)
    v = waves(few, world * length, width, step=2.1).to(dtype)
    q, k = (q.abs(), -k.abs()) if below else (q, k)  # every score lies below 0
    own = slice(rank * length, (rank + 1) * length)
    stop = own.stop if causal else world * length
    want = attention(q[:, own], k[:, :stop], v[:, :stop], causal)
    both = torch.stack([k, v])
    chunks = [both[:, :, r * length : (r + 1) * length].clone() for r in range(world)]
    sends = [chunks[(rank - step) % world] for step in range(world - 1)]
    gets = [chunks[(rank - step - 1) % world] for step in range(world - 1)]
    return Ring(rank, world, sends, gets), [x[:, own].clone() for x in (q, k, v)], want


def run_round(student: Any, world: int, rank: int, causal: bool, **case: Any) -> None:
    ring, (q, k, v), want = round_case(world, rank, causal, **case)

    got = student.ring_attention(lent(student, ring), q, k, v, causal)

    off = want.abs() * 1e-5 * case.get("size", 1.0) ** 2 + 1e-6
    what = f"the result on rank {rank} of {world}"
    assert_close(got, want, "attention", like=q, inner=1024, off=off, what=what)
    ring.end()


CAUSAL = pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])


@task("ring_attention", contract=17)
@CAUSAL
def test_keys_and_values_go_round(student, causal):
    """First the rank's own, then what has come, W - 1 times."""
    for world in (2, 3, 4):
        for rank in range(world):
            run_round(student, world, rank, causal)


@task("ring_attention", contract=18)
def test_what_is_not_seen_goes_on(student):
    """Causal: rank 0 of four sees its own tokens alone, and passes on all that comes."""
    for rank in range(4):
        run_round(student, 4, rank, True)


@task("ring_attention", contract=19)
@CAUSAL
def test_heads_widths_and_one_rank(student, causal):
    """Head h reads key head h // (H / G), and one rank attends to its own tokens."""
    run_round(student, 1, 0, causal, heads=(4, 2), length=5)
    run_round(student, 3, 1, causal, heads=(6, 2), length=1, width=8)
    run_round(student, 2, 1, causal, heads=(3, 3), length=7, width=5)


@task("ring_attention", contract=19)
@CAUSAL
def test_dtypes_and_large_scores(student, causal):
    """The result has the dtype of q, and large scores stay finite."""
    run_round(student, 3, 2, causal, length=17, dtype=torch.bfloat16)
    run_round(student, 3, 1, causal, length=17, size=4.0, dtype=torch.bfloat16)
    run_round(student, 3, 1, causal, length=4, size=12.0)
    run_round(student, 3, 1, causal, length=4, size=25.0, below=True)


@task("ring_attention", contract=20)
@CAUSAL
def test_no_tensor_has_all_scores(student, causal):
    """No tensor has H * T * W * T elements, no chunk is kept, and no argument changes."""
    ring, own, _ = round_case(8, 7, causal, heads=(2, 2), length=32, width=16)
    held: list[int] = []
    swap = ring.swap
    ring.swap = lambda *args: (held.append(student.held_bytes()), swap(*args))[1]  # type: ignore[method-assign]
    watched = [student.watch(x) for x in own]
    with student.largest_tensor() as largest:
        expect(student.ring_attention(lent(student, ring), *watched, causal), Tensor)
    limit = 2 * 32 * 8 * 32
    check(largest.elements < limit, f"a tensor has {largest.elements} elements, all scores {limit}")
    for x, name in zip(watched, "qkv", strict=True):
        assert_unmodified(x, name)
    chunk = 2 * 2 * 32 * 16 * 4
    half = len(held) // 2
    grown = max(held[half:]) - max(held[1:half])
    check(grown <= 2 * chunk, f"holds {grown} bytes more in its last steps, a chunk has {chunk}")


# --- Task 6: schedules -----------------------------------------------------------------------


def items_of(value: Any, stages: int, wanted: Sequence[list[Any]]) -> list[list[list[Any]]]:
    """Return a schedule as lists, each stage of which has each wanted item once."""
    if type(value) not in (list, tuple) or len(value) != stages:
        raise Mismatch(f"a schedule should be a list of {stages} stages")
    taken: list[list[list[Any]]] = []
    for order in value:
        if type(order) not in (list, tuple):
            raise Mismatch("a stage should be a list of items")
        if any(type(item) not in (list, tuple) or len(item) != 3 for item in order):
            raise Mismatch("an item should be [kind, microbatch, chunk]")
        taken.append([list(item) for item in order])
        for item in wanted:
            count = taken[-1].count(item)
            check(count == 1, f"stage {len(taken) - 1} has {item} {count} times, expected 1")
        check(len(order) == len(wanted), f"a stage has {len(order)} items, expected {len(wanted)}")
    return taken


def makespan(student: Any, plan: list[list[list[Any]]], forward: float, backward: float) -> float:
    """Return what your own simulate says a schedule takes: a ValueError says that it never ends."""
    took = expect(student.simulate(plan, forward, backward), dict, "simulate").get("makespan")
    if type(took) not in (int, float):
        raise Mismatch("the makespan should be a number")
    return float(took)


def held(order: list[list[Any]], until: str = "B") -> int:
    count = [0]
    for kind, _, _ in order:
        count.append(count[-1] + (kind == "F") - (kind == until))
    return max(count)


def all_items(kinds: str, microbatches: int, chunks: int = 1) -> list[list[Any]]:
    return [[k, m, c] for k in kinds for m in range(microbatches) for c in range(chunks)]


SIZES = [(1, 3), (2, 4), (3, 2), (4, 8), (4, 4), (3, 7), (5, 2)]
ROUNDS = [(1, 2, 2), (2, 4, 2), (4, 4, 3), (4, 8, 2), (3, 6, 1)]
PLAIN = pytest.mark.parametrize("name", ["gpipe", "one_f_one_b"])


def schedule(student: Any, name: str, stages: int, m: int, chunks: int = 0) -> Any:
    rest = (chunks,) if chunks else ()
    kinds = "FBW" if name == "zero_bubble" else "FB"
    got = getattr(student, name)(stages, m, *rest)
    return items_of(got, stages, all_items(kinds, m, chunks or 1))


@task("schedules", contract=21)
@PLAIN
@pytest.mark.parametrize(("stages", "m"), SIZES)
def test_schedules_end(student, name, stages, m):
    """Each stage has each microbatch once forward, once back, and none waits for ever."""
    makespan(student, schedule(student, name, stages, m), 1.0, 2.0)


@task("schedules", contract=21)
@pytest.mark.parametrize(("stages", "m", "chunks"), ROUNDS)
def test_interleaved_ends(student, stages, m, chunks):
    """Each stage has each microbatch and chunk once forward, once back, and none waits for ever."""
    makespan(student, schedule(student, "interleaved", stages, m, chunks), 1.0, 2.0)


@task("schedules", contract=22)
@pytest.mark.parametrize(("stages", "m"), SIZES)
def test_schedules_take_the_least_time(student, stages, m):
    """gpipe and one_f_one_b take (m + p - 1) (f + b)."""
    for name in ("gpipe", "one_f_one_b"):
        took, want = (
            makespan(student, schedule(student, name, stages, m), 1.0, 2.0),
            3 * (m + stages - 1),
        )
        check(abs(took - want) <= 1e-9 * want, f"{name} takes {took:g}, expected {want}")


@task("schedules", contract=22)
@pytest.mark.parametrize(("stages", "m", "chunks"), ROUNDS)
def test_interleaved_takes_the_least_time(student, stages, m, chunks):
    """interleaved takes (m + (p - 1) / v) (f + b)."""
    plan = schedule(student, "interleaved", stages, m, chunks)
    took = makespan(student, plan, float(chunks), 2.0 * chunks)  # a chunk takes 1 and 2
    want = 3 * (m * chunks + stages - 1)
    check(abs(took - want) <= 1e-9 * want, f"interleaved takes {took:g}, expected {want}")


@task("schedules", contract=23)
@pytest.mark.parametrize(("stages", "m"), SIZES)
def test_what_stages_hold(student, stages, m):
    """Forwards without their backward: m of gpipe, min(m, p - r) of one_f_one_b."""
    got = [held(order) for order in schedule(student, "gpipe", stages, m)]
    assert_equal(got, [m] * stages, "what gpipe holds")
    got = [held(order) for order in schedule(student, "one_f_one_b", stages, m)]
    assert_equal(got, [min(m, stages - r) for r in range(stages)], "what one_f_one_b holds")


@task("schedules", contract=23)
@pytest.mark.parametrize(("stages", "m", "chunks"), ROUNDS)
def test_what_interleaved_holds(student, stages, m, chunks):
    """interleaved holds at most 2 (p - r - 1) + (v - 1) p + 1 forwards."""
    for r, order in enumerate(schedule(student, "interleaved", stages, m, chunks)):
        most = min(m * chunks, 2 * (stages - r - 1) + (chunks - 1) * stages + 1)
        check(held(order) <= most, f"stage {r} holds {held(order)}, expected at most {most}")


@task("schedules", contract=24)
@pytest.mark.parametrize(("stages", "m"), [(2, 3), (4, 6), (3, 2)])
def test_interleaved_needs_whole_rounds(student, stages, m):
    """Microbatches that are no multiple of the stages are a ValueError."""
    with student.raises(ValueError, naming="microbatches"):
        student.interleaved(stages, m, 2)


@task("schedules", contract=25)
@pytest.mark.parametrize(("stages", "m"), [(1, 2), (2, 2), (3, 5), (4, 4), (4, 8)])
def test_zero_bubble(student, stages, m):
    """W fills the bubble: 3 m + p - 1 with F = B = W = 1, and no more is held than by 1F1B."""
    got = schedule(student, "zero_bubble", stages, m)
    took, want = makespan(student, got, 1.0, 2.0), 3 * m + stages - 1
    check(abs(took - want) <= 1e-9 * want, f"it takes {took:g}, expected {want}")
    for r, order in enumerate(got):
        most = min(m, stages - r)
        check(held(order) <= most, f"stage {r} holds {held(order)}, expected at most {most}")
        most = min(m, stages)
        say = f"stage {r} holds {held(order, 'W')} without W, expected at most {most}"
        check(held(order, "W") <= most, say)


BOTH = [["F", 0, 0], ["F", 1, 0], ["B", 0, 0], ["B", 1, 0]]
IN_TURN = [["F", 0, 0], ["B", 0, 0], ["F", 1, 0], ["B", 1, 0]]
PARTED = [["F", 0, 0], ["B", 0, 0], ["W", 0, 0]]
CASES = [
    ([BOTH, IN_TURN], 1.0, 2.0, 0.0, 9.0, [2, 1]),
    ([BOTH, IN_TURN], 1.0, 2.0, 0.5, 10.0, [2, 1]),
    ([PARTED, PARTED], 1.0, 2.0, 0.0, 5.0, [1, 1]),
    ([[["F", 0, 0], ["F", 0, 1], ["B", 0, 1], ["B", 0, 0]]], 2.0, 4.0, 9.0, 6.0, [2]),
]


@task("schedules", contract=26)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_simulate(student, number):
    """Makespan, bubble and peak of schedules that you can follow by hand."""
    order, f, b, hop, took, peak = CASES[number]
    got = expect(student.simulate(order, f, b, hop), dict, "simulate")
    assert_equal(sorted(got), ["bubble", "makespan", "peak"], "the names")
    count = len({item[1] for stage in order for item in stage})
    bubble = 1 - count * (f + b) / took
    for name, want in (("makespan", took), ("bubble", bubble)):
        value = got[name]
        if type(value) not in (int, float) or abs(value - want) > 1e-9:
            raise Mismatch(f"{name} should be {want:g}")
    assert_equal(got["peak"], peak, "peak")


@task("schedules", contract=26)
def test_simulate_two_chunks(student):
    """Two chunks of a stage have half of its time each, and a hop lies between two stages."""
    first = [["F", 0, 0], ["F", 0, 1], ["B", 0, 1], ["B", 0, 0]]
    got = expect(student.simulate([first, first], 2.0, 4.0, 1.0), dict, "simulate")
    # 4 forwards of 1, 4 backwards of 2, and 6 hops
    assert_equal(got.get("makespan"), 18.0, "makespan")


@task("schedules", contract=27)
def test_simulate_a_deadlock(student):
    """A schedule in which a stage waits for ever is a ValueError."""
    for never in (
        [[["B", 0, 0], ["F", 0, 0]]],
        [BOTH[:1] + BOTH[2:3], []],
        [PARTED[:1] + PARTED[2:]],
    ):
        with student.raises(ValueError, naming="schedule"):
            student.simulate(never, 1.0, 2.0)


# --- Task 7: cost ----------------------------------------------------------------------------


def assert_number(got: Any, want: float, what: str) -> None:
    if type(got) not in (int, float):
        raise Mismatch(f"{what} should be a number")
    check(abs(got - want) <= 1e-9 * abs(want), f"{what} is {got:.6g}, expected {want:.6g}")


@task("cost", contract=28)
@pytest.mark.parametrize(
    ("op", "world", "want"),
    [
        ("all_reduce", 4, 0.306),
        ("all_gather", 4, 0.153),
        ("reduce_scatter", 4, 0.153),
        ("all_to_all", 4, 0.153),
        ("all_reduce", 2, 0.202),
        ("all_reduce", 5, 0.328),
    ],
)
def test_seconds_of_a_ring(student, op, world, want):
    """200 bytes at 1000 a second, 1 ms a message."""
    assert_number(student.seconds(op, 200, world, 0.001, 1000.0), want, "seconds")


@task("cost", contract=29)
@pytest.mark.parametrize(("world", "levels"), [(2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (512, 9)])
def test_seconds_of_a_tree(student, world, levels):
    """Each level takes all bytes, up and down."""
    got = student.seconds("all_reduce", 200, world, 0.001, 1000.0, "tree")
    assert_number(got, 2 * levels * 0.201, "seconds")


@task("cost", contract=30)
def test_seconds_of_nodes(student):
    """Two nodes of four: a quarter of the bytes goes between them."""
    got = student.seconds("all_reduce", 200, 8, 0.001, 1000.0, "ring", [4, 0.01, 100.0])
    # Inside 3 steps of 1 ms and 50 ms, twice; between the nodes 2 steps of 10 ms and 250 ms.
    assert_number(got, 2 * 3 * 0.051 + 2 * 0.26, "seconds")


@task("cost", contract=31)
def test_seconds_of_one_rank_and_of_nothing_known(student):
    """One rank takes no time; what is not known is a ValueError that names it."""
    for op in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all"):
        assert_number(student.seconds(op, 200, 1, 0.001, 1000.0), 0.0, "seconds")
    with student.raises(ValueError, naming="op"):
        student.seconds("allreduce", 200, 1, 0.001, 1000.0)
    with student.raises(ValueError, naming="algorithm"):
        student.seconds("all_reduce", 200, 4, 0.001, 1000.0, "star")
    with student.raises(ValueError, naming="algorithm"):
        student.seconds("all_gather", 200, 4, 0.001, 1000.0, "tree")
    with student.raises(ValueError, naming="per_node"):
        student.seconds("all_reduce", 200, 6, 0.001, 1000.0, "ring", [4, 0.01, 100.0])


@task("cost", contract=32)
@pytest.mark.parametrize(
    ("op", "want"),
    [
        ("all_reduce", 150.0),
        ("all_gather", 75.0),
        ("reduce_scatter", 75.0),
        ("all_to_all", 75.0),
        ("broadcast", 100.0),
        ("reduce", 100.0),
    ],
)
def test_bus_bandwidth(student, op, want):
    """200 bytes in 2 seconds on 4 ranks."""
    assert_number(student.bus_bandwidth(op, 200, 4, 2.0), want, "the bus")


@task("cost", contract=32)
def test_other_ops_have_no_bus_rate(student):
    """Another op is a ValueError."""
    with student.raises(ValueError, naming="op"):
        student.bus_bandwidth("send_recv", 200, 4, 2.0)
