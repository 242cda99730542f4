"""The oracles of lab 12 against counts by hand, all short traces, lab 02's decoding and SDPA."""

import itertools
import random

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from reference import batching
from reference.paged import Ledger, Shadow, Steps, blocks_for, paged, static_steps
from reference.scripted.masked import MaskedModel

TEXTS = ([1], [1, 1], [1, 1, 1], [2, 1, 1])
N, P = 4, 2


class Plain:
    """The manager by counting alone: a multiset of blocks, each named by who may write to it.

    A block is the text that it holds from the start, with a number for each copy in memory.
    """

    def __init__(self, share: bool) -> None:
        self.share = share
        self.held: dict[int, list[tuple[tuple[int, ...], int]]] = {}
        self.count = itertools.count()

    def free(self) -> int:
        return N - len({mark for blocks in self.held.values() for _, mark in blocks})

    def has_a_choice(self) -> bool:
        """Tell whether two blocks hold the same: which of them is shared decides what is free."""
        blocks = {block for blocks in self.held.values() for block in blocks}
        return len({text for text, _ in blocks}) < len(blocks)

    def admit(self, seq: int, text: list[int]) -> int | None:
        whole = [tuple(text[:stop]) for stop in range(P, len(text), P)]
        known = {held: mark for blocks in self.held.values() for held, mark in blocks}
        shared = 0
        while self.share and shared < len(whole) and whole[shared] in known:
            shared += 1
        if blocks_for(len(text), P) - shared > self.free():
            return None
        cuts = [tuple(text[: (i + 1) * P]) for i in range(blocks_for(len(text), P))]
        self.held[seq] = [
            (cut, known[cut] if i < shared else next(self.count)) for i, cut in enumerate(cuts)
        ]
        return shared * P

    def append(self, seq: int, token: int) -> int | None:
        """Return the number of copies."""
        (text, mark), before = self.held[seq][-1], self.held[seq][:-1]
        if len(text) % P == 0:
            if not self.free():
                return None
            self.held[seq].append(((*text, token), next(self.count)))
            return 0
        sole = sum(mark in (m for _, m in blocks) for blocks in self.held.values()) == 1
        if not sole and not self.free():
            return None
        self.held[seq] = [*before, ((*text, token), mark if sole else next(self.count))]
        return 0 if sole else 1


def operations(living: list[int]) -> list[tuple[str, int, int]]:
    """What may come next; sequences are numbered as they come."""
    found = [("admit", 0, kind) for kind in range(len(TEXTS))]
    for seq in living[-2:]:
        found += [("append", seq, 1), ("fork", seq, 0), ("release", seq, 0)]
    return found


def follow(trace: tuple[int, ...], share: bool) -> bool:
    """Step through a trace of choices; False where it chooses what there is not."""
    ledger, plain, memory = Ledger(N, P, share), Plain(share), Shadow(P)
    for name, choice in enumerate(trace):
        possible = operations(list(ledger.texts))
        if choice >= len(possible):
            return False
        kind, seq, extra = possible[choice]
        if kind == "admit" and share and plain.has_a_choice():
            return True
        if kind == "admit":
            shared = ledger.admit(name, TEXTS[extra])
            assert shared == plain.admit(name, TEXTS[extra])
            if shared is not None:
                memory.write(ledger.tables[name], TEXTS[extra], shared, len(TEXTS[extra]))
        elif kind == "append":
            copies, count = ledger.append(seq, extra), plain.append(seq, extra)
            assert count == (None if copies is None else len(copies))
            for source, target in copies or []:
                memory.copy(source, target)
            if copies is not None:
                text = ledger.texts[seq]
                memory.write(ledger.tables[seq], text, len(text) - 1, len(text))
        elif kind == "fork":
            ledger.fork(seq, name)
            plain.held[name] = list(plain.held[seq])
        else:
            ledger.release(seq)
            del plain.held[seq]
        memory.poison(ledger.used)
        assert ledger.free == plain.free()
        for each, text in ledger.texts.items():
            assert memory.wrong(ledger.tables[each], text, len(text)) is None
    return True


@pytest.mark.parametrize("share", [False, True])
def test_all_short_traces(share):
    followed = sum(
        follow(trace, share)
        for length in range(1, 5)
        for trace in itertools.product(range(10), repeat=length)
    )
    assert followed > 2000


