"""Public tests of lab 12: the handout's examples and a few more, by the handout's numbers.

Numbers of blocks are yours: tests look at how many there are, and at which tables agree. Where q is
0 all scores are 0, and a row gets the mean of its values.
"""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.suite import (
    Proxy,
    assert_close,
    assert_equal,
    assert_from_kernels,
    assert_new,
    assert_unmodified,
    assert_written,
    check,
    expect,
    task,
)

TABLE = list[int]
BOTH = pytest.mark.parametrize("share", [False, True], ids=["alone", "sharing"])


# --- Tasks 1 and 2: blocks, sharing ----------------------------------------------------------


def made(student: Any, num_blocks: int, size: int, share: bool = False) -> Any:
    return expect(student.BlockManager(num_blocks, size, share), Proxy, "BlockManager(...)")


def tables(manager: Any, *seqs: int) -> list[list[int]]:
    return [expect(manager.table(seq), TABLE, "the table") for seq in seqs]


def assert_free(manager: Any, num_blocks: int, *seqs: int) -> None:
    """num_free and the distinct blocks of all living sequences add up to num_blocks."""
    named = {block for table in tables(manager, *seqs) for block in table}
    odd = [block for block in named if not 0 <= block < num_blocks]
    check(not odd, f"a table names block {odd[:1]}, expected 0 to {num_blocks - 1}")
    free = expect(manager.num_free, int, "num_free")
    say = f"num_free is {free} while tables name {len(named)} of {num_blocks} blocks"
    check(free + len(named) == num_blocks, f"{say}, expected {num_blocks - len(named)}")


def assert_counts(manager: Any, seq: int, length: int, blocks: int) -> list[int]:
    """Compare the length of a sequence and the number of its blocks; return its table."""
    (table,) = tables(manager, seq)
    check(len(set(table)) == len(table), f"the table {table} names a block twice")
    assert_equal(len(table), blocks, f"the number of blocks of {length} tokens")
    assert_equal(manager.length(seq), length, "length")
    return table


@task("blocks", contract=1)
def test_example_of_blocks(student):
    """The table of the handout: 4 blocks of 2 tokens."""
    manager = made(student, 4, 2)
    assert_equal(manager.admit(7, [5, 6, 5]), 0, "what admit returns")
    first = assert_counts(manager, 7, 3, 2)
    assert_equal(manager.append(7, 9), [], "what append returns")
    assert_equal(assert_counts(manager, 7, 4, 2), first, "the table")
    assert_equal(manager.append(7, 9), [], "what append returns")
    assert_equal(assert_counts(manager, 7, 5, 3)[:2], first, "the beginning of the table")
    assert_equal(manager.admit(8, [5, 6, 5]), None, "what admit returns")
    manager.release(7)
    assert_equal(manager.num_free, 4, "num_free")


