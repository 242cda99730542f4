"""Blocks and requests are objects; all rows are gathered, padded; a program for each query head."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import triton
import triton.language as tl
from torch import Tensor


@dataclass(eq=False)
class Block:
    number: int
    tokens: list[int] = field(default_factory=list)
    before: Block | None = None
    holders: int = 0


class BlockManager:
    def __init__(self, num_blocks: int, block_size: int, share: bool = False) -> None:
        self.size, self.share = block_size, share
        self.blocks = [Block(number) for number in range(num_blocks)]
        self.chains: dict[int, list[Block]] = {}

    @property
    def num_free(self) -> int:
        return sum(not block.holders for block in self.blocks)

    def chain(self, seq: int) -> list[Block]:
        if seq in self.chains:
            return self.chains[seq]
        raise ValueError(f"seq {seq}: nobody")

    def new(self, seq: int) -> int:
        if seq in self.chains:
            raise ValueError(f"seq {seq}: somebody already")
        return seq

    def fresh(self) -> Block:
        block = next(block for block in reversed(self.blocks) if not block.holders)
        block.tokens, block.before, block.holders = [], None, 1
        return block

    def alike(self, tokens: list[int]) -> list[Block]:
        """Follow full blocks from the start, any of those that have the same chain before them."""
        found: list[Block] = []
        level: list[Block | None] = [None]  # all blocks that end the same beginning
        while self.share and (len(found) + 1) * self.size < len(tokens):
            piece = tokens[len(found) * self.size : (len(found) + 1) * self.size]
            level = [
                block
                for block in self.blocks
                if block.holders and block.before in level and block.tokens == piece
            ]
            if not level:
                break
            found.append(level[0])
        return found

    def admit(self, seq: int, tokens: list[int]) -> int | None:
        self.new(seq)
        if not tokens:
            raise ValueError("tokens: none")
        chain = self.alike(tokens)
        shared = len(chain) * self.size
        if -(-(len(tokens) - shared) // self.size) > self.num_free:
            return None
        for block in chain:
            block.holders += 1
        for start in range(shared, len(tokens), self.size):
            block = self.fresh()
            block.tokens = tokens[start : start + self.size]
            block.before = chain[-1] if chain else None
            chain.append(block)
        self.chains[seq] = chain
        return shared

    def append(self, seq: int, token: int) -> list[list[int]] | None:
        chain = self.chain(seq)
        last = chain[-1]
        full = len(last.tokens) == self.size
        if (full or last.holders > 1) and not self.num_free:
            return None
        if full:
            chain.append(self.fresh())
            chain[-1].before = last
        elif last.holders > 1:
            last.holders -= 1
            chain[-1] = self.fresh()
            chain[-1].tokens, chain[-1].before = [*last.tokens], last.before
        chain[-1].tokens.append(token)
        return [] if full or chain[-1] is last else [[last.number, chain[-1].number]]

    def fork(self, parent: int, child: int) -> None:
        chain = self.chain(parent)
        self.chains[self.new(child)] = [*chain]
        for block in chain:
            block.holders += 1

    def release(self, seq: int) -> None:
        for block in self.chain(seq):
            block.holders -= 1
        del self.chains[seq]

    def table(self, seq: int) -> list[int]:
        return [block.number for block in self.chain(seq)]

    def length(self, seq: int) -> int:
        return sum(len(block.tokens) for block in self.chain(seq))


def write_kv(k_pool: Tensor, v_pool: Tensor, k: Tensor, v: Tensor, slots: Tensor) -> None:
    for token, slot in enumerate(slots.tolist()):
        if slot != -1:
            block, offset = divmod(slot, k_pool.shape[1])
            k_pool[block, offset] = k[token]
            v_pool[block, offset] = v[token]


def paged_attention_torch(
    q: Tensor, k_pool: Tensor, v_pool: Tensor, tables: Tensor, lengths: Tensor
) -> Tensor:
    (_, H, D), (N, P, G, _) = q.shape, k_pool.shape
    seen = torch.arange(tables.shape[1] * P, device=q.device) < lengths[:, None]  # [B, S]
    blocks = tables.clamp(0, N - 1).long()
    keys, values = (
        torch.where(seen[:, :, None, None], pool[blocks].flatten(1, 2).float(), 0.0)
        for pool in (k_pool, v_pool)
    )
    keys, values = (x.repeat_interleave(H // G, 2).transpose(1, 2) for x in (keys, values))
    scores = (keys @ q.float().unsqueeze(-1)).squeeze(-1) * D**-0.5  # [B, H, S]
    scores = scores.masked_fill(~seen[:, None], -torch.inf)
    top = scores.amax(-1, keepdim=True).clamp(min=torch.finfo(torch.float32).min)
    weights = (scores - top).exp()
    total = weights.sum(-1, keepdim=True).clamp(min=1.0)  # the largest of them is 1
    return ((weights / total).unsqueeze(2) @ values).squeeze(2).to(q.dtype)


@triton.jit
def _head(
    q, k_pool, v_pool, tables, lengths, o, scale, share,
    q0, q1, q2, k0, k1, k2, k3, v0, v1, v2, v3, t0, t1, l0, o0, o1, o2,
    P: tl.constexpr, D: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """One query head of one row, block after block, in sums instead of products of matrices."""
    b = tl.program_id(0).to(tl.int64)
    h = tl.program_id(1).to(tl.int64)
    length = tl.load(lengths + b * l0)
    p = tl.arange(0, BLOCK_P)
    d = tl.arange(0, BLOCK_D)
    query = tl.load(q + b * q0 + h * q1 + d * q2, mask=d < D, other=0.0).to(tl.float32) * scale
    acc = tl.zeros([BLOCK_D], tl.float32)
    total = 0.0
    top = float("-inf")
    for entry in range(0, (length + P - 1) // P):
        block = tl.load(tables + b * t0 + entry * t1).to(tl.int64)
        live = (p < P) & (entry * P + p < length)
        both = live[:, None] & (d < D)[None, :]
        k_at = k_pool + block * k0 + h // share * k2 + p[:, None] * k1 + d[None, :] * k3
        v_at = v_pool + block * v0 + h // share * v2 + p[:, None] * v1 + d[None, :] * v3
        k = tl.load(k_at, mask=both, other=0.0).to(tl.float32)
        v = tl.load(v_at, mask=both, other=0.0).to(tl.float32)
        scores = tl.where(live, tl.sum(k * query[None, :], 1), float("-inf"))
        new = tl.maximum(top, tl.max(scores, 0))
        weights = tl.exp(scores - new)
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(weights, 0)
        acc = acc * shrink + tl.sum(weights[:, None] * v, 0)
        top = new
    acc = acc / tl.maximum(total, 1.0)  # the largest weight is 1; without any the sum is 0
    tl.store(o + b * o0 + h * o1 + d * o2, acc.to(o.dtype.element_ty), mask=d < D)


def paged_attention(
    q: Tensor, k_pool: Tensor, v_pool: Tensor, tables: Tensor, lengths: Tensor
) -> Tensor:
    (B, H, D), (_, P, G, _) = q.shape, k_pool.shape
    o = torch.empty_like(q)
    _head[(B, H)](
        q, k_pool, v_pool, tables, lengths, o, D**-0.5, H // G, *q.stride(), *k_pool.stride(),
        *v_pool.stride(), *tables.stride(), *lengths.stride(), *o.stride(), P=P, D=D,
        BLOCK_P=triton.next_power_of_2(P), BLOCK_D=triton.next_power_of_2(D),
    )  # fmt: skip
    return o


@dataclass(eq=False)
class Request:
    name: int
    prompt: list[int]
    most: int
    eos: list[int]
    output: list[int] = field(default_factory=list)
    state: str = "waiting"

    @property
    def text(self) -> list[int]:
        return [*self.prompt, *self.output]


class Scheduler:
    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        max_running: int,
        max_tokens: int,
        share: bool = False,
    ) -> None:
        self.limits = max_running, max_tokens, min(num_blocks * block_size, max_tokens)
        self.manager = BlockManager(num_blocks, block_size, share)
        self.all: dict[int, Request] = {}
        self.line: list[Request] = []
        self.batch: list[Request] = []
        self.rows: list[Request] = []

    @property
    def waiting(self) -> list[int]:
        return [request.name for request in self.line]

    @property
    def running(self) -> list[int]:
        return [request.name for request in self.batch]

    def add(self, request: int, prompt: list[int], max_new_tokens: int, eos_ids: list[int]) -> None:
        if request in self.all:
            raise ValueError(f"request {request}: once is enough")
        if max_new_tokens < 1:
            raise ValueError("max_new_tokens: at least one")
        if not 0 < len(prompt) <= self.limits[2] - max_new_tokens:
            raise ValueError("prompt: empty, or too long with its answer")
        self.all[request] = Request(request, list(prompt), max_new_tokens, list(eos_ids))
        self.line.append(self.all[request])

    def plan(self) -> dict[str, list]:
        rows, gone = [], []
        self.rows = []
        while len(self.rows) < len(self.batch):
            asker = self.batch[len(self.rows)]
            if self.manager.append(asker.name, asker.output[-1]) is None:
                loser = self.batch.pop()
                self.manager.release(loser.name)
                self.line.insert(0, loser)
                gone.append(loser.name)
            else:
                self.rows.append(asker)
                rows.append([asker.name, len(asker.text) - 1, len(asker.text)])
        room = self.limits[1] - len(rows)
        while not gone and self.line and len(self.batch) < self.limits[0]:
            first = self.line[0]
            shared = self.manager.admit(first.name, first.text)
            if shared is None:
                break
            room -= len(first.text) - shared
            if room < 0:
                self.manager.release(first.name)
                break
            for group in (self.batch, self.rows):
                group.append(first)
            rows.append([first.name, shared, len(first.text)])
            del self.line[0]
        tables = [self.manager.table(request.name) for request in self.rows]
        return {"preempted": gone, "tables": tables, "rows": rows}

    def commit(self, tokens: list[int]) -> list[int]:
        ended = []
        for request, token in zip(self.rows, tokens, strict=True):
            if token not in request.eos:
                request.output.append(token)
                if len(request.output) < request.most:
                    continue
            ended.append(request.name)
            self.manager.release(request.name)
        self.batch = [request for request in self.batch if request.name not in ended]
        self.rows = []
        return ended

    def output(self, request: int) -> list[int]:
        return self.all[request].output
