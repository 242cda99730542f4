"""Hidden suite of lab 14. One rank is the submission's, and the others are played here.

A rank that is alone among ours knows what it was sent, and whatever it says is compared with what
the algorithm would have it say, message by message. Where all ranks are the submission's a network
of ours matches them; that they end is all that those tests are worth, for ranks of one sandbox may
talk behind our back.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
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
    check_within,
    counted,
    describe,
    expect,
    task,
)
from reference import collectives as oracle
from reference.attention import attend
from reference.limits.conditions import attention_off

PAIR = tuple[Tensor, Tensor]
BFLOAT16, INT32 = torch.bfloat16, torch.int32


# --- one rank among ours ---------------------------------------------------------------------


class Alone(Peer):
    """The ring around one rank: its messages are compared as they come, ours are what it gets."""

    def __init__(
        self,
        rank: int,
        world: int,
        sends: Sequence[Tensor],
        gets: Sequence[Tensor],
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """``look`` is called whenever the rank asks for something."""
        super().__init__(rank, world)
        self._sends, self._gets, self._look = sends, gets, look
        self._sent = self._got = 0

    def swap(self, x: Tensor | None, to: int | None, source: int | None) -> Tensor | None:
        """Take a message, give one, or both; a step ends before the next one begins."""
        self._look()
        if x is not None:
            self._take(x, to)
        if source is not None:
            return self._give(source)
        return None

    def _take(self, x: Tensor, to: int | None) -> None:
        step, right = self._sent, (self.rank + 1) % self.world
        count = counted(len(self._sends), "message")
        check(step < len(self._sends), f"{self._who} sends message {step + 1}, expected {count}")
        check(to == right, f"{self._who} sends to rank {to} in step {step}, expected rank {right}")
        early = f"{self._who} sends in step {step} before it has received in step {step - 1}"
        check(self._got >= step, early)
        self._sent += 1
        assert_equal(x, self._sends[step], f"what {self._who} sends in step {step}")

    def _give(self, source: int) -> Tensor:
        step, left = self._got, (self.rank - 1) % self.world
        count = counted(len(self._gets), "message")
        say = f"{self._who} waits for message {step + 1} of rank {source}, expected {count}"
        check(step < len(self._gets), say)
        say = f"{self._who} waits for rank {source} in step {step}, expected rank {left}"
        check(source == left, say)
        early = f"{self._who} receives in step {step} before it has sent in step {step - 1}"
        check(self._sent >= step, early)
        self._got += 1
        return self._gets[step].clone()

    def end(self) -> None:
        """Fail unless all has been said and heard."""
        for did, done, all_ in (
            ("sent", self._sent, len(self._sends)),
            ("received", self._got, len(self._gets)),
        ):
            check(
                done == all_, f"{self._who} has {did} {counted(done, 'message')}, expected {all_}"
            )

    @property
    def _who(self) -> str:
        return f"rank {self.rank} of {self.world}"


def lent(student: Any, peer: Peer) -> Any:
    methods, attributes = ("send", "recv", "exchange"), ("rank", "world")
    return student.lend(peer, methods, attributes, steady=True)


class Case:
    """One ring collective from one rank's side: its arguments, and what all say."""

    def __init__(self, name: str, xs: Tensor, rank: int) -> None:
        world, n = xs.shape
        self.name, self.rank, self.world = name, rank, world
        left = (rank - 1) % world
        if name == "all_gather":
            own, before = (oracle.all_gather(xs[0], r, world) for r in (rank, left))
            start, stop = oracle.bounds(n, world)[rank]
            self.first, self.rest = xs[0, start:stop].clone(), (n,)
        else:
            own, before = (getattr(oracle, name)(xs, r) for r in (rank, left))
            self.first, self.rest = xs[rank].clone(), ()
        self.want = own.result
        self.peer = Alone(rank, world, own.sent, before.sent)

    def run(self, student: Any) -> None:
        got = getattr(student, self.name)(lent(student, self.peer), self.first, *self.rest)

        assert_equal(got, self.want, f"the result on rank {self.rank} of {self.world}")
        self.peer.end()


