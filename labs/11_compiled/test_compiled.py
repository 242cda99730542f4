"""Public tests of lab 11: the examples of the handout and a few more, by the handout's numbers.

What a text should say is asked of the given Llama, which reads it whole.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.suite import (
    Backend,
    Graphs,
    Proxy,
    assert_close,
    assert_equal,
    assert_unmodified,
    check,
    expect,
    task,
)

VOCAB, SLOTS, MAX_LEN = 31, 3, 11
FIELDS: dict[str, Any] = {
    **{"vocab_size": VOCAB, "hidden_size": 12, "intermediate_size": 20, "num_layers": 2},
    **{"num_heads": 4, "num_kv_heads": 2, "head_dim": 6, "rms_norm_eps": 1e-5},
    **{"rope_theta": 10_000.0, "rope_scaling": None, "max_position_embeddings": 64},
    **{"tie_word_embeddings": True, "bos_token_id": None, "eos_token_ids": ()},
}
Row = tuple[int, int, int]  # token, position, slot
PARTS = ("keys", "values")


def random_weights(draw: Any, layers: int = 2) -> dict[str, Tensor]:
    embed, inner = FIELDS["hidden_size"], FIELDS["intermediate_size"]
    heads, keys = (FIELDS[name] * FIELDS["head_dim"] for name in ("num_heads", "num_kv_heads"))
    shapes = {
        **{"self_attn.q_proj": (heads, embed), "self_attn.k_proj": (keys, embed)},
        **{"self_attn.v_proj": (keys, embed), "self_attn.o_proj": (embed, heads)},
        **{"mlp.gate_proj": (inner, embed), "mlp.up_proj": (inner, embed)},
        **{"mlp.down_proj": (embed, inner), "input_layernorm": (embed,)},
        "post_attention_layernorm": (embed,),
    }
    weights = {"model.embed_tokens": draw.normal(VOCAB, embed), "model.norm": torch.ones(embed)}
    for i in range(layers):
        for name, shape in shapes.items():
            scale = 2 * shape[-1] ** -0.5
            weights[f"model.layers.{i}.{name}"] = draw.normal(*shape, scale=scale)
    return {f"{name}.weight": weight for name, weight in weights.items()}


def config_of(student: Any, layers: int) -> Any:
    return student.record("LlamaConfig", **FIELDS | {"num_layers": layers})


def loaded(student: Any, weights: dict[str, Any], layers: int = 2) -> Proxy:
    """The given Llama with these weights."""
    llama = student.given("llama").Llama(config_of(student, layers), weights)
    return expect(llama, Proxy, "the given Llama")


def given_model(student: Any, draw: Any, layers: int = 2, dtype: Any = torch.float32) -> Proxy:
    """The given Llama with random weights."""
    weights = random_weights(draw, layers)
    return loaded(student, {name: weight.to(dtype) for name, weight in weights.items()}, layers)


def a_cache(
    student: Any,
    device: str,
    layers: int = 2,
    slots: int = SLOTS,
    max_len: int = MAX_LEN,
    dtype: Any = None,
) -> Proxy:
    """An empty cache, on the CPU and in float32 unless it is asked for something else."""
    options = {} if device == "cpu" else {"device": device}
    options |= {"dtype": dtype} if dtype else {}
    cache = student.StaticCache(config_of(student, layers), slots, max_len, **options)
    return expect(cache, Proxy, "StaticCache(...)")


def memory(
    cache: Proxy, layers: int = 2, slots: int = SLOTS, max_len: int = MAX_LEN
) -> dict[str, list[Tensor]]:
    """What the cache holds, checked for its form."""
    held = {part: expect(getattr(cache, part), list[Tensor], part) for part in PARTS}
    for part, tensors in held.items():
        check(len(tensors) == layers, f"{part} has {len(tensors)} tensors, expected {layers}")
        for tensor in tensors:
            expect(tensor, Tensor, part, shape=(slots + 1, 2, max_len, 6))
    return held


def layer_of(cache: Proxy, index: int, positions: Tensor, slots: Tensor) -> Proxy:
    layers = cache.layers(positions, slots)
    if isinstance(layers, Proxy):
        layers = [layers.invoke_("__getitem__", (i,), {}) for i in range(index + 1)]
    check(len(layers) > index, f"layers gives {len(layers)} objects, one for each layer expected")
    return expect(layers[index], Proxy, "an object of layers")


def fill(draw: Any, cache: Proxy, value: float = 0.0, layers: int = 2) -> None:
    """Let the cache's own update fill all slots, scratch too."""
    positions, slots = torch.arange(MAX_LEN).repeat(SLOTS + 1, 1), torch.arange(SLOTS + 1)
    for index in range(layers):
        k, v = (draw.normal(SLOTS + 1, 2, MAX_LEN, 6) + value for _ in PARTS)
        layer_of(cache, index, positions, slots).update(k, v)


