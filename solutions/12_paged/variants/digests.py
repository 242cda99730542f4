"""Prefixes by SHA-256 of all that stands before; scores against the whole pool; block after block.

A digest of 256 bits over a text that can be read in one way only stands for that text.
"""

import hashlib
import math
from collections import Counter, defaultdict

import torch
import triton
import triton.language as tl
from torch import Tensor


def _digest(before: bytes, tokens: list[int]) -> bytes:
    return hashlib.sha256(before + ",".join(map(str, tokens)).encode()).digest()


class BlockManager:
    def __init__(self, num_blocks: int, block_size: int, share: bool = False) -> None:
        self.num_free = num_blocks
        self._size, self._share = block_size, share
        self._refs = Counter({block: 0 for block in range(num_blocks)})
        self._where: defaultdict[bytes, list[int]] = defaultdict(list)
        self._digest_of: dict[int, bytes] = {}
        self._seq: dict[int, list] = {}  # [length, table, tokens of the block at the end, digest]

    def _at(self, seq: int) -> list:
        if seq in self._seq:
            return self._seq[seq]
        raise ValueError(f"unknown seq {seq}")

    def _fresh(self) -> int:
        block = next(block for block, count in self._refs.items() if count == 0)
        self._hold(block)
        return block

    def _hold(self, block: int) -> None:
        self.num_free -= self._refs[block] == 0
        self._refs[block] += 1

    def _drop(self, block: int) -> None:
        self._refs[block] -= 1
        if self._refs[block] == 0:
            self.num_free += 1
            if block in self._digest_of:
                self._where[self._digest_of.pop(block)].remove(block)

    def admit(self, seq: int, tokens: list[int]) -> int | None:
        if seq in self._seq:
            raise ValueError(f"seq {seq} again")
        if not tokens:
            raise ValueError("tokens: none")
        size = self._size
        chunks = [tokens[i : i + size] for i in range(0, len(tokens), size)]
        digests, digest = [], b""
        for chunk in chunks:
            digest = _digest(digest, chunk)
            digests.append(digest)
        shared = []
        for known in digests[:-1] if self._share else ():
            if not self._where[known]:
                break
            shared.append(self._where[known][-1])
        if len(chunks) - len(shared) > self.num_free:
            return None
        for block in shared:
            self._hold(block)
        table = shared + [self._fresh() for _ in chunks[len(shared) :]]
        full = len(tokens) // size
        for i in range(len(shared), full):
            self._note(table[i], digests[i])
        tail = [] if full == len(chunks) else list(chunks[-1])
        self._seq[seq] = [len(tokens), table, tail, digests[full - 1] if full else b""]
        return len(shared) * size

    def _note(self, block: int, digest: bytes) -> None:
        self._digest_of[block] = digest
        self._where[digest].append(block)

    def append(self, seq: int, token: int) -> list[list[int]] | None:
        state = self._at(seq)
        length, table, tail, digest = state
        apart = bool(tail) and self._refs[table[-1]] > 1
        if (apart or not tail) and self.num_free == 0:
            return None
        moved = []
        if not tail:
            table.append(self._fresh())
        elif apart:
            moved = [[table[-1], self._fresh()]]
            self._drop(table[-1])
            table[-1] = moved[0][1]
        tail = [*tail, token]
        if len(tail) == self._size:
            digest, tail = _digest(digest, tail), []
            self._note(table[-1], digest)
        state[:] = [length + 1, table, tail, digest]
        return moved

    def fork(self, parent: int, child: int) -> None:
        length, table, tail, digest = self._at(parent)
        if child in self._seq:
            raise ValueError(f"seq {child} again")
        for block in table:
            self._hold(block)
        self._seq[child] = [length, [*table], tail, digest]

    def release(self, seq: int) -> None:
        for block in self._at(seq)[1]:
            self._drop(block)
        self._seq.pop(seq)

    def table(self, seq: int) -> list[int]:
        return self._at(seq)[1].copy()

    def length(self, seq: int) -> int:
        return self._at(seq)[0]