def whole_numbers(draw: Any, world: int, n: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Draw numbers whose sums are exact in any order, in bfloat16 too."""
    high = 256 // world if dtype == BFLOAT16 else 1000
    return draw.integers(-high, high, world, n).to(dtype)


def assert_arguments_stay(student: Any, draw: Any, name: str) -> None:
    """Run a collective with any number of ranks; its argument stays, and its result is new."""
    for world in (1, 2, 3):
        xs = whole_numbers(draw, world, 7)
        for way in ("called", "overwritten"):
            case = Case(name, xs, world - 1)
            watched, peer = student.watch(case.first), lent(student, case.peer)
            if way == "called":
                expect(getattr(student, name)(peer, watched, *case.rest), Tensor)
                assert_unmodified(watched, "the argument")
            else:
                expect(student.overwritten(name, peer, watched, *case.rest), Tensor)
                assert_new(watched, "the argument")


FORMS = [(BFLOAT16, 11), (INT32, 11), (torch.float64, 6), (torch.int64, 0), (torch.float32, 2)]
ANY_FORM = pytest.mark.parametrize(("dtype", "n"), FORMS, ids=str)


def run_forms(student: Any, draw: Any, name: str, dtype: torch.dtype, n: int) -> None:
    """Run a collective on any dtype, with empty chunks and none, and with one rank."""
    for world in (1, 2, 3, 5):
        for rank in {0, world - 1, draw.integer(0, world)}:
            Case(name, whole_numbers(draw, world, n, dtype), rank).run(student)


@task("reduce_scatter", contract=1, gate=True)
@pytest.mark.parametrize("world", [1, 2, 3, 4, 7, 64])
def test_chunks_cover_all(student, draw, world):
    """chunks gives [start, stop] in order; the first n % world chunks are one longer."""
    for n in (0, 1, world - 1, world, world + 1, 3 * world + 2, draw.integer(100, 1000)):
        assert_equal(student.chunks(n, world), oracle.bounds(n, world), f"the chunks of {n}")


@task("reduce_scatter", contract=2, gate=True)
@pytest.mark.parametrize("world", [2, 3, 4, 5, 8])
def test_reduce_scatter_says_what_a_ring_says(student, draw, world):
    """In each step a rank passes on the sum so far of one chunk; its own is what it ends with."""
    xs = whole_numbers(draw, world, 4 * world + draw.integer(1, world))
    for rank in range(world):
        Case("reduce_scatter", xs, rank).run(student)


@task("reduce_scatter", contract=2)
@pytest.mark.parametrize("world", [64, 512])
def test_reduce_scatter_in_a_large_ring(student, draw, world):
    """A ring of hundreds of ranks is no different."""
    n = 2 * world + draw.integer(1, world)
    Case("reduce_scatter", whole_numbers(draw, world, n), draw.integer(1, world)).run(student)


@task("reduce_scatter", contract=3)
@ANY_FORM
def test_reduce_scatter_of_any_form(student, draw, dtype, n):
    """A message is a chunk in the dtype of x, an empty one too, and one rank sends none."""
    run_forms(student, draw, "reduce_scatter", dtype, n)


@task("reduce_scatter", contract=4)
def test_reduce_scatter_leaves_x_alone(student, draw):
    """x is unchanged, and the result is memory of its own."""
    assert_arguments_stay(student, draw, "reduce_scatter")


@task("all_gather", contract=5, gate=True)
@pytest.mark.parametrize("world", [2, 3, 4, 5, 8])
def test_all_gather_says_what_a_ring_says(student, draw, world):
    """In each step a rank passes on the chunk that came last; in the end it has them in order."""
    xs = whole_numbers(draw, world, 4 * world + draw.integer(1, world))
    for rank in range(world):
        Case("all_gather", xs, rank).run(student)


@task("all_gather", contract=5)
@pytest.mark.parametrize("world", [64, 512])
def test_all_gather_in_a_large_ring(student, draw, world):
    """A ring of hundreds of ranks is no different."""
    n = 2 * world + draw.integer(1, world)
    Case("all_gather", whole_numbers(draw, world, n), draw.integer(1, world)).run(student)


@task("all_gather", contract=6)
@ANY_FORM
def test_all_gather_of_any_form(student, draw, dtype, n):
    """A message is a chunk in the dtype of chunk, an empty one too, and one rank sends none."""
    run_forms(student, draw, "all_gather", dtype, n)


@task("all_gather", contract=7)
def test_all_gather_leaves_chunk_alone(student, draw):
    """chunk is unchanged, and the result is memory of its own."""
    assert_arguments_stay(student, draw, "all_gather")


@task("all_reduce", contract=8, gate=True)
@pytest.mark.parametrize("world", [2, 3, 4, 5, 8])
def test_all_reduce_is_one_and_then_the_other(student, draw, world):
    """all_reduce says what reduce_scatter and then all_gather say; every rank gets the sum."""
    xs = whole_numbers(draw, world, 4 * world + draw.integer(1, world))
    for rank in range(world):
        Case("all_reduce", xs, rank).run(student)


@task("all_reduce", contract=8)
@pytest.mark.parametrize("world", [64, 512])
def test_all_reduce_in_a_large_ring(student, draw, world):
    """A ring of hundreds of ranks is no different."""
    n = 2 * world + draw.integer(1, world)
    Case("all_reduce", whole_numbers(draw, world, n), draw.integer(1, world)).run(student)


@task("all_reduce", contract=9)
@ANY_FORM
def test_all_reduce_of_any_form(student, draw, dtype, n):
    """A message is a chunk in the dtype of x, an empty one too, and one rank sends none."""
    run_forms(student, draw, "all_reduce", dtype, n)


@task("all_reduce", contract=10)
def test_all_reduce_leaves_x_alone(student, draw):
    """x is unchanged, and the result is memory of its own."""
    assert_arguments_stay(student, draw, "all_reduce")


# --- all ranks -------------------------------------------------------------------------------


def assert_said(network: Network, rank: int, wanted: Sequence[Tensor]) -> None:
    """Compare partners, order, sizes and dtypes of what a rank has sent."""
    got = network.sent_by(rank)
    count = counted(len(got), "message")
    check(len(got) == len(wanted), f"rank {rank} sent {count}, expected {len(wanted)}")
    for step, (message, want) in enumerate(zip(got, wanted, strict=True)):
        right = (rank + 1) % network.world
        form = f"{list(want.shape)} {want.dtype} to rank {right}"
        said = f"{list(message.shape)} {message.dtype} to rank {message.to}"
        check(said == form, f"rank {rank} sent {said} in step {step}, expected {form}")


@task("all_reduce", contract=11)
@pytest.mark.parametrize("world", [2, 3, 4])
@pytest.mark.parametrize("name", ["reduce_scatter", "all_gather", "all_reduce"])
def test_all_ranks_come_to_an_end(student, draw, name, world):
    """Where all ranks run the same code nobody waits for ever: all end, with the same messages."""
    group = student.spawn(world)
    for n in (3 * world + 1, world - 1):
        xs = whole_numbers(draw, world, n)
        cases = [Case(name, xs, rank) for rank in range(world)]
        network = Network(world)

        got = group.among(network, name, PerRank(c.first for c in cases), *cases[0].rest)

        for rank, case in enumerate(cases):
            assert_equal(got[rank], case.want, f"the result on rank {rank} of {world}")
            said = oracle.all_gather(xs[0], rank, world) if name == "all_gather" else None
            said = said or getattr(oracle, name)(xs, rank)
            assert_said(network, rank, said.sent)


# --- vocabulary ------------------------------------------------------------------------------


class Reducer:
    """The all-reduce of one rank: ``steps`` say what of its own must come, and what goes back."""

    def __init__(self, steps: Sequence[Callable[[Tensor], Tensor]], ops: Sequence[str]) -> None:
        self._steps, self._ops, self._done = steps, ops, 0

    def all_reduce(self, x: Any, op: Any) -> Tensor:
        """Check a rank's part and return the whole."""
        most = len(self._ops)
        check(self._done < most, f"all_reduce is called {most + 1} times, expected {most}")
        want = self._ops[self._done]
        say = op if type(op) is str else describe(op)
        number = self._done + 1
        check(type(op) is str and op == want, f"all_reduce {number} is {say!r}, expected {want!r}")
        self._done += 1
        return self._steps[number - 1](expect(x, Tensor, f"what all_reduce {number} gets"))

    def end(self) -> None:
        """Fail unless all has been asked for."""
        say = f"all_reduce is called {counted(self._done, 'time')}, expected {len(self._ops)}"
        check(self._done == len(self._ops), say)


def reducer(student: Any, peer: Reducer) -> Any:
    return student.lend(peer, ("all_reduce",))


class Vocabulary:
    """A vocabulary of W equal parts, and tokens of all of them."""

    def __init__(self, draw: Any, world: int, part: int, tokens: int) -> None:
        self.world, self.part = world, part
        ids = draw.integers(0, world * part, tokens)
        for rank in range(world):  # the first and the last id of each part
            ids[2 * rank], ids[2 * rank + 1] = rank * part, (rank + 1) * part - 1
        self.ids = ids[torch.tensor(draw.shuffled(range(tokens)))]

    def own(self, rank: int) -> Tensor:  # bool [N]
        return self.ids // self.part == rank


def embedding_case(draw: Any, world: int, rank: int, dtype: torch.dtype) -> tuple[Any, ...]:
    words = Vocabulary(draw, world, 5, 2 * world + 7)
    table = draw.normal(world * 5, 6, dtype=dtype)
    want = table[words.ids]
    mine = want.masked_fill(~words.own(rank)[:, None], 0)

    def whole(x: Tensor) -> Tensor:
        assert_equal(x, mine, f"what rank {rank} of {world} gives to all_reduce")
        return want.clone()

    shard = table[rank * 5 : rank * 5 + 5].clone()
    return Reducer([whole], ["sum"]), words.ids, shard, rank * 5, want


@task("vocabulary", contract=12, gate=True)
@pytest.mark.parametrize("world", [1, 2, 3, 8])
@pytest.mark.parametrize("dtype", [torch.float32, BFLOAT16], ids=str)
def test_embedding_is_the_sum_of_parts(student, draw, world, dtype):
    """A rank gives its own rows to one all_reduce, and 0 for ids of others; all get all rows."""
    for rank in range(world):
        peer, tokens, shard, start, want = embedding_case(draw, world, rank, dtype)

        got = student.vocab_embedding(reducer(student, peer), tokens, shard, start)

        assert_equal(got, want, f"the result on rank {rank} of {world}")
        peer.end()


class Loss:
    """A split cross entropy from one rank's side: what it must give, and what it gets."""

    def __init__(self, logits: Tensor, words: Vocabulary, rank: int) -> None:
        self.words, self.rank = words, rank
        self.columns = slice(rank * words.part, (rank + 1) * words.part)
        self.mine = logits[:, self.columns].clone()
        self.loss, gradient = oracle.cross_entropy(logits, words.ids)
        self.gradient = gradient[:, self.columns]
        wide = logits.double()
        self.top = wide.amax(-1)
        self.shifted = wide - self.top[:, None]
        masses = self.shifted.exp()
        own = words.own(rank)
        score = self.shifted.gather(1, words.ids[:, None])[:, 0]
        self.parts = torch.stack([masses[:, self.columns].sum(-1), score.masked_fill(~own, 0)])
        self.sums = torch.stack([masses.sum(-1), score])
        self.peer = Reducer([self._highest, self._summed], ["max", "sum"])

    def _highest(self, x: Tensor) -> Tensor:
        want = self.mine.float().amax(-1)
        assert_equal(x, want, f"what rank {self.rank} gives to the first all_reduce")
        return self.top.float()

    def _summed(self, x: Tensor) -> Tensor:
        what = f"what rank {self.rank} gives to the second all_reduce"
        off = torch.stack([self.parts[0] * 1e-6, self.top.abs() * 1e-7])
        assert_close(x, self.parts, "elementwise", inner=4, scale=1.0, off=off, what=what)
        return self.sums.float()

    def run(self, student: Any) -> None:
        words, start = self.words, self.rank * self.words.part
        peer = reducer(student, self.peer)

        got = student.vocab_cross_entropy(peer, self.mine, words.ids, start)

        loss, gradient = expect(got, PAIR, "the result")
        off = (self.loss.abs() + self.top.abs()) * 1e-7
        assert_close(loss, self.loss, "elementwise", scale=1.0, off=off, what="the loss")
        at = self.mine
        off = self.gradient.abs() * 1e-6 + 1e-7
        say = f"the gradient on rank {self.rank}"
        assert_close(gradient, self.gradient, "elementwise", like=at, scale=1.0, off=off, what=say)
        self.peer.end()


@task("vocabulary", contract=13, gate=True)
@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_loss_needs_a_maximum_and_two_sums(student, draw, world):
    """Ranks agree on each row's maximum, then on the sum and the target's score, foreign: 0."""
    words = Vocabulary(draw, world, 7, 2 * world + 5)
    logits = draw.normal(len(words.ids), world * 7, scale=2.0)
    for rank in range(world):
        Loss(logits, words, rank).run(student)


@task("vocabulary", contract=14)
@pytest.mark.parametrize("dtype", [torch.float32, BFLOAT16, torch.float16], ids=str)
def test_loss_and_gradient_of_any_dtype(student, draw, dtype):
    """The loss is float32, the gradient has the dtype of logits; both are computed in float32."""
    words = Vocabulary(draw, 3, 40, 17)
    logits = draw.normal(17, 120, scale=3.0, dtype=dtype)
    for rank in range(3):
        Loss(logits, words, rank).run(student)


@task("vocabulary", contract=14)
def test_no_target_is_the_ranks_own(student, draw):
    """A rank whose columns hold no target has a gradient of softmax alone."""
    words = Vocabulary(draw, 4, 6, 9)
    words.ids = words.ids % 6 + 6  # all of rank 1
    logits = draw.normal(9, 24)
    for rank in range(4):
        Loss(logits, words, rank).run(student)


@task("vocabulary", contract=15)
@pytest.mark.parametrize("shift", [-1e4, 1e4], ids=["below", "above"])
def test_large_logits_stay_finite(student, draw, shift):
    """Logits of 1e4 on either side give finite losses and gradients, and the right ones."""
    words = Vocabulary(draw, 3, 8, 11)
    logits = (draw.normal(11, 24, scale=4.0) + shift).round()
    logits[::2, 8:16] -= 2 * shift  # a part lies far from the others
    for rank in range(3):
        Loss(logits, words, rank).run(student)


@task("vocabulary", contract=16)
def test_vocabulary_stays_in_parts(student, draw):
    """No argument changes, and no tensor has the elements of all logits."""
    world, rank = 8, 3
    words = Vocabulary(draw, world, 50, 21)
    case = Loss(draw.normal(21, world * 50), words, rank)
    ids, mine = student.watch(words.ids), student.watch(case.mine)
    with student.largest_tensor() as largest:
        expect(student.vocab_cross_entropy(reducer(student, case.peer), mine, ids, 150), PAIR)
    limit = 21 * world * 50
    say = f"a tensor has {largest.elements} elements, expected fewer than N * V = {limit}"
    check(largest.elements < limit, say)
    assert_unmodified(ids, "targets")
    assert_unmodified(mine, "logits")

    peer, tokens, shard, start, _ = embedding_case(draw, 3, 1, torch.float32)
    tokens, shard = student.watch(tokens), student.watch(shard)
    expect(student.vocab_embedding(reducer(student, peer), tokens, shard, start), Tensor)
    assert_unmodified(tokens, "tokens")
    assert_unmodified(shard, "shard")


# --- ring attention --------------------------------------------------------------------------


class Round:
    """Ring attention from one rank's side: its tokens, what comes round, what it should give."""

    def __init__(
        self,
        draw: Any,
        world: int,
        rank: int,
        causal: bool,
        *,
        heads: tuple[int, int] = (4, 2),
        length: int = 5,
        width: int = 8,
        dtype: torch.dtype = torch.float32,
        scale: float = 1.0,
        below: bool = False,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        many, few = heads
        self.rank, self.world, self.causal = rank, world, causal
        q = draw.normal(many, world * length, width, dtype=dtype, scale=scale)
        k = draw.normal(few, world * length, width, dtype=dtype, scale=scale)
        v = draw.normal(few, world * length, width, dtype=dtype)
        q, k = (q.abs(), -k.abs()) if below else (q, k)  # every score lies far below 0
        own = slice(rank * length, (rank + 1) * length)
        self.own = tuple(x[:, own].clone() for x in (q, k, v))
        seen = slice(0, own.stop) if causal else slice(None)
        args = q[None, :, own], k[None, :, seen], v[None, :, seen]
        self.want = attend(*args, causal)[0][0]
        queries, keys = torch.arange(own.start, own.stop), torch.arange(args[1].shape[2])
        visible = keys[None] <= queries[:, None] if causal else torch.ones(1, 1, dtype=torch.bool)
        self.off = attention_off(*args, visible)[0][0]
        chunks = torch.stack([k, v]).unflatten(2, (world, length)).movedim(2, 0)
        sends = [chunks[(rank - step) % world].clone() for step in range(world - 1)]
        gets = [chunks[(rank - step - 1) % world].clone() for step in range(world - 1)]
        self.peer = Alone(rank, world, sends, gets, look)

    def run(self, student: Any) -> None:
        got = student.ring_attention(lent(student, self.peer), *self.own, self.causal)

        self.compare(got)
        self.peer.end()

    def compare(self, got: Any) -> None:
        q = self.own[0]
        what = f"the result on rank {self.rank} of {self.world}"
        assert_close(got, self.want, "attention", like=q, inner=1024, off=self.off, what=what)


CAUSAL = pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])