def assert_kept(
    cache: Proxy,
    before: dict[str, list[Tensor]],
    but: Sequence[int] = (),
    rows: Sequence[Row] = (),
) -> None:
    """All slots hold what they held, other than those of ``but`` and the places of rows."""
    rows_there, _, max_len, _ = before["keys"][0].shape
    for part, tensors in memory(cache, len(before["keys"]), rows_there - 1, max_len).items():
        for now, then in zip(tensors, before[part], strict=True):
            kept = (now == then).all(dim=3).all(dim=1)  # [slots + 1, max_len]
            kept[[*but, -1]] = True  # scratch may hold anything
            for _, position, slot in rows:
                kept[slot, position] = True
            for slot, position in (~kept).nonzero().tolist()[:1]:
                check(False, f"{part} have changed in slot {slot}, at position {position}")


def says(model: Proxy, text: list[int]) -> Tensor:
    """The logits [V] behind a text, as the given Llama reads it whole."""
    out = model(torch.tensor([text]), torch.arange(len(text)).unsqueeze(0))
    return expect(out, Tensor, "the logits", shape=(1, len(text), VOCAB))[0, -1]


def close(got: object, want: Tensor, what: str) -> None:
    assert_close(got, want.double(), "matmul", dtype=torch.float32, inner=1 << 14, what=what)


def columns(rows: Sequence[Row]) -> dict[str, Tensor]:
    names = ("tokens", "positions", "slots")
    return {name: torch.tensor(x) for name, x in zip(names, zip(*rows, strict=True), strict=True)}


def given_step(
    model: Proxy, cache: Proxy, rows: Sequence[Row], max_len: int = MAX_LEN
) -> Tensor:  # [B, V]
    """Let the given Llama take a step on a cache."""
    places = columns(rows)
    positions = places["positions"].unsqueeze(1)
    mask = torch.arange(max_len) <= positions[:, None, None]  # [B, 1, 1, max_len]
    layers = cache.layers(positions, places["slots"])
    out = model(places["tokens"].unsqueeze(1), positions, mask, layers)
    return expect(out, Tensor, "the logits", shape=(len(rows), 1, VOCAB))[:, 0]


class Texts:
    """Texts in slots that grow by a token a step, each until another begins in its slot."""

    def __init__(self, draw: Any, model: Proxy) -> None:
        self._draw = draw
        self.model = model
        self.of: dict[int, list[int]] = {}
        self._there: dict[tuple[int, int], int] = {}  # the last token of each place

    def begin(self, slot: int) -> None:
        """Let another text begin in a slot."""
        self.of.pop(slot, None)

    def grow(self, slots: Sequence[int]) -> list[Row]:
        """Return the rows of a step in which each of these slots has one more token."""
        rows: list[Row] = []
        for slot in slots:
            text = self.of.setdefault(slot, [])
            place = slot, len(text)
            others = [token for token in range(VOCAB) if token != self._there.get(place)]
            self._there[place] = self._draw.choice(others)
            text.append(self._there[place])
            rows.append((text[-1], len(text) - 1, slot))
        return rows

    def assert_said(self, got: object, rows: Sequence[Row]) -> None:
        logits = expect(got, Tensor, "the logits", shape=(len(rows), VOCAB))
        for row, (_, position, slot) in zip(logits, rows, strict=True):
            want = says(self.model, self.of[slot])
            close(row, want, f"the logits of slot {slot} at position {position}")


ORDERS = [[0, 2, 1], [1], [2, 0], [1, 0, 2], [2, 1]]

# --- Task 1: cache ---------------------------------------------------------------------------


@task("cache", contract=1)
@pytest.mark.parametrize(
    ("slots", "max_len", "layers", "dtype"),
    [(3, 11, 2, None), (1, 7, 3, torch.bfloat16), (6, 1, 1, torch.float64)],
    ids=str,
)
def test_memory_of_a_cache(student, draw, device, slots, max_len, layers, dtype):
    """L layers of zeros, [slots + 1, 2, max_len, 6], in the dtype asked for, which never move."""
    cache = a_cache(student, device, layers, slots, max_len, dtype)
    dtype = dtype or torch.float32
    for part, tensors in memory(cache, layers, slots, max_len).items():
        for tensor in tensors:
            zeros = torch.zeros(slots + 1, 2, max_len, 6, dtype=dtype)
            assert_equal(tensor, zeros, f"{part} of a new cache")
    before = [student.places(cache, part) for part in PARTS]

    k, v = (draw.normal(1, 2, 1, 6, dtype=dtype) for _ in PARTS)
    place = torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    for index in range(layers):
        layer_of(cache, index, *place).update(k, v)

    memory(cache, layers, slots, max_len)
    check(before == [student.places(cache, part) for part in PARTS], "the memory has moved")


