"""Free blocks in a set, prefixes as whole tuples; one block at a time; keys split over programs."""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor


class BlockManager:
    def __init__(self, num_blocks: int, block_size: int, share: bool = False) -> None:
        self._free = set(range(num_blocks))
        self._size = block_size
        self._share = share
        self._texts: dict[int, list[int]] = {}
        self._tables: dict[int, list[int]] = {}
        self._holders: dict[int, set[int]] = {}  # block -> sequences
        self._ends: dict[tuple[int, ...], set[int]] = {}  # a whole beginning -> blocks that end it

    @property
    def num_free(self) -> int:
        return len(self._free)

    def admit(self, seq: int, tokens: list[int]) -> int | None:
        self._require(seq, False)
        if not tokens:
            raise ValueError("tokens must not be empty")
        size, text = self._size, tuple(tokens)
        table: list[int] = []
        if self._share:
            for stop in range(size, len(text), size):
                alike = self._ends.get(text[:stop])
                if not alike:
                    break
                table.append(min(alike))
        shared = len(table)
        needed = -(-len(text) // size) - shared
        if needed > len(self._free):
            return None
        table += [self._free.pop() for _ in range(needed)]
        self._texts[seq], self._tables[seq] = list(text), table
        for block in table:
            self._holders.setdefault(block, set()).add(seq)
        for index in range(shared, len(text) // size):
            self._ends.setdefault(text[: (index + 1) * size], set()).add(table[index])
        return shared * size

    def append(self, seq: int, token: int) -> list[list[int]] | None:
        self._require(seq, True)
        text, table = self._texts[seq], self._tables[seq]
        full = len(text) % self._size == 0
        shared = not full and len(self._holders[table[-1]]) > 1
        if (full or shared) and not self._free:
            return None
        copies = []
        if full or shared:
            block = self._free.pop()
            self._holders[block] = {seq}
            if shared:
                old = table.pop()
                self._holders[old].discard(seq)
                copies.append([old, block])
            table.append(block)
        text.append(token)
        if len(text) % self._size == 0:
            self._ends.setdefault(tuple(text), set()).add(table[-1])
        return copies

    def fork(self, parent: int, child: int) -> None:
        self._require(parent, True)
        self._require(child, False)
        self._texts[child] = list(self._texts[parent])
        self._tables[child] = list(self._tables[parent])
        for block in self._tables[child]:
            self._holders[block].add(child)

    def release(self, seq: int) -> None:
        self._require(seq, True)
        text, table = self._texts.pop(seq), self._tables.pop(seq)
        for index, block in enumerate(table):
            self._holders[block].discard(seq)
            if self._holders[block]:
                continue
            del self._holders[block]
            self._free.add(block)
            alike = self._ends.get(tuple(text[: (index + 1) * self._size]), set())
            alike.discard(block)
            if not alike:
                self._ends.pop(tuple(text[: (index + 1) * self._size]), None)

    def table(self, seq: int) -> list[int]:
        self._require(seq, True)
        return list(self._tables[seq])

    def length(self, seq: int) -> int:
        self._require(seq, True)
        return len(self._texts[seq])

    def _require(self, seq: int, known: bool) -> None:
        if (seq in self._tables) != known:
            raise ValueError(f"seq {seq} is {'unknown' if known else 'taken'}")


def write_kv(k_pool: Tensor, v_pool: Tensor, k: Tensor, v: Tensor, slots: Tensor) -> None:
    tokens = torch.nonzero(slots != -1).flatten()
    places = slots[tokens]
    at = (torch.div(places, k_pool.shape[1], rounding_mode="floor"), places % k_pool.shape[1])
    k_pool.index_put_(at, k.index_select(0, tokens))
    v_pool.index_put_(at, v.index_select(0, tokens))


def paged_attention_torch(
    q: Tensor, k_pool: Tensor, v_pool: Tensor, tables: Tensor, lengths: Tensor
) -> Tensor:
    """Walk over the entries of all tables at once, with a running softmax."""
    (B, H, D), (_, P, G, _) = q.shape, k_pool.shape
    grouped = q.float().reshape(B, G, H // G, D) * D**-0.5
    top = torch.full((B, G, H // G), -math.inf, device=q.device)
    total, acc = torch.zeros_like(top), torch.zeros_like(grouped)
    for entry in range(tables.shape[1]):
        left = (lengths - entry * P).clamp(0, P)
        rows = torch.nonzero(left > 0).flatten()
        if not len(rows):
            break
        blocks = tables[rows, entry].long()
        inside = torch.arange(P, device=q.device) < left[rows, None]  # [R, P]
        keys, values = (
            pool[blocks].float().masked_fill(~inside[..., None, None], 0.0)
            for pool in (k_pool, v_pool)
        )
        scores = torch.einsum("bghd,bpgd->bghp", grouped[rows], keys)
        scores = scores.masked_fill(~inside[:, None, None], -math.inf)
        new = torch.maximum(top[rows], scores.amax(-1))
        shrink, p = torch.exp(top[rows] - new), torch.exp(scores - new[..., None])
        total[rows] = total[rows] * shrink + p.sum(-1)
        acc[rows] = acc[rows] * shrink[..., None] + torch.einsum("bghp,bpgd->bghd", p, values)
        top[rows] = new
    return (acc / total.clamp(min=1e-30)[..., None]).reshape(B, H, D).to(q.dtype)


@triton.jit
def _part(
    q_ptr, k_ptr, v_ptr, tables_ptr, lengths_ptr, o_ptr, lse_ptr, scale, G, share, P, parts,
    q0, q1, q2, k0, k1, k2, k3, v0, v1, v2, v3, t0, t1, l0, per,
    D: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Attend to the keys of one part; a part without keys writes 0 and -inf."""
    b = (tl.program_id(0) // G).to(tl.int64)
    g = (tl.program_id(0) % G).to(tl.int64)
    part = tl.program_id(1)
    length = tl.load(lengths_ptr + b * l0)
    stop = tl.minimum(length, (part + 1) * per)
    h = tl.arange(0, BLOCK_H)
    d = tl.arange(0, BLOCK_D)
    mask = (h < share)[:, None] & (d < D)[None, :]
    heads = g * share + h
    q = tl.load(q_ptr + b * q0 + heads[:, None] * q1 + d[None, :] * q2, mask=mask, other=0.0)
    acc = tl.zeros([BLOCK_H, BLOCK_D], tl.float32)
    total = tl.zeros([BLOCK_H], tl.float32)
    m = tl.full([BLOCK_H], float("-inf"), tl.float32)
    for start in range(part * per, stop, BLOCK_N):
        s = start + tl.arange(0, BLOCK_N)
        live = s < stop
        block = tl.load(tables_ptr + b * t0 + s // P * t1, mask=live, other=0).to(tl.int64)
        both = live[:, None] & (d < D)[None, :]
        k_at = (block * k0 + s % P * k1 + g * k2)[:, None] + d[None, :] * k3
        v_at = (block * v0 + s % P * v1 + g * v2)[:, None] + d[None, :] * v3
        k = tl.load(k_ptr + k_at, mask=both, other=0.0)
        v = tl.load(v_ptr + v_at, mask=both, other=0.0)
        scores = tl.dot(q, k.T, input_precision="ieee") * scale
        scores = tl.where(live[None, :], scores, float("-inf"))
        new = tl.maximum(m, tl.max(scores, 1))
        p = tl.exp(scores - new[:, None])
        shrink = tl.exp(m - new)
        total = total * shrink + tl.sum(p, 1)
        acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = new
    safe = tl.where(total > 0, total, 1.0)
    row = (b * G * share + heads) * parts + part
    tl.store(o_ptr + row[:, None] * D + d[None, :], acc / safe[:, None], mask=mask)
    tl.store(lse_ptr + row, m + tl.log(safe), mask=h < share)


def paged_attention(
    q: Tensor, k_pool: Tensor, v_pool: Tensor, tables: Tensor, lengths: Tensor
) -> Tensor:
    (B, H, D), (_, P, G, _) = q.shape, k_pool.shape
    parts = 3
    per = -(-tables.shape[1] * P // parts)
    o = torch.empty(B, H, parts, D, dtype=torch.float32, device=q.device)
    lse = torch.empty(B, H, parts, dtype=torch.float32, device=q.device)
    _part[(B * G, parts)](
        q, k_pool, v_pool, tables, lengths, o, lse, D**-0.5, G, H // G, P, parts,
        *q.stride(), *k_pool.stride(), *v_pool.stride(), *tables.stride(), *lengths.stride(), per,
        D=D, BLOCK_H=max(16, triton.next_power_of_2(H // G)),
        BLOCK_D=max(16, triton.next_power_of_2(D)), BLOCK_N=32,
    )  # fmt: skip
    weights = torch.softmax(lse, -1).nan_to_num()
    return (weights[..., None] * o).sum(2).to(q.dtype)


class Scheduler:
    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        max_running: int,
        max_tokens: int,
        share: bool = False,
    ) -> None:
        self.room = num_blocks * block_size
        self.most_rows, self.most_tokens = max_running, max_tokens
        self.blocks = BlockManager(num_blocks, block_size, share)
        self.waiting: list[int] = []
        self.running: list[int] = []
        self.known: dict[int, dict] = {}
        self.rows: list[list[int]] = []

    def add(self, request: int, prompt: list[int], max_new_tokens: int, eos_ids: list[int]) -> None:
        if request in self.known:
            raise ValueError(f"request {request} exists")
        if max_new_tokens <= 0:
            raise ValueError("max_new_tokens <= 0")
        longest = len(prompt) + max_new_tokens
        if not len(prompt) or longest > self.room or longest > self.most_tokens:
            raise ValueError("prompt does not fit")
        self.known[request] = {
            "text": list(prompt),
            "start": len(prompt),
            "stop": longest,
            "eos": list(eos_ids),
        }
        self.waiting = [*self.waiting, request]

    def plan(self) -> dict[str, list]:
        self.rows, preempted = [], []
        queue = list(self.running)
        while queue:
            request = queue[0]
            text = self.known[request]["text"]
            if self.blocks.append(request, text[-1]) is not None:
                self.rows.append([request, len(text) - 1, len(text)])
                queue.pop(0)
                continue
            loser = queue.pop()
            self.running.remove(loser)
            self.blocks.release(loser)
            preempted.append(loser)
        self.waiting = preempted[::-1] + self.waiting
        if not preempted:
            self._let_in()
        tables = [self.blocks.table(row[0]) for row in self.rows]
        return {"rows": self.rows, "tables": tables, "preempted": preempted}

    def _let_in(self) -> None:
        left = self.most_tokens - len(self.rows)
        for request in list(self.waiting):
            if len(self.running) == self.most_rows:
                return
            text = self.known[request]["text"]
            shared = self.blocks.admit(request, text)
            if shared is None:
                return
            left -= len(text) - shared
            if left < 0:
                return self.blocks.release(request)
            self.waiting.remove(request)
            self.running.append(request)
            self.rows.append([request, shared, len(text)])

    def commit(self, tokens: list[int]) -> list[int]:
        ended = []
        for (request, _, _), token in zip(self.rows, tokens, strict=True):
            state = self.known[request]
            if token in state["eos"]:
                ended.append(request)
            else:
                state["text"].append(token)
                if len(state["text"]) == state["stop"]:
                    ended.append(request)
        for request in ended:
            self.blocks.release(request)
            self.running.remove(request)
        return ended

    def output(self, request: int) -> list[int]:
        state = self.known[request]
        return state["text"][state["start"] :]