@task("ring_attention", contract=17, gate=True)
@CAUSAL
@pytest.mark.parametrize("world", [2, 3, 4, 8])
def test_keys_and_values_go_round(student, draw, world, causal):
    """First a rank's own keys and values go to its right, then each time what has come."""
    for rank in {0, world - 1, draw.integer(0, world)}:
        Round(draw, world, rank, causal).run(student)


@task("ring_attention", contract=18, gate=True)
@pytest.mark.parametrize("world", [2, 3, 4])
def test_what_is_not_seen_goes_on(student, draw, world):
    """Causal: rank 0 sees no foreign chunk, and passes all of them on."""
    for rank in range(world):
        Round(draw, world, rank, True).run(student)


@task("ring_attention", contract=19)
@CAUSAL
@pytest.mark.parametrize("heads", [(4, 1), (3, 3), (6, 2)], ids=str)
def test_ring_attention_is_attention_of_the_whole(student, draw, heads, causal):
    """Head h reads key head h // (H / G), whatever the sizes; one rank alone sends nothing."""
    for world, length, width in ((1, 7, 5), (3, 1, 16), (2, 9, 20)):
        case = {"heads": heads, "length": length, "width": width}
        Round(draw, world, draw.integer(0, world), causal, **case).run(student)


@task("ring_attention", contract=19)
@CAUSAL
@pytest.mark.parametrize("dtype", [BFLOAT16, torch.float16], ids=str)
def test_ring_attention_computes_in_float32(student, draw, dtype, causal):
    """Messages and result have the dtype of k and q; scores, softmax and sums are float32."""
    for rank, scale in ((0, 1.0), (3, 1.0), (2, 5.0)):
        case = {"length": 33, "width": 16, "dtype": dtype, "scale": scale}
        Round(draw, 4, rank, causal, **case).run(student)