@task("cache", contract=1)
@pytest.mark.parametrize("place", ["meta", torch.device("meta")], ids=["name", "device"])
def test_memory_on_a_device(student, place):
    """A device, or its name, is where the memory is: on meta, where there is none, all fits."""
    config = config_of(student, 2)
    expect(student.StaticCache(config, 9 * 10**6, 10**6, device=place), Proxy, "StaticCache(...)")


@task("cache", contract=2)
def test_update_of_the_handout(student, device):
    """Row 0 goes to slot 2 at position 1, row 1 to slot 0 at position 3."""
    cache = a_cache(student, device)
    positions, slots = torch.tensor([[1], [3]]), torch.tensor([2, 0])
    k, v = torch.tensor([7.0, 8.0]).view(2, 1, 1, 1).expand(2, 2, 1, 6), torch.ones(2, 2, 1, 6)

    returned = layer_of(cache, 1, positions, slots).update(k, v)

    want = torch.zeros(SLOTS + 1, 2, MAX_LEN, 6)
    want[2, :, 1], want[0, :, 3] = 7.0, 8.0
    keys, _ = expect(returned, tuple[Tensor, Tensor], "what update returns")
    assert_equal(keys, want[[2, 0]], "the keys that update returns")
    assert_equal(memory(cache)["keys"][1], want, "keys[1]")
    assert_equal(memory(cache)["keys"][0], torch.zeros_like(want), "keys[0], which had no update,")


def assert_updates(draw: Any, cache: Proxy, positions: Tensor, slots: Tensor, *sizes: int) -> None:
    """Update layer 0 at these places, and compare what comes back and what is there then."""
    want = {part: tensors[0].clone() for part, tensors in memory(cache, *sizes).items()}
    form = {"dtype": want["keys"].dtype}
    new = {part: draw.normal(*positions.shape, 2, 6, **form).transpose(1, 2) for part in PARTS}

    returned = layer_of(cache, 0, positions, slots).update(*new.values())

    returned = expect(returned, tuple[Tensor, Tensor], "what update returns")
    for part, rows in zip(PARTS, returned, strict=True):
        for row, slot in enumerate(slots.tolist()):
            for token, position in enumerate(positions[row].tolist()):
                want[part][slot, :, position] = new[part][row, :, token]
        assert_equal(rows, want[part][slots], f"the {part} that update returns")
        assert_equal(memory(cache, *sizes)[part][0], want[part], f"{part}[0]")


@task("cache", contract=2)
def test_update_of_several_tokens(student, draw, device):
    """Tokens of rows in any order, at any positions, scratch too, over what was there."""
    cache = a_cache(student, device)
    fill(draw, cache)
    assert_updates(draw, cache, torch.tensor([[4, 9, 0], [2, 3, 1]]), torch.tensor([1, 3]))
    assert_updates(draw, cache, torch.tensor([[0], [9], [4]]), torch.tensor([2, 0, 1]))


@task("cache", contract=2)
def test_update_of_many_slots_and_long_ones(student, draw, device):
    """A cache may have hundreds of slots, and room for thousands of tokens, in any dtype."""
    wide = a_cache(student, device, 1, 290, 3)
    slots = torch.tensor([289, 130, 257, 290, 1])
    assert_updates(draw, wide, torch.tensor([[2], [0], [1], [0], [2]]), slots, 1, 290, 3)
    long = a_cache(student, device, 1, 2, 5000, torch.bfloat16)
    positions = torch.tensor([[4999, 257, 2049], [1025, 4097, 513]])
    assert_updates(draw, long, positions, torch.tensor([1, 0]), 1, 2, 5000)


# --- Task 2: step ----------------------------------------------------------------------------


@task("step", contract=3)
@pytest.mark.parametrize("garbage", [0.0, 1e4, -1e4])
def test_steps_say_what_whole_texts_say(student, draw, device, garbage):
    """Rows in any order, each at its own position, over garbage of earlier sequences."""
    model, cache = given_model(student, draw), a_cache(student, device)
    fill(draw, cache, garbage)
    texts = Texts(draw, model)
    for slots in ORDERS:
        rows, before = texts.grow(slots), memory(cache)

        texts.assert_said(student.decode_step(model, cache, **columns(rows)), rows)

        assert_kept(cache, before, rows=rows)


# Lengths beyond what a number of the dtype counts to, and how far off honest logits may be.
FAR = [(torch.float32, 4100, 2e-3), (torch.float16, 2100, 3e-2), (torch.bfloat16, 300, 2e-1)]