def write_kv(k_pool: Tensor, v_pool: Tensor, k: Tensor, v: Tensor, slots: Tensor) -> None:
    """By storage: a slot is an offset that the strides of block and token give."""
    size = k_pool.shape[1]
    keep = slots.ne(-1)
    for pool, new in ((k_pool, k[keep]), (v_pool, v[keep])):
        for (block, offset), x in zip(
            torch.stack((slots[keep] // size, slots[keep] % size), 1).tolist(), new, strict=True
        ):
            pool.select(0, block).select(0, offset).copy_(x)


def paged_attention_torch(
    q: Tensor, k_pool: Tensor, v_pool: Tensor, tables: Tensor, lengths: Tensor
) -> Tensor:
    """Score every query against every place of the pool, and keep what the tables name."""
    (B, H, D), (N, P, G, _) = q.shape, k_pool.shape
    named = torch.zeros(B, N * P, dtype=torch.bool, device=q.device)
    for b, n in enumerate(lengths.tolist()):
        for i in range(-(-n // P)):
            start = int(tables[b, i]) * P
            named[b, start : start + min(P, n - i * P)] = True
    anywhere = named.any(0)[:, None, None]
    keys, values = (
        torch.where(anywhere, pool.reshape(N * P, G, D).float(), torch.zeros(()).to(q.device))
        for pool in (k_pool, v_pool)
    )
    keys, values = (x.repeat_interleave(H // G, 1) for x in (keys, values))
    scores = torch.einsum("bhd,shd->bhs", q.float(), keys) / math.sqrt(D)
    scores = torch.where(named[:, None], scores, -math.inf)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True).clamp(min=-3e38))
    total = weights.sum(-1, keepdim=True).clamp(min=1e-30)
    return torch.einsum("bhs,shd->bhd", weights / total, values).to(q.dtype)


@triton.jit
def _block_by_block(
    q, k, v, tables, lengths, o, scale, G, share,
    q_b, q_h, q_d, k_n, k_p, k_g, k_d, v_n, v_p, v_g, v_d, t_b, t_m, l_b, o_b, o_h, o_d,
    P: tl.constexpr, D: tl.constexpr, HEADS: tl.constexpr, WIDE_P: tl.constexpr,
    WIDE_D: tl.constexpr,
):  # fmt: skip
    row = (tl.program_id(0) // G).to(tl.int64)
    group = (tl.program_id(0) % G).to(tl.int64)
    h = tl.arange(0, HEADS)
    p = tl.arange(0, WIDE_P)
    d = tl.arange(0, WIDE_D)
    d_in = d < D
    heads = group * share + h
    here = (h < share)[:, None] & d_in[None, :]
    query = tl.load(q + row * q_b + heads[:, None] * q_h + d[None, :] * q_d, here, 0.0)
    left = tl.load(lengths + row * l_b)
    tables += row * t_b
    best = tl.full([HEADS], -1.0e30, tl.float32)
    mass = tl.zeros([HEADS], tl.float32)
    mean = tl.zeros([HEADS, WIDE_D], tl.float32)
    while left > 0:
        block = tl.load(tables).to(tl.int64)
        tables += t_m
        p_in = (p < P) & (p < left)
        both = p_in[:, None] & d_in[None, :]
        keys = tl.load(
            k + block * k_n + group * k_g + p[:, None] * k_p + d[None, :] * k_d, both, 0.0
        )
        scores = tl.dot(query, tl.trans(keys), input_precision="ieee") * scale
        scores = tl.where(p_in[None, :], scores, -1.0e30)
        higher = tl.maximum(best, tl.max(scores, 1))
        weights = tl.where(p_in[None, :], tl.exp(scores - higher[:, None]), 0.0)
        old = mass * tl.exp(best - higher)
        mass = old + tl.sum(weights, 1)
        values = tl.load(
            v + block * v_n + group * v_g + p[:, None] * v_p + d[None, :] * v_d, both, 0.0
        )
        added = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        # The mean so far, not the sum: it never needs to be divided at the end.
        mean = mean * (old / mass)[:, None] + added / mass[:, None]
        best = higher
        left -= P
    place = o + row * o_b + heads[:, None] * o_h + d[None, :] * o_d
    tl.store(place, mean.to(o.dtype.element_ty), here)


def paged_attention(
    q: Tensor, k_pool: Tensor, v_pool: Tensor, tables: Tensor, lengths: Tensor
) -> Tensor:
    (B, H, D), (_, P, G, _) = q.shape, k_pool.shape
    o = torch.empty_like(q)

    def wide(n: int) -> int:
        return max(16, triton.next_power_of_2(n))

    strides = [s for x in (q, k_pool, v_pool, tables, lengths, o) for s in x.stride()]
    _block_by_block[(B * G,)](
        q, k_pool, v_pool, tables, lengths, o, 1 / math.sqrt(D), G, H // G, *strides,
        P=P, D=D, HEADS=wide(H // G), WIDE_P=wide(P), WIDE_D=wide(D),
    )  # fmt: skip
    return o


class Scheduler:
    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        max_running: int,
        max_tokens: int,
        share: bool = False,
    ) -> None:
        self._blocks = BlockManager(num_blocks, block_size, share)
        self._longest = min(max_tokens, num_blocks * block_size)
        self._most = {"rows": max_running, "tokens": max_tokens}
        self.waiting, self.running = [], []
        self._asked, self._said = {}, {}

    def add(self, request: int, prompt: list[int], max_new_tokens: int, eos_ids: list[int]) -> None:
        for wrong, words in (
            (request in self._asked, f"request {request} twice"),
            (max_new_tokens < 1, "max_new_tokens below 1"),
            (not prompt, "prompt is empty"),
            (len(prompt) + max_new_tokens > self._longest, "prompt is too long"),
        ):
            if wrong:
                raise ValueError(words)
        self._asked[request] = (list(prompt), max_new_tokens, eos_ids)
        self._said[request] = []
        self.waiting.append(request)

    def plan(self) -> dict[str, list]:
        survivors, out = [], []
        queue = list(self.running)
        for request in self.running:
            if request not in queue:
                continue
            while self._blocks.append(request, self._said[request][-1]) is None:
                out.append(queue.pop())
                self._blocks.release(out[-1])
                if out[-1] == request:
                    break
            if request in queue:
                survivors.append(request)
        self.running = survivors
        self.waiting[:0] = reversed(out)
        length = self._blocks.length
        rows = [[request, length(request) - 1, length(request)] for request in survivors]
        while not out and self._admit(rows):
            pass
        tables = [self._blocks.table(row[0]) for row in rows]
        return {"rows": rows, "tables": tables, "preempted": out}

    def _admit(self, rows: list[list[int]]) -> bool:
        if not self.waiting or len(rows) >= self._most["rows"]:
            return False
        request = self.waiting[0]
        text = self._asked[request][0] + self._said[request]
        shared = self._blocks.admit(request, text)
        if shared is None:
            return False
        if sum(b - a for _, a, b in rows) + len(text) - shared > self._most["tokens"]:
            self._blocks.release(request)
            return False
        rows.append([request, shared, len(text)])
        self.running.append(self.waiting.pop(0))
        return True

    def commit(self, tokens: list[int]) -> list[int]:
        ended = []
        for request, token in zip(self.running, tokens, strict=True):
            _, most, eos_ids = self._asked[request]
            if token not in eos_ids:
                self._said[request].append(token)
            if token in eos_ids or len(self._said[request]) == most:
                ended.append(request)
        for request in ended:
            self._blocks.release(request)
            self.running.remove(request)
        return ended

    def output(self, request: int) -> list[int]:
        return [*self._said[request]]