@task("ring_attention", contract=19)
@CAUSAL
@pytest.mark.parametrize("below", [False, True], ids=["both signs", "all below 0"])
def test_ring_attention_of_large_scores(student, draw, below, causal):
    """Scores of thousands do not overflow, nor vanish: maxima are taken along with the chunks."""
    for rank in (0, 2):
        case = {"length": 6, "width": 16, "scale": 25.0, "below": below}
        Round(draw, 3, rank, causal, **case).run(student)


@task("ring_attention", contract=20)
@CAUSAL
def test_ring_attention_lets_go_of_what_has_gone_on(student, draw, causal):
    """At most two foreign chunks are held, and no tensor has the scores of all tokens."""
    world, length, width, heads = 8, 64, 32, (4, 4)
    held: list[int] = []
    case = Round(
        *(draw, world, world - 1, causal),
        heads=heads,
        length=length,
        width=width,
        look=lambda: held.append(student.held_bytes()),
    )
    own = [student.watch(x) for x in case.own]
    with student.largest_tensor() as largest:
        got = student.ring_attention(lent(student, case.peer), *own, causal)

    case.compare(got)
    for x, name in zip(own, "qkv", strict=True):
        assert_unmodified(x, name)
    limit = heads[0] * length * world * length
    say = f"a tensor has {largest.elements} elements, expected fewer than H * T * WT = {limit}"
    check(largest.elements < limit, say)
    # What a rank needs at all it has from its second step on; one chunk a step would be hoarded.
    chunk = 2 * heads[1] * length * width * 4
    half = len(held) // 2
    grown = max(held[half:]) - max(held[1:half])
    say = f"a rank holds {grown} bytes more in its last steps than in its first ones, expected at "
    check(grown <= 2 * chunk, f"{say}most {2 * chunk}, two chunks")