@task("step", contract=3)
@pytest.mark.parametrize(("dtype", "far", "room"), FAR, ids=str)
def test_far_positions(student, draw, device, dtype, far, room):
    """Positions in the thousands are told apart, in a model of any dtype.

    What the given Llama says on the same cache is the measure; behind a position lie keys of 100.
    """
    model, cache = given_model(student, draw, 1, dtype), a_cache(student, device, 1, 2, far, dtype)
    for position in range(far - 5, far):
        k, v = (draw.normal(2, 2, far, 6, dtype=dtype) for _ in PARTS)
        k[:, :, position:] = 100.0
        everywhere = torch.arange(far).repeat(2, 1)
        layer_of(cache, 0, everywhere, torch.tensor([1, 0])).update(k, v)
        rows = [(draw.integer(0, VOCAB), position, slot) for slot in (1, 0)]
        before = memory(cache, 1, 2, far)
        got = student.decode_step(model, cache, **columns(rows))
        assert_kept(cache, before, rows=rows)
        want = given_step(model, cache, rows, far)
        got = expect(got, Tensor, "the logits", shape=want.shape).float()
        off = float((got - want.float()).norm() / want.float().norm())
        check(off < room, f"the logits at position {position} are off by {off:.0%}")


@task("step", contract=3)
def test_slots_in_the_hundreds(student, draw, device):
    """A row may be in any of 290 slots; the text in it is a single token."""
    model, cache = given_model(student, draw, 1), a_cache(student, device, 1, 290, 2)
    texts = Texts(draw, model)
    rows, before = texts.grow([289, 130, 257, 1]), memory(cache, 1, 290, 2)
    texts.assert_said(student.decode_step(model, cache, **columns(rows)), rows)
    assert_kept(cache, before, rows=rows)


@task("step", contract=3)
def test_arguments_of_a_step_stay(student, draw, device):
    """tokens, positions and slots are the caller's: a step reads them."""
    model, cache = given_model(student, draw, 1), a_cache(student, device, 1)
    watched = {name: student.watch(x) for name, x in columns([(7, 4, 2), (3, 0, 1)]).items()}
    got = student.decode_step(model, cache, *watched.values())
    expect(got, Tensor, "the logits", shape=(2, VOCAB))
    for name, value in watched.items():
        assert_unmodified(value, name)


@task("step", contract=3)
def test_what_is_written_may_be_zero(student, draw, device):
    """Token 5 is embedded as zeros: so are its keys, which later tokens see all the same."""
    model, cache = given_model(student, draw), a_cache(student, device)
    embedded = {name: weight.clone() for name, weight in model.state_dict().items()}
    for weight in embedded.values():
        if weight.shape[0] == VOCAB:  # the embedding, and the last layer, which is the same
            weight[5] = 0.0
    model.load_state_dict(embedded)
    text = [5, 5, 7, 5, 9]
    for place, token in enumerate(text):
        row = [(token, place, 1)]
        got = student.decode_step(model, cache, **columns(row))
        got = expect(got, Tensor, "the logits", shape=(1, VOCAB))
        close(got[0], says(model, text[: place + 1]), f"the logits at position {place}")


def compiled(student: Any, model: Proxy, cache: Proxy) -> tuple[Backend, Proxy]:
    backend = student.backend()
    backend.name(model, keys=(cache, "keys"), values=(cache, "values"))
    step = student.compile_step(model, cache, backend.argument)
    return backend, expect(step, Proxy, "what compile_step returns")


@task("step", contract=4)
def test_one_graph_for_all_steps(student, draw, device):
    """Two rows a step, from the first place of a slot to the last: one graph, and no value read."""
    model, cache = given_model(student, draw, 1), a_cache(student, device, 1)
    backend, step = compiled(student, model, cache)
    texts = Texts(draw, model)
    for turn in range(16):
        rows = texts.grow([turn % 3, (turn + 1) % 3])
        texts.assert_said(step(**columns(rows)), rows)

    check(
        backend.calls == 1,
        f"backend was called {backend.calls} times in 16 steps, expected once{backend.why}",
    )
    check(backend.runs == 16, f"its graphs ran {backend.runs} times in 16 steps{backend.why}")
    read = backend.reads(step, *columns([(3, 2, 1), (4, 0, 2)]).values())
    check(not read, f"a step reads values of tensors, by {', '.join(read)}, expected none")


@task("step", contract=5)
def test_graph_of_a_step_is_right_elsewhere(student, draw, device):
    """The graph of the first step, run elsewhere, says what other tokens in other slots should."""
    model, cache = given_model(student, draw, 1), a_cache(student, device, 1)
    backend, step = compiled(student, model, cache)
    texts = Texts(draw, model)
    first = texts.grow([2, 0])
    graph = backend.watch(step, **columns(first)).graph
    values = {f"model.{name}": weight for name, weight in model.state_dict().items()}
    for slots in ([0, 2], [1, 0], [2, 1]):
        rows = texts.grow(slots)
        values |= {f"{part}.0": tensors[0] for part, tensors in memory(cache, 1).items()}
        results, after = student.run_elsewhere(graph, values | columns(rows))
        several = results if isinstance(results, list | tuple) else [results]
        logits = [x for x in several if isinstance(x, Tensor) and x.numel() == 2 * VOCAB]
        check(len(logits) == 1, "the graph does not give the logits of two rows")
        texts.assert_said(logits[0].reshape(2, VOCAB), rows)
        step(**columns(rows))
        for part, tensors in memory(cache, 1).items():
            close(after[f"{part}.0"], tensors[0], f"{part}[0], as the graph leaves it,")


