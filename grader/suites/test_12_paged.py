"""Hidden suite of lab 12. Traces are drawn and stepped through here, call by call.

What a submission says it holds is followed by rules (``Ledger``, ``Steps``) and by a memory of ours
under its blocks (``Shadow``), which does what a model would: it copies, writes, reads back, and
destroys what is free. The numbers of blocks are the submission's own.
"""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.suite import (
    Mismatch,
    Proxy,
    Race,
    assert_close,
    assert_equal,
    assert_from_kernels,
    assert_kernels_alone_compute,
    assert_new,
    assert_unmodified,
    assert_written,
    check,
    describe,
    expect,
    task,
)
from reference import paged as oracle
from reference.attention import attend, attend_in_kind, signs_that_cancel
from reference.limits import conditions, honest

LOW = [torch.float16, torch.bfloat16]
BOTH = pytest.mark.parametrize("share", [False, True], ids=["alone", "sharing"])


# --- what comes back -------------------------------------------------------------------------


def numbers(value: Any, what: str) -> list[int]:
    """Return a list (or a tuple) of ints as a list."""
    if type(value) not in (list, tuple) or any(type(item) is not int for item in value):
        raise Mismatch(f"{what} should be a list of ints, not {describe(value)}")
    return list(value)


def rows_of(value: Any, what: str) -> list[list[int]]:
    if type(value) not in (list, tuple):
        raise Mismatch(f"{what} should be a list of lists of ints, not {describe(value)}")
    return [numbers(item, f"item {index} of {what}") for index, item in enumerate(value)]


def check_tables(tables: dict[int, list[int]], counts: dict[int, int], size: int, n: int) -> None:
    """Fail if a table names what is no block, names one twice, or is too long or short."""
    for seq, table in tables.items():
        want = oracle.blocks_for(counts[seq], size)
        say = f"{counts[seq]} tokens in blocks of {size} have {len(table)} blocks, expected {want}"
        check(len(table) == want, say)
        odd = [block for block in table if not 0 <= block < n]
        check(not odd, f"a table names block {odd[:1]} of {n}, expected 0 to {n - 1}")
        check(len(set(table)) == len(table), f"a table names a block twice: {table}")


def wrong_place(position: int, n: int) -> str:
    return f"position {position} of a text of {n} tokens does not hold what was written to it"


# --- blocks ----------------------------------------------------------------------------------


class Followed:
    """A manager under test, with the rules and a memory of ours beside it."""

    def __init__(self, student: Any, num_blocks: int, block_size: int, share: bool) -> None:
        args = (num_blocks, block_size, True) if share else (num_blocks, block_size)
        self.manager = expect(student.BlockManager(*args), Proxy, "BlockManager(...)")
        self.rules = oracle.Ledger(num_blocks, block_size, share)
        self.memory = oracle.Shadow(block_size)
        self._lengths: dict[int, int] = {}  # as they were last asked for
        self.look()

    @property
    def living(self) -> list[int]:
        return list(self.rules.texts)

    def text(self, seq: int) -> list[int]:
        return self.rules.texts[seq]

    def table(self, seq: int) -> list[int]:
        return numbers(self.manager.table(seq), "the table")

    def admit(self, seq: int, tokens: list[int]) -> int | None:
        want = self.rules.admit(seq, tokens)
        got = self.manager.admit(seq, tokens)
        right = got is None if want is None else type(got) is int and got == want
        say = "None" if got is None else got if type(got) is int else describe(got)
        check(right, f"admit of {len(tokens)} tokens gives {say}, expected {want}")
        self._observe((seq, want, len(tokens)) if want is not None else None)
        return want

    def append(self, seq: int, token: int) -> list[list[int]] | None:
        before = self.rules.used
        want = self.rules.append(seq, token)
        got = self.manager.append(seq, token)
        n = len(self.text(seq))
        if want is None or got is None:
            say = f"append gives {'None' if got is None else describe(got)}"
            check(want is None and got is None, f"{say}, expected {_copies(want)}")
            self._observe(None)
            return None
        copies = rows_of(got, "what append returns")
        say = f"append gives {copies} as token {n} of a sequence, expected {_copies(want)}"
        check(len(copies) == len(want), say)
        for copy in copies:
            source, target = want[0][0], self.table(seq)[-1]
            say = f"append names the copy {copy}, expected the shared block and then its new one"
            check(copy == [source, target] and target not in before, f"{say} [{source}, {target}]")
            self.memory.copy(source, target)
        self._observe((seq, n - 1, n))
        return copies

    def fork(self, parent: int, child: int) -> None:
        self.rules.fork(parent, child)
        self.manager.fork(parent, child)
        self._observe(None)

    def release(self, seq: int) -> None:
        self.rules.release(seq)
        self.manager.release(seq)
        self._observe(None)

    def _observe(self, written: tuple[int, int, int] | None) -> None:
        """Look at all tables, do what a model would, and read every text back."""
        self.look()
        if written:
            seq, start, stop = written
            self.memory.write(self.rules.tables[seq], self.text(seq), start, stop)
        self.memory.poison(self.rules.used)
        for seq, text in self.rules.texts.items():
            position = self.memory.wrong(self.rules.tables[seq], text, len(text))
            check(position is None, wrong_place(position or 0, len(text)))

    def look(self) -> None:
        """Compare what every call may change with the rules."""
        rules, used = self.rules, len(self.rules.used)
        tables = {seq: self.table(seq) for seq in rules.texts}
        counts = {seq: len(text) for seq, text in rules.texts.items()}
        for seq, count in counts.items():
            if self._lengths.get(seq) == count:
                continue
            length = expect(self.manager.length(seq), int, "length")
            check(length == count, f"length is {length}, expected {count}")
        self._lengths = counts
        check_tables(tables, counts, rules.block_size, rules.num_blocks)
        named = len({block for table in tables.values() for block in table})
        check(named == used, f"tables name {named} distinct blocks, expected {used}")
        free = expect(self.manager.num_free, int, "num_free")
        want = rules.num_blocks - named
        say = f"num_free is {free} of {rules.num_blocks} blocks where tables name {named}"
        check(free == want, f"{say}, expected {want}")
        rules.adopt(tables)

    def drain(self, draw: Any) -> None:
        """Release all that live, in any order: then all blocks are free."""
        while self.living:
            self.release(draw.choice(self.living))


def _copies(want: list[list[int]] | None) -> str:
    if want is None:
        return "None, as no block is free"
    return "[]" if not want else "one copy, [[source, target]]"


def drawn_text(draw: Any, length: int, vocab: int = 2) -> list[int]:
    return draw.tokens(vocab, length) if length else []


def random_trace(draw: Any, pool: Followed, steps: int, forks: bool, longest: int) -> None:
    """Do what comes to mind, on texts of two tokens that often begin alike."""
    names = iter(range(draw.integer(0, 50), 10_000))
    for _ in range(steps):
        kinds = ["admit", "admit", *["append"] * 6, "release", *(["fork"] if forks else [])]
        kind = draw.choice(kinds) if pool.living else "admit"
        if kind == "admit":
            pool.admit(next(names), _alike(draw, pool, draw.integer(1, longest + 1)))
        elif kind == "append":
            pool.append(draw.choice(pool.living), draw.integer(0, 2))
        elif kind == "fork":
            pool.fork(draw.choice(pool.living), next(names))
        else:
            pool.release(draw.choice(pool.living))
    pool.drain(draw)


def _alike(draw: Any, pool: Followed, length: int) -> list[int]:
    """Draw a text, one in two times with the beginning of a living one."""
    start = pool.text(draw.choice(pool.living)) if pool.living and draw.integer(0, 2) else []
    start = start[: draw.integer(0, length + 1)]
    return start + drawn_text(draw, length - len(start))


@task("blocks", contract=1, gate=True)
@pytest.mark.parametrize("size", [1, 3, 4, 16], ids=lambda size: f"P = {size}")
def test_sequences_have_the_blocks_that_they_need(student, draw, size):
    """n tokens have n / P blocks, rounded up; append takes one more only when the last is full."""
    for n in (1, size - 1, size, size + 1, 2 * size, 2 * size + 1):
        if not n:
            continue
        manager = expect(student.BlockManager(7 * size + 9, size), Proxy, "BlockManager(...)")
        shared = expect(manager.admit(3, drawn_text(draw, n, 90)), int, "admit")
        check(shared == 0, f"admit shares {shared} tokens, expected 0 without share")
        table: list[int] = []
        for count in range(n, n + 2 * size + 2):
            now = numbers(manager.table(3), "the table")
            length = expect(manager.length(3), int, "length")
            check(length == count, f"length is {length}, expected {count}")
            check_tables({3: now}, {3: count}, size, 7 * size + 9)
            say = f"append changed a table from {table} to {now}, where tokens lie already"
            check(now[: len(table)] == table, say)
            table = now
            copies = manager.append(3, draw.integer(0, 90))
            check(
                type(copies) in (list, tuple) and not copies,
                f"append gives {_said(copies)}, expected []",
            )


def _said(value: Any) -> str:
    return str(value) if type(value) in (list, int, type(None)) else describe(value)


@task("blocks", contract=1)
def test_tokens_keep_their_order(student, draw):
    """Block p // P of a table holds token p, as sequences come and grow side by side."""
    pool = Followed(student, 40, 3, False)
    for seq in (5, 0, 9):
        pool.admit(seq, drawn_text(draw, draw.integer(1, 12)))
    for _ in range(40):
        pool.append(draw.choice(pool.living), draw.integer(0, 2))


@task("blocks", contract=2, gate=True)
def test_no_block_has_two_owners(student, draw):
    """No block is in two tables: each text can be read back, whatever the others write."""
    pool = Followed(student, 20, 4, False)
    text = drawn_text(draw, 10)

    for seq in (4, 1, 7):  # the same text: nothing is shared all the same
        check(pool.admit(seq, text) == 0, "tokens are shared, expected none without share")
    for _ in range(9):
        for seq in (4, 1, 7):
            pool.append(seq, draw.integer(0, 2))