# --- schedules -------------------------------------------------------------------------------


def schedule_of(value: Any, stages: int) -> list[list[oracle.Item]]:
    """Return what came as lists of tuples, if it has the form of a schedule."""
    if type(value) not in (list, tuple) or len(value) != stages:
        raise Mismatch(f"a schedule should be a list of {stages} stages, not {describe(value)}")
    return [[_item(item) for item in _listed(order)] for order in value]


def _listed(value: Any) -> Sequence[Any]:
    if type(value) not in (list, tuple):
        raise Mismatch(f"a stage of a schedule should be a list, not {describe(value)}")
    return value


def _item(value: Any) -> oracle.Item:
    kinds = [type(part) for part in value] if type(value) in (list, tuple) else []
    if kinds != [str, int, int]:
        raise Mismatch(f"an item should be [kind, microbatch, chunk], not {describe(value)}")
    return tuple(value)


def assert_complete(schedule: list[list[oracle.Item]], m: int, chunks: int, kinds: str) -> None:
    """Fail unless each stage has every item once."""
    wanted = set(itertools.product(kinds, range(m), range(chunks)))
    for stage, order in enumerate(schedule):
        missing = sorted(wanted - set(order))
        odd = sorted(set(order) - wanted)
        check(not missing, f"stage {stage} lacks {list(missing[0]) if missing else ''}")
        check(not odd, f"stage {stage} has {list(odd[0]) if odd else ''}, which there is not")
        twice = f"stage {stage} has {len(order)} items, expected {len(wanted)}, each once"
        check(len(order) == len(wanted), twice)