@task("step", contract=6)
def test_other_batch_sizes(student, draw, device):
    """Ten slots, steps of 1 to 10 rows: a new size costs one call of backend, an old one none."""
    model, known = given_model(student, draw, layers=1), set[int]()
    backend, step = compiled(student, model, a_cache(student, device, layers=1, slots=10))
    first = torch.zeros(VOCAB, 1, dtype=torch.int64)
    alone = expect(model(torch.arange(VOCAB).unsqueeze(1), first), Tensor)[:, 0]
    for turn, count in enumerate((3, 2, 3, 1, 2, 1, 5, 4, 6, 7, 8, 10, 9, 4, 10), 1):
        before = backend.calls
        tokens, slots = torch.tensor(draw.tokens(VOCAB, count)), (torch.arange(count) + turn) % 10

        got = step(tokens, torch.zeros_like(slots), slots)

        got = expect(got, Tensor, "the logits", shape=(count, VOCAB))
        close(got, alone[tokens], f"the logits of {count} first tokens")
        kind, most = ("an old", before) if count in known else ("a new", before + 1)
        text = f"{kind} size, {count}, took {backend.calls - before} calls of backend"
        check(backend.calls <= most, f"{text}, expected {most - before} at most{backend.why}")
        check(backend.runs == turn, f"graphs ran {backend.runs} times in {turn} steps{backend.why}")
        known.add(count)


# --- Task 3: prefill -------------------------------------------------------------------------


def prefilled(student: Any, model: Proxy, cache: Proxy, sizes: list[int]) -> tuple[Backend, Proxy]:
    backend = student.backend()
    prefill = student.Prefill(model, cache, sizes, backend.argument)
    return backend, expect(prefill, Proxy, "Prefill(...)")


SIZES = [9, 3, 10, 7, 11, 8, 5, 2, 6]
# Lengths of prompts and their slots: some of one bucket, all of nine, and short ones at last.
PROMPTS = [(4, 0), (5, 2), (4, 1), (5, 0), (9, 2), (9, 0), (3, 1), (1, 2), (8, 1), (11, 0)]
PROMPTS += [(6, 1), (7, 2), (10, 0), (4, 0), (2, 1), (6, 2)]


@task("prefill", contract=7)
def test_prompts_in_buckets(student, draw, device):
    """At most one graph for a bucket, whatever the slot is; then decoding goes on."""
    model, cache = given_model(student, draw, 1), a_cache(student, device, 1)
    fill(draw, cache, 1e4, layers=1)
    backend, prefill = prefilled(student, model, cache, SIZES)
    texts, used = Texts(draw, model), set[int]()
    for turn, (length, slot) in enumerate(PROMPTS, 1):
        text, before = draw.tokens(VOCAB, length), memory(cache, 1)
        size = next(size for size in sorted(SIZES) if size >= length)
        used.add(size)
        texts.of[slot] = text

        got = expect(prefill(text, slot), Tensor, "the logits", shape=(VOCAB,))

        close(got, says(model, text), f"the logits of {length} tokens")
        assert_kept(cache, before, but=[slot])
        found = any(size in shape for shape in backend.shapes)
        check(found, f"no input of the graph for {length} tokens has length {size}")
        calls, ran = backend.calls, backend.runs
        check(ran == turn, f"graphs ran {ran} times for {turn} prompts{backend.why}")
        most = f"expected {len(used)} at most{backend.why}"
        say = f"backend was called {calls} times for buckets {sorted(used)}, {most}"
        check(1 <= calls <= len(used), say)

    for slots in ([0, 1, 2], [2, 1]):
        rows = texts.grow(slots)
        texts.assert_said(given_step(model, cache, rows), rows)


@task("prefill", contract=8)
def test_what_prefill_refuses(student, draw, device):
    """No tokens, more than the largest size, and slots that are not there."""
    model, cache = given_model(student, draw, 1), a_cache(student, device, 1)
    fill(draw, cache, layers=1)
    _, prefill = prefilled(student, model, cache, [6, 4])
    before = memory(cache, 1)
    refused = {
        "tokens": [([], 0), ([1] * 7, 0), ([1] * (MAX_LEN + 1), 2)],
        "slot": [([1], SLOTS), ([1, 2], -1), ([1] * 6, 100)],
    }
    for naming, cases in refused.items():
        for tokens, slot in cases:
            with student.raises(ValueError, naming=naming):
                prefill(tokens, slot)

    assert_kept(cache, before)


