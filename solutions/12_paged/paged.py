"""Paged attention: sequences live in blocks of one pool, and a batch changes with every step.

Blocks are told apart by what they hold from the start of the text on, never by a hash alone: a
full block has a number for (number of the block before it, its own tokens), so equal numbers mean
equal prefixes. All living blocks of one number are kept, since any of them may be freed first.

Two names end in their shape: ``k_SGD`` and ``v_SGD`` are [S, G, D].
"""

import itertools
import math
from collections import deque
from dataclasses import dataclass, field

import torch
import triton
import triton.language as tl
from torch import Tensor

START = 0  # the number of the empty prefix
LOG2_E = math.log2(math.e)
PROGRAMS = 512  # keep a large GPU busy: about four for each of its multiprocessors
SHORTEST = 128  # keys that a program of its own is worth


@dataclass
class _Sequence:
    tokens: list[int]
    table: list[int]


class BlockManager:
    """Deals the blocks of a pool out to sequences; a block may have several holders."""

    def __init__(self, num_blocks: int, block_size: int, share: bool = False) -> None:
        self.block_size = block_size
        self.share = share
        self._free = list(range(num_blocks))
        self._holders = [0] * num_blocks
        self._sequences: dict[int, _Sequence] = {}
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}  # full blocks by prefix
        self._key: dict[int, tuple[int, tuple[int, ...]]] = {}  # of each living full block
        self._alike: dict[int, list[int]] = {}  # number of a prefix -> living blocks that end it
        self._count = itertools.count(START + 1)

    @property
    def num_free(self) -> int:
        return len(self._free)

    def admit(self, seq: int, tokens: list[int]) -> int | None:
        """Give a sequence its blocks, the leading ones another's where they hold the same.

        Returns how many tokens are shared, None if there are too few blocks.
        """
        if seq in self._sequences:
            raise ValueError(f"seq {seq} is known already")
        if not tokens:
            raise ValueError("tokens is empty")
        shared = self._find(tokens)
        needed = math.ceil(len(tokens) / self.block_size) - len(shared)
        if needed > len(self._free):
            return None
        for block in shared:
            self._holders[block] += 1
        table = shared + [self._take() for _ in range(needed)]
        self._sequences[seq] = _Sequence(list(tokens), table)
        for index in range(len(shared), len(tokens) // self.block_size):
            self._register(self._sequences[seq], index)
        return len(shared) * self.block_size

    def append(self, seq: int, token: int) -> list[list[int]] | None:
        """Make room for one more token.

        Returns what to copy first, [] or [[source, target]], or None if there is no block.
        """
        sequence = self._known(seq)
        copies: list[list[int]] = []
        if len(sequence.tokens) % self.block_size == 0:
            if not self._free:
                return None
            sequence.table.append(self._take())
        elif self._holders[sequence.table[-1]] > 1:
            if not self._free:
                return None
            source, target = sequence.table[-1], self._take()
            self._holders[source] -= 1
            sequence.table[-1] = target
            copies.append([source, target])
        sequence.tokens.append(token)
        if len(sequence.tokens) % self.block_size == 0:
            self._register(sequence, len(sequence.table) - 1)
        return copies

    def fork(self, parent: int, child: int) -> None:
        """Give a new sequence all blocks of another, the last one too."""
        sequence = self._known(parent)
        if child in self._sequences:
            raise ValueError(f"seq {child} is known already")
        for block in sequence.table:
            self._holders[block] += 1
        self._sequences[child] = _Sequence(list(sequence.tokens), list(sequence.table))

    def release(self, seq: int) -> None:
        """Let go of a sequence's blocks; those that nobody else holds are free."""
        for block in self._known(seq).table:
            self._holders[block] -= 1
            if self._holders[block] == 0:
                self._forget(block)
                self._free.append(block)
        del self._sequences[seq]

    def table(self, seq: int) -> list[int]:
        return list(self._known(seq).table)

    def length(self, seq: int) -> int:
        return len(self._known(seq).tokens)

    def _known(self, seq: int) -> _Sequence:
        if seq not in self._sequences:
            raise ValueError(f"seq {seq} is unknown")
        return self._sequences[seq]

    def _take(self) -> int:
        block = self._free.pop()
        self._holders[block] = 1
        return block

    def _find(self, tokens: list[int]) -> list[int]:
        """Return living blocks that hold the leading tokens, all but the last token at most."""
        found: list[int] = []
        number, size = START, self.block_size
        last = (len(tokens) - 1) // size * size if self.share else 0
        for start in range(0, last, size):
            key = number, tuple(tokens[start : start + size])
            if key not in self._numbers:
                break
            number = self._numbers[key]
            found.append(self._alike[number][0])
        return found

    def _register(self, sequence: _Sequence, index: int) -> None:
        """Let a block that is full now be found; the blocks before it have been registered."""
        if not self.share:
            return
        before = self._numbers[self._key[sequence.table[index - 1]]] if index else START
        start = index * self.block_size
        key = before, tuple(sequence.tokens[start : start + self.block_size])
        if key not in self._numbers:
            self._numbers[key] = next(self._count)
        self._key[sequence.table[index]] = key
        self._alike.setdefault(self._numbers[key], []).append(sequence.table[index])

    def _forget(self, block: int) -> None:
        key = self._key.pop(block, None)
        if key is None:
            return
        number = self._numbers[key]
        self._alike[number].remove(block)
        if not self._alike[number]:  # then no block behind it lives: its holders hold this one
            del self._alike[number], self._numbers[key]


def write_kv(
    k_pool: Tensor,  # [N, P, G, D]
    v_pool: Tensor,  # [N, P, G, D]
    k: Tensor,  # [T, G, D]
    v: Tensor,  # [T, G, D]
    slots: Tensor,  # [T] int64, block * P + offset, -1: nowhere
) -> None:
    """Write keys and values to their places in the pools, and nothing else."""
    real = slots >= 0
    slots, size = slots[real], k_pool.shape[1]
    k_pool[slots // size, slots % size] = k[real]
    v_pool[slots // size, slots % size] = v[real]


def paged_attention_torch(
    q: Tensor,  # [B, H, D]
    k_pool: Tensor,  # [N, P, G, D]
    v_pool: Tensor,  # [N, P, G, D]
    tables: Tensor,  # [B, M] int32
    lengths: Tensor,  # [B] int32
) -> Tensor:  # [B, H, D]
    """Attend each row to the tokens of its blocks, gathered one row at a time."""
    heads, size, groups = q.shape[1], k_pool.shape[1], k_pool.shape[2]
    o = torch.zeros_like(q)
    for row, length in enumerate(lengths.tolist()):
        if length == 0:
            continue
        blocks = tables[row, : -(-length // size)].long()
        # The rest of the last block is left behind before anything is computed.
        k_SGD, v_SGD = (pool[blocks].flatten(0, 1)[:length].float() for pool in (k_pool, v_pool))
        grouped = q[row].float().reshape(groups, heads // groups, -1) * q.shape[-1] ** -0.5
        weights = torch.softmax(torch.einsum("ghd,sgd->ghs", grouped, k_SGD), -1)
        o[row] = torch.einsum("ghs,sgd->ghd", weights, v_SGD).reshape(heads, -1).to(q.dtype)
    return o


def paged_attention(
    q: Tensor,  # [B, H, D]
    k_pool: Tensor,  # [N, P, G, D], any strides
    v_pool: Tensor,  # [N, P, G, D]
    tables: Tensor,  # [B, M] int32
    lengths: Tensor,  # [B] int32
) -> Tensor:  # [B, H, D]
    """Do the same in a kernel that follows the tables itself.

    The keys of a row are dealt to several programs where there are few rows; a second kernel joins.
    """
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    (batch, heads, width), size, groups = q.shape, k_pool.shape[1], k_pool.shape[2]
    if o.numel() == 0:
        return o
    share, longest = heads // groups, tables.shape[1] * size
    block_d = max(16, triton.next_power_of_2(width))
    block_n = _keys_at_a_time(q.element_size(), block_d)
    parts = max(1, min(PROGRAMS // (batch * groups), triton.cdiv(longest, SHORTEST)))
    keys = triton.cdiv(longest, parts * block_n) * block_n
    sums = torch.empty(batch, heads, parts, device=q.device)
    results = o if parts == 1 else torch.empty(*sums.shape, width, device=q.device)
    _attend[(batch, groups, parts)](
        q, k_pool, v_pool, tables, lengths, results, sums,
        q.stride(), k_pool.stride(), v_pool.stride(), tables.stride(), lengths.stride(),
        width**-0.5 * LOG2_E, share, size, keys,
        WIDTH=width, BLOCK_H=max(16, triton.next_power_of_2(share)), BLOCK_D=block_d,
        BLOCK_N=block_n, num_warps=4, num_stages=2,
    )  # fmt: skip
    if parts > 1:
        _join[(batch * heads,)](
            results, sums, o, parts,
            WIDTH=width, BLOCK_D=block_d, BLOCK_S=triton.next_power_of_2(parts), num_warps=1,
        )  # fmt: skip
    return o


def _keys_at_a_time(size: int, width: int) -> int:
    """Return how many keys of so many bytes a number fit into registers beside their values."""
    if width <= 128:
        return 64 if size == 2 else 32
    return 32 if size == 2 else 16


@triton.jit(do_not_specialize=["share"])
def _attend(
    q, k_pool, v_pool, tables, lengths, results, sums,
    q_strides, k_strides, v_strides, table_strides, length_strides,
    factor, share, size, keys, WIDTH: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_D: tl.constexpr,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Attend the heads of one row that read one key head to one part of the row.

    ``factor`` is scale times log2(e), ``keys`` the size of a part. ``results`` [B, H, parts, D] has
    the mean of the values, ``sums`` [B, H, parts] log2 of the weights' sum, -inf for no key.
    """
    row = tl.program_id(0).to(tl.int64)
    group = tl.program_id(1).to(tl.int64)
    part = tl.program_id(2)
    length = tl.load(lengths + row * length_strides[0])
    tables += row * table_strides[0]
    k_pool += group * k_strides[2]
    v_pool += group * v_strides[2]
    heads = tl.arange(0, BLOCK_H)
    d = tl.arange(0, BLOCK_D)
    mine = (heads < share)[:, None] & (d < WIDTH)[None, :]
    head = group * share + heads
    query = tl.load(
        q + row * q_strides[0] + head[:, None] * q_strides[1] + d[None, :] * q_strides[2],
        mask=mine, other=0.0,
    )  # fmt: skip
    acc = tl.zeros([BLOCK_H, BLOCK_D], tl.float32)
    total = tl.zeros([BLOCK_H], tl.float32)
    top = tl.full([BLOCK_H], float("-inf"), tl.float32)
    for start in range(part * keys, tl.minimum(length, (part + 1) * keys), BLOCK_N):
        positions = start + tl.arange(0, BLOCK_N)
        inside = positions < length
        block = tl.load(
            tables + (positions // size) * table_strides[1], mask=inside, other=0
        ).to(tl.int64)  # fmt: skip
        offset = positions % size
        seen = inside[:, None] & (d < WIDTH)[None, :]
        k_at = block * k_strides[0] + offset * k_strides[1]
        v_at = block * v_strides[0] + offset * v_strides[1]
        k = tl.load(k_pool + k_at[:, None] + d[None, :] * k_strides[3], mask=seen, other=0.0)
        v = tl.load(v_pool + v_at[:, None] + d[None, :] * v_strides[3], mask=seen, other=0.0)
        scores = tl.dot(query, tl.trans(k), input_precision="ieee") * factor
        scores = tl.where(inside[None, :], scores, float("-inf"))
        new = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp2(scores - new[:, None])
        shrink = tl.exp2(top - new)
        total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None], input_precision="ieee")
        top = new
    some = tl.where(total > 0, total, 1.0)
    at = (row * share * tl.num_programs(1) + head) * tl.num_programs(2) + part
    result = (acc / some[:, None]).to(results.dtype.element_ty)
    tl.store(results + at[:, None] * WIDTH + d[None, :], result, mask=mine)
    tl.store(sums + at, top + tl.log2(some), mask=heads < share)


@triton.jit
def _join(
    results, sums, o, parts, WIDTH: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_S: tl.constexpr
):  # fmt: skip
    """Weigh what the parts of a row gave for one head by their sums."""
    head = tl.program_id(0).to(tl.int64)
    s = tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    logs = tl.load(sums + head * parts + s, mask=s < parts, other=float("-inf"))
    top = tl.max(logs, 0)
    top = tl.where(top > float("-inf"), top, 0.0)  # a row of no token
    total = tl.sum(tl.exp2(logs - top), 0)
    acc = tl.zeros([BLOCK_D], tl.float32)
    for part in range(0, parts):
        at = head * parts + part
        weight = tl.exp2(tl.load(sums + at) - top)
        acc += weight * tl.load(results + at * WIDTH + d, mask=d < WIDTH, other=0.0)
    acc /= tl.where(total > 0, total, 1.0)
    tl.store(o + head * WIDTH + d, acc.to(o.dtype.element_ty), mask=d < WIDTH)


@dataclass
class _Request:
    prompt: list[int]
    max_new_tokens: int
    eos_ids: frozenset[int]
    output: list[int] = field(default_factory=list[int])

    @property
    def tokens(self) -> list[int]:
        return self.prompt + self.output


class Scheduler:
    """Continuous batching: decides before each step which requests compute which tokens."""

    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        max_running: int,
        max_tokens: int,
        share: bool = False,
    ) -> None:
        self.max_running = max_running
        self.max_tokens = max_tokens
        self.running: list[int] = []  # in order of admission
        self._capacity = min(num_blocks * block_size, max_tokens)
        self._blocks = BlockManager(num_blocks, block_size, share)
        self._queue: deque[int] = deque()
        self._requests: dict[int, _Request] = {}
        self._planned: list[int] = []

    @property
    def waiting(self) -> list[int]:
        return list(self._queue)

    def add(self, request: int, prompt: list[int], max_new_tokens: int, eos_ids: list[int]) -> None:
        """Put a request at the end of those that wait, unless it could never be served."""
        if request in self._requests:
            raise ValueError(f"request {request} is known already")
        if max_new_tokens < 1:
            raise ValueError(f"max_new_tokens is {max_new_tokens}, must be 1 or more")
        if not prompt:
            raise ValueError("prompt is empty")
        if len(prompt) + max_new_tokens > self._capacity:
            raise ValueError(f"prompt and answer do not fit into {self._capacity} tokens")
        self._requests[request] = _Request(list(prompt), max_new_tokens, frozenset(eos_ids))
        self._queue.append(request)

    def plan(self) -> dict[str, list]:
        """Say what the next step computes, and in which blocks its rows lie."""
        rows: list[list[int]] = []
        preempted: list[int] = []
        for request in list(self.running):  # those that are preempted lie at its end
            if request in self.running and self._make_room(request, preempted):
                n = self._blocks.length(request)
                rows.append([request, n - 1, n])
        if not preempted:
            self._admit(rows)
        self._planned = [row[0] for row in rows]
        tables = [self._blocks.table(request) for request in self._planned]
        return {"rows": rows, "tables": tables, "preempted": preempted}

    def _make_room(self, request: int, preempted: list[int]) -> bool:
        """Store the newest token, at the cost of who came last; False if that is the request."""
        newest = self._requests[request].output[-1]
        while self._blocks.append(request, newest) is None:
            last = self.running.pop()
            self._blocks.release(last)
            self._queue.appendleft(last)
            preempted.append(last)
            if last == request:
                return False
        return True

    def _admit(self, rows: list[list[int]]) -> None:
        budget = self.max_tokens - len(rows)
        while self._queue and len(self.running) < self.max_running:
            tokens = self._requests[self._queue[0]].tokens
            shared = self._blocks.admit(self._queue[0], tokens)
            if shared is None:
                break
            if len(tokens) - shared > budget:
                self._blocks.release(self._queue[0])
                break
            budget -= len(tokens) - shared
            self.running.append(self._queue.popleft())
            rows.append([self.running[-1], shared, len(tokens)])

    def commit(self, tokens: list[int]) -> list[int]:
        """Take the new token of each row of the plan in; return the requests that ended."""
        ended: list[int] = []
        for request, token in zip(self._planned, tokens, strict=True):
            state = self._requests[request]
            if token not in state.eos_ids:
                state.output.append(token)
            if token in state.eos_ids or len(state.output) == state.max_new_tokens:
                self._blocks.release(request)
                self.running.remove(request)
                ended.append(request)
        self._planned = []
        return ended

    def output(self, request: int) -> list[int]:
        return list(self._requests[request].output)