def played(
    schedule: list[list[oracle.Item]], f: int = 1, b: int = 2, hop: int = 0
) -> oracle.Played:
    """Return what a schedule takes, or fail if a stage waits for ever."""
    result = oracle.play(schedule, Fraction(f), Fraction(b), Fraction(hop))
    if result is None:
        raise Mismatch(f"the schedule never ends: {stuck(schedule)}")
    return result


def stuck(schedule: list[list[oracle.Item]]) -> str:
    """Say what the first stage waits for that never comes."""
    stages, chunks = len(schedule), 1 + max(chunk for order in schedule for *_, chunk in order)
    done: set[tuple[int, str, int, int]] = set()
    places = [0] * stages
    moved = True
    while moved:
        moved = False
        for stage, order in enumerate(schedule):
            while places[stage] < len(order):
                item = order[places[stage]]
                if any(need not in done for need in oracle.needed(stage, item, stages, chunks)):
                    break
                done.add((stage, *item))
                places[stage] += 1
                moved = True
    stage = next(s for s in range(stages) if places[s] < len(schedule[s]))
    item = schedule[stage][places[stage]]
    need = next(n for n in oracle.needed(stage, item, stages, chunks) if n not in done)
    return f"stage {stage} waits at {list(item)} for {list(need[1:])} of stage {need[0]}"


SIZES = [(1, 1), (1, 5), (2, 2), (2, 7), (3, 2), (3, 9), (4, 4), (4, 16), (8, 8), (8, 24), (5, 3)]
ANY_SIZE = pytest.mark.parametrize(("stages", "microbatches"), SIZES)
PLAIN = pytest.mark.parametrize("name", ["gpipe", "one_f_one_b"])
CHUNKED = [(1, 1, 3), (2, 2, 2), (2, 6, 3), (3, 3, 1), (4, 4, 2), (4, 8, 4), (8, 16, 2), (3, 9, 2)]
INTERLEAVED = pytest.mark.parametrize(("stages", "microbatches", "chunks"), CHUNKED)


@task("schedules", contract=21, gate=True)
@PLAIN
@ANY_SIZE
def test_schedules_do_everything_once(student, name, stages, microbatches):
    """Each stage has each microbatch once forward and once back, and nobody waits for ever."""
    got = schedule_of(getattr(student, name)(stages, microbatches), stages)

    assert_complete(got, microbatches, 1, "FB")
    played(got)


@task("schedules", contract=21, gate=True)
@INTERLEAVED
def test_interleaved_does_everything_once(student, stages, microbatches, chunks):
    """Each stage has each microbatch and chunk once forward, once back, in an order that ends."""
    got = schedule_of(student.interleaved(stages, microbatches, chunks), stages)

    assert_complete(got, microbatches, chunks, "FB")
    played(got)


def assert_least(schedule: list[list[oracle.Item]], m: int, chunks: int) -> None:
    for f, b in ((1, 2), (3, 1), (2, 2)):
        took = played(schedule, f, b).makespan
        want = oracle.least_time(len(schedule), m, chunks, Fraction(f), Fraction(b))
        say = f"with f = {f}, b = {b} it takes {float(took):g}, expected {float(want):g}"
        check(took == want, say)


@task("schedules", contract=22)
@PLAIN
@ANY_SIZE
def test_schedules_take_the_least_time(student, name, stages, microbatches):
    """gpipe and one_f_one_b take (m + p - 1) (f + b)."""
    assert_least(schedule_of(getattr(student, name)(stages, microbatches), stages), microbatches, 1)


@task("schedules", contract=22)
@INTERLEAVED
def test_interleaved_takes_the_least_time(student, stages, microbatches, chunks):
    """interleaved takes (m + (p - 1) / v) (f + b)."""
    got = schedule_of(student.interleaved(stages, microbatches, chunks), stages)

    assert_least(got, microbatches, chunks)


def assert_peaks(schedule: list[list[oracle.Item]], wanted: Sequence[int], exact: bool) -> None:
    for stage, want in enumerate(wanted):
        got = oracle.most_held(schedule[stage], "B")
        say = f"stage {stage} holds {got} forwards without their backward at most, expected "
        check(got <= want, f"{say}{'' if exact else 'at most '}{want}")
        check(got == want or not exact, f"{say}{want}")


@task("schedules", contract=23)
@ANY_SIZE
def test_what_stages_hold(student, stages, microbatches):
    """Forwards without their backward: m of gpipe, min(m, p - r) of one_f_one_b."""
    m = microbatches
    got = schedule_of(student.gpipe(stages, m), stages)
    assert_peaks(got, [m] * stages, True)

    got = schedule_of(student.one_f_one_b(stages, m), stages)
    assert_peaks(got, [min(m, stages - stage) for stage in range(stages)], True)


@task("schedules", contract=23)
@INTERLEAVED
def test_what_interleaved_stages_hold(student, stages, microbatches, chunks):
    """interleaved holds at most min(m v, 2 (p - r - 1) + (v - 1) p + 1) forwards."""
    got = schedule_of(student.interleaved(stages, microbatches, chunks), stages)
    ahead = [2 * (stages - stage - 1) + (chunks - 1) * stages + 1 for stage in range(stages)]
    assert_peaks(got, [min(microbatches * chunks, count) for count in ahead], False)