def assert_best(model: Proxy, prompt: list[int], got: object, count: int, room: float) -> None:
    """Each new token is the best one behind those before, but for roundings."""
    new = expect(got, list[int], "the new tokens")
    check(len(new) == count, f"{len(new)} new tokens came back, expected {count}")
    for place, token in enumerate(new):
        check(0 <= token < VOCAB, f"new token {place} is {token}, of a vocabulary of {VOCAB}")
        logits = says(model, prompt + new[:place]).float()
        best = int(logits.argmax())
        near = bool(logits[best] - logits[token] <= room)
        check(near, f"new token {place} is {token}, expected {best}")


@task("prefill", contract=9)
def test_greedy_tokens(student, draw):
    """Six tokens, up to max_len and beyond the bucket, by one graph for the prompt and one more."""
    model = given_model(student, draw, layers=1)
    prompt, backend = draw.tokens(VOCAB, 3), student.backend()

    got = student.generate(model, prompt, 6, [], 9, [7, 4], backend.argument)

    assert_best(model, prompt, got, 6, 1e-4)
    check(
        1 <= backend.calls <= 2,
        f"backend was called {backend.calls} times, expected twice{backend.why}",
    )
    check(6 <= backend.runs <= 7, f"graphs ran {backend.runs} times, expected 6{backend.why}")


@task("prefill", contract=9)
@pytest.mark.parametrize("place", [0, 2])
def test_eos_ends(student, draw, place):
    """Any of eos_ids ends the text, the first new token too; it is not returned."""
    model, text = given_model(student, draw, layers=1), draw.tokens(VOCAB, 3)
    for _ in range(place + 1):
        text.append(int(says(model, text).argmax()))
    prompt, new = text[:3], text[3:]
    kept, backend = new[: new.index(new[-1])], student.backend()

    got = student.generate(model, prompt, 6, (VOCAB, new[-1]), 9, [4], backend.argument)

    assert_equal(got, kept, "the tokens before an EOS")


@task("prefill", contract=9)
def test_greedy_tokens_in_bfloat16(student, draw):
    """The cache has the dtype of the model."""
    model = given_model(student, draw, 1, torch.bfloat16)
    prompt = draw.tokens(VOCAB, 4)
    got = student.generate(model, prompt, 3, [], 9, [4], student.backend().argument)
    assert_best(model, prompt, got, 3, 0.3)


@task("prefill", contract=9)
def test_no_new_tokens_and_too_many(student, draw):
    """Nothing is asked for: nothing comes back. Above max_len: a ValueError that names it."""
    model = given_model(student, draw, layers=1)

    def run(length: int, count: int) -> Any:
        tokens = draw.tokens(VOCAB, length)
        return student.generate(model, tokens, count, [], 9, [8], student.backend().argument)

    assert_equal(run(4, 0), [], "the new tokens")
    for length, count in ((3, 7), (8, 2), (1, 50)):
        with student.raises(ValueError, naming="max_len"):
            run(length, count)


# --- Task 4: buckets -------------------------------------------------------------------------


@task("buckets", contract=10)
def test_smallest_size(student):
    """Of 4, 16 and 8: 1 needs 4, 8 needs 8, 9 needs 16, and 17 does not fit."""
    for n, want in ((1, 4), (4, 4), (5, 8), (8, 8), (9, 16), (16, 16)):
        assert_equal(student.bucket(n, [4, 16, 8]), want, f"bucket({n}, [4, 16, 8])")
    assert_equal(student.bucket(3, [3]), 3, "bucket(3, [3])")
    for n, sizes in ((17, [4, 16, 8]), (4, [3]), (1000, [64, 1])):
        with student.raises(ValueError, naming="n"):
            student.bucket(n, sizes)


@task("buckets", contract=11)
@pytest.mark.parametrize(("count", "want"), [(1, [10]), (2, [6, 10]), (3, [1, 6, 10])], ids=str)
def test_plan_of_the_handout(student, count, want):
    """Steps of 1, 5, 6 and 10 rows."""
    histogram = {"5": 9, "1": 10, "10": 10, "6": 9}
    assert_equal(student.plan_sizes(histogram, count), want, "the sizes")


def padding(histogram: dict[str, int], sizes: Sequence[int]) -> int:
    """The padded rows of all steps, if these sizes carry them; they are ascending."""
    above = {n: next(size for size in sizes if size >= int(n)) for n in histogram}
    return sum((above[n] - int(n)) * times for n, times in histogram.items())


