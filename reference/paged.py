"""Blocks, steps and attention of lab 12 by their rules: sets and loops, no free list, no hash.

Block numbers are a submission's own affair. So a ``Ledger`` follows rules with numbers of its own
where it must and takes over, by ``adopt``, the tables that the submission shows: what is free, and
what a later step may do, follows from these alone. ``Shadow`` is the memory under the blocks: it
holds for each place the whole text up to that token, as a key of a deep layer depends on it.

Shapes end names in ``paged``: B sequences, H query heads, G key/value heads, S tokens of a
sequence, D head width, 1 an axis of one.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from reference.attention import attend

Text = tuple[int, ...]
Attention = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def blocks_for(tokens: int, block_size: int) -> int:
    """How many blocks so many tokens need."""
    return -(-tokens // block_size)


class Ledger:
    """Which sequence holds which blocks, by brute force over all tables."""

    def __init__(self, num_blocks: int, block_size: int, share: bool = False) -> None:
        self.num_blocks, self.block_size, self.share = num_blocks, block_size, share
        self.texts: dict[int, list[int]] = {}
        self.tables: dict[int, list[int]] = {}
        self._fresh = itertools.count(-1, -1)  # no block of a submission has a negative number

    @property
    def used(self) -> set[int]:
        return {block for table in self.tables.values() for block in table}

    @property
    def free(self) -> int:
        return self.num_blocks - len(self.used)

    def adopt(self, tables: dict[int, list[int]]) -> None:
        """Take over the tables that a submission shows."""
        self.tables = {seq: list(table) for seq, table in tables.items()}

    def shared_blocks(self, tokens: Sequence[int]) -> list[int]:
        """The blocks of a living sequence that begins with as many of the tokens as any does."""
        best: list[int] = []
        for seq, text in self.texts.items() if self.share else ():
            size = self.block_size
            most = min(len(text) // size, (len(tokens) - 1) // size)
            alike = [n for n in range(most + 1) if text[: n * size] == list(tokens[: n * size])]
            best = max(best, self.tables[seq][: max(alike)], key=len)
        return best

    def admit(self, seq: int, tokens: Sequence[int]) -> int | None:
        shared = self.shared_blocks(tokens)
        needed = blocks_for(len(tokens), self.block_size) - len(shared)
        if needed > self.free:
            return None
        self.texts[seq] = list(tokens)
        self.tables[seq] = [*shared, *itertools.islice(self._fresh, needed)]
        return len(shared) * self.block_size

    def append(self, seq: int, token: int) -> list[list[int]] | None:
        """What ``append`` should return, the target of a copy aside."""
        text, table = self.texts[seq], self.tables[seq]
        full = len(text) % self.block_size == 0
        others = (other for name, other in self.tables.items() if name != seq)
        held = not full and any(table[-1] in other for other in others)
        if (full or held) and not self.free:
            return None
        text.append(token)
        if full:
            table.append(next(self._fresh))
        elif held:
            source, table[-1] = table[-1], next(self._fresh)
            return [[source, table[-1]]]
        return []

    def fork(self, parent: int, child: int) -> None:
        self.texts[child] = list(self.texts[parent])
        self.tables[child] = list(self.tables[parent])

    def release(self, seq: int) -> None:
        del self.texts[seq], self.tables[seq]


class Shadow:
    """The memory under the blocks, one text for each place; None where nothing is to be read."""

    def __init__(self, block_size: int) -> None:
        self._size = block_size
        self._places: dict[tuple[int, int], Text] = {}

    def copy(self, source: int, target: int) -> None:
        for offset in range(self._size):
            self._places.pop((target, offset), None)
            if (source, offset) in self._places:
                self._places[target, offset] = self._places[source, offset]

    def write(self, table: Sequence[int], text: Sequence[int], start: int, stop: int) -> None:
        """Write the tokens from start to stop of a text to their places."""
        for position in range(start, stop):
            place = table[position // self._size], position % self._size
            self._places[place] = tuple(text[: position + 1])

    def poison(self, living: Iterable[int]) -> None:
        """Destroy what lies in any other block."""
        kept = set(living)
        self._places = {place: x for place, x in self._places.items() if place[0] in kept}

    def wrong(self, table: Sequence[int], text: Sequence[int], stop: int) -> int | None:
        """The first position that does not hold what the text has there, if any."""
        for position in range(stop):
            place = table[position // self._size], position % self._size
            if self._places.get(place) != tuple(text[: position + 1]):
                return position
        return None


@dataclass
class Request:
    """What was asked for, and what has come of it."""

    prompt: list[int]
    max_new_tokens: int
    eos_ids: list[int]
    output: list[int] = field(default_factory=list[int])

    @property
    def text(self) -> list[int]:
        return self.prompt + self.output


@dataclass(frozen=True)
class Plan:
    """What a step must compute, whom it sends back, and how many blocks are in use then."""

    rows: list[list[int]]
    preempted: list[int]
    used: int


class Steps:
    """Continuous batching by its rules, on tables that somebody else shows."""

    def __init__(
        self, num_blocks: int, block_size: int, max_running: int, max_tokens: int, share: bool
    ) -> None:
        self.ledger = Ledger(num_blocks, block_size, share)
        self.max_running, self.max_tokens = max_running, max_tokens
        self.requests: dict[int, Request] = {}
        self.waiting: list[int] = []
        self.running: list[int] = []
        self._rows: list[list[int]] = []

    def add(self, request: int, prompt: list[int], max_new_tokens: int, eos_ids: list[int]) -> None:
        self.requests[request] = Request(list(prompt), max_new_tokens, list(eos_ids))
        self.waiting.append(request)

    def plan(self) -> Plan:
        rows: list[list[int]] = []
        preempted: list[int] = []
        index = 0
        while index < len(self.running):
            request = self.running[index]
            text = self.requests[request].text
            if self.ledger.append(request, text[-1]) is None:
                last = self.running.pop()
                self.ledger.release(last)
                self.waiting.insert(0, last)
                preempted.append(last)
                continue  # with the same request, unless it was the last one
            rows.append([request, len(text) - 1, len(text)])
            index += 1
        while not preempted and self.waiting and len(self.running) < self.max_running:
            text = self.requests[self.waiting[0]].text
            shared = len(self.ledger.shared_blocks(text)) * self.ledger.block_size
            computed = sum(stop - start for _, start, stop in rows) + len(text) - shared
            fits = computed <= self.max_tokens
            if not fits or self.ledger.admit(self.waiting[0], text) is None:
                break
            self.running.append(self.waiting.pop(0))
            rows.append([self.running[-1], shared, len(text)])
        self._rows = rows
        return Plan(rows, preempted, len(self.ledger.used))

    def commit(self, tokens: Sequence[int]) -> list[int]:
        ended: list[int] = []
        for (name, _, _), token in zip(self._rows, tokens, strict=True):
            request = self.requests[name]
            if token not in request.eos_ids:
                request.output.append(token)
            if token in request.eos_ids or len(request.output) == request.max_new_tokens:
                self.ledger.release(name)
                self.running.remove(name)
                ended.append(name)
        self._rows = []
        return ended


def static_steps(requests: Sequence[tuple[int, int]], batch: int) -> list[int]:
    """How many tokens each step of static batching computes, for (prompt, new tokens) in order.

    A batch is filled, runs until its longest row has ended, and only then the next one starts.
    """
    steps: list[int] = []
    for first in range(0, len(requests), batch):
        rows = requests[first : first + batch]
        steps.append(len(rows) * max(prompt for prompt, _ in rows))  # padded to the longest
        steps += [len(rows)] * (max(new for _, new in rows) - 1)
    return steps


def paged(
    q: Tensor,  # [B, H, D]
    k_pool: Tensor,  # [N, P, G, D]
    v_pool: Tensor,  # [N, P, G, D]
    tables: Sequence[Sequence[int]],
    lengths: Sequence[int],
    attention: Attention = attend,
) -> Tensor:  # [B, H, D] float64
    """Attend each row to its own tokens, laid side by side; a row of none is 0."""
    o_BHD = torch.zeros(q.shape, dtype=torch.float64)
    for row, length in enumerate(lengths):
        if length:
            k_1GSD, v_1GSD = (contiguous(pool, tables[row], length) for pool in (k_pool, v_pool))
            o_BHD[row] = attention(q[row][None, :, None], k_1GSD, v_1GSD)[0][0, :, 0].double()
    return o_BHD


def contiguous(pool: Tensor, table: Sequence[int], length: int) -> Tensor:  # [1, G, S, D]
    """The tokens of one sequence, one behind the other."""
    size = pool.shape[1]
    tokens = [pool[table[place // size], place % size] for place in range(length)]
    return torch.stack(tokens, 1)[None]