@task("schedules", contract=24)
@pytest.mark.parametrize(("stages", "microbatches"), [(2, 3), (4, 2), (4, 6), (3, 1)])
def test_interleaved_needs_whole_rounds(student, stages, microbatches):
    """Microbatches that are no multiple of the stages are a ValueError naming microbatches."""
    with student.raises(ValueError, naming="microbatches"):
        student.interleaved(stages, microbatches, 2)


ZERO = [(1, 1), (1, 4), (2, 2), (2, 5), (3, 3), (3, 10), (4, 4), (4, 7), (6, 12), (8, 9)]


@task("schedules", contract=25)
@pytest.mark.parametrize(("stages", "microbatches"), [*ZERO, (3, 1), (5, 3)])
def test_zero_bubble_holds_no_more(student, stages, microbatches):
    """Each microbatch is once F, B and W; stages hold no more than those of 1F1B."""
    m = microbatches
    got = schedule_of(student.zero_bubble(stages, m), stages)

    assert_complete(got, m, 1, "FBW")
    played(got)
    assert_peaks(got, [min(m, stages - stage) for stage in range(stages)], False)
    for stage, order in enumerate(got):
        held, want = oracle.most_held(order, "W"), min(m, stages)
        say = f"stage {stage} holds {held} forwards without their W, expected at most {want}"
        check(held <= want, say)


@task("schedules", contract=25)
@pytest.mark.parametrize(("stages", "microbatches"), ZERO)
def test_zero_bubble_wastes_a_third(student, stages, microbatches):
    """With F = B = W = 1 and m >= p it takes 3 m + p - 1: a third of 1F1B's bubble."""
    got = schedule_of(student.zero_bubble(stages, microbatches), stages)

    took, want = played(got).makespan, 3 * microbatches + stages - 1
    check(took == want, f"it takes {float(took):g}, expected {want}")


def assert_simulated(
    student: Any, schedule: Any, f: float, b: float, hop: float | None = None
) -> None:
    rest = () if hop is None else (hop,)
    sent = [[list(item) for item in order] for order in schedule]
    got = expect(student.simulate(sent, f, b, *rest), dict, "simulate")
    want = oracle.play(schedule, Fraction(f), Fraction(b), Fraction(hop or 0))
    assert want is not None
    names = sorted(str(name) for name in got)
    wanted = ["bubble", "makespan", "peak"]
    check(names == wanted, f"simulate has {names}, expected {wanted}")
    for name, right in (("makespan", want.makespan), ("bubble", want.bubble)):
        value = got[name]
        if type(value) not in (int, float):
            raise Mismatch(f"{name} should be a number, not {describe(value)}")
        say = f"{name} is {value:g}, expected {float(right):g}"
        error = abs(value - float(right)) if math.isfinite(value) else math.inf
        check(error <= 1e-9 * (1 + float(right)), say)
    assert_equal(got["peak"], want.peak, "peak")


@task("schedules", contract=26)
@pytest.mark.parametrize("kinds", ["FB", "FBW"])
@pytest.mark.parametrize("chunks", [1, 2, 3])
def test_simulate_any_schedule(student, draw, kinds, chunks):
    """simulate gives makespan, bubble and peak of any schedule that ends."""
    for stages in (1, 2, 3, 4):
        pick = lambda n: draw.integer(0, n)  # noqa: E731
        schedule = oracle.any_order(stages, draw.integer(2, 4), chunks, kinds, pick)
        f, b = draw.integer(1, 17) / 8, draw.integer(1, 17) / 8
        assert_simulated(student, schedule, f, b)
        assert_simulated(student, schedule, f, b, draw.integer(1, 9) / 4)


@task("schedules", contract=26)
def test_simulate_hops_lie_between_stages(student):
    """A hop is paid from stage to stage, forward and back, and never inside one."""
    one = [[("F", 0, 0), ("F", 0, 1), ("B", 0, 1), ("B", 0, 0)]]
    assert_simulated(student, one, 2.0, 4.0, 100.0)

    two = [[("F", 0, 0), ("B", 0, 0)], [("F", 0, 0), ("B", 0, 0)]]
    assert_simulated(student, two, 1.0, 2.0, 0.5)
    split = [[("F", 0, 0), ("B", 0, 0), ("W", 0, 0)], [("F", 0, 0), ("B", 0, 0), ("W", 0, 0)]]
    assert_simulated(student, split, 1.0, 2.0, 0.5)


@task("schedules", contract=26)
def test_simulate_a_pipeline_at_work(student):
    """The bubble of m microbatches on p stages is (p - 1) / (m + p - 1) of all time."""
    for p, m in ((4, 4), (4, 12), (8, 32)):
        forth = [[("F", i, 0) for i in range(m)] + [("B", i, 0) for i in range(m)]] * p
        assert_simulated(student, forth, 1.0, 2.0)


@task("schedules", contract=27)
def test_simulate_names_a_schedule_that_never_ends(student, draw):
    """Whoever waits for what comes behind it, or never comes, is a ValueError naming schedule."""
    never = [
        [[["B", 0, 0], ["F", 0, 0]]],
        [[["F", 0, 0], ["B", 0, 0]], [["B", 0, 0], ["F", 0, 0]]],
        [
            [["F", 0, 0], ["B", 0, 0], ["F", 1, 0], ["B", 1, 0]],
            [["F", 1, 0], ["B", 1, 0], ["F", 0, 0], ["B", 0, 0]],
        ],
        [[["F", 0, 0], ["B", 0, 0]], []],
        [[["F", 0, 0], ["W", 0, 0], ["B", 0, 0]]],
        [[["F", 0, 1], ["F", 0, 0], ["B", 0, 1], ["B", 0, 0]]],
    ]
    for schedule in never:
        with student.raises(ValueError, naming="schedule"):
            student.simulate(schedule, 1.0, 2.0)