@task("blocks", contract=2)
@pytest.mark.parametrize(("num_blocks", "size"), [(6, 1), (7, 3), (11, 4), (5, 16)], ids=str)
def test_blocks_add_up_in_any_trace(student, draw, num_blocks, size):
    """After every call num_free and the distinct blocks in tables add up to num_blocks."""
    for _ in range(2):
        pool = Followed(student, num_blocks, size, False)
        random_trace(draw, pool, 40, False, num_blocks * size // 2 + 1)


@task("blocks", contract=3)
@pytest.mark.parametrize("size", [1, 4], ids=lambda size: f"P = {size}")
def test_too_few_blocks_change_nothing(student, draw, size):
    """admit and append give None where blocks lack, and nothing has changed."""
    pool = Followed(student, 5, size, False)
    pool.admit(0, drawn_text(draw, 2 * size))

    for n in (3 * size + 1, 5 * size, 40 * size):
        check(pool.admit(1, drawn_text(draw, n)) is None, "there are too few blocks")
    with student.raises(ValueError, naming="seq"):
        pool.manager.table(1)  # it has not come to be
    pool.admit(1, drawn_text(draw, 3 * size))  # exactly what is left
    for seq in (0, 1, 0):
        check(pool.append(seq, 1) is None, "there is no block")
    pool.release(1)
    check(pool.append(0, 1) == [], "a block is free again")


@task("blocks", contract=3)
def test_errors_name_their_argument_and_change_nothing(student, draw):
    """A sequence that is unknown or known already, and no tokens, are ValueErrors."""
    pool = Followed(student, 9, 3, False)
    pool.admit(2, drawn_text(draw, 4))
    pool.admit(6, drawn_text(draw, 3))
    pool.release(6)
    manager = pool.manager

    with student.raises(ValueError, naming="tokens"):
        manager.admit(5, [])
    pool.look()
    with student.raises(ValueError, naming="seq"):
        manager.admit(2, drawn_text(draw, 2))
    pool.look()
    for seq in (6, 5, -1):
        for call in (manager.table, manager.length, manager.release):
            with student.raises(ValueError, naming="seq"):
                call(seq)
        with student.raises(ValueError, naming="seq"):
            manager.append(seq, 1)
        with student.raises(ValueError):
            manager.fork(seq, 8)
        pool.look()
    with student.raises(ValueError):
        manager.fork(2, 2)
    pool.look()
    pool.admit(6, drawn_text(draw, 2))  # who was released may come again
    pool.append(2, 1)


@task("blocks", contract=4)
def test_released_blocks_are_used_again(student, draw):
    """Blocks that were released serve again, as often as it takes, and at last all are free."""
    pool = Followed(student, 6, 2, False)
    for round_ in range(8):
        pool.admit(2 * round_, drawn_text(draw, draw.integer(1, 7)))
        pool.admit(2 * round_ + 1, drawn_text(draw, draw.integer(1, 7)))
        for seq in (2 * round_, 2 * round_ + 1):
            while seq in pool.living and draw.integer(0, 4):
                pool.append(seq, draw.integer(0, 2))
        pool.drain(draw)
        free = expect(pool.manager.num_free, int, "num_free")
        check(free == 6, f"num_free is {free} when all were released, expected 6")
    pool.admit(99, drawn_text(draw, 12))  # all of them at once


# --- sharing ---------------------------------------------------------------------------------


def sharing(student: Any, num_blocks: int = 40, size: int = 3) -> Followed:
    return Followed(student, num_blocks, size, True)


@task("sharing", contract=5, gate=True)
@pytest.mark.parametrize("size", [1, 3, 4], ids=lambda size: f"P = {size}")
def test_equal_beginnings_are_shared(student, draw, size):
    """admit takes over the leading full blocks that a living sequence has in common."""
    for common in (0, 1, size, 2 * size, 2 * size + 1, 4 * size):
        pool = sharing(student, size=size)
        start = drawn_text(draw, common, 90)
        pool.admit(0, [*start, 90, *drawn_text(draw, size + 1, 90)])
        pool.admit(1, [*start, 91, *drawn_text(draw, 2, 90)])
        pool.admit(2, [*start, 92])
        for seq in (0, 1, 2):
            for _ in range(size + 1):
                pool.append(seq, draw.integer(0, 90))


@task("sharing", contract=5)
@pytest.mark.parametrize("size", [1, 2, 5], ids=lambda size: f"P = {size}")
def test_last_token_is_never_shared(student, draw, size):
    """At most (n - 1) // P blocks are shared: the last token must be computed."""
    pool = sharing(student, size=size)
    text = drawn_text(draw, 3 * size)
    pool.admit(0, text)
    for seq, n in enumerate((3 * size, 2 * size, 2 * size + 1, size, 1), 1):
        pool.admit(seq, text[:n])
    pool.admit(9, [*text, 1])  # here the third block is shared


@task("sharing", contract=5)
def test_same_tokens_behind_another_beginning_are_others(student, draw):
    """A block is that of a sequence only if all tokens before it are the same too."""
    pool = sharing(student)
    a, b, c, d = ([*drawn_text(draw, 2, 90), 100 + i] for i in range(4))
    pool.admit(0, a + b + c + d)
    pool.admit(1, b + c + d)  # the same blocks, without what stood before
    pool.admit(2, a + c + b + d)  # in another order
    pool.admit(3, d + b + c + a)
    pool.admit(4, a + b + d + c)
    pool.admit(5, c + a + b + d)
    pool.admit(6, a + b + c + [1])


def _colliding() -> dict[str, tuple[int, int]]:
    """Pairs of tokens that a hash, a sum, or a narrower kind of number does not tell apart."""
    return {
        **{"minus one": (-1, -2), "zero": (0, 2**61 - 1)},
        **{"beyond the modulus": (5, 5 + 2**61 - 1), "beyond 32 bits": (7, 7 + 2**32)},
        "beyond a float": (2**53, 2**53 + 1),
    }


@task("sharing", contract=5)
@pytest.mark.parametrize("pair", list(_colliding()))
def test_blocks_are_told_apart_by_their_tokens(student, draw, pair):
    """Blocks whose hashes, or halves, are the same are not: the tokens themselves count."""
    one, other = _colliding()[pair]
    pool = sharing(student, size=2)
    tail = drawn_text(draw, 3, 90)
    pool.admit(0, [one, 7, *tail])
    pool.admit(1, [other, 7, *tail])
    pool.admit(2, [8, one, *tail])
    pool.admit(3, [8, other, *tail])
    pool.admit(4, [8, other, *tail, 4])


@task("sharing", contract=5)
def test_sums_and_orders_tell_blocks_apart(student, draw):
    """Blocks with the same tokens in another order, or with the same sum, are others."""
    pool = sharing(student)
    texts = [[1, 2, 3], [3, 2, 1], [2, 2, 2], [1, 3, 2], [0, 0, 6], [1, 2, 3]]
    for seq, text in enumerate(texts):
        pool.admit(seq, [*text, *drawn_text(draw, 4)])
    for seq, text in enumerate(texts, 10):
        pool.admit(seq, [*text, 9, 9])
    # Cut elsewhere, digits that stand side by side read the same: 1, 23 and 12, 3.
    pool.admit(20, [1, 23, 4, 5])
    pool.admit(21, [12, 3, 4, 5])
    pool.admit(22, [1, 2, 34, 5])


@task("sharing", contract=5)
def test_longest_beginning_counts(student, draw):
    """Of several living sequences the one with most in common is shared with."""
    pool = sharing(student)
    text = drawn_text(draw, 15, 90)
    for seq, n in enumerate((4, 13, 7, 1)):
        pool.admit(seq, [*text[:n], 90 + seq, *drawn_text(draw, 5, 90)])
    pool.admit(8, text)
    pool.release(1)
    pool.admit(9, text)
    pool.release(8)
    pool.release(9)
    pool.admit(10, text)


@task("sharing", contract=5)
def test_blocks_filled_by_append_are_shared(student, draw):
    """A block counts as soon as it is full, by whatever call."""
    pool = sharing(student)
    text = drawn_text(draw, 14, 90)
    pool.admit(0, text[:2])
    for seq, token in enumerate(text[2:], 1):
        pool.admit(seq, text)  # of which ever more is there
        pool.release(seq)
        pool.append(0, token)
    pool.admit(50, text)
    for token in drawn_text(draw, 5, 90):
        pool.append(50, token)
        pool.append(0, token)
    pool.admit(51, pool.text(50))


@task("sharing", contract=5)
def test_nothing_is_shared_with_the_dead(student, draw):
    """What a released sequence had is gone, unless another still holds it."""
    pool = sharing(student)
    text = drawn_text(draw, 10, 90)
    pool.admit(0, text)
    pool.release(0)
    pool.admit(1, text)
    pool.admit(2, [*text[:7], 90, 91])
    pool.release(1)
    pool.admit(3, text)  # two blocks are left of it, at the second
    pool.release(2)
    pool.release(3)
    pool.admit(4, text)


@task("sharing", contract=5)
def test_equal_blocks_stand_in_for_each_other(student, draw):
    """Where two sequences hold the same tokens in blocks of their own, either may go first."""
    for first in (0, 1):
        pool = sharing(student)
        text = drawn_text(draw, 9, 90)
        pool.admit(0, text)
        pool.admit(1, text)  # the last block again, in memory of its own
        pool.append(0, 5)
        pool.append(1, 6)
        pool.release(first)
        pool.admit(2, [*text, 7])
        pool.release(1 - first)
        pool.admit(3, [*text, 8])


@task("sharing", contract=5)
@pytest.mark.parametrize("size", [1, 2, 3], ids=lambda size: f"P = {size}")
@pytest.mark.parametrize("gone", [None, 0, 1], ids=["both live", "parent gone", "child gone"])
def test_blocks_are_found_however_they_came_to_be_held(student, draw, size, gone):
    """By fork, by a copy, by a copy that is full at once, or filled in place: the text counts."""
    for start in range(1, 2 * size + 1):
        for first, early in ((0, False), (1, False), (0, True)):
            pool = sharing(student, 60, size)
            stem = drawn_text(draw, start, 90)
            pool.admit(0, stem)
            pool.fork(0, 1)
            if early and gone is not None:
                pool.release(gone)
            for seq in (first, 1 - first):  # the first copies, the other goes on in place
                for token in (100 + seq, *drawn_text(draw, 2 * size - 1, 90)):
                    if seq in pool.living:
                        pool.append(seq, token)
            texts = [pool.text(seq) for seq in pool.living]
            if not early and gone is not None:
                pool.release(gone)
            for seq, text in enumerate(texts, 10):
                pool.admit(seq, [*text, 99])


@task("sharing", contract=5)
def test_equal_texts_grow_side_by_side(student, draw):
    """Two that say the same behind a block of each's own are found by either's blocks."""
    for first in (0, 1):
        pool = sharing(student, 30, 2)
        text = drawn_text(draw, 4, 90)
        for seq in (0, 1):
            pool.admit(seq, text)  # the second block twice
        for token in drawn_text(draw, 4, 90):
            for seq in (0, 1):
                pool.append(seq, token)
        pool.admit(2, [*pool.text(0), 5])
        pool.release(first)
        pool.admit(3, [*pool.text(1 - first), 6])
        pool.release(2)
        pool.release(1 - first)
        pool.admit(4, [*pool.text(3), 7])


@task("sharing", contract=5)
@pytest.mark.parametrize(("num_blocks", "size"), [(9, 1), (10, 2), (12, 3)], ids=str)
def test_shared_blocks_in_any_trace(student, draw, num_blocks, size):
    """In any trace admit shares what the rules say, and every text can be read back."""
    for _ in range(2):
        pool = Followed(student, num_blocks, size, True)
        random_trace(draw, pool, 45, True, num_blocks * size // 2 + 1)


@task("sharing", contract=5)
def test_admit_is_refused_for_what_is_not_shared_alone(student, draw):
    """Shared blocks are not taken from the free ones: what remains must fit, and is all taken."""
    pool = sharing(student, 6, 2)
    text = drawn_text(draw, 8, 90)
    pool.admit(0, text)
    check(pool.admit(1, [*text, 1, 2, 3, 4, 5]) is None, "three blocks are needed, two are free")
    pool.admit(1, [*text, 1, 2, 3])
    check(pool.admit(2, [*text, 1, 2, 4]) is None, "one block is needed, none is free")
    pool.release(0)
    pool.look()


@task("sharing", contract=6)
@BOTH
def test_twins_hold_the_same_blocks(student, draw, share):
    """fork gives the child all blocks of its parent, and takes none."""
    for n in (1, 2, 3, 7, 9):
        pool = Followed(student, 20, 3, share)
        pool.admit(4, drawn_text(draw, n))
        pool.fork(4, 2)
        say = "the child's table is not its parent's"
        check(pool.table(2) == pool.table(4), say)
        pool.fork(2, 8)
        check(pool.table(8) == pool.table(4), f"{say}, two forks away")


@task("sharing", contract=7, gate=True)
@BOTH
@pytest.mark.parametrize("n", [4, 5], ids=lambda n: f"{n} tokens, P = 3")
def test_append_copies_a_block_that_another_holds(student, draw, share, n):
    """Who appends to a block of several gets a fresh one and names the copy; the last none."""
    pool = Followed(student, 20, 3, share)
    pool.admit(0, drawn_text(draw, n))
    pool.fork(0, 1)
    pool.fork(1, 2)

    for seq in (1, 0):
        check(len(pool.append(seq, seq) or []) == 1, "a block of several was written")
    check(pool.append(2, 2) == [], "the last holder of a block needs no copy")
    for seq in (2, 0, 1, 0, 1, 2):
        pool.append(seq, draw.integer(0, 2))


@task("sharing", contract=7)
@BOTH
def test_full_blocks_are_not_copied(student, draw, share):
    """Behind a full block, shared or not, append takes a fresh one and copies nothing."""
    pool = Followed(student, 20, 3, share)
    pool.admit(0, drawn_text(draw, 6))
    pool.fork(0, 1)
    for seq in (0, 1):
        check(pool.append(seq, 1) == [], "a copy was named behind a full block")
    for seq in (1, 0, 1, 0):
        check(pool.append(seq, 0) == [], "a copy was named in a block of one holder")


@task("sharing", contract=7)
@BOTH
def test_no_block_for_a_copy(student, draw, share):
    """Without a free block append to a shared one gives None, and nothing has changed."""
    pool = Followed(student, 3, 4, share)
    pool.admit(0, drawn_text(draw, 6))
    pool.fork(0, 1)
    pool.admit(2, [7])
    for seq in (0, 1):
        check(pool.append(seq, 1) is None, "there is no block to copy to")
    pool.append(2, 3)
    pool.release(2)
    pool.append(0, 1)
    pool.append(1, 1)  # by now the only holder
    pool.release(0)
    pool.append(1, 0)


@task("sharing", contract=7)
@BOTH
def test_copies_in_any_trace(student, draw, share):
    """In any trace of twins each text can be read back, and no needless copy is made."""
    for _ in range(2):
        pool = Followed(student, 14, 4, share)
        pool.admit(0, drawn_text(draw, 6))
        for child in range(1, 9):
            pool.fork(draw.choice(pool.living), child)
            for _ in range(5):
                pool.append(draw.choice(pool.living), draw.integer(0, 2))
            if len(pool.living) > 3:
                pool.release(draw.choice(pool.living))
        pool.drain(draw)


@task("sharing", contract=8)
@BOTH
def test_a_block_is_free_when_its_last_holder_lets_go(student, draw, share):
    """Whoever is released first, a block stays as long as one sequence holds it."""
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        pool = Followed(student, 12, 3, share)
        pool.admit(0, drawn_text(draw, 7))
        pool.fork(0, 1)
        pool.fork(0, 2)
        pool.append(1, 1)
        for seq in order:
            pool.release(seq)
            pool.admit(10 + seq, drawn_text(draw, 2, 90))  # would use what was freed too early


@task("sharing", contract=8)
def test_shared_beginnings_stay_until_the_last(student, draw):
    """A prefix that admit shared lives on when the one that brought it is released."""
    pool = sharing(student, 14)
    text = drawn_text(draw, 7, 90)
    for seq in range(4):
        pool.admit(seq, [*text, seq])
    for seq in (0, 2, 3, 1):
        pool.release(seq)
        pool.admit(20 + seq, drawn_text(draw, 5, 90))
        pool.release(20 + seq)


@task("sharing", contract=8)
def test_a_block_may_have_hundreds_of_holders(student, draw):
    """However many twins there are, each holds the block, and the last one frees it."""
    manager = expect(student.BlockManager(2, 4), Proxy, "BlockManager(...)")
    manager.admit(0, drawn_text(draw, 3))
    twins = range(1, 258)
    for child in twins:
        manager.fork(0, child)
    for seq in (0, *twins):
        free = expect(manager.num_free, int, "num_free")
        check(free == 1, f"num_free is {free} while {258 - seq} hold one block, expected 1")
        manager.release(seq)
    free = expect(manager.num_free, int, "num_free")
    check(free == 2, f"num_free is {free} when all 258 were released, expected 2")


# --- attention -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Arguments of paged attention, and what the tables say for real."""

    q: Tensor
    k_pool: Tensor
    v_pool: Tensor
    tables: Tensor
    lengths: Tensor

    @property
    def arguments(self) -> tuple[Tensor, ...]:
        return self.q, self.k_pool, self.v_pool, self.tables, self.lengths

    def want(self, attention: oracle.Attention = attend) -> Tensor:
        lengths = self.lengths.tolist()
        return oracle.paged(
            self.q, self.k_pool, self.v_pool, self.tables.tolist(), lengths, attention
        )

    def trusted(self) -> list[Tensor]:
        """The same as honest implementations in the dtype of q have it."""
        if self.q.dtype != torch.float32:
            return [self.want(attend_in_kind)]
        return [self.want(functools.partial(_way, way)) for way in range(3)]


def _way(number: int, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return honest.attentions(q, k, v)[number]


GARBAGE = [-1, 2**31 - 1, -(2**31), 10**6, 0]


def make(
    draw: Any,
    lengths: Sequence[int],
    P: int = 4,
    D: int = 16,
    H: int = 2,
    G: int = 1,
    dtype: torch.dtype = torch.float32,
    *,
    spare: int = 1,
    empty: float = math.nan,
    others: int = 2,
) -> Case:
    """Draw a case: blocks in any order, NaN where no token lies, any number in unused entries.

    The pool has ``others``, blocks of nobody; ``spare`` entries of a table are of no use.
    """
    needed = [oracle.blocks_for(length, P) for length in lengths]
    N, M = sum(needed) + others, max([1, *needed]) + spare
    order = torch.randperm(N, generator=draw.generator).tolist()
    tables = [[draw.choice(GARBAGE) for _ in range(M)] for _ in lengths]
    pools = [torch.full((N, P, G, D), empty, dtype=dtype) for _ in "kv"]
    for row, length in enumerate(lengths):
        tables[row][: needed[row]] = [order.pop() for _ in range(needed[row])]
        for position in range(length):
            for pool in pools:
                pool[tables[row][position // P], position % P] = draw.normal(G, D, dtype=dtype)
    ints = (torch.tensor(x, dtype=torch.int32) for x in (tables, lengths))
    tables_, lengths_ = (x.reshape(shape) for x, shape in zip(ints, ((-1, M), (-1,)), strict=True))
    return Case(draw.normal(len(lengths), H, D, dtype=dtype), *pools, tables_, lengths_)


def assert_paged(
    function: Callable[..., Any],
    case: Case,
    *,
    got: Any = None,
    excused: bool = True,
) -> None:
    """Call a paged attention, unless its result is at hand, and compare it with the oracle's.

    ``excused`` is what all steps in the dtype of q lose.
    """
    got = function(*case.arguments) if got is None else got
    trusted, off = case.trusted() if excused else (), case.want(conditions.attention_off)
    how = dict(inner=1024, like=case.q, trusted=trusted, off=off, what="the result")
    assert_close(got, case.want(), "attention", **how)


def strided(x: Tensor, step: int = 2) -> Tensor:
    """Copy [N, P, G, D] to a view with strides of its own and NaN around: heads lie outside."""
    N, P, G, D = x.shape
    base = torch.full((G + 1, N + 2, P + 1, (D + 3) * step), math.nan, dtype=x.dtype)
    view = base[:G, 1 : N + 1, :P, 2 : 2 + D * step : step].permute(1, 2, 0, 3)
    return view.copy_(x)


def leveled(case: Case, level: float) -> Case:
    """Add a level to all scores of a case, at the scale of its width."""
    D = case.q.shape[-1]
    case.q[..., 0] = 16.0
    seen = ~case.k_pool[..., 0].isnan()
    case.k_pool[..., 0] = torch.where(seen, level * D**0.5 / 16, case.k_pool[..., 0])
    return case


def sharp(draw: Any, D: int, dtype: torch.dtype) -> Case:
    """Draw a case whose results are the share of keys that lie 8 to 9 below the maximum.

    The maximum itself has values of 0, so that a scale that is off by one in 400 shows; in float32
    no step of it is more than a few roundings off.
    """
    case = make(draw, [40, 9], 8, D, 2, 1, dtype)
    case.q.zero_()
    case.q[..., 0] = 16.0
    for row, length in enumerate(case.lengths.tolist()):
        for position in range(length):
            place = case.tables[row, position // 8], position % 8
            below = position % 4 and 8.0 + position % 2
            case.k_pool[place][:, 0] = -below * D**0.5 / 16
            case.v_pool[place] *= 1000.0 * (below > 0)
    return case


# A half has these widths' roots, with log2(e) or without, wrong by 0.25 to 0.5 thousandths, and
# bfloat16 by 2 to 3.
ODD_ROOTS = (58, 59)
# Beyond what one program, one part, or a number of eight bits may hold.
LONG = ([700, 1, 1300], 16, 8)
FEW = [[a, b] for a in (0, 1, 2) for b in (0, 1, 2)]


def long(draw: Any, dtype: torch.dtype) -> Case:
    """Draw rows of many hundreds of tokens, whose last one counts most."""
    case = make(draw, *LONG, dtype=dtype)
    for row, length in enumerate(case.lengths.tolist()):
        place = case.tables[row, (length - 1) // 16], (length - 1) % 16
        case.k_pool[place] = 4 * case.q[row, :1]
    return case


def balanced(draw: Any, dtype: torch.dtype) -> Case:
    """Draw rows of equal scores, whose values cancel but for those of a few tokens.

    What is left is less than the last bit, in ``dtype``, of what a part of the tokens gives.
    """
    case = make(draw, [2048, 1500], 16, 8, 2, 1, dtype)
    for row, length in enumerate(case.lengths.tolist()):
        positions = torch.arange(length)
        places = case.tables[row, positions // 16].long(), positions % 16
        sign = signs_that_cancel(draw.generator, length, 8)[:, None].to(dtype)
        case.k_pool[places] = 0
        case.v_pool[places] = torch.where(sign == 0, case.v_pool[places], 64 * sign)
    return case


SIZES = pytest.mark.parametrize(
    ("lengths", "P", "D"),
    [
        *[([5, 1, 12], 4, 16), ([7, 30, 2, 16], 3, 20), ([40, 3], 1, 8)],
        *[([33, 64, 65, 1], 16, 80), ([100, 128], 128, 5)],
    ],
    ids=str,
)
ANY_LOW = pytest.mark.parametrize("dtype", LOW, ids=str)


@task("torch", contract=9, gate=True)
@SIZES
def test_rows_attend_through_their_tables(student, draw, lengths, P, D):
    """Row b attends to its lengths[b] tokens, in the blocks that its table names."""
    assert_paged(student.paged_attention_torch, make(draw, lengths, P, D))


@task("torch", contract=9)
def test_rows_may_share_blocks(student, draw):
    """Two tables may name the same blocks, in other places and for other lengths."""
    assert_paged(student.paged_attention_torch, with_shared_blocks(draw))


def with_shared_blocks(draw: Any) -> Case:
    case = make(draw, [13, 13, 6], 4, 16, 4, 2)
    tables, lengths = case.tables.clone(), case.lengths.clone()
    tables[1], lengths[1] = tables[0], 11
    tables[2, 0] = tables[0, 2]
    return Case(case.q, case.k_pool, case.v_pool, tables, lengths)


@task("torch", contract=9)
def test_rows_of_many_hundreds_of_tokens(student, draw):
    """A row may have many hundreds of tokens, beside a short one."""
    for dtype in (torch.float32, torch.bfloat16):
        assert_paged(student.paged_attention_torch, long(draw, dtype))


@task("torch", contract=9)
def test_few_tokens_in_every_combination(student, draw):
    """Rows of 0, 1 and 2 tokens beside each other, in blocks of 1 and of 2, tables full or not."""
    for lengths in FEW:
        for P, spare in ((1, 0), (2, 0), (2, 1)):
            assert_paged(
                student.paged_attention_torch, make(draw, lengths, P, 1, 1, 1, spare=spare)
            )


@task("torch", contract=9)
def test_blocks_of_a_large_pool(student, draw):
    """Blocks may lie anywhere in a pool of tens of thousands."""
    assert_paged(student.paged_attention_torch, make(draw, [40, 9], 1, 2, 1, 1, others=70_000))


@task("torch", contract=11)
@ANY_LOW
def test_scale_is_float32(student, draw, dtype):
    """D^-0.5 is not rounded to the dtype of q, nor is what it is multiplied with."""
    for D in ODD_ROOTS:
        assert_paged(student.paged_attention_torch, sharp(draw, D, dtype), excused=False)


@task("torch", contract=10)
@pytest.mark.parametrize("lengths", [[0], [5, 0, 9, 0], [0, 3]], ids=str)
def test_rows_of_no_token_are_zero(student, draw, lengths):
    """A row of length 0 gives 0, whatever its table names."""
    assert_paged(student.paged_attention_torch, make(draw, lengths))


@task("torch", contract=11)
@pytest.mark.parametrize(("H", "G"), [(6, 2), (3, 3), (5, 1)], ids=str)
def test_heads_read_their_key_head(student, draw, H, G):
    """Query head h reads key head h // (H / G)."""
    assert_paged(student.paged_attention_torch, make(draw, [9, 4, 14], 4, 12, H, G))


@task("torch", contract=11)
@pytest.mark.parametrize("D", [1, 3, 100, 256])
def test_any_width(student, draw, D):
    """D is any number up to 256."""
    assert_paged(student.paged_attention_torch, make(draw, [6, 11], 4, D))


@task("torch", contract=11)
@ANY_LOW
def test_low_precision(student, draw, dtype):
    """The result has the dtype of q."""
    assert_paged(student.paged_attention_torch, make(draw, [40, 9, 77], 8, 32, 4, 2, dtype))


@task("torch", contract=11)
@ANY_LOW
def test_scores_are_float32(student, draw, dtype):
    """Scores of hundreds, a few units apart, are kept in float32."""
    for level in (250.0, -250.0):
        case = leveled(make(draw, [40, 9], 8, 64, 2, 1, dtype), level)
        assert_paged(student.paged_attention_torch, case, excused=False)


@task("torch", contract=11)
@pytest.mark.parametrize("level", [3000.0, -3000.0])
def test_scores_of_any_level(student, draw, level):
    """A level that all scores of a row share cancels: exp is taken of differences."""
    case = leveled(make(draw, [40, 9], 8, 64), level)
    assert_paged(student.paged_attention_torch, case)


@task("torch", contract=11)
def test_pools_have_strides_of_their_own(student, draw):
    """q, tables and pools may be any views; what lies beside does not matter."""
    assert_paged(student.paged_attention_torch, with_strides(draw))


def with_strides(draw: Any) -> Case:
    case = make(draw, [9, 4, 14], 4, 12, 4, 2)
    q = torch.full((12, 5, 4), math.nan)[:, :4, 1:].permute(2, 1, 0).copy_(case.q)
    tables = torch.full((case.tables.shape[1], 6), -7, dtype=torch.int32)[:, ::2].T
    lengths = torch.full((9,), 10**6, dtype=torch.int32)[1::3]
    tables.copy_(case.tables)
    lengths.copy_(case.lengths)
    return Case(q, strided(case.k_pool), strided(case.v_pool, 3), tables, lengths)


def assert_left_alone(student: Any, name: str, draw: Any) -> None:
    for case in (make(draw, [9, 4, 14], 4, 16, 2, 1), with_strides(draw), make(draw, [0, 3])):
        watched = [student.watch(x) for x in case.arguments]
        names = "q", "k_pool", "v_pool", "tables", "lengths"
        expect(getattr(student, name)(*watched), Tensor)
        for argument, word in zip(watched, names, strict=True):
            assert_unmodified(argument, word)
        expect(student.overwritten(name, *watched), Tensor)
        for argument, word in zip(watched, names, strict=True):
            assert_new(argument, word)


def assert_results_stay(student: Any, name: str, draw: Any) -> None:
    cases = [make(draw, lengths) for lengths in ([9, 4, 0], [2, 13, 5], [0, 0, 1])]
    got = expect(student.together(name, *(case.arguments for case in cases)), list[Tensor])
    for case, o in zip(cases, got, strict=True):
        assert_paged(getattr(student, name), case, got=o)


@task("torch", contract=11)
def test_arguments_and_results_stay_as_they_are(student, draw):
    """No argument is modified, and no later call writes to a result."""
    assert_left_alone(student, "paged_attention_torch", draw)
    assert_results_stay(student, "paged_attention_torch", draw)


def slots_of(draw: Any, N: int, P: int, T: int, skipped: int = 0) -> list[int]:
    """Draw places of T tokens, so many of which are to be skipped."""
    places = torch.randperm(N * P, generator=draw.generator).tolist()[: T - skipped]
    slots = [*places, *[-1] * skipped]
    return [slots[i] for i in torch.randperm(T, generator=draw.generator).tolist()]


def assert_writes(
    student: Any, draw: Any, pools: tuple[Tensor, Tensor], slots: list[int], beside: bool = False
) -> None:
    """Write to two pools and compare every byte of their storages with what should be there."""
    P, G, D = pools[0].shape[1:]
    k, v = (draw.normal(len(slots), G, D, dtype=pools[0].dtype) for _ in "kv")
    if beside:
        k = torch.full((D, len(slots), G + 1), 9.0)[:, :, 1:].permute(1, 2, 0).copy_(k)
    watched = [student.watch(pool) for pool in pools]
    others = [student.watch(x) for x in (k, v, torch.tensor(slots, dtype=torch.int64))]
    student.write_kv(*watched, *others)
    for pool, new, argument, name in zip(pools, (k, v), watched, ("k_pool", "v_pool"), strict=True):
        base = torch.empty(0, dtype=pool.dtype).set_(pool.untyped_storage().clone())
        want = base.as_strided(pool.shape, pool.stride(), pool.storage_offset())
        for token, slot in enumerate(slots):
            if slot >= 0:
                want[slot // P, slot % P] = new[token]
        assert_written(argument, want, name)
    for argument, name in zip(others, ("k", "v", "slots"), strict=True):
        assert_unmodified(argument, name)


@task("torch", contract=12, gate=True)
@pytest.mark.parametrize(("P", "T"), [(1, 5), (3, 7), (16, 1)], ids=str)
def test_write_kv_writes_the_named_places(student, draw, P, T):
    """Keys and values of token t go to block slots[t] // P, offset slots[t] mod P."""
    pools = draw.normal(11, P, 2, 5), draw.normal(11, P, 2, 5)
    assert_writes(student, draw, pools, slots_of(draw, 11, P, T))


@task("torch", contract=12)
def test_write_kv_skips_tokens_without_a_place(student, draw):
    """A slot of -1 is skipped: nothing is written for it, least of all to the last place."""
    for T, skipped in ((6, 2), (3, 3), (9, 8)):
        pools = draw.normal(5, 4, 2, 3), torch.full((5, 4, 2, 3), math.nan)
        assert_writes(student, draw, pools, slots_of(draw, 5, 4, T, skipped))
    assert_writes(student, draw, (draw.normal(5, 4, 2, 3), draw.normal(5, 4, 2, 3)), [])


@task("torch", contract=12)
@pytest.mark.parametrize("P", [1, 2])
def test_write_kv_of_few_tokens_in_every_combination(student, draw, P):
    """At most two tokens, to any places of two blocks, the first and the last too, or nowhere."""
    places = range(-1, 2 * P)
    pairs = [[a, b] for a in places for b in places if a != b or a == -1]
    for slots in ([], *([a] for a in places), *pairs):
        pools = draw.normal(2, P, 1, 3), draw.normal(2, P, 1, 3)
        assert_writes(student, draw, pools, slots)


@task("torch", contract=12)
def test_write_kv_writes_to_views(student, draw):
    """Pools may have any strides: what is written arrives, and nothing beside it."""
    pools = strided(draw.normal(6, 3, 2, 5)), strided(draw.normal(6, 3, 2, 5), 1)
    assert_writes(student, draw, pools, slots_of(draw, 6, 3, 8, 1), beside=True)
    both = draw.normal(2, 6, 3, 2, 5)  # the pools of one layer, side by side
    assert_writes(student, draw, (both[0].clone(), both[1]), slots_of(draw, 6, 3, 8, 1))
    low = draw.normal(6, 3, 2, 5, dtype=torch.bfloat16), draw.normal(6, 3, 2, 5).bfloat16()
    assert_writes(student, draw, low, slots_of(draw, 6, 3, 4))


# --- triton ----------------------------------------------------------------------------------


@task("triton", contract=13, gate=True)
@pytest.mark.parametrize("D", [16, 20])
def test_the_work_is_done_in_a_triton_kernel(student, draw, D):
    """paged_attention launches a kernel of yours, and torch multiplies nothing."""
    case = make(draw, [9, 21], 4, D)
    with student.operators() as operators, student.launches() as launches:
        expect(student.paged_attention(*case.arguments), Tensor)
    check(launches.total >= 1, "no Triton kernel was launched, expected one at least")
    found = sorted(PRODUCTS & set(operators.seen))
    check(not found, f"torch does the work of the kernel: {', '.join(found)}")


# What multiplies queries with keys, or weights with values, outside of a kernel.
PRODUCTS = {
    *("mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "vdot", "linear"),
    *("scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu"),
    *("_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention"),
    *("_scaled_dot_product_attention_math", "convolution", "mkldnn_linear"),
}


@task("triton", contract=13, gate=True)
def test_the_result_comes_from_a_kernel(student, draw):
    """The result is what a kernel wrote: without it, it is wrong."""
    case = make(draw, [9, 21, 6], 4)
    call = functools.partial(student.paged_attention, *case.arguments)
    assert_from_kernels(student, call, [case.want()], "the result")
    lengths = [draw.integer(60, 100) for _ in range(2)]
    assert_kernels_alone(student, draw, lengths, draw.integer(2, 9), draw.integer(8, 40), 8)


@task("triton", contract=13)
@pytest.mark.parametrize(
    ("lengths", "P", "D", "H", "dtype"),
    [
        *[([90], 1, 64, 1, torch.bfloat16), ([70, 63], 16, 5, 12, torch.float32)],
        *[([63, 50], 4, 256, 2, torch.float16), ([61, 99, 80], 128, 16, 5, torch.float32)],
    ],
    ids=["one row", "narrow", "wide", "one block"],
)
def test_no_case_is_left_to_torch(student, draw, lengths, P, D, H, dtype):
    """A kernel of yours does the work for every size and dtype."""
    assert_kernels_alone(student, draw, lengths, P, D, H, dtype)


def assert_kernels_alone(
    student: Any,
    draw: Any,
    lengths: list[int],
    P: int,
    D: int,
    H: int,
    dtype: torch.dtype = torch.float32,
) -> None:
    """Fail where the result is computed elsewhere; tables and lengths are there to be seen.

    Let rows be long, and heads many: torch may join parts of 32 keys, padded as ``tl.dot`` asks.
    """
    first = make(draw, lengths, P, D, H, 1, dtype, spare=0, empty=0.5)

    def fresh() -> tuple[Tensor, Tensor, Tensor]:
        q, k_pool, v_pool = (
            draw.normal(*x.shape, dtype=dtype) for x in (first.q, first.k_pool, first.v_pool)
        )
        return q, k_pool, v_pool

    def want(q: Tensor, k_pool: Tensor, v_pool: Tensor) -> list[Tensor]:
        return [Case(q, k_pool, v_pool, first.tables, first.lengths).want()]

    assert_kernels_alone_compute(
        student,
        lambda q, k_pool, v_pool: student.paged_attention(
            q, k_pool, v_pool, first.tables, first.lengths
        ),
        fresh,
        want,
        "the result",
        elements=joined(first),
    )


def joined(case: Case) -> int:
    """Return what contract 13 lets torch do to join parts of 32 keys, all of one key head.

    Four operators on all that the parts gave, and eight on the sums of their weights.
    """
    sums, width = sums_of_parts(case)
    return sums * (4 * width + 8)


def sums_of_parts(case: Case) -> tuple[int, int]:
    """Return how many sums of weights parts of 32 keys have, and how wide each one's result is."""
    (rows, entries), (_, heads, width) = case.tables.shape, case.q.shape
    parts = oracle.blocks_for(entries * case.k_pool.shape[1], 32)
    heads, width = (max(16, 1 << (size - 1).bit_length()) for size in (heads, width))
    return rows * parts * heads, width


@task("triton", contract=13)
def test_parts_that_are_joined_are_no_smaller(student, draw):
    """No tensor holds more than what parts of 32 keys give: their results, maxima and sums."""
    # So many heads that the results take more than pools, or scores, ever would; none is padded.
    case = make(draw, [128, draw.integer(120, 128)], 8, 64, 64, spare=0)
    sums, width = sums_of_parts(case)
    with student.largest_tensor() as largest:
        got = student.paged_attention(*case.arguments)
    limit = sums * (width + 2)
    made = f"a tensor of {largest.elements} elements was made where parts of 32 keys give {limit}"
    check(largest.elements <= limit, f"{made}, expected no more")
    assert_paged(student.paged_attention, case, got=got)


@task("triton", contract=13)
@pytest.mark.parametrize("P", [8, 48], ids=lambda P: f"P = {P}")
def test_no_tensor_holds_the_gathered_keys(student, draw, P):
    """No tensor has the B * M * P * G * D elements of all rows' keys."""
    case = make(draw, [192, 191, 190], P, 32, 2, 2, spare=0)
    with student.largest_tensor() as largest:
        got = student.paged_attention(*case.arguments)
    limit = case.tables.numel() * P * 2 * 32
    made = f"a tensor of {largest.elements} elements was made for B * M * P * G * D = {limit}"
    check(largest.elements < limit, f"{made}, expected fewer")
    assert_paged(student.paged_attention, case, got=got)


@task("triton", contract=14, gate=True)
@SIZES
def test_kernel_rows_attend_through_their_tables(student, draw, lengths, P, D):
    """Row b attends to its lengths[b] tokens, in the blocks that its table names."""
    assert_paged(student.paged_attention, make(draw, lengths, P, D))


@task("triton", contract=14)
@pytest.mark.parametrize("lengths", [[1], [16, 17, 15], [63, 64, 65], [128, 129]], ids=str)
def test_kernel_at_the_edges_of_blocks_and_tiles(student, draw, lengths):
    """Lengths next to those of blocks and tiles are like any others."""
    for P in (4, 5):
        assert_paged(student.paged_attention, make(draw, lengths, P, 16, 1))


@task("triton", contract=14)
def test_kernel_rows_may_share_blocks(student, draw):
    """Two tables may name the same blocks, in other places and for other lengths."""
    assert_paged(student.paged_attention, with_shared_blocks(draw))


@task("triton", contract=14)
def test_kernel_rows_of_many_hundreds_of_tokens(student, draw):
    """A row may have many hundreds of tokens, beside a short one."""
    for dtype in (torch.float32, torch.bfloat16):
        assert_paged(student.paged_attention, long(draw, dtype))


@task("triton", contract=14)
def test_kernel_few_tokens_in_every_combination(student, draw):
    """Rows of 0, 1 and 2 tokens beside each other, in blocks of 1 and of 2, tables full or not."""
    for lengths in FEW:
        for P, spare in ((1, 0), (2, 0), (2, 1)):
            assert_paged(student.paged_attention, make(draw, lengths, P, 1, 1, 1, spare=spare))


@task("triton", contract=14)
@pytest.mark.parametrize("rows", [17, 65])
def test_kernel_many_rows_in_one_launch(student, draw, rows):
    """A batch may have any number of rows, beside powers of two too, each with its own table."""
    lengths = draw.integers(0, 2, rows).tolist()
    lengths[-1] = 2  # who leaves the last rows out cannot be lucky
    assert_paged(student.paged_attention, make(draw, lengths, 2, 3, 1, 1), excused=False)


@task("triton", contract=14)
def test_kernel_blocks_of_a_large_pool(student, draw):
    """Blocks may lie anywhere in a pool of tens of thousands."""
    assert_paged(student.paged_attention, make(draw, [40, 9], 1, 2, 1, 1, others=70_000))


@task("triton", contract=16)
@ANY_LOW
def test_kernel_scale_is_float32(student, draw, dtype):
    """D^-0.5 is not rounded to the dtype of q, nor is what it is multiplied with."""
    for D in ODD_ROOTS:
        assert_paged(student.paged_attention, sharp(draw, D, dtype), excused=False)


@task("triton", contract=15)
@pytest.mark.parametrize("lengths", [[0], [5, 0, 9, 0], [0, 3]], ids=str)
def test_kernel_rows_of_no_token_are_zero(student, draw, lengths):
    """A row of length 0 gives 0, whatever its table names."""
    assert_paged(student.paged_attention, make(draw, lengths))


@task("triton", contract=16)
@pytest.mark.parametrize(("H", "G"), [(6, 2), (3, 3), (5, 1), (40, 2)], ids=str)
def test_kernel_heads_read_their_key_head(student, draw, H, G):
    """Query head h reads key head h // (H / G)."""
    assert_paged(student.paged_attention, make(draw, [9, 4, 14], 4, 12, H, G))


@task("triton", contract=16)
@pytest.mark.parametrize("D", [1, 3, 17, 100, 256])
def test_kernel_at_any_width(student, draw, D):
    """D is any number up to 256."""
    assert_paged(student.paged_attention, make(draw, [6, 35], 4, D))


@task("triton", contract=16)
@pytest.mark.parametrize("P", [1, 7, 24, 100, 128])
def test_kernel_at_any_block_size(student, draw, P):
    """P is any number up to 128, a power of two or not."""
    assert_paged(student.paged_attention, make(draw, [P, min(2 * P + 1, 120), 1], P, 16))


@task("triton", contract=16)
@ANY_LOW
def test_kernel_in_low_precision(student, draw, dtype):
    """The result has the dtype of q."""
    assert_paged(student.paged_attention, make(draw, [40, 9, 77], 8, 32, 4, 2, dtype))


@task("triton", contract=16)
@ANY_LOW
def test_kernel_parts_of_a_row_are_float32(student, draw, dtype):
    """What programs find for parts of a row is joined before it is rounded, not after."""
    assert_paged(student.paged_attention, balanced(draw, dtype), excused=False)


@task("triton", contract=16)
@pytest.mark.parametrize(("width", "H"), [(24, 6), (128, 2)], ids=["narrow", "wide"])
def test_kernel_rounds_no_float32(student, draw, device, width, H):
    """What tl.dot multiplies in float32 keeps its bits: TF32, which a GPU takes unasked, has 10."""
    case = make(draw, [33, 80, 5], 8, width, H, 2)
    if device != "cpu":
        assert_paged(student.paged_attention, case, excused=False)
        return
    with student.metered() as meter:
        assert_paged(student.paged_attention, case)
    lines = sorted({each.line for _, each in meter.launches if each.dots.get("tf32")})
    found = " and ".join(map(str, lines))
    check(not lines, f"tl.dot takes float32 for TF32 in the kernel of line {found}")


@task("triton", contract=16)
@ANY_LOW
def test_kernel_scores_are_float32(student, draw, dtype):
    """Scores of hundreds, a few units apart, are kept in float32."""
    for level in (250.0, -250.0):
        case = leveled(make(draw, [70, 9], 8, 64, 2, 1, dtype), level)
        assert_paged(student.paged_attention, case, excused=False)


@task("triton", contract=16)
@pytest.mark.parametrize("level", [3000.0, -3000.0])
def test_kernel_scores_of_any_level(student, draw, level):
    """A level that all scores of a row share cancels: exp is taken of differences."""
    case = leveled(make(draw, [70, 9], 8, 64), level)
    assert_paged(student.paged_attention, case)


@task("triton", contract=16)
@pytest.mark.parametrize("step", [3.0, -3.0, 12.0, -12.0], ids=["up", "down", "far up", "far down"])
def test_kernel_maximum_may_change_in_every_tile(student, draw, step):
    """A larger maximum in a later tile shrinks sum and result so far, to nothing if it is far."""
    case = make(draw, [150, 70], 8, 16)
    case.q[..., 0] = 4.0
    for row, length in enumerate(case.lengths.tolist()):
        for position in range(length):
            block = case.tables[row, position // 8]
            case.k_pool[block, position % 8, :, 0] = step * position / 8
    assert_paged(student.paged_attention, case)


@task("triton", contract=16)
def test_kernel_takes_views(student, draw):
    """q, tables and pools may be any views; what lies beside does not matter."""
    assert_paged(student.paged_attention, with_strides(draw))


@task("triton", contract=16)
def test_kernel_leaves_arguments_and_results_alone(student, draw):
    """No argument is modified, and no later call writes to a result."""
    assert_left_alone(student, "paged_attention", draw)
    assert_results_stay(student, "paged_attention", draw)


@task("triton", contract=17)
@pytest.mark.parametrize("order", ["", "reversed"], ids=["in order", "reversed"])
def test_kernel_programs_do_not_need_each_other(student, draw, order):
    """Nothing that a program writes is read or written by another, or lies outside of a tensor."""
    cases = [make(draw, [9, 0, 41], 4, 20, 4, 2), make(draw, [3, 70], 7, 16, 3, 1)]
    for case in (*cases, make(draw, [150, 0, 30], 16, 20)):
        with student.sound_kernels(order):
            assert_paged(student.paged_attention, case)


@task("triton", contract=17)
@pytest.mark.parametrize(
    ("dtype", "gpu", "lengths", "width"),
    [
        (torch.bfloat16, "sm_80", [300, 0], 20),
        (torch.float32, "sm_90", [9, 4], 20),
        (torch.float32, "sm_90", [70, 2], 128),  # what takes most of the memory of a program
        (torch.bfloat16, "sm_90", [600], 256),
    ],
    ids=["two bytes", "four bytes", "wide, four bytes", "widest, two bytes"],
)
def test_kernels_compile(student, draw, dtype, gpu, lengths, width):
    """Each kernel compiles for an A100 (sm_80) and an H100 (sm_90), as it is launched."""
    case = make(draw, lengths, 16, width, 4, 2, dtype)

    with student.compilable_kernels(gpu):
        assert_paged(student.paged_attention, case)


FAR = 1 << 29  # elements from one to the next along an axis: the fourth step passes 2**31


MANY = 70_001  # rows: more than axes 1 and 2 of a grid have programs


@task("triton", contract=17)
def test_grid_for_many_rows(student, draw, device):
    """A GPU has 65,535 programs on axes 1 and 2 of a grid, and a batch may have more rows."""
    one = make(draw, [5])
    q, tables = one.q.expand(MANY, -1, -1), one.tables.expand(MANY, -1)

    with student.grids_alone():
        got = student.paged_attention(q, one.k_pool, one.v_pool, tables, one.lengths.expand(MANY))

    if device == "cuda":
        for row in (got[:1], got[-1:]):
            assert_paged(student.paged_attention, one, got=row)


@task("triton", contract=17)
@pytest.mark.parametrize("axis", [0, 2], ids=["block", "head"])
def test_kernel_reaches_pools_beyond_two_gigabytes(student, draw, axis):
    """A block and a head of a pool may begin 2**31 elements and more behind the first."""
    heads = 5 if axis == 2 else 1
    case = make(draw, [5, 3], 2, 16, heads, heads, torch.bfloat16, empty=0.0)
    steps = [*case.k_pool.stride()]
    steps[axis] = FAR
    pools = (student.far(pool, *steps) for pool in (case.k_pool, case.v_pool))

    with student.sound_kernels():
        got = student.paged_attention(case.q, *pools, case.tables, case.lengths)

    assert_paged(student.paged_attention, case, got=got)


@task("triton", contract=17)
@pytest.mark.parametrize("of_table", [False, True], ids=["q", "tables"])
def test_kernel_reaches_rows_beyond_two_gigabytes(student, draw, of_table):
    """A row of q, and one of the tables, may begin as far behind the first."""
    case = make(draw, [3, 1, 0, 2, 5], dtype=torch.bfloat16)
    q, tables = case.q, case.tables
    if of_table:
        tables = student.far(tables, FAR, 1)
    else:
        q = student.far(q, FAR, *q.stride()[1:])

    with student.sound_kernels():
        got = student.paged_attention(q, case.k_pool, case.v_pool, tables, case.lengths)

    assert_paged(student.paged_attention, case, got=got)


# --- scheduler -------------------------------------------------------------------------------

EOS = 9
Asked = tuple[list[int], int]  # a prompt, and how many new tokens it may have


def next_token(text: Sequence[int], seed: int, eos: int = 12) -> int:
    """Say what follows a text: any of eight tokens, one in ``eos`` times the EOS."""
    state = seed % 65521
    for token in text:
        state = (state * 257 + token + 11) % 65521
    return EOS if state % eos == 0 else state // 13 % 8


def alone(asked: Asked, seed: int, eos_ids: Sequence[int] = (EOS,), eos: int = 12) -> list[int]:
    """Return the output of a request that is served alone."""
    prompt, limit = asked
    output: list[int] = []
    while len(output) < limit:
        token = next_token(prompt + output, seed, eos)
        if token in eos_ids:
            break
        output.append(token)
    return output


@dataclass(frozen=True)
class Setting:
    """What a scheduler is made with."""

    num_blocks: int
    block_size: int
    max_running: int
    max_tokens: int
    share: bool = False

    @property
    def capacity(self) -> int:
        return min(self.num_blocks * self.block_size, self.max_tokens)


@dataclass
class Batch:
    """A scheduler under test, the rules and a memory beside it, and a model that reads that."""

    student: Any
    setting: Setting
    seed: int
    eos: int = 12
    costs: list[int] = field(default_factory=list[int])  # computed tokens of each step
    preemptions: int = 0
    shared: int = 0
    admitted: dict[int, int] = field(default_factory=dict[int, int])  # first step of each request

    def __post_init__(self) -> None:
        s = self.setting
        args = s.num_blocks, s.block_size, s.max_running, s.max_tokens
        share = (True,) if s.share else ()
        self.scheduler = expect(self.student.Scheduler(*args, *share), Proxy, "Scheduler(...)")
        self.rules = oracle.Steps(*args, s.share)
        self.memory = oracle.Shadow(s.block_size)

    def add(self, request: int, asked: Asked, eos_ids: Sequence[int] = (EOS,)) -> None:
        prompt, limit = asked
        self.scheduler.add(request, prompt, limit, list(eos_ids))
        self.rules.add(request, prompt, limit, list(eos_ids))

    def look(self) -> None:
        """Compare the two lists of requests with the rules."""
        for name, want in (("waiting", self.rules.waiting), ("running", self.rules.running)):
            got = numbers(getattr(self.scheduler, name), name)
            check(got == want, f"{name} is {got} {self._when}, expected {want}")

    @property
    def _when(self) -> str:
        return f"at step {len(self.costs) + 1}"

    @property
    def busy(self) -> bool:
        return bool(self.rules.waiting or self.rules.running)

    def plan(self) -> list[list[int]]:
        """Take a plan, hold it against the rules, and do what a model does with its memory."""
        want = self.rules.plan()
        # Who was sent back has left nothing to read, not even where others are about to write.
        self.memory.poison(self.rules.ledger.used)
        got = expect(self.scheduler.plan(), dict, "the plan")
        for key in ("rows", "tables", "preempted"):
            check(key in got, f"the plan has no {key!r}")
        rows, tables = (rows_of(got[key], f"{key} of the plan") for key in ("rows", "tables"))
        gone = numbers(got["preempted"], "preempted of the plan")
        check(
            gone == want.preempted, f"preempted is {gone} {self._when}, expected {want.preempted}"
        )
        check(rows == want.rows, f"the rows are {rows} {self._when}, expected {want.rows}")
        say = f"there are {len(tables)} tables for {len(rows)} rows {self._when}"
        check(len(tables) == len(rows), say)
        self.look()
        self._compute(rows, tables, want.used)
        for request, start, stop in rows:
            if request not in self.admitted:
                self.admitted[request] = len(self.costs)
            self.shared += start if stop - start > 1 else 0
        self.preemptions += len(gone)
        self.costs.append(sum(stop - start for _, start, stop in rows))
        return rows

    def _compute(self, rows: list[list[int]], tables: list[list[int]], used: int) -> None:
        named = dict(zip((row[0] for row in rows), tables, strict=True))
        counts = {request: stop for request, _, stop in rows}
        s = self.setting
        check_tables(named, counts, s.block_size, s.num_blocks)
        distinct = {block for table in tables for block in table}
        say = f"tables name {len(distinct)} distinct blocks {self._when}, expected {used}"
        check(len(distinct) == used, say)
        self.rules.ledger.adopt(named)
        for request, start, stop in rows:
            text = self.rules.requests[request].text
            self.memory.write(named[request], text, start, stop)
        for request, _, stop in rows:
            text = self.rules.requests[request].text
            position = self.memory.wrong(named[request], text, stop)
            check(position is None, wrong_place(position or 0, stop))

    def commit(self, rows: list[list[int]]) -> None:
        texts = [self.rules.requests[request].text for request, _, _ in rows]
        tokens = [next_token(text, self.seed, self.eos) for text in texts]
        want = self.rules.commit(tokens)
        got = numbers(self.scheduler.commit(tokens), "what commit returns")
        check(got == want, f"commit ends {got} {self._when}, expected {want}")
        for request in want:
            self.assert_output(request)
        # What the ended had is free now, and may hold anything.
        self.memory.poison(self.rules.ledger.used)

    def assert_output(self, request: int) -> None:
        got = numbers(self.scheduler.output(request), "the output")
        want = self.rules.requests[request].output
        check(got == want, f"the output of a request is {got}, expected {want}")

    def step(self) -> None:
        self.commit(self.plan())

    def finish(self) -> None:
        """Step until everybody has been served; the rules see to it that this ends."""
        while self.busy:
            self.step()
        self.look()
        for request in self.rules.requests:
            self.assert_output(request)


def asked(draw: Any, prompt: int, limit: int) -> Asked:
    return drawn_text(draw, prompt, 8), limit


def served(
    student: Any, draw: Any, setting: Setting, *requests: tuple[int, int], eos: int = 10**9
) -> Batch:
    """Serve requests of (prompt, new tokens), all of which are there at the start."""
    batch = Batch(student, setting, draw.integer(1, 60_000), eos)
    for name, (prompt, limit) in enumerate(requests, draw.integer(0, 9)):
        batch.add(name, asked(draw, prompt, limit))
    batch.finish()
    return batch


ROOMY = Setting(40, 3, 8, 60)


@task("scheduler", contract=18, gate=True)
def test_running_requests_compute_their_newest_token(student, draw):
    """Each running request gets [request, n - 1, n], in order of admission."""
    batch = Batch(student, ROOMY, draw.integer(1, 60_000), 10**9)
    for name in (7, 2, 5):
        batch.add(name, asked(draw, draw.integer(1, 9), 9))
        batch.step()
        batch.step()
    batch.finish()


@task("scheduler", contract=18)
def test_blocks_follow_the_tokens(student, draw):
    """Tables grow by a block when a token needs it, and say where each row lies."""
    for size in (1, 2, 7):
        served(student, draw, Setting(60, size, 5, 50), (3, 11), (8, 5), (1, 14))


@task("scheduler", contract=19, gate=True)
def test_last_admitted_goes_first(student, draw):
    """Where a block lacks the request admitted last is sent back, and its output is kept."""
    batch = served(student, draw, Setting(6, 2, 4, 12), (2, 8), (4, 6), (3, 5))
    check(batch.preemptions > 0, "the trace was meant to preempt")


@task("scheduler", contract=19)
def test_asker_may_be_the_one_that_goes(student, draw):
    """Who lacks a block and was admitted last is sent back itself; those before it go on."""
    served(student, draw, Setting(4, 2, 4, 12), (3, 5), (4, 4))
    served(student, draw, Setting(5, 3, 4, 15), (5, 6), (6, 5), (3, 3))


@task("scheduler", contract=19)
def test_several_may_go_at_once(student, draw):
    """As many are sent back as it takes, the last one first, and they keep their order."""
    # Five of one block each; all need another in the same step, and there is none.
    served(student, draw, Setting(5, 4, 8, 20), *[(3, 6)] * 5)
    served(student, draw, Setting(7, 1, 8, 7), (1, 6), (1, 5), (2, 4), (2, 5))


@task("scheduler", contract=19)
def test_preempted_in_any_trace(student, draw):
    """In any trace of too few blocks who goes is who the rules say."""
    total = 0
    for _ in range(3):
        requests = [(draw.integer(1, 7), draw.integer(2, 9)) for _ in range(8)]
        total += served(student, draw, Setting(8, 2, 6, 16), *requests).preemptions
    check(total > 0, "the traces were meant to preempt")


@task("scheduler", contract=20)
def test_nobody_is_admitted_where_somebody_had_to_go(student, draw):
    """A step that preempts admits nobody, though the first in line would fit."""
    # Two that say the same in blocks of their own. The second, sent back, could share all that the
    # first has by then, so that one block would do, of the two that are free.
    batch = Batch(student, Setting(7, 2, 4, 14, share=True), draw.integer(1, 60_000), 10**9)
    twins = asked(draw, 3, 8)
    for name in (4, 1):
        batch.add(name, twins)
    batch.finish()
    check(batch.preemptions > 0, "the trace was meant to preempt")
    for _ in range(2):
        sizes = [(draw.integer(1, 6), draw.integer(1, 7)) for _ in range(8)]
        served(student, draw, Setting(7, 2, 6, 13), *sizes)


@task("scheduler", contract=21)
@pytest.mark.parametrize("most", [1, 2, 5])
def test_no_more_than_max_running(student, draw, most):
    """At most max_running requests run at once; who ends makes room for the next."""
    served(student, draw, Setting(60, 3, most, 60), *[(draw.integer(1, 6), 5) for _ in range(7)])


@task("scheduler", contract=21)
def test_no_more_than_max_tokens_a_step(student, draw):
    """The tokens that a step computes, running requests' too, are at most max_tokens."""
    served(student, draw, Setting(60, 4, 20, 10), (6, 4), (4, 5), (5, 4), (9, 1), (1, 8), (8, 2))
    served(student, draw, Setting(60, 4, 20, 9), *[(3, 6)] * 9)
    served(student, draw, Setting(60, 4, 20, 4), *[(1, 3)] * 9)


@task("scheduler", contract=21)
def test_nobody_overtakes(student, draw):
    """Where the first in line does not fit, those behind it wait too."""
    served(student, draw, Setting(6, 2, 8, 12), (5, 4), (8, 2), (1, 2), (2, 2))
    served(student, draw, Setting(50, 2, 8, 10), (4, 3), (9, 1), (1, 2), (1, 5))


@task("scheduler", contract=21)
def test_late_comers_join_a_running_batch(student, draw):
    """Requests may come at any time, and are admitted in the order in which they came."""
    for _ in range(3):
        batch = Batch(student, Setting(14, 2, 4, 18), draw.integer(1, 60_000))
        for name in torch.randperm(12, generator=draw.generator).tolist():
            batch.add(name, asked(draw, draw.integer(1, 8), draw.integer(1, 9)))
            for _ in range(draw.integer(0, 3)):
                batch.step()
        batch.finish()


def families(draw: Any, count: int, longest: int) -> Iterator[Asked]:
    """Draw requests that often begin alike."""
    stems = [drawn_text(draw, longest - 2, 2) for _ in range(2)]
    for _ in range(count):
        stem = draw.choice(stems)[: draw.integer(0, longest - 1)]
        limit = draw.integer(1, 7)
        yield [*stem, *drawn_text(draw, draw.integer(1, 3), 8)][:longest], limit


@task("scheduler", contract=22)
def test_shared_tokens_are_not_computed(student, draw):
    """The row of an admitted request begins behind what it shares, with those of its step too."""
    batch = Batch(student, Setting(40, 2, 6, 30, share=True), draw.integer(1, 60_000), 10**9)
    stem = drawn_text(draw, 9, 8)
    for name in range(5):
        batch.add(name, ([*stem, name], 4))
    batch.finish()
    check(batch.shared > 0, "the trace was meant to share")

    # Blocks with the same sum, and with the same tokens, are not the same.
    batch = Batch(student, Setting(40, 2, 9, 60, share=True), draw.integer(1, 60_000), 10**9)
    for name, (a, b) in enumerate([(1, 4), (4, 1), (2, 3), (0, 5), (1, 4)]):
        batch.add(name, ([a, b, *stem[:3]], 3))
    batch.finish()


@task("scheduler", contract=22)
@pytest.mark.parametrize("most", [0, 1, 2], ids=["first", "second", "third"])
def test_most_in_common_decides_what_is_not_computed(student, draw, most):
    """Of three that run already, it is the one with most in common that a request shares with."""
    batch = Batch(student, Setting(40, 2, 6, 60, share=True), draw.integer(1, 60_000), 10**9)
    stem = drawn_text(draw, 9, 8)
    for name in range(3):
        batch.add(name, ([*stem[: 7 if name == most else 3], 20 + name], 6))
    batch.commit(batch.plan())
    batch.add(3, ([*stem, 30], 2))
    batch.finish()


@task("scheduler", contract=22)
def test_shared_tokens_do_not_count_against_max_tokens(student, draw):
    """What is shared is not computed: max_tokens counts the rest alone."""
    batch = Batch(student, Setting(60, 2, 8, 14, share=True), draw.integer(1, 60_000), 10**9)
    stem = drawn_text(draw, 8, 8)
    for name in range(6):
        batch.add(name, ([*stem, name % 2, name], 3))
    batch.finish()


@task("scheduler", contract=22)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_what_a_running_request_said_is_shared(student, draw, size):
    """A prompt that goes on from what a running request said shares that too, in any block size."""
    seed = draw.integer(1, 60_000)
    batch = Batch(student, Setting(60, size, 4, 60, share=True), seed, 10**9)
    first = asked(draw, 5, 16)
    batch.add(0, first)
    for _ in range(10):
        batch.step()
    text = [*first[0], *alone(first, seed, (), 10**9)]
    batch.add(1, ([*text[:13], 30, 31], 2))
    batch.add(2, (text[:12], 2))  # whole blocks of any size, of which the last token is computed
    batch.finish()
    check(batch.shared > 5, "the trace was meant to share what was said")


@task("scheduler", contract=22)
@BOTH
def test_who_comes_back_computes_prompt_and_output(student, draw, share):
    """A request that was sent back computes its prompt and its output anew."""
    setting = Setting(6, 2, 4, 12, share)
    batch = served(student, draw, setting, (3, 9), (3, 8), (2, 6))
    check(batch.preemptions > 0, "the trace was meant to preempt")


@task("scheduler", contract=22)
def test_sharing_in_any_trace(student, draw):
    """In any trace of requests that begin alike rows begin where the rules say."""
    shared = 0
    for _ in range(3):
        batch = Batch(student, Setting(11, 2, 5, 16, share=True), draw.integer(1, 60_000))
        for name, request in enumerate(families(draw, 10, 9)):
            batch.add(name, request)
            if draw.integer(0, 3) == 0:
                batch.step()
        batch.finish()
        shared += batch.shared
    check(shared > 0, "the traces were meant to share")


@task("scheduler", contract=23)
def test_requests_end_at_max_new_tokens(student, draw):
    """A request ends with as many tokens as it may have, and its blocks are free at once."""
    served(student, draw, Setting(4, 2, 4, 8), (4, 1), (3, 1), (7, 1), (5, 3), (1, 1), (1, 7))


@task("scheduler", contract=23, gate=True)
def test_requests_end_at_an_eos(student, draw):
    """A request ends at an EOS, which is not in its output; so also in its first step."""
    for eos in (1, 2, 3):
        served(student, draw, Setting(5, 3, 3, 15), *[(4, 9)] * 7, eos=eos)


@task("scheduler", contract=23)
def test_any_of_several_eos_ids_ends(student, draw):
    """eos_ids belong to their request: any of them ends it, none ends another, none may be."""
    seed = draw.integer(1, 60_000)
    batch = Batch(student, ROOMY, seed, 10**9)
    for name in range(8):
        request = asked(draw, draw.integer(1, 9), 9)
        # What it would say as its fourth token is an EOS of its own, in any place of the list.
        stop = alone(request, seed, (), 10**9)[3]
        ids = [[77, stop], [stop, 78], [], [79, 80, stop, 81]][name % 4]
        batch.add(name, request, ids)
    batch.finish()


@task("scheduler", contract=23)
def test_eos_in_the_prompt_ends_nothing(student, draw):
    """What stands in the prompt ends nothing, and an output may be empty."""
    batch = Batch(student, ROOMY, draw.integer(1, 60_000), 2)
    for name in range(6):
        batch.add(name, ([EOS, *drawn_text(draw, 3, 8), EOS], 5))
    batch.finish()


@task("scheduler", contract=24)
@pytest.mark.parametrize(("num_blocks", "max_tokens"), [(5, 40), (50, 15)], ids=str)
def test_what_never_fits_is_refused(student, draw, num_blocks, max_tokens):
    """prompt and max_new_tokens beyond num_blocks * P or max_tokens: ValueError naming prompt."""
    setting = Setting(num_blocks, 3, 4, max_tokens)
    batch = Batch(student, setting, draw.integer(1, 60_000), 10**9)
    most = setting.capacity
    for prompt, limit in ((most, 1), (1, most), (most - 4, 5), (most + 30, 1), (2, 10**6)):
        with student.raises(ValueError, naming="prompt"):
            batch.scheduler.add(3, drawn_text(draw, prompt, 8), limit, [EOS])
        batch.look()
    for name, (prompt, limit) in enumerate(((most - 1, 1), (1, most - 1), (most - 5, 5))):
        batch.add(name, asked(draw, prompt, limit))
    batch.finish()


@task("scheduler", contract=24)
def test_nonsense_is_refused(student, draw):
    """No prompt, a request that is known, no new tokens: ValueErrors that change nothing."""
    batch = Batch(student, ROOMY, draw.integer(1, 60_000), 10**9)
    batch.add(4, asked(draw, 3, 2))
    batch.add(1, asked(draw, 5, 6))

    def refuse() -> None:
        with student.raises(ValueError, naming="prompt"):
            batch.scheduler.add(6, [], 3, [EOS])
        for known in (4, 1):
            with student.raises(ValueError, naming="request"):
                batch.scheduler.add(known, [1, 2], 3, [EOS])
        for limit in (0, -1):
            with student.raises(ValueError, naming="max_new_tokens"):
                batch.scheduler.add(6, [1, 2], limit, [EOS])
        batch.look()

    refuse()
    batch.step()
    refuse()
    for _ in range(3):  # request 4 has ended by now
        batch.step()
    refuse()
    batch.add(6, asked(draw, 2, 3))
    batch.finish()


@task("scheduler", contract=25)
def test_nothing_to_do(student, draw):
    """With nothing to do a plan is three empty lists, before, between and after requests."""
    batch = Batch(student, ROOMY, draw.integer(1, 60_000))
    for name in (3, 8):
        for _ in range(2):
            check(batch.plan() == [], "there are rows, expected none")
            batch.commit([])
        batch.add(name, asked(draw, 4, 3))
        batch.finish()
    check(batch.plan() == [], "there are rows, expected none")


SETTINGS = [
    Setting(60, 4, 12, 60),
    Setting(12, 2, 6, 24),
    Setting(12, 2, 6, 24, share=True),
    Setting(24, 1, 3, 25, share=True),
]


@task("scheduler", contract=26, gate=True)
def test_output_does_not_depend_on_the_batch(student, draw):
    """Every request ends with the output that it would have alone, in any setting."""
    seed = draw.integer(1, 60_000)
    requests = list(families(draw, 10, 14))
    for setting in SETTINGS:
        batch = Batch(student, setting, seed)
        for name, request in enumerate(requests):
            batch.add(name, request)
        batch.finish()
        for name, request in enumerate(requests):
            output = numbers(batch.scheduler.output(name), "the output")
            assert_equal(output, alone(request, seed), "the output")


@task("scheduler", contract=26)
def test_a_schedule_of_many_requests(student, draw, plot):
    """Dozens of requests are served as the rules say; see what it saves against static batching."""
    fixed, each = 20.0, 1.0  # what a step costs, and a token, on a scripted clock
    times: dict[str, list[tuple[float, float]]] = {"yours": [], "static": [], "wait": []}
    for count in (4, 12, 24):
        requests = [
            asked(draw, draw.integer(1, 20), draw.choice([2, 3, 5, 24])) for _ in range(count)
        ]
        batch = Batch(student, Setting(48, 4, 6, 60), draw.integer(1, 60_000), 10**9)
        for name, request in enumerate(requests):
            batch.add(name, request)
        batch.finish()
        steps = oracle.static_steps([(len(prompt), limit) for prompt, limit in requests], 6)
        clock = [0.0]
        for tokens in batch.costs:
            clock.append(clock[-1] + fixed + each * tokens)
        times["yours"].append((count, clock[-1]))
        times["static"].append((count, sum(fixed + each * tokens for tokens in steps)))
        waits = [clock[step] for step in batch.admitted.values()]
        times["wait"].append((count, sum(waits) / count))
    how = {"axis": "requests", "unit": "ticks", "other_name": "static batching"}
    plot("Makespan", yours=times["yours"], other=times["static"], **how)


# --- speed -----------------------------------------------------------------------------------

SPEED = pytest.mark.parametrize("length", [1024, 2048, 4096, 8192])


def race(length: int) -> Race:
    """Sixty-four rows of so many tokens, 8 query heads on 2 key heads of 128, in shuffled blocks.

    Each row has one region of the pool, and its blocks are shuffled in there: so the baseline may
    read regions as contiguous caches.
    """
    rows, heads, groups, width, size = 64, 8, 2, 128, 16

    def inputs(generator: torch.Generator) -> tuple[Tensor, ...]:
        device, entries = generator.device, length // size

        def normal(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, device=device)

        keys = torch.rand(rows, entries, generator=generator, device=device).argsort(1)
        regions = torch.rand(rows, generator=generator, device=device).argsort()
        tables = (regions[:, None] * entries + keys).int()
        spread = 2 ** (4 * torch.rand(1, generator=generator, device=device) - 1)
        pool = rows * entries, size, groups, width
        q, k, v = normal(rows, heads, width) * spread, normal(*pool), normal(*pool) + normal(width)
        lengths = torch.full((rows,), length, dtype=torch.int32, device=device)
        return q.bfloat16(), k.bfloat16(), v.bfloat16(), tables, lengths

    return Race(
        function="paged_attention",
        case=f"64 rows of {length}",
        inputs=inputs,
        compare="attention",
        bytes=4 * rows * length * groups * width,
        flops=4 * rows * length * heads * width,
        size=length,
        axis="tokens",
    )


@task("speed", gate=True, needs=("triton",))
@SPEED
def test_kernel_is_right_at_speed_sizes(stopwatch, length):
    """The result is right at the sizes that are timed, and no argument is modified."""
    stopwatch.verify(race(length))


@task("speed", tiers="decode", needs=("triton",))
@SPEED
def test_kernel_speed(stopwatch, tier, length):
    """paged_attention reaches this share of the speed of torch's on contiguous caches."""
    stopwatch.reach(tier, race(length))