@task("buckets", contract=11)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_no_plan_pads_less(student, draw, count):
    """Small histograms, whose best plan is found by trying all."""
    alike = {str(rows): 1 for rows in range(1, 7)}
    fixed = [{"2": 50, "3": 1, "8": 1}, {"30": 1, "4": 7, "5": 7, "6": 7}, {"9": 3}, alike]
    drawn = [
        {str(rows): draw.choice([1, 3, 20, 150]) for rows in draw.shuffled(range(1, 30))[:6]}
        for _ in range(6)
    ]
    for histogram in fixed + drawn:
        got = expect(student.plan_sizes(histogram, count), list[int], "the sizes")
        check(len(got) <= count, f"count is {count}, and {len(got)} sizes came back: {got}")
        check(got == sorted(got), f"the sizes {got} do not ascend")
        *smaller, top = sorted(map(int, histogram))
        check(max(got, default=0) >= top, f"the sizes {got} do not carry a step of {top} rows")
        others = itertools.combinations(smaller, min(count - 1, len(smaller)))
        least = min(padding(histogram, [*some, top]) for some in others)
        assert_equal(padding(histogram, got), least, f"the padded rows of {histogram} by {got}")


@task("buckets", contract=11)
def test_plans_of_billions_of_steps(student):
    """Of three and four billion steps a single one decides."""
    often = 3 * 10**9
    for more in (0, 1):
        histogram = {"1": often + 1 - more, "2": often + more, "3": 1}
        want = [2, 3] if more else [1, 3]
        assert_equal(student.plan_sizes(histogram, 2), want, f"the sizes for {histogram}")


@task("buckets", contract=11)
def test_plan_of_a_server(student):
    """64 kinds of steps and 8 sizes, in ten seconds."""
    alike = {str(rows): 5 for rows in range(64, 0, -1)}
    with student.time_limit(10):
        got = student.plan_sizes(alike, 8)
    assert_equal(got, [8, 16, 24, 32, 40, 48, 56, 64], "the sizes for 1 to 64 rows")


@task("buckets", contract=11)
def test_plans_of_no_steps_and_no_sizes(student):
    """{} gives [], and a count below 1 is a ValueError."""
    assert_equal(student.plan_sizes({}, 2), [], "the sizes for no steps")
    for histogram, count in (({"7": 3}, 0), ({"7": 3, "2": 1}, -1), ({}, 0)):
        with student.raises(ValueError, naming="count"):
            student.plan_sizes(histogram, count)


# --- Task 5: graphs --------------------------------------------------------------------------


class Running:
    """A GraphRunner for a model whose weights the graphs of the test alone see, on a CPU."""

    def __init__(
        self, student: Any, draw: Any, device: str, graphs: Graphs, sizes: list[int], value: Any = 0
    ) -> None:
        weights = random_weights(draw)
        self.known = loaded(student, weights)  # which may be read
        self.model = loaded(student, {n: student.veil(weight) for n, weight in weights.items()})
        self.cache = a_cache(student, device)
        fill(draw, self.cache, value)
        self.before = memory(self.cache)
        self.places = [student.places(self.cache, part) for part in PARTS]
        runner = student.GraphRunner(self.model, self.cache, sizes, graphs.argument)
        self.runner = expect(runner, Proxy, "GraphRunner(...)")

    def step(self, rows: Sequence[Row]) -> Any:
        return self.runner.step(*([*column] for column in zip(*rows, strict=True)))


BESIDE = 10 * SLOTS * VOCAB  # elements that torch may compute on between two replays


@task("graphs", contract=12)
def test_captures(student, draw, device):
    """Sizes 1 and 3 are captured once each, and the slots keep what they hold, where it is."""
    with student.graphs(BESIDE) as graphs:
        run = Running(student, draw, device, graphs, [1, 3])

        assert_kept(run.cache, run.before)
        used = set[int]()
        for slots in ([0], [1], [2, 0, 1], [1], [1, 2, 0]):
            run.step([(1, 0, slot) for slot in slots])
            used.add(len(slots))
            captured = expect(run.runner.captured, list[int], "captured")
            text = f"captured is {captured} after steps of {sorted(used)} rows"
            check(used <= {*captured} <= {1, 3}, f"{text}, of sizes [1, 3]")
            check(len(captured) == len({*captured}), f"{text}, which has one twice")
            there = f"{graphs.captured} graphs were captured"
            check(len(captured) <= graphs.captured <= 2, f"{text}, and {there}")
        check(graphs.made == 2, f"{graphs.made} graphs were made, expected 2")
        there = [student.places(run.cache, part) for part in PARTS]
        check(there == run.places, "the memory of the cache has moved")


@task("graphs", contract=13)
def test_replayed_steps_say_what_whole_texts_say(student, draw, device):
    """Rows of padding write to scratch alone, also where another text has begun in slot 2."""
    with student.graphs(BESIDE) as graphs:
        run = Running(student, draw, device, graphs, [3, 1], 1e4)
        texts = Texts(draw, run.known)
        for slots in ([0, 1, 2], [2], [1, 0], *ORDERS):
            if slots == [2]:
                texts.begin(2)
            rows, before = texts.grow(slots), memory(run.cache)
            texts.assert_said(run.step(rows), rows)
            assert_kept(run.cache, before, rows=rows)