@pytest.mark.parametrize("share", [False, True])
def test_traces_of_six_operations(share):
    chosen = random.Random(1).sample(range(10**6), 20_000)
    assert sum(follow(tuple(map(int, f"{x:06}")), share) for x in chosen) > 3000


def test_memory_notices_what_may_go_wrong():
    memory = Shadow(2)
    memory.write([4, 1], [7, 8, 9], 0, 3)
    assert memory.wrong([4, 1], [7, 8, 9], 3) is None
    assert memory.wrong([1, 4], [7, 8, 9], 3) == 0
    assert memory.wrong([4, 1], [7, 8, 9, 9], 4) == 3
    memory.write([1], [9], 0, 1)  # the same token, behind nothing
    assert memory.wrong([4, 1], [7, 8, 9], 3) == 2
    memory.copy(4, 2)
    memory.poison({2})
    assert memory.wrong([2], [7, 8], 2) is None
    assert memory.wrong([4], [7, 8], 2) == 0


def finish(steps: Steps, model: MaskedModel) -> dict[int, list[int]]:
    """Serve all requests with the model's best tokens."""
    for _ in range(500):
        rows = steps.plan().rows
        texts = [steps.requests[request].text for request, _, _ in rows]
        steps.commit([best(model, text) for text in texts])
        if not (steps.waiting or steps.running):
            return {request: state.output for request, state in steps.requests.items()}
    raise AssertionError("requests do not end")


def best(model: MaskedModel, text: list[int]) -> int:
    tokens, valid = torch.tensor([text]), torch.ones(1, len(text), dtype=torch.bool)
    positions = torch.arange(len(text))[None]
    return int(model(tokens, positions, batching.causal_mask(valid))[0, -1].argmax())


@pytest.mark.parametrize("seed", range(5))
def test_outputs_are_those_of_decoding_alone(seed):
    draw = random.Random(seed)
    model = MaskedModel(13, seed)
    prompts = [[draw.randrange(3) for _ in range(draw.randint(1, 7))] for _ in range(8)]
    want = [batching.solo_run(model, prompt, 6, [3]) for prompt in prompts]
    for setting in ((60, 3, 9, 60, False), (8, 2, 5, 16, True), (8, 2, 5, 16, False)):
        steps = Steps(*setting)
        for name, prompt in enumerate(prompts):
            steps.add(name, prompt, 6, [3])
        fresh = MaskedModel(13, seed)
        found = finish(steps, fresh)
        assert [found[name] for name in range(8)] == want


def test_plans_by_hand():
    steps = Steps(3, 2, 4, 8, False)
    steps.add(0, [1, 2], 3, [])
    steps.add(1, [3, 4, 5], 2, [])
    plans = []
    for _ in range(4):
        plan = steps.plan()
        plans.append((plan.rows, plan.preempted, plan.used))
        steps.commit([6] * len(plan.rows))
    assert plans == [
        ([[0, 0, 2], [1, 0, 3]], [], 3),
        ([[0, 2, 3]], [1], 2),
        ([[0, 3, 4]], [], 2),
        ([[1, 0, 4]], [], 2),
    ]
    assert steps.plan().rows == []


def test_static_batching_by_hand():
    assert static_steps([(3, 2), (5, 4), (1, 1)], 2) == [10, 2, 2, 2, 1]


@pytest.mark.parametrize(("H", "G"), [(4, 2), (3, 1)])
def test_attention_is_torchs_on_contiguous_caches(H, G):
    generator = torch.Generator().manual_seed(3)
    pool = torch.randn(2, 9, 4, G, 5, generator=generator, dtype=torch.float64)
    q = torch.randn(3, H, 5, generator=generator, dtype=torch.float64)
    tables, lengths = [[7, 2, 5], [0, 9, -1], [8, 1, 3]], [10, 3, 0]

    got = paged(q, pool[0], pool[1], tables, lengths)

    for row, length in enumerate(lengths[:2]):
        k, v = (x[tables[row][: blocks_for(length, 4)]].flatten(0, 1)[:length] for x in pool)
        k, v = (x.transpose(0, 1)[None] for x in (k, v))
        want = scaled_dot_product_attention(q[row][None, :, None], k, v, enable_gqa=True)
        torch.testing.assert_close(got[row], want[0, :, 0])
    assert torch.equal(got[2], torch.zeros(H, 5, dtype=torch.float64))
