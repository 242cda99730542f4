"""No counts are kept: who holds what is looked up in the tables. Attention by gather and SDPA, and
by two kernels, scores first.
"""

import heapq

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


class BlockManager:
    def __init__(self, num_blocks: int, block_size: int, share: bool = False) -> None:
        self.share, self.P = share, block_size
        self.heap = list(range(num_blocks))  # the lowest free block is taken first
        self.of: dict[int, tuple[list[int], list[int]]] = {}

    @property
    def num_free(self) -> int:
        return len(self.heap)

    def _sequence(self, seq):
        if seq not in self.of:
            raise ValueError(f"seq={seq} does not live")
        return self.of[seq]

    def _holders(self, block):
        return sum(block in table for _, table in self.of.values())

    def _longest(self, tokens):
        best = []
        for text, table in self.of.values():
            same = 0
            for a, b in zip(text, tokens, strict=False):
                if a != b:
                    break
                same += 1
            whole = min(same // self.P, (len(tokens) - 1) // self.P)
            if whole > len(best):
                best = table[:whole]
        return list(best)

    def admit(self, seq: int, tokens: list[int]) -> int | None:
        if not tokens:
            raise ValueError("no tokens")
        if seq in self.of:
            raise ValueError(f"seq={seq} lives already")
        table = self._longest(tokens) if self.share else []
        shared = len(table) * self.P
        missing = (len(tokens) - shared + self.P - 1) // self.P
        if missing > len(self.heap):
            return None
        table += [heapq.heappop(self.heap) for _ in range(missing)]
        self.of[seq] = list(tokens), table
        return shared

    def append(self, seq: int, token: int) -> list[list[int]] | None:
        text, table = self._sequence(seq)
        copies = []
        if len(text) == len(table) * self.P:
            if not self.heap:
                return None
            table.append(heapq.heappop(self.heap))
        elif self._holders(table[-1]) > 1:
            if not self.heap:
                return None
            copies = [[table[-1], heapq.heappop(self.heap)]]
            table[-1] = copies[0][1]
        text.append(token)
        return copies

    def fork(self, parent: int, child: int) -> None:
        text, table = self._sequence(parent)
        if child in self.of:
            raise ValueError(f"seq={child} lives already")
        self.of[child] = list(text), list(table)

    def release(self, seq: int) -> None:
        _, table = self._sequence(seq)
        del self.of[seq]
        for block in table:
            if not self._holders(block):
                heapq.heappush(self.heap, block)

    def table(self, seq: int) -> list[int]:
        return self._sequence(seq)[1]

    def length(self, seq: int) -> int:
        return len(self._sequence(seq)[0])


def write_kv(k_pool: Tensor, v_pool: Tensor, k: Tensor, v: Tensor, slots: Tensor) -> None:
    for pool, new in ((k_pool, k), (v_pool, v)):
        for token in range(len(slots)):
            slot = int(slots[token])
            if slot >= 0:
                pool[slot // pool.shape[1]][slot % pool.shape[1]].copy_(new[token])


def paged_attention_torch(
    q: Tensor, k_pool: Tensor, v_pool: Tensor, tables: Tensor, lengths: Tensor
) -> Tensor:
    rows, P = [], k_pool.shape[1]
    for b in range(len(q)):
        n = int(lengths[b])
        blocks = tables[b, : (n + P - 1) // P].tolist()
        if not n:
            rows.append(torch.zeros_like(q[b]))
            continue
        k, v = (
            torch.cat([pool[block] for block in blocks])[:n].transpose(0, 1)[None].float()
            for pool in (k_pool, v_pool)
        )
        o = scaled_dot_product_attention(q[b][None, :, None].float(), k, v, enable_gqa=True)
        rows.append(o[0, :, 0].to(q.dtype))
    return torch.stack(rows)


@triton.jit
def _score(
    q, k_pool, tables, lengths, scores, scale, H, share, S,
    q0, q1, q2, k0, k1, k2, k3, t0, t1, l0,
    P: tl.constexpr, D: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """The scores of one head for one block of its row."""
    b = tl.program_id(0).to(tl.int64)
    h = tl.program_id(1).to(tl.int64)
    entry = tl.program_id(2)
    length = tl.load(lengths + b * l0)
    if entry * P >= length:
        return
    block = tl.load(tables + b * t0 + entry * t1).to(tl.int64)
    p = tl.arange(0, BLOCK_P)
    d = tl.arange(0, BLOCK_D)
    live = (p < P) & (entry * P + p < length)
    at = k_pool + block * k0 + p[:, None] * k1 + (h // share) * k2 + d[None, :] * k3
    keys = tl.load(at, mask=live[:, None] & (d < D)[None, :], other=0.0).to(tl.float32)
    query = tl.load(q + b * q0 + h * q1 + d * q2, mask=d < D, other=0.0).to(tl.float32)
    found = tl.sum(keys * query[None, :], 1) * scale
    tl.store(scores + (b * H + h) * S + entry * P + p, found, mask=live)


@triton.jit
def _mix(
    v_pool, tables, lengths, scores, o, H, share, S, v0, v1, v2, v3, t0, t1, l0,
    P: tl.constexpr, D: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_D: tl.constexpr,
    BLOCK_S: tl.constexpr,
):  # fmt: skip
    """One head's softmax over all of its scores, and the mean of the values by it."""
    b = tl.program_id(0).to(tl.int64)
    h = tl.program_id(1).to(tl.int64)
    length = tl.load(lengths + b * l0)
    s = tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    acc = tl.zeros([BLOCK_D], tl.float32)
    if length > 0:
        row = scores + (b * H + h) * S
        all_scores = tl.load(row + s, mask=s < length, other=float("-inf"))
        top = tl.max(all_scores, 0)
        total = tl.sum(tl.exp(all_scores - top), 0)
        for entry in range(0, (length + P - 1) // P):
            p = tl.arange(0, BLOCK_P)
            live = (p < P) & (entry * P + p < length)
            mine = tl.load(row + entry * P + p, mask=live, other=float("-inf"))
            block = tl.load(tables + b * t0 + entry * t1).to(tl.int64)
            at = v_pool + block * v0 + p[:, None] * v1 + (h // share) * v2 + d[None, :] * v3
            values = tl.load(at, mask=live[:, None] & (d < D)[None, :], other=0.0).to(tl.float32)
            acc += tl.sum(tl.exp(mine - top)[:, None] * values, 0)
        acc = acc / total
    tl.store(o + (b * H + h) * D + d, acc.to(o.dtype.element_ty), mask=d < D)


def paged_attention(
    q: Tensor, k_pool: Tensor, v_pool: Tensor, tables: Tensor, lengths: Tensor
) -> Tensor:
    (B, H, D), (_, P, G, _), M = q.shape, k_pool.shape, tables.shape[1]
    scores = torch.empty(B, H, M * P, device=q.device)
    o = torch.empty(B, H, D, dtype=q.dtype, device=q.device)
    sizes = {
        "P": P,
        "D": D,
        "BLOCK_P": triton.next_power_of_2(P),
        "BLOCK_D": triton.next_power_of_2(D),
    }
    _score[(B, H, M)](
        q, k_pool, tables, lengths, scores, D**-0.5, H, H // G, M * P,
        *q.stride(), *k_pool.stride(), *tables.stride(), *lengths.stride(), **sizes,
    )  # fmt: skip
    _mix[(B, H)](
        v_pool, tables, lengths, scores, o, H, H // G, M * P,
        *v_pool.stride(), *tables.stride(), *lengths.stride(), **sizes,
        BLOCK_S=triton.next_power_of_2(M * P),
    )  # fmt: skip
    return o


class Scheduler:
    """Counts before it asks: shared tokens and blocks of who is next are looked at first."""

    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        max_running: int,
        max_tokens: int,
        share: bool = False,
    ) -> None:
        self.pool = BlockManager(num_blocks, block_size, share)
        self.total, self.max_running, self.max_tokens = num_blocks, max_running, max_tokens
        self.waiting, self.running = [], []
        self.prompts, self.outputs, self.rest, self.stops = {}, {}, {}, {}
        self.names = ()

    def add(self, request: int, prompt: list[int], max_new_tokens: int, eos_ids: list[int]) -> None:
        most = min(self.total * self.pool.P, self.max_tokens)
        if request in self.prompts:
            raise ValueError("request: known")
        if max_new_tokens < 1:
            raise ValueError("max_new_tokens: at least 1")
        if len(prompt) == 0 or len(prompt) + max_new_tokens > most:
            raise ValueError("prompt: empty, or too long")
        self.prompts[request] = prompt[:]
        self.outputs[request] = []
        self.rest[request] = max_new_tokens
        self.stops[request] = frozenset(eos_ids)
        self.waiting.append(request)

    def _text(self, request):
        return self.prompts[request] + self.outputs[request]

    def plan(self) -> dict[str, list]:
        pool, rows, preempted, done = self.pool, [], [], 0
        while done < len(self.running):
            request = self.running[done]
            copies = pool.append(request, self.outputs[request][-1])
            if copies is None:
                preempted += self._send_back()
                continue
            done += 1
            n = pool.length(request)
            rows.append([request, n - 1, n])
        computed = len(rows)
        while self.waiting and not preempted and len(self.running) < self.max_running:
            request = self.waiting[0]
            text = self._text(request)
            shared = len(pool._longest(text)) * pool.P if pool.share else 0
            needed = -(-len(text) // pool.P) - shared // pool.P
            computed += len(text) - shared
            if computed > self.max_tokens or needed > pool.num_free:
                break
            pool.admit(request, text)
            self.running.append(self.waiting.pop(0))
            rows.append([request, shared, len(text)])
        self.names = tuple(row[0] for row in rows)
        tables = [list(pool.table(name)) for name in self.names]
        return {"rows": rows, "preempted": preempted, "tables": tables}

    def _send_back(self):
        last = self.running.pop()
        self.pool.release(last)
        self.waiting.insert(0, last)
        return [last]

    def commit(self, tokens: list[int]) -> list[int]:
        ended = []
        for name, token in zip(self.names, tokens, strict=True):
            self.rest[name] -= 1
            if token in self.stops[name]:
                self.rest[name] = 0
            else:
                self.outputs[name].append(token)
            if self.rest[name] == 0:
                ended.append(name)
                self.running.remove(name)
                self.pool.release(name)
        self.names = ()
        return ended

    def output(self, request: int) -> list[int]:
        return list(self.outputs[request])