@task("graphs", contract=13)
@pytest.mark.parametrize("sizes", [[3, 1], [2, 3]], ids=str)
def test_smallest_graph_that_fits(student, draw, device, sizes):
    """Each step is one replay, of the graph of the smallest size that is at least its rows."""
    with student.graphs(BESIDE) as graphs:
        run = Running(student, draw, device, graphs, sizes)
        numbers: dict[int, int] = {}  # of graphs, by the size that they stand for
        for turn, count in enumerate((3, 1, 2, 3, 2, 1)):
            run.step([(4, 5, slot) for slot in range(count)])
            if (replayed := graphs.replayed) is None:  # a GPU does not tell
                continue
            done = replayed[turn:]
            text = f"{len(done)} replays happened in a step of {count} rows"
            check(len(done) == 1 and len(replayed) == turn + 1, f"{text}, expected one")
            size = next(size for size in sorted(sizes) if size >= count)
            same = numbers.setdefault(size, done[0]) == done[0]
            check(same, f"a step of {count} rows replays another graph than that of size {size}")
        check(len({*numbers.values()}) == len(numbers), "one graph stands for several sizes")


@task("graphs", contract=14)
def test_results_stay(student, draw, device):
    """Steps of one size and of others, whose results are looked at after the last."""
    with student.graphs(BESIDE) as graphs:
        run = Running(student, draw, device, graphs, [2, 3])
        texts = Texts(draw, run.known)
        steps, wanted = list[list[Row]](), list[list[Tensor]]()
        for slots in ([0, 1], [2], [1, 2, 0], [2, 0]):
            steps.append(texts.grow(slots))
            wanted.append([says(run.known, texts.of[slot]) for slot in slots])

        cases = [tuple([*column] for column in zip(*rows, strict=True)) for rows in steps]
        results = expect(student.together_of(run.runner, "step", *cases), list, "the results")

        for turn, (got, rows) in enumerate(zip(results, wanted, strict=True)):
            logits = expect(got, Tensor, "the logits", shape=(len(rows), VOCAB))
            for row, want in zip(logits, rows, strict=True):
                close(row, want, f"the logits that step {turn} gave")


@task("graphs", contract=15)
def test_numbers_stay_and_weights_are_live(student, draw, device):
    """After a capture another eps changes nothing, another embedding does."""
    with student.graphs(BESIDE) as graphs:
        run = Running(student, draw, device, graphs, [1])
        texts = Texts(draw, run.known)
        run.step(texts.grow([0]))
        rows = texts.grow([0])
        want = says(run.known, texts.of[0])

        norm = expect(run.model.get_submodule("norm"), Proxy, "the norm")
        student.assign(norm, "eps", 30.0)

        got = expect(run.step(rows), Tensor, shape=(1, VOCAB))[0]
        close(got, want, "the logits with another eps")
        student.assign(norm, "eps", FIELDS["rms_norm_eps"])
        norm.load_state_dict({"weight": 2 * torch.ones(12)})
        got = expect(run.step(rows), Tensor, shape=(1, VOCAB))[0]
        close(got, 2 * want, "the logits with a norm that is twice as large")


@task("graphs", contract=16)
def test_what_step_refuses(student, draw, device):
    """Each is a ValueError that names what does not fit, and nothing is written."""
    refused = {
        "tokens": [
            *(([], [], []), ([1], [0, 1], [0, 1]), ([1] * 4, [0] * 4, [0, 1, 2, 1])),
            *(([1, 2], [0], [0, 1]), ([1, 2], [0, 1], [0]), ([1, 2, 3], [0, 1], [0, 1])),
        ],
        "slots": [
            *(([1, 2], [0, 0], [1, 1]), ([1], [0], [3]), ([1], [0], [-1])),
            *(([1, 2, 3], [0, 1, 2], [1, 0, 1]), ([1, 2, 3], [0, 1, 2], [1, 9, 2])),
        ],
        "positions": [
            *(([1], [MAX_LEN], [0]), ([1, 2], [0, -1], [0, 1])),
            *(([1, 2, 3], [0, 99, 2], [1, 0, 2]), ([1, 2, 3], [0, -1, 2], [1, 0, 2])),
        ],
    }
    with student.graphs(BESIDE) as graphs:
        run = Running(student, draw, device, graphs, [3])
        run.step([(1, 2, 0), (3, 4, 2)])
        before = memory(run.cache)
        for naming, cases in refused.items():
            for lists in cases:
                with student.raises(ValueError, naming=naming):
                    run.runner.step(*lists)

        assert_kept(run.cache, before)