@task("blocks", contract=1)
@pytest.mark.parametrize(
    ("size", "n", "blocks"), [(3, 3, 1), (3, 4, 2), (4, 8, 2), (1, 5, 5), (16, 17, 2)]
)
def test_blocks_are_rounded_up(student, size, n, blocks):
    """n tokens have n / P blocks, rounded up."""
    manager = made(student, 9, size)
    manager.admit(0, [1] * n)
    assert_counts(manager, 0, n, blocks)
    for extra in range(1, size + 1):
        manager.append(0, 2)
        assert_counts(manager, 0, n + extra, -(-(n + extra) // size))


@task("blocks", contract=2)
def test_blocks_add_up(student):
    """Two sequences with the same tokens have nothing in common without share."""
    manager = made(student, 9, 2)
    for seq in (3, 1):
        assert_equal(manager.admit(seq, [4, 4, 4, 4]), 0, "what admit returns")
    for _ in range(3):
        for seq in (3, 1):
            manager.append(seq, 4)
            assert_free(manager, 9, 1, 3)
            one, other = tables(manager, 1, 3)
            check(not set(one) & set(other), f"{one} and {other} have a block in common")
    assert_equal(manager.num_free, 1, "num_free")


@task("blocks", contract=3)
def test_none_changes_nothing(student):
    """Where blocks lack admit and append give None, and all is as it was."""
    manager = made(student, 3, 2)
    manager.admit(0, [1, 2])
    assert_equal(manager.admit(1, [1] * 5), None, "what admit returns")
    assert_free(manager, 3, 0)
    assert_equal(manager.admit(1, [1] * 4), 0, "what admit returns")  # exactly what is left
    assert_equal(manager.append(0, 3), None, "what append returns")
    assert_counts(manager, 0, 2, 1)
    assert_free(manager, 3, 0, 1)
    manager.release(1)
    assert_equal(manager.append(0, 3), [], "what append returns")


@task("blocks", contract=3)
def test_errors(student):
    """Unknown and known sequences, and no tokens, are ValueErrors that change nothing."""
    manager = made(student, 5, 2)
    manager.admit(0, [1, 2, 3])
    with student.raises(ValueError, naming="tokens"):
        manager.admit(1, [])
    with student.raises(ValueError, naming="seq"):
        manager.admit(0, [1])
    for call in (manager.release, manager.table, manager.length):
        with student.raises(ValueError, naming="seq"):
            call(1)
    with student.raises(ValueError, naming="seq"):
        manager.append(1, 4)
    for parent, child in ((1, 2), (0, 0)):
        with student.raises(ValueError):
            manager.fork(parent, child)
    assert_counts(manager, 0, 3, 2)
    assert_free(manager, 5, 0)


@task("blocks", contract=4)
def test_blocks_are_used_again(student):
    """Ten sequences, one after the other, find room in three blocks."""
    manager = made(student, 3, 2)
    for seq in range(10):
        assert_equal(manager.admit(seq, [seq] * 5), 0, "what admit returns")
        manager.append(seq, 1)
        manager.release(seq)
        assert_equal(manager.num_free, 3, "num_free")


class Traced:
    """A manager, the text of each living sequence, and the token that lies in each place.

    Tokens are written as a model writes keys: from the first that is not shared, after a copy.
    """

    def __init__(self, student: Any, num_blocks: int, size: int, share: bool) -> None:
        self._manager = made(student, num_blocks, size, share)
        self._blocks, self._size, self._share = num_blocks, size, share
        self.said: dict[int, list[int]] = {}  # by the living
        self._places: dict[int, dict[int, int]] = {}  # block: offset: token

    def _begins(self, tokens: list[int], text: list[int]) -> int:
        """How many leading blocks of a text are full, and those of the tokens as well."""
        most = min(len(tokens) - 1, len(text)) // self._size
        ends = range(self._size, most * self._size + 1, self._size)
        return sum(tokens[:end] == text[:end] for end in ends)

    def admit(self, seq: int, tokens: list[int]) -> None:
        alike = [self._begins(tokens, text) for text in self.said.values()] if self._share else []
        shared = max(alike, default=0)
        fits = -(-len(tokens) // self._size) - shared <= self._free()
        got = self._manager.admit(seq, tokens)
        assert_equal(got, shared * self._size if fits else None, f"what admit({seq}, …) returns")
        if fits:
            self.said[seq] = [*tokens]
            self._write(seq, shared * self._size)
        self.look()

    def append(self, seq: int, token: int) -> None:
        (table, *others), text = tables(self._manager, seq, *self.said), self.said[seq]
        full = not len(text) % self._size
        copied = not full and sum(table[-1] in other for other in others) > 1
        got = self._manager.append(seq, token)
        if (full or copied) and not self._free():
            assert_equal(got, None, f"what append({seq}, …) returns without a free block")
        else:
            text.append(token)
            (now,) = tables(self._manager, seq)
            last = now[-1] if now else -1
            want = [[table[-1], last]] if copied else []
            assert_equal(got, want, f"what append({seq}, …) returns")
            if copied:
                self._places[last] = dict(self._places[table[-1]])
            self._write(seq, len(text) - 1)
        self.look()

    def fork(self, parent: int, child: int) -> None:
        self._manager.fork(parent, child)
        self.said[child] = [*self.said[parent]]
        self.look()

    def release(self, seq: int) -> None:
        self._manager.release(seq)
        del self.said[seq]
        self.look()

    def _free(self) -> int:
        """How many blocks nobody had, by what was written."""
        return self._blocks - len(self._places)

    def _write(self, seq: int, start: int) -> None:
        (table,) = tables(self._manager, seq)
        check(len(table) * self._size >= len(self.said[seq]), f"{seq} has too few blocks")
        for place, token in enumerate(self.said[seq][start:], start):
            self._places.setdefault(table[place // self._size], {})[place % self._size] = token

    def look(self) -> None:
        """All counts are right, and what is free may be lost: each text can be read."""
        assert_free(self._manager, self._blocks, *self.said)
        held = set[int]()
        for seq, text in self.said.items():
            table = assert_counts(self._manager, seq, len(text), -(-len(text) // self._size))
            held |= {*table}
            for place, token in enumerate(text):
                found = self._places.get(table[place // self._size], {}).get(place % self._size)
                check(found == token, f"token {place} of {seq} is not where its table says")
        self._places = {block: self._places[block] for block in held}


@task("blocks", contract=2)
@pytest.mark.parametrize("size", [1, 3])
def test_texts_can_be_read_in_any_trace(student, draw, size):
    """Sequences come, grow and go in any order, in nine blocks; each text stays where it is."""
    drawn_trace(draw, Traced(student, 9, size, False), ["admit", "append", "append", "release"])


@task("sharing", contract=5)
@pytest.mark.parametrize("size", [1, 3])
def test_shared_texts_can_be_read_in_any_trace(student, draw, size):
    """The same with share and twins, and with texts of two tokens, which often begin alike."""
    kinds = ["admit", "append", "append", "append", "fork", "release"]
    drawn_trace(draw, Traced(student, 14, size, True), kinds)


def drawn_trace(draw: Any, traced: Traced, kinds: list[str]) -> None:
    for new in range(50):
        kind = draw.choice(kinds) if traced.said else "admit"
        living = draw.choice(list(traced.said)) if traced.said else 0
        if kind == "admit":
            traced.admit(new, draw.tokens(2, draw.integer(1, 9)))
        elif kind == "append":
            traced.append(living, draw.integer(0, 2))
        elif kind == "fork":
            traced.fork(living, new)
        else:
            traced.release(living)
    for seq in list(traced.said):
        traced.release(seq)


SHARED = [
    ([1, 2, 3, 4, 5], [1, 2, 3, 4, 6], 4),
    ([1, 2, 3, 4], [1, 2, 3, 4], 2),
    ([1, 2, 3, 4], [1, 2, 3, 4, 5], 4),
    ([1, 2, 3], [1, 2, 3, 4], 2),
    ([8, 9, 3, 4], [1, 2, 3, 4, 5], 0),
    ([1, 2, 3, 4, 5, 6], [3, 4, 5, 6, 7], 0),
    ([2, 1, 3, 4], [1, 2, 3, 4, 5], 0),
    ([0, 3, 3, 4], [1, 2, 3, 4, 5], 0),
    ([-1, 2, 3, 4], [-2, 2, 3, 4, 5], 0),
    ([1, 2, 3, 4], [1, 2], 0),
    ([256, 2, 3, 4], [0, 2, 3, 4, 5], 0),
    ([2**32 + 1, 2, 3, 4], [1, 2, 3, 4, 5], 0),
    ([2**61 - 1, 2, 3, 4], [0, 2, 3, 4, 5], 0),
    ([2**60, 2, 3, 4], [2**60 + 1, 2, 3, 4, 5], 0),
    ([1, 2, 3, 4], [1, 2, 9, 9, 3, 4], 2),
]


@task("sharing", contract=5)
@pytest.mark.parametrize(("living", "new", "shared"), SHARED, ids=str)
def test_examples_of_sharing(student, living, new, shared):
    """The leading full blocks of a living sequence are shared, with P = 2."""
    manager = made(student, 12, 2, True)
    assert_equal(manager.admit(0, living), 0, "what the first admit returns")
    assert_equal(manager.admit(1, new), shared, "what admit returns")
    one, other = tables(manager, 0, 1)
    count = shared // 2
    assert_equal(other[:count], one[:count], "the shared part of the table")
    check(not set(one) & set(other[count:]), f"{one} and {other} have more in common")
    assert_counts(manager, 1, len(new), -(-len(new) // 2))
    assert_free(manager, 12, 0, 1)


@task("sharing", contract=5)
def test_longest_beginning_is_shared(student):
    """Of three living sequences the one in the middle has most in common."""
    manager = made(student, 20, 2, True)
    text = [1, 2, 3, 4, 5, 6, 7, 8]
    for seq, common in enumerate((2, 6, 4)):
        manager.admit(seq, [*text[:common], 10 + seq, 20 + seq])
    assert_equal(manager.admit(3, text), 6, "what admit returns")
    manager.release(3)
    manager.release(1)
    assert_equal(manager.admit(4, text), 4, "what admit returns, when the longest is gone")


@task("sharing", contract=5)
def test_shared_blocks_need_no_room(student):
    """Of four blocks one is free, which is enough beside two that are shared."""
    manager = made(student, 4, 2, True)
    manager.admit(0, [1, 2, 3, 4, 5, 6])
    assert_equal(manager.admit(1, [1, 2, 3, 4, 7, 8, 9]), None, "what admit returns")
    assert_equal(manager.admit(1, [1, 2, 3, 4, 7, 8]), 4, "what admit returns")
    assert_free(manager, 4, 0, 1)


@task("sharing", contract=5)
def test_appended_blocks_are_shared(student):
    """A block that append has filled is found like any other."""
    manager = made(student, 12, 2, True)
    manager.admit(0, [1])
    for seq, token in enumerate([2, 3, 4], 1):
        manager.append(0, token)
        assert_equal(manager.admit(seq, [1, 2, 3, 4, 5]), (seq + 1) // 2 * 2, "what admit returns")
        manager.release(seq)


@task("sharing", contract=5)
def test_blocks_of_twins_are_shared(student):
    """A twin copies a block and fills it; the other fills its own in place; both are found."""
    manager = made(student, 12, 2, True)
    manager.admit(0, [1])
    manager.fork(0, 1)
    manager.append(1, 2)  # into a copy, which is full by that
    manager.append(0, 3)
    assert_equal(manager.admit(5, [1, 3, 5]), 2, "what admit returns, with what 0 has filled,")
    manager.release(5)
    manager.release(0)
    assert_equal(manager.admit(2, [1, 2, 5]), 2, "what admit returns")
    assert_equal(manager.admit(3, [1, 3, 5]), 0, "what admit returns, where 1, 3 is gone")
    assert_equal(manager.admit(4, [1, 3, 6]), 2, "what admit returns")
    assert_free(manager, 12, 1, 2, 3, 4)


@task("sharing", contract=5)
def test_dead_sequences_share_nothing(student):
    """When one of two with equal blocks is released, the other is still shared with."""
    manager = made(student, 12, 2, True)
    manager.admit(0, [1, 2, 3, 4])
    manager.admit(1, [1, 2, 3, 4])  # the second block in memory of its own
    for seq in (0, 1):
        assert_equal(manager.admit(5, [1, 2, 3, 4, 5]), 4, "what admit returns")
        manager.release(5)
        manager.release(seq)
    assert_equal(manager.admit(6, [1, 2, 3, 4, 5]), 0, "what admit returns")
    assert_free(manager, 12, 6)


@task("sharing", contract=6)
@BOTH
def test_twins(student, share):
    """A child has its parent's blocks, the partial one too, and takes none."""
    manager = made(student, 5, 2, share)
    manager.admit(0, [1, 2, 3])
    manager.fork(0, 1)
    manager.fork(1, 2)
    parent, *children = tables(manager, 0, 1, 2)
    assert_equal(children, [parent, parent], "the tables of child and grandchild")
    assert_equal(manager.length(2), 3, "length")
    assert_equal(manager.num_free, 3, "num_free")


@task("sharing", contract=7)
@BOTH
def test_copy_on_write(student, share):
    """Who appends to a block of two takes a fresh one; the other goes on in place."""
    manager = made(student, 6, 4, share)
    manager.admit(0, [1, 2, 3, 4, 5])
    manager.fork(0, 1)
    (before,) = tables(manager, 0)
    copies = manager.append(0, 6)
    after, other = tables(manager, 0, 1)
    check(len(before) == len(after) == 2, f"five and six tokens have two blocks, not {before}")
    assert_equal(copies, [[before[1], after[1]]], "what append returns")
    check(after[1] not in before, f"{after} should end with a fresh block, unlike {before}")
    assert_equal([after[0], other], [before[0], before], "all other entries")
    assert_equal(manager.append(1, 7), [], "what append returns for the last holder")
    assert_equal(tables(manager, 1), [before], "the table of the last holder")
    assert_free(manager, 6, 0, 1)


@task("sharing", contract=7)
@BOTH
def test_no_copy_behind_a_full_block(student, share):
    """The next token behind a full block, shared or not, begins a fresh one: nothing to copy."""
    manager = made(student, 5, 2, share)
    manager.admit(0, [1, 2])
    manager.fork(0, 1)
    for seq in (0, 1):
        assert_equal(manager.append(seq, 3), [], "what append returns")
    one, other = tables(manager, 0, 1)
    check(one[0] == other[0] and one[1] != other[1], f"the tables are {one} and {other}")


@task("sharing", contract=7)
def test_no_room_for_a_copy(student):
    """Without a free block an append to a shared one gives None."""
    manager = made(student, 1, 4)
    manager.admit(0, [1, 2])
    manager.fork(0, 1)
    assert_equal(manager.append(0, 3), None, "what append returns")
    assert_equal(manager.length(0), 2, "length")
    manager.release(1)
    assert_equal(manager.append(0, 3), [], "what append returns")


@task("sharing", contract=8)
def test_hundreds_of_twins(student):
    """A block has as many holders as there are twins: all but the last keep it."""
    manager = made(student, 3, 2)
    manager.admit(0, [1, 2, 3])
    for child in range(1, 300):
        manager.fork(child - 1, child)
    for seq in range(299):
        manager.release(seq)
    assert_equal(manager.num_free, 1, "num_free, while one of 300 twins lives,")
    manager.release(299)
    assert_equal(manager.num_free, 3, "num_free")


@task("sharing", contract=8)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)], ids=str)
def test_last_holder_frees(student, order):
    """Blocks stay as long as one sequence holds them, and are free then."""
    manager = made(student, 6, 2, True)
    manager.admit(0, [1, 2, 3])
    manager.fork(0, 1)
    manager.admit(2, [1, 2, 4])
    assert_equal(manager.num_free, 3, "num_free")
    living = [0, 1, 2]
    for seq in order:
        manager.release(seq)
        living.remove(seq)
        assert_free(manager, 6, *living)
    assert_equal(manager.num_free, 6, "num_free")


# --- Tasks 3 and 4: attention ----------------------------------------------------------------

Arguments = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


def ints(*values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.int32)


def drawn(
    draw: Any, lengths: list[int], P: int, D: int, H: int, G: int, dtype: Any = None, more: int = 2
) -> Any:
    """Draw arguments with shuffled blocks, NaN where no token lies, and odd unused entries."""
    counts = [-(-length // P) for length in lengths]
    N, M = sum(counts) + more, max(counts) + 1
    order = torch.randperm(N, generator=draw.generator).tolist()
    table = [[-1, 10**6, 0, -(2**31)][b % 4 : b % 4 + 1] * M for b in range(len(lengths))]
    pools = torch.full((2, N, P, G, D), math.nan)
    for b, count in enumerate(counts):
        table[b][:count] = [order.pop() for _ in range(count)]
        for s in range(lengths[b]):
            pools[:, table[b][s // P], s % P] = draw.normal(2, G, D)
    q, (k, v) = draw.normal(len(lengths), H, D), pools
    return *(x.to(dtype or torch.float32) for x in (q, k, v)), ints(*table), ints(*lengths)


def plain(q: Tensor, k: Tensor, v: Tensor, table: Tensor, lengths: Tensor) -> Tensor:
    """Paged attention from its definition, in float64."""
    o, P = torch.zeros(q.shape, dtype=torch.float64), k.shape[1]
    for b, length in enumerate(lengths.tolist()):
        for h in range(q.shape[1] if length else 0):
            at = [
                (int(table[b, s // P]), s % P, h * k.shape[2] // q.shape[1]) for s in range(length)
            ]
            keys, values = (torch.stack([pool[i] for i in at]).double() for pool in (k, v))
            scores = keys @ q[b, h].double() / math.sqrt(q.shape[2])
            o[b, h] = torch.softmax(scores, 0) @ values
    return o


def compare(student: Any, name: str, args: Arguments, room: float = 0.0) -> None:
    want = plain(*args)
    near = want + room
    got = getattr(student, name)(*args)
    assert_close(got, want, "attention", like=args[0], inner=1024, trusted=near, what="the result")


SIZES = [
    ([3, 7], 2, 4, 2, 1),
    ([33, 8, 1], 8, 20, 3, 3),
    ([5, 40], 5, 16, 4, 2),
    ([30], 32, 3, 1, 1),
    ([11, 2], 1, 2, 1, 1, torch.float32, 80_000),  # blocks of a large pool
]


def assert_example(student: Any, name: str) -> None:
    """The handout's example: (30 + 40 + 10) / 3."""
    v = torch.tensor([[10.0, 20], [30, 40]]).reshape(2, 2, 1, 1)
    got = getattr(student, name)(torch.ones(1, 1, 1), v * 0, v, ints([1, 0]), ints(3))
    want = torch.full((1, 1, 1), 80 / 3, dtype=torch.float64)
    assert_close(got, want, "attention", dtype=torch.float32, what="the result")


def with_views(draw: Any) -> Arguments:
    """Arguments as views, pools with strides of their own, and NaN beside them."""
    q, k, v, table, lengths = drawn(draw, [5, 9], 4, 6, 4, 2)
    larger = torch.full((2, *k.shape[:2], 3, 15), math.nan)
    k = larger[0, :, :, 1:, 1:13:2].copy_(k)
    v = torch.full((*v.shape[2:0:-1], *v.shape[:1], 6), math.nan).permute(2, 1, 0, 3).copy_(v)
    q = torch.full((6, 4, 3), math.nan)[:, :, :2].permute(2, 1, 0).copy_(q)
    wide = torch.full((2, 2 * table.shape[1]), -1, dtype=torch.int32)
    every = torch.full((6,), 10**6, dtype=torch.int32)[1::3].copy_(lengths)
    return q, k, v, wide[:, ::2].copy_(table), every


def leveled(draw: Any, dtype: torch.dtype) -> Arguments:
    """Scores near 300, a few units apart: in 16 bits they would be rounded by units."""
    q, k, v, table, lengths = drawn(draw, [40, 7], 8, 64, 2, 1, dtype)
    q[..., 0] = 16.0
    k[..., 0] = torch.where(k[..., 0].isnan(), k[..., 0], 150.0)
    return q, k, v, table, lengths


def at_level(draw: Any, level: float) -> Arguments:
    """Draw arguments with one more coordinate, by which all scores come to a level."""
    q, k, v, table, lengths = drawn(draw, [19, 6], 4, 16, 2, 1)
    q[..., 0] = 4.0
    k[..., 0] = torch.where(k[..., 0].isnan(), k[..., 0], level)
    return q, k, v, table, lengths


def with_last_tokens(draw: Any, dtype: torch.dtype) -> Arguments:
    """Draw rows of hundreds of tokens, the last of which count most."""
    q, k, v, table, lengths = drawn(draw, [257, 1, 515], 16, 8, 2, 1, dtype)
    for row, n in enumerate(map(int, lengths)):
        k[table[row, (n - 1) // 16], (n - 1) % 16] = 3 * q[row, :1]
    return q, k, v, table, lengths


def far_below(draw: Any, dtype: torch.dtype) -> Arguments:
    """One key without a value, all others 8 below it: what is left is exp(-8) of their mean.

    59 has no root that 16 bits hold: a rounded scale would change that by whole percents.
    """
    q, k, v, table, lengths = drawn(draw, [17], 4, 59, 1, 1, dtype)
    q[:], q[..., 0] = 0.0, 8.0
    k[..., 0], v[:] = -math.sqrt(59), 800 * v
    first = table[0, 0]
    k[first, 0, :, 0], v[first, 0] = 0.0, 0.0
    return q, k, v, table, lengths


def assert_left_alone(student: Any, name: str, draw: Any) -> None:
    args = drawn(draw, [5, 0, 9], 4, 6, 4, 2)
    watched = [student.watch(x) for x in args]
    names = "q", "k_pool", "v_pool", "tables", "lengths"
    expect(getattr(student, name)(*watched), Tensor)
    for value, word in zip(watched, names, strict=True):
        assert_unmodified(value, word)
    student.overwritten(name, *watched)
    for value, word in zip(watched, names, strict=True):
        assert_new(value, word)
    other = drawn(draw, [2, 11, 3], 4, 6, 4, 2)
    got = expect(student.together(name, args, other), list[Tensor])
    for result, case in zip(got, (args, other), strict=True):
        assert_close(result, plain(*case), "attention", inner=1024, like=result, what="the result")


@task("torch", contract=9)
def test_example_of_a_table(student):
    """Values 10, 20 in block 0, 30, 40 in block 1; table 1, 0 and length 3."""
    assert_example(student, "paged_attention_torch")


@task("torch", contract=9)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_attention_through_tables(student, draw, sizes):
    """Rows of several lengths; NaN and odd entries lie where nothing is to be read."""
    compare(student, "paged_attention_torch", drawn(draw, *sizes))


@task("torch", contract=9)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["half", "bfloat16"])
def test_last_of_many_tokens(student, draw, dtype):
    """Rows of 257 and of 515 tokens, in numbers of 16 bits."""
    compare(student, "paged_attention_torch", with_last_tokens(draw, dtype))


@task("torch", contract=10)
@pytest.mark.parametrize("lengths", [[0, 5, 0], [0]], ids=str)
def test_no_token(student, draw, lengths):
    """A row of length 0 gives 0."""
    compare(student, "paged_attention_torch", drawn(draw, lengths, 2, 4, 2, 1))


@task("torch", contract=11)
@pytest.mark.parametrize(
    "sizes", [([4, 9], 3, 1, 2, 1), ([9], 128, 256, 1, 1), ([6, 9], 7, 16, 20, 1)], ids=str
)
def test_torch_sizes(student, draw, sizes):
    """Any P up to 128 and D up to 256, and many heads to a key head."""
    compare(student, "paged_attention_torch", drawn(draw, *sizes))


@task("torch", contract=11)
@pytest.mark.parametrize("level", [400.0, -400.0])
def test_torch_scores_at_a_level(student, draw, level):
    """All scores of a row may be in the hundreds, or as far below 0."""
    compare(student, "paged_attention_torch", at_level(draw, level), room=1e-4)


@task("torch", contract=11)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["half", "bfloat16"])
def test_torch_sums_in_float32(student, draw, dtype):
    """Scale, scores and softmax are float32, the result has the dtype of q."""
    compare(student, "paged_attention_torch", leveled(draw, dtype))
    compare(student, "paged_attention_torch", far_below(draw, dtype))


@task("torch", contract=11)
def test_views(student, draw):
    """q, tables and pools may be views."""
    compare(student, "paged_attention_torch", with_views(draw))


@task("torch", contract=11)
def test_arguments_stay(student, draw):
    """No argument is changed, and results are new."""
    assert_left_alone(student, "paged_attention_torch", draw)


def assert_writes(student: Any, draw: Any, pools: Any, slots: list[int]) -> None:
    P, G, D = pools[0].shape[1:]
    k, v = draw.normal(len(slots), G, D), draw.normal(len(slots), G, D)
    watched = [student.watch(pool) for pool in pools]
    student.write_kv(*watched, k, v, torch.tensor(slots, dtype=torch.int64))
    for pool, new, argument, name in zip(pools, (k, v), watched, ("k_pool", "v_pool"), strict=True):
        base = torch.empty(0).set_(pool.untyped_storage().clone())
        want = base.as_strided(pool.shape, pool.stride(), pool.storage_offset())
        for token, slot in enumerate(slots):
            if slot != -1:
                want[slot // P, slot % P] = new[token]
        assert_written(argument, want, name)


@task("torch", contract=12)
@pytest.mark.parametrize("slots", [[3, 0], [7, -1, 2, -1, 8], [-1], []], ids=str)
def test_write_kv(student, draw, slots):
    """Each token goes to its place, one with -1 nowhere."""
    assert_writes(student, draw, (draw.normal(4, 3, 2, 5), draw.normal(4, 3, 2, 5)), slots)


@task("torch", contract=12)
@pytest.mark.parametrize("slot", [-1, 0, 11])
def test_write_kv_of_one_token(student, draw, slot):
    """A single token: to nowhere, to the first place, to the last."""
    assert_writes(student, draw, (draw.normal(4, 3, 2, 5), draw.normal(4, 3, 2, 5)), [slot])


@task("torch", contract=12)
def test_write_kv_to_views(student, draw):
    """What is written to a pool with strides of its own arrives, and nothing beside it."""
    pools = draw.normal(2, 3, 2, 8, 5)[..., 1:6].permute(0, 3, 1, 2, 4)
    assert_writes(student, draw, (pools[0], pools[1].clone()), [5, -1, 2])


@task("triton", contract=13)
def test_kernel_does_the_work(student, draw):
    """A Triton kernel is launched, torch multiplies no matrices; without it the result is wrong."""
    with student.operators() as operators:
        expect(student.paged_attention(*drawn(draw, [9, 14], 4, 8, 2, 1)), Tensor)
    products = {"mm", "bmm", "mv", "addmm", "baddbmm", "scaled_dot_product_attention"}
    found = sorted(products & {*operators.seen})
    check(not found, f"torch multiplies matrices, with {', '.join(found)}: kernels should")
    args = drawn(draw, [9, 14], 4, 8, 2, 1)  # anew: memory may still hold what was right before
    assert_from_kernels(
        student, lambda: student.paged_attention(*args), [plain(*args)], "the result"
    )


@task("triton", contract=13)
def test_kernel_gathers_nothing(student, draw):
    """No tensor has B * M * P * G * D elements."""
    args = drawn(draw, [60, 61], 8, 16, 2, 2)
    limit = args[3].numel() * 8 * 2 * 16
    with student.largest_tensor() as largest:
        expect(student.paged_attention(*args), Tensor)
    say = f"a tensor of {largest.elements} elements was made"
    check(largest.elements < limit, f"{say}, expected fewer than {limit}")


@task("triton", contract=14)
def test_example_of_a_kernel(student):
    """Values 10, 20 in block 0, 30, 40 in block 1; table 1, 0 and length 3."""
    assert_example(student, "paged_attention")


@task("triton", contract=14)
@pytest.mark.parametrize(
    "sizes",
    [*SIZES, ([70, 64], 16, 16, 2, 1), ([3, 600], 16, 4, 1, 1), ([2] * 66 + [1], 2, 3, 1, 1)],
    ids=lambda sizes: str(sizes)[:40],
)
def test_kernel_through_tables(student, draw, sizes):
    """Rows of several lengths; NaN and odd entries lie where nothing is to be read."""
    compare(student, "paged_attention", drawn(draw, *sizes))


@task("triton", contract=14)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["half", "bfloat16"])
def test_kernel_reads_the_last_of_many_tokens(student, draw, dtype):
    """Rows of 257 and of 515 tokens, in numbers of 16 bits."""
    compare(student, "paged_attention", with_last_tokens(draw, dtype))


@task("triton", contract=15)
@pytest.mark.parametrize("lengths", [[0, 5, 0], [0]], ids=str)
def test_kernel_without_tokens(student, draw, lengths):
    """A row of length 0 gives 0."""
    compare(student, "paged_attention", drawn(draw, lengths, 2, 4, 2, 1))


@task("triton", contract=16)
@pytest.mark.parametrize(
    "sizes",
    [
        *[([4, 9], 3, 1, 2, 1), ([9], 128, 256, 1, 1), ([9], 4, 16, 20, 1)],
        *[([25, 8], 24, 33, 40, 2), ([40, 1], 1, 17, 6, 2)],
    ],
    ids=str,
)
def test_kernel_sizes(student, draw, sizes):
    """Any P up to 128 and D up to 256, and many heads to a key head."""
    compare(student, "paged_attention", drawn(draw, *sizes))


@task("triton", contract=16)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["half", "bfloat16"])
def test_kernel_sums_in_float32(student, draw, dtype):
    """Scale, scores and softmax are float32, the result has the dtype of q."""
    compare(student, "paged_attention", leveled(draw, dtype))
    compare(student, "paged_attention", far_below(draw, dtype))


@task("triton", contract=16)
def test_kernel_multiplies_all_bits(student, draw, device):
    """A tl.dot of float32 has input_precision="ieee": else a GPU rounds to the 10 bits of TF32."""
    args = drawn(draw, [70, 9], 16, 16, 4, 2)
    if device != "cpu":  # there the numbers show it
        compare(student, "paged_attention", args)
        return
    with student.metered() as meter:
        compare(student, "paged_attention", args)
    rounded = [made for _, made in meter.launches if "tf32" in made.dots]
    names = " and ".join(sorted({f"{made.kernel}, line {made.line}," for made in rounded}))
    check(not rounded, f'{names} rounds to TF32, expected input_precision="ieee" for float32')


@task("triton", contract=16)
@pytest.mark.parametrize("step", [12.0, -12.0], ids=["rising", "falling"])
def test_kernel_maximum_may_change(student, draw, step):
    """Scores rise, or fall, from tile to tile, to where exp cannot follow."""
    q, k, v, table, lengths = drawn(draw, [70, 420], 8, 4, 1, 1)
    q[..., 0] = 1.0
    for row, n in enumerate(map(int, lengths)):
        for s in range(n):
            k[table[row, s // 8], s % 8, :, 0] = step * (s // 8)
    compare(student, "paged_attention", (q, k, v, table, lengths), room=1e-4)


@task("triton", contract=16)
@pytest.mark.parametrize("level", [400.0, -400.0])
def test_kernel_scores_at_a_level(student, draw, level):
    """All scores of a row may be in the hundreds, or as far below 0."""
    compare(student, "paged_attention", at_level(draw, level), room=1e-4)


@task("triton", contract=16)
def test_kernel_reads_any_views(student, draw):
    """q, tables and pools may be views."""
    compare(student, "paged_attention", with_views(draw))


@task("triton", contract=16)
def test_kernel_leaves_its_arguments(student, draw):
    """No argument is changed, and results are new."""
    assert_left_alone(student, "paged_attention", draw)


@task("triton", contract=17)
@pytest.mark.parametrize("order", ["", "reversed"], ids=["in order", "reversed"])
def test_kernel_is_sound(student, draw, order):
    """Programs may run in any order, and touch no memory but that of their tensors."""
    for lengths, P, D in (([9, 0, 6], 4, 5), ([270, 2], 16, 20)):
        args = drawn(draw, lengths, P, D, 4, 2)
        with student.sound_kernels(order):
            compare(student, "paged_attention", args)


@task("triton", contract=17)
def test_kernel_grid(student, draw):
    """A GPU has 65,535 programs on axes 1 and 2; 66,000 rows are one row here, many times."""
    q, k, v, table, lengths = drawn(draw, [3], 2, 4, 2, 1)
    with student.grids_alone():
        q, table, lengths = (x.expand(66_000, *x.shape[1:]) for x in (q, table, lengths))
        student.paged_attention(q, k, v, table, lengths)


@task("triton", contract=17)
def test_kernel_offsets(student, draw):
    """The last blocks of a pool may begin more than 2**31 elements behind the first."""
    q, k, v, table, lengths = drawn(draw, [5], 2, 4, 2, 1)
    k, v = (pool.nan_to_num(0.0) for pool in (k, v))
    wide = [student.far(pool, 2**29, *pool.stride()[1:]) for pool in (k, v)]
    with student.sound_kernels():
        got = student.paged_attention(q, *wide, table, lengths)
    want = plain(q, k, v, table, lengths)
    assert_close(got, want, "attention", like=q, inner=1024, what="the result")


@task("triton", contract=17)
@pytest.mark.parametrize(
    ("gpu", "lengths", "width", "dtype"),
    [
        *[("sm_80", [270], 16, torch.bfloat16), ("sm_90", [9, 4], 16, torch.float32)],
        ("sm_90", [530], 128, torch.bfloat16),
    ],
    ids=["bfloat16 on an A100", "float32 on an H100", "wide heads on an H100"],
)
def test_kernel_compiles_for(student, draw, gpu, lengths, width, dtype):
    """Each kernel compiles as it is launched, for long rows, for short ones and for wide heads."""
    args = drawn(draw, lengths, 16, width, 2, 1, dtype)
    with student.compilable_kernels(gpu):
        compare(student, "paged_attention", args)


# --- Task 5: scheduler -----------------------------------------------------------------------


def scheduler(student: Any, *args: Any) -> Any:
    return expect(student.Scheduler(*args), Proxy, "Scheduler(...)")


def assert_step(
    batch: Any,
    rows: list[list[int]],
    tokens: list[int],
    ended: list[int],
    preempted: list[int] | None = None,
    size: int = 2,
) -> list[list[int]]:
    """Take a plan and commit tokens; compare both, and return the tables."""
    plan = expect(batch.plan(), dict, "the plan")
    assert_equal(plan.get("rows"), rows, "the rows")
    assert_equal(plan.get("preempted"), preempted or [], "preempted")
    found = expect(plan.get("tables"), list[list[int]], "the tables")
    lengths = [len(table) for table in found]
    want = [-(-stop // size) for _, _, stop in rows]
    assert_equal(lengths, want, "the number of blocks of each row")
    assert_equal(batch.commit(tokens), ended, "what commit returns")
    return found


def assert_line(batch: Any, waiting: list[int], running: list[int]) -> None:
    assert_equal(batch.waiting, waiting, "waiting")
    assert_equal(batch.running, running, "running")


@task("scheduler", contract=18)
def test_rows_of_running_requests(student):
    """After its prompt a request computes its newest token, in order of admission."""
    batch = scheduler(student, 20, 2, 4, 20)
    batch.add(7, [1, 2, 3], 3, [])
    batch.add(2, [4], 9, [])
    before = assert_step(batch, [[7, 0, 3], [2, 0, 1]], [5, 6], [])
    batch.add(5, [8, 8], 2, [])
    after = assert_step(batch, [[7, 3, 4], [2, 1, 2], [5, 0, 2]], [5, 6, 7], [])
    assert_equal([after[0], after[1]], [before[0], before[1]], "tables of blocks with room")
    assert_step(batch, [[7, 4, 5], [2, 2, 3], [5, 2, 3]], [9, 6, 7], [7, 5])
    assert_equal(batch.output(7), [5, 5, 9], "the output")
    assert_line(batch, [], [2])


@task("scheduler", contract=19)
def test_example_of_preemption(student):
    """The table of the handout: three blocks of 2, 4 rows and 8 tokens at most."""
    batch = scheduler(student, 3, 2, 4, 8)
    batch.add(0, [1, 2], 3, [])
    batch.add(1, [3, 4, 5], 2, [])
    assert_step(batch, [[0, 0, 2], [1, 0, 3]], [6, 7], [])
    assert_step(batch, [[0, 2, 3]], [6], [], [1])
    assert_line(batch, [1], [0])
    assert_equal(batch.output(1), [7], "the output of who was sent back")
    assert_step(batch, [[0, 3, 4]], [6], [0])
    assert_step(batch, [[1, 0, 4]], [8], [1])
    assert_equal(batch.output(1), [7, 8], "the output")


@task("scheduler", contract=19)
def test_asker_may_go(student):
    """The last admitted lacks a block itself; so it is the one that goes, before others wait."""
    batch = scheduler(student, 3, 2, 4, 6)
    for request in (0, 1):
        batch.add(request, [1, 2, 3][: 3 - request], 3, [])
    batch.add(9, [1], 1, [])
    assert_step(batch, [[0, 0, 3], [1, 0, 2]], [4, 4], [])
    assert_step(batch, [[0, 3, 4]], [4], [], [1])
    assert_line(batch, [1, 9], [0])


@task("scheduler", contract=19)
def test_several_go(student):
    """As many go as it takes, the last admitted first; in line they keep their order."""
    batch = scheduler(student, 4, 1, 4, 4)
    for request, prompt in ((3, [1]), (8, [2]), (5, [3]), (6, [4])):
        batch.add(request, prompt, 3, [])
    assert_step(batch, [[3, 0, 1], [8, 0, 1], [5, 0, 1], [6, 0, 1]], [1, 2, 3, 4], [], size=1)
    assert_step(batch, [[3, 1, 2], [8, 1, 2]], [1, 2], [], [6, 5], size=1)
    assert_line(batch, [5, 6], [3, 8])


@task("scheduler", contract=20)
def test_no_newcomer_after_a_preemption(student):
    """Who was sent back would fit at once, as it shares more by now: it waits for the next step."""
    batch = scheduler(student, 7, 2, 4, 14, True)
    for request in (0, 1):  # twins, which say the same
        batch.add(request, [1, 2, 3], 9, [])
    assert_step(batch, [[0, 0, 3], [1, 2, 3]], [4, 4], [])
    for n in range(4, 9):
        assert_step(batch, [[0, n - 1, n], [1, n - 1, n]], [n + 1, n + 1], [])
    assert_step(batch, [[0, 8, 9]], [10], [], [1])
    assert_line(batch, [1], [0])
    assert_step(batch, [[0, 9, 10], [1, 8, 9]], [11, 10], [])


@task("scheduler", contract=21)
def test_limits(student):
    """max_running rows, max_tokens tokens, running ones too; and nobody overtakes."""
    batch = scheduler(student, 50, 2, 3, 6)
    for request, length in ((0, 2), (1, 4), (2, 5), (3, 1), (4, 1)):
        batch.add(request, [1] * length, 1 if request == 2 else 2, [])
    assert_step(batch, [[0, 0, 2], [1, 0, 4]], [5, 5], [])
    assert_step(batch, [[0, 2, 3], [1, 4, 5]], [5, 5], [0, 1])  # 2 needs five tokens more
    assert_step(batch, [[2, 0, 5], [3, 0, 1]], [5, 5], [2])
    batch.add(5, [1], 2, [])
    batch.add(6, [1], 2, [])
    assert_step(batch, [[3, 1, 2], [4, 0, 1], [5, 0, 1]], [5, 5, 5], [3])
    assert_line(batch, [6], [4, 5])


@task("scheduler", contract=22)
def test_rows_begin_behind_what_is_shared(student):
    """Shared tokens are not computed, of a request of the same step too, and cost no tokens."""
    batch = scheduler(student, 20, 2, 4, 9, True)
    for request in range(3):
        batch.add(request, [1, 2, 3, 4, 5 + request], 2, [])
    rows = [[0, 0, 5], [1, 4, 5], [2, 4, 5]]
    found = assert_step(batch, rows, [9, 9, 9], [])
    assert_equal([table[:2] for table in found], [found[0][:2]] * 3, "the shared blocks")
    assert_equal(len({tuple(table[2:]) for table in found}), 3, "the number of last blocks")


@task("scheduler", contract=22)
def test_what_is_shared_may_grow_while_a_request_waits(student):
    """The third request waits for a step; by then the second has what it begins with."""
    batch = scheduler(student, 20, 2, 4, 6, True)
    batch.add(0, [1, 2, 3, 4], 2, [])
    batch.add(1, [7], 5, [])
    batch.add(2, [7, 8, 9, 5, 6], 1, [])
    assert_step(batch, [[0, 0, 4], [1, 0, 1]], [5, 8], [])
    assert_step(batch, [[0, 4, 5], [1, 1, 2], [2, 2, 5]], [5, 9, 4], [0, 2])


Trace = list[tuple[list[list[int]], list[int], list[int]]]  # rows, preempted, ended


def assert_trace(
    batch: Any, added: dict[int, list[tuple[int, list[int], int]]], trace: Trace
) -> None:
    """Add requests before some steps, and compare each step; request r says (r + step) mod 5."""
    for step, (rows, preempted, ended) in enumerate(trace):
        for request, prompt, limit in added.get(step, []):
            batch.add(request, prompt, limit, [])
        tokens = [(row[0] + step) % 5 for row in rows]
        assert_step(batch, rows, tokens, ended, preempted)


@task("scheduler", contract=21)
def test_late_comers(student):
    """Seven blocks of 2, 3 rows, 9 tokens: requests come before steps 0, 1 and 3."""
    added = {
        0: [(4, [1] * 3, 6), (1, [2] * 5, 4), (7, [3], 5)],
        1: [(2, [4] * 6, 3)],
        3: [(5, [5] * 2, 7), (0, [6], 2)],
    }
    trace: Trace = [
        ([[4, 0, 3], [1, 0, 5], [7, 0, 1]], [], []),
        ([[4, 3, 4], [1, 5, 6], [7, 1, 2]], [], []),
        ([[4, 4, 5], [1, 6, 7]], [7], []),  # 4 takes the last block, 1 needs one too
        ([[4, 5, 6], [1, 7, 8]], [], [1]),
        ([[4, 6, 7], [7, 0, 3]], [], []),  # 2 waits: its six tokens lack blocks
        ([[4, 7, 8], [7, 3, 4]], [], [4]),
        ([[7, 4, 5], [2, 0, 6], [5, 0, 2]], [], [7]),  # nine tokens, three rows
        ([[2, 6, 7], [5, 2, 3], [0, 0, 1]], [], []),
        ([[2, 7, 8], [5, 3, 4], [0, 1, 2]], [], [2, 0]),
        ([[5, 4, 5]], [], []),
    ]
    assert_trace(scheduler(student, 7, 2, 3, 9), added, trace)


@task("scheduler", contract=22)
def test_late_comers_that_share(student):
    """Nine blocks of 2, 4 rows, 12 tokens, and prompts that begin alike."""
    added = {
        0: [(3, [1, 2, 3, 4, 5], 6), (8, [1, 2, 3, 9], 5)],
        1: [(6, [1, 2, 3, 4, 5, 7], 4), (2, [1, 2], 6)],
        4: [(9, [1, 2, 3, 4], 3), (5, [6], 4)],
    }
    trace: Trace = [
        ([[3, 0, 5], [8, 2, 4]], [], []),
        ([[3, 5, 6], [8, 4, 5], [6, 4, 6], [2, 0, 2]], [], []),
        ([[3, 6, 7], [8, 5, 6], [6, 6, 7]], [2], []),
        ([[3, 7, 8], [8, 6, 7], [6, 7, 8]], [], []),
        ([[3, 8, 9], [8, 7, 8]], [6], [8]),
        ([[3, 9, 10], [6, 4, 9], [2, 2, 3]], [], [3, 6]),  # they share anew, with 3
        ([[2, 3, 4], [9, 2, 4], [5, 0, 1]], [], []),
        ([[2, 4, 5], [9, 4, 5], [5, 1, 2]], [], []),
        ([[2, 5, 6], [9, 5, 6], [5, 2, 3]], [], [9]),
        ([[2, 6, 7], [5, 3, 4]], [], [2, 5]),
    ]
    assert_trace(scheduler(student, 9, 2, 4, 12, True), added, trace)


@task("scheduler", contract=23)
def test_ends(student):
    """A request ends at one of its EOS ids, in the first step too, or at max_new_tokens."""
    batch = scheduler(student, 4, 2, 4, 8)
    batch.add(0, [9, 2, 9], 3, [8, 9])
    batch.add(1, [1, 2, 3], 3, [7])
    assert_step(batch, [[0, 0, 3], [1, 0, 3]], [9, 9], [0])
    assert_equal([batch.output(0), batch.output(1)], [[], [9]], "the outputs")
    batch.add(2, [4, 4, 4], 1, [])  # takes the blocks that 0 had
    assert_step(batch, [[1, 3, 4], [2, 0, 3]], [8, 3], [2])
    assert_step(batch, [[1, 4, 5]], [7], [1])
    assert_equal([batch.output(1), batch.output(2)], [[9, 8], [3]], "the outputs")


@task("scheduler", contract=24)
def test_what_add_refuses(student):
    """What could never be served, and nonsense, are ValueErrors that change nothing."""
    for args in ((3, 2, 4, 50), (50, 2, 4, 6)):
        batch = scheduler(student, *args)
        for prompt, limit in (([], 1), ([1] * 6, 1), ([1], 6), ([1] * 9, 1)):
            with student.raises(ValueError, naming="prompt"):
                batch.add(3, prompt, limit, [])
        with student.raises(ValueError, naming="max_new_tokens"):
            batch.add(3, [1], 0, [])
        assert_line(batch, [], [])
        batch.add(3, [1] * 5, 1, [])
        for _ in range(2):
            with student.raises(ValueError, naming="request"):
                batch.add(3, [1], 1, [])
            if batch.waiting:
                assert_step(batch, [[3, 0, 5]], [1], [3])


@task("scheduler", contract=25)
def test_nothing_to_do(student):
    """With nothing to do all three lists are empty, before and after a request."""
    batch = scheduler(student, 4, 2, 2, 8)
    assert_step(batch, [], [], [])
    batch.add(0, [1], 1, [])
    assert_step(batch, [[0, 0, 1]], [2], [0])
    assert_step(batch, [], [], [])


def said(text: list[int]) -> int:
    """What a model says that knows its whole text; 7 is its EOS."""
    return sum((place + 3) * token for place, token in enumerate(text, 1)) % 8


class Served:
    """A batch, the text of each request, and what a model has written to each place of its memory.

    A key says all that came before it, so a place holds the whole text up to its token.
    """

    def __init__(self, student: Any, prompts: list[list[int]], setting: tuple[Any, ...]) -> None:
        self.batch = scheduler(student, *setting)
        _, self._size, self._running, self._tokens = setting[:4]
        self.texts = [list(prompt) for prompt in prompts]
        self._blocks: dict[int, list[int]] = {}  # of those that run
        self._places: dict[tuple[int, int], list[int]] = {}

    def step(self) -> bool:
        """Take a plan, hold it against the limits, and do what a model does; False at the end."""
        plan = expect(self.batch.plan(), dict, "the plan")
        rows = expect(plan.get("rows"), list[list[int]], "the rows")
        found = expect(plan.get("tables"), list[list[int]], "the tables")
        self._forget(expect(plan.get("preempted"), list[int], "preempted"))
        check(len(rows) == len(found), f"{len(found)} tables came for {len(rows)} rows")
        check(len(rows) <= self._running, f"{len(rows)} rows, max_running is {self._running}")
        for row, table in zip(rows, found, strict=True):
            right = len(row) == 3 and 0 <= row[0] < len(self.texts)
            right = right and 0 <= row[1] < row[2] == len(self.texts[row[0]])
            check(right, f"{row} is no row of a request and its tokens")
            check(len(table) == -(-row[2] // self._size), f"{row[2]} tokens are in {table}")
            self._blocks[row[0]] = table
        spent = sum(stop - start for _, start, stop in rows)
        check(spent <= self._tokens, f"{spent} tokens in a step, max_tokens is {self._tokens}")
        self._compute(rows)
        tokens = [said(self.texts[row[0]]) for row in rows]
        self._forget(expect(self.batch.commit(tokens), list[int], "what commit returns"))
        for row, token in zip(rows, tokens, strict=True):
            self.texts[row[0]] += [token] if token != 7 else []
        return bool(rows)

    def _forget(self, gone: list[int]) -> None:
        """What nobody holds any more may be lost."""
        for request in gone:
            self._blocks.pop(request, None)
        held = {block for table in self._blocks.values() for block in table}
        self._places = {place: it for place, it in self._places.items() if place[0] in held}

    def _compute(self, rows: list[list[int]]) -> None:
        """Write the tokens of all rows, and read what each of them needs."""
        for request, start, stop in rows:
            for p in range(start, stop):
                self._places[self._place(request, p)] = self.texts[request][: p + 1]
        for request, _, stop in rows:
            for p in range(stop):
                right = self._places.get(self._place(request, p)) == self.texts[request][: p + 1]
                check(right, f"request {request} does not find its token {p} by its table")

    def _place(self, request: int, p: int) -> tuple[int, int]:
        return self._blocks[request][p // self._size], p % self._size


@task("scheduler", contract=26)
@pytest.mark.parametrize(
    "setting", [(60, 2, 9, 60), (9, 2, 4, 18), (9, 2, 4, 18, True), (18, 1, 2, 19)], ids=str
)
def test_output_depends_on_the_request_alone(student, setting):
    """Ten requests, in any setting: each gets what it would get alone."""
    prompts = [[1, 2, 3, 4, 5, 6][: 1 + n % 6] + [n % 3] * (n % 4) for n in range(10)]
    served = Served(student, prompts, setting)
    for request, prompt in enumerate(prompts):
        served.batch.add(request, prompt, 8, [7])
    for _ in range(200):
        if not served.step():
            break
    for request, prompt in enumerate(prompts):
        text = list(prompt)
        while len(text) < len(prompt) + 8 and said(text) != 7:
            text.append(said(text))
        assert_equal(served.batch.output(request), text[len(prompt) :], "the output")
    assert_line(served.batch, [], [])
