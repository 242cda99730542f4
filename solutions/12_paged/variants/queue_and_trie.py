"""First block freed, first used; prefixes in a trie; a program for each head, without a dot."""

import math
from collections import deque

import torch
import triton
import triton.language as tl
from torch import Tensor


class _Node:
    """A full block behind the beginning that leads to it: who holds these tokens, and where."""

    def __init__(self, parent, tokens):
        self.parent, self.tokens = parent, tokens
        self.children, self.blocks = {}, {}


class BlockManager:
    def __init__(self, num_blocks: int, block_size: int, share: bool = False) -> None:
        self.free = deque(range(num_blocks))
        self.size, self.share = block_size, share
        self.count = {}  # block -> holders
        self.node_of = {}  # full block -> node
        self.root = _Node(None, ())
        self.seqs = {}  # seq -> (tokens, table)

    @property
    def num_free(self) -> int:
        return len(self.free)

    def _get(self, seq):
        try:
            return self.seqs[seq]
        except KeyError:
            raise ValueError(f"no such seq: {seq}") from None

    def _new(self):
        block = self.free.popleft()
        self.count[block] = 1
        return block

    def admit(self, seq: int, tokens: list[int]) -> int | None:
        if seq in self.seqs:
            raise ValueError(f"seq {seq} lives")
        if len(tokens) == 0:
            raise ValueError("there are no tokens")
        node, table, size = self.root, [], self.size
        while self.share and (len(table) + 1) * size < len(tokens):
            chunk = tuple(tokens[len(table) * size : (len(table) + 1) * size])
            if chunk not in node.children:
                break
            node = node.children[chunk]
            table.append(next(reversed(node.blocks)))
        shared, blocks = len(table), (len(tokens) + size - 1) // size
        if blocks - shared > len(self.free):
            return None
        for block in table:
            self.count[block] += 1
        while len(table) < blocks:
            table.append(self._new())
        self.seqs[seq] = (list(tokens), table)
        for i in range(shared, len(tokens) // size):
            node = self._grow(node, tuple(tokens[i * size : (i + 1) * size]), table[i])
        return shared * size

    def _grow(self, node, chunk, block):
        child = node.children.setdefault(chunk, _Node(node, chunk))
        child.blocks[block] = None
        self.node_of[block] = child
        return child

    def append(self, seq: int, token: int) -> list[list[int]] | None:
        tokens, table = self._get(seq)
        inside, copies = len(tokens) % self.size, []
        if inside == 0 or self.count[table[-1]] > 1:
            if not self.free:
                return None
            fresh = self._new()
            if inside:
                self.count[table[-1]] -= 1
                copies = [[table.pop(), fresh]]
            table.append(fresh)
        tokens.append(token)
        if inside == self.size - 1:
            node = self.node_of[table[-2]] if len(table) > 1 else self.root
            self._grow(node, tuple(tokens[-self.size :]), table[-1])
        return copies

    def fork(self, parent: int, child: int) -> None:
        tokens, table = self._get(parent)
        if child in self.seqs:
            raise ValueError(f"seq {child} lives")
        self.seqs[child] = (tokens[:], table[:])
        for block in table:
            self.count[block] += 1

    def release(self, seq: int) -> None:
        _, table = self._get(seq)
        for block in reversed(table):
            self.count[block] -= 1
            if not self.count[block]:
                del self.count[block]
                self.free.append(block)
                node = self.node_of.pop(block, None)
                if node is not None:
                    del node.blocks[block]
                    if not node.blocks and not node.children:
                        del node.parent.children[node.tokens]
        del self.seqs[seq]

    def table(self, seq: int) -> list[int]:
        return self._get(seq)[1]

    def length(self, seq: int) -> int:
        return len(self._get(seq)[0])


def write_kv(k_pool: Tensor, v_pool: Tensor, k: Tensor, v: Tensor, slots: Tensor) -> None:
    size = k_pool.shape[1]
    for token, slot in enumerate(slots.tolist()):
        if slot != -1:
            k_pool[slot // size, slot % size] = k[token]
            v_pool[slot // size, slot % size] = v[token]


def paged_attention_torch(
    q: Tensor, k_pool: Tensor, v_pool: Tensor, tables: Tensor, lengths: Tensor
) -> Tensor:
    """All rows at once, padded to the longest; what lies behind a length is replaced by 0."""
    (B, H, D), (_, P, G, _) = q.shape, k_pool.shape
    S = tables.shape[1] * P
    live = torch.arange(S, device=q.device) < lengths[:, None]  # [B, S]
    at = torch.arange(S, device=q.device)
    blocks = torch.where(live, tables[:, at // P], 0).long()
    keys = k_pool[blocks, at % P].float()  # [B, S, G, D]
    values = v_pool[blocks, at % P].float()
    keys = torch.where(live[..., None, None], keys, 0.0)
    values = torch.where(live[..., None, None], values, 0.0)
    scores = torch.einsum("bghd,bsgd->bghs", q.float().view(B, G, H // G, D) if q.is_contiguous()
                          else q.float().reshape(B, G, H // G, D), keys) / math.sqrt(D)  # fmt: skip
    scores = scores.masked_fill(~live[:, None, None], -math.inf)
    weights = torch.softmax(scores, -1).nan_to_num()
    return torch.einsum("bghs,bsgd->bghd", weights, values).reshape(B, H, D).to(q.dtype)


@triton.jit
def _one_head(
    q, k, v, tables, lengths, o, scale, H, share, P,
    qb, qh, qd, kn, kp, kg, kd, vn, vp, vg, vd, tb, tm, ls, ob, oh, od,
    D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    b = (tl.program_id(0) // H).to(tl.int64)
    h = (tl.program_id(0) % H).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    query = tl.load(q + b * qb + h * qh + d * qd, mask=d < D, other=0.0).to(tl.float32) * scale
    length = tl.load(lengths + b * ls)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros([BLOCK_D], tl.float32)
    for start in range(0, length, BLOCK_N):
        s = start + tl.arange(0, BLOCK_N)
        block = tl.load(tables + b * tb + (s // P) * tm, mask=s < length, other=0).to(tl.int64)
        k_at = block * kn + (s % P) * kp + (h // share) * kg
        v_at = block * vn + (s % P) * vp + (h // share) * vg
        ok = (s < length)[:, None] & (d < D)[None, :]
        keys = tl.load(k + k_at[:, None] + d[None, :] * kd, mask=ok, other=0.0).to(tl.float32)
        scores = tl.sum(keys * query[None, :], 1)
        scores = tl.where(s < length, scores, float("-inf"))
        top = tl.maximum(m, tl.max(scores, 0))
        p = tl.exp(scores - top)
        values = tl.load(v + v_at[:, None] + d[None, :] * vd, mask=ok, other=0.0).to(tl.float32)
        acc = acc * tl.exp(m - top) + tl.sum(p[:, None] * values, 0)
        total = total * tl.exp(m - top) + tl.sum(p, 0)
        m = top
    if length > 0:
        acc = acc / total
    tl.store(o + b * ob + h * oh + d * od, acc.to(o.dtype.element_ty), mask=d < D)


def paged_attention(
    q: Tensor, k_pool: Tensor, v_pool: Tensor, tables: Tensor, lengths: Tensor
) -> Tensor:
    B, H, D = q.shape
    o = q.new_empty(B, H, D)
    _one_head[(B * H,)](
        q, k_pool, v_pool, tables, lengths, o, D**-0.5, H, H // k_pool.shape[2], k_pool.shape[1],
        *q.stride(), *k_pool.stride(), *v_pool.stride(), *tables.stride(), *lengths.stride(),
        *o.stride(), D=D, BLOCK_D=triton.next_power_of_2(D), BLOCK_N=32,
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
        self.manager = BlockManager(num_blocks, block_size, share)
        self.limits = (num_blocks * block_size, max_tokens)
        self.max_running = max_running
        self.waiting: list[int] = []
        self.running: list[int] = []
        self.state = {}  # request -> [prompt, output, limit, eos]
        self.order = []

    def add(self, request: int, prompt: list[int], max_new_tokens: int, eos_ids: list[int]) -> None:
        if request in self.state:
            raise ValueError(f"request {request} came before")
        if max_new_tokens < 1:
            raise ValueError("max_new_tokens must be positive")
        if not prompt or len(prompt) + max_new_tokens > min(self.limits):
            raise ValueError("prompt is empty or too long")
        self.state[request] = [tuple(prompt), [], max_new_tokens, set(eos_ids)]
        self.waiting.append(request)

    def plan(self) -> dict[str, list]:
        rows, gone, manager = [], [], self.manager
        i = 0
        while i < len(self.running):
            request = self.running[i]
            if manager.append(request, self.state[request][1][-1]) is None:
                victim = self.running.pop()
                manager.release(victim)
                self.waiting.insert(0, victim)
                gone.append(victim)
            else:
                n = manager.length(request)
                rows.append([request, n - 1, n])
                i += 1
        spent = len(rows)
        while not gone and self.waiting and len(self.running) < self.max_running:
            request = self.waiting[0]
            text = [*self.state[request][0], *self.state[request][1]]
            shared = manager.admit(request, text)
            if shared is None:
                break
            spent += len(text) - shared
            if spent > self.limits[1]:
                manager.release(request)
                break
            self.running.append(self.waiting.pop(0))
            rows.append([request, shared, len(text)])
        self.order = [row[0] for row in rows]
        tables = [manager.table(request) for request in self.order]
        return {"preempted": gone, "tables": tables, "rows": rows}

    def commit(self, tokens: list[int]) -> list[int]:
        ended = []
        for request, token in zip(self.order, tokens, strict=True):
            _, output, limit, eos = self.state[request]
            if token in eos:
                ended.append(request)
                continue
            output.append(token)
            if len(output) >= limit:
                ended.append(request)
        for request in ended:
            self.manager.release(request)
        self.running = [request for request in self.running if request not in ended]
        return ended

    def output(self, request: int) -> list[int]:
        return self.state[request][1]