# --- cost ------------------------------------------------------------------------------------


def assert_number(got: Any, want: float, what: str) -> None:
    if type(got) not in (int, float):
        raise Mismatch(f"{what} should be a number, not {describe(got)}")
    error = abs(got - want) / abs(want) if want else abs(got)
    text = f"{what} is {got:.6g}, expected {want:.6g}"
    check_within(error if math.isfinite(error) else math.inf, 1e-9, text, what)


def links(draw: Any) -> tuple[float, float, float]:
    """Draw bytes, a latency and a rate, as odd as those of machines."""
    n = draw.integer(1, 2**30)
    return n, draw.integer(1, 900) * 1e-7, draw.integer(1, 900) * 1e9


RINGS = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]


@task("cost", contract=28, gate=True)
@pytest.mark.parametrize("op", RINGS)
def test_seconds_of_a_ring(student, draw, op):
    """all_reduce takes 2 (W - 1) (alpha + n / (W beta)), the others half of it."""
    for world in (2, 3, 8, 512, draw.integer(4, 100)):
        n, alpha, beta = links(draw)
        want = oracle.ring_seconds(op, n, world, alpha, beta)
        assert_number(student.seconds(op, n, world, alpha, beta), want, f"seconds of {op}")
        got = student.seconds(op, n, world, alpha, beta, "ring")
        assert_number(got, want, f"seconds of {op}")
        want = oracle.ring_seconds(op, 0, world, alpha, beta)
        assert_number(student.seconds(op, 0, world, alpha, beta), want, "seconds of no bytes")


@task("cost", contract=29)
def test_seconds_of_a_tree(student, draw):
    """A tree takes 2 ceil(log2 W) (alpha + n / beta), powers of two or not."""
    for world in (2, 3, 4, 5, 8, 9, 64, 100, 512, 513, 1024):
        n, alpha, beta = links(draw)
        want = oracle.tree_seconds(n, world, alpha, beta)
        got = student.seconds("all_reduce", n, world, alpha, beta, "tree")
        assert_number(got, want, f"seconds of a tree of {world} ranks")


@task("cost", contract=30)
def test_seconds_of_nodes(student, draw):
    """In a node all is cut in k parts, then each part goes round the nodes, then back together."""
    for world, size in ((16, 8), (512, 8), (6, 3), (6, 2), (8, 8), (8, 1), (12, 4)):
        (n, alpha, beta), (_, far_alpha, far_beta) = links(draw), links(draw)
        want = oracle.node_seconds(n, world, alpha, beta, size, far_alpha, far_beta)
        nodes = [size, far_alpha, far_beta]
        got = student.seconds("all_reduce", n, world, alpha, beta, "ring", nodes)
        assert_number(got, want, f"seconds of {world} ranks in nodes of {size}")


@task("cost", contract=31)
def test_seconds_of_one_rank(student, draw):
    """One rank alone takes no time, whatever the op."""
    n, alpha, beta = links(draw)
    for op in RINGS:
        assert_number(student.seconds(op, n, 1, alpha, beta), 0.0, f"seconds of {op}")
    got = student.seconds("all_reduce", n, 1, alpha, beta, "tree")
    assert_number(got, 0.0, "seconds of a tree")
    got = student.seconds("all_reduce", n, 1, alpha, beta, "ring", [1, alpha, beta])
    assert_number(got, 0.0, "seconds of one node of one rank")


@task("cost", contract=31)
def test_seconds_name_what_is_wrong(student):
    """An unknown op or algorithm, a tree of another op, and nodes that do not fit: ValueErrors."""
    for world in (1, 4):
        for op in ("broadcast", "allreduce", ""):
            with student.raises(ValueError, naming="op"):
                student.seconds(op, 100, world, 1e-6, 1e9)
        with student.raises(ValueError, naming="algorithm"):
            student.seconds("all_reduce", 100, world, 1e-6, 1e9, "star")
    for op in ("all_gather", "reduce_scatter", "all_to_all"):
        with student.raises(ValueError, naming="algorithm"):
            student.seconds(op, 100, 4, 1e-6, 1e9, "tree")
    for world, size in ((6, 4), (4, 8), (9, 2), (1, 2)):
        with student.raises(ValueError, naming="per_node"):
            student.seconds("all_reduce", 100, world, 1e-6, 1e9, "ring", [size, 1e-5, 1e8])


@task("cost", contract=32, gate=True)
@pytest.mark.parametrize("op", [*RINGS, "broadcast", "reduce"])
def test_bus_bandwidth_of_the_whole(student, draw, op):
    """The bus carries the whole tensor, times a factor of the op, in the time."""
    for world in (1, 2, 3, 8, 512):
        n, took = draw.integer(1, 2**32), draw.integer(1, 10**6) * 1e-6
        want = oracle.bus_bytes(op, n, world) / took
        assert_number(student.bus_bandwidth(op, n, world, took), want, f"the bus of {op}")


@task("cost", contract=32)
def test_bus_bandwidth_of_no_op(student):
    """Another op is a ValueError that names op."""
    for op in ("send_recv", "allreduce"):
        with student.raises(ValueError, naming="op"):
            student.bus_bandwidth(op, 100, 4, 1.0)
