"""Hidden suite of lab 11. What the cache holds, and every logit, is compared with ours, row by row.

That a step is one static graph is shown by running the graph elsewhere, on a cache and inputs drawn
afterwards; calls of the backend and of its graphs are counted in the worker and police. Graphs that
are replayed are the judge's: on a CPU the device captures, replays and counts them, and they alone
compute on the model's weights. On a GPU fresh inputs, changed weights and a changed number of the
model's Python show what a replay does.
"""

import json
import secrets
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from grader.suite import (
    Backend,
    Graphs,
    Mismatch,
    Proxy,
    Race,
    assert_close,
    assert_equal,
    assert_unmodified,
    check,
    check_within,
    expect,
    task,
)
from reference import compiled as oracle
from reference import llama

VOCAB = 53
SLOTS, MAX_LEN = 5, 13
FIELDS: dict[str, Any] = {
    **{"vocab_size": VOCAB, "hidden_size": 20, "intermediate_size": 36, "num_layers": 2},
    **{"num_heads": 6, "num_kv_heads": 3, "head_dim": 4, "rms_norm_eps": 1e-5},
    **{"rope_theta": 10_000.0, "rope_scaling": None, "max_position_embeddings": 512},
    **{"tie_word_embeddings": False, "bos_token_id": None, "eos_token_ids": ()},
}
PARTS = ("keys", "values")
Row = tuple[int, int, int]  # token, position, slot


# --- a model and its cache, here and in the worker ---------------------------------------------


@dataclass(slots=True)
class Small:
    """A Llama with random weights: ours as numbers, the given one inside the worker."""

    fields: dict[str, Any]
    weights: dict[str, Tensor]
    inside: Proxy

    @property
    def config(self) -> Any:
        return SimpleNamespace(**self.fields)

    @property
    def wide(self) -> dict[str, Tensor]:
        return {name: weight.double() for name, weight in self.weights.items()}

    def recompute(self, tokens: Sequence[int]) -> Tensor:
        """Return the float64 logits [V] behind a text."""
        return llama.logits(self.config, self.wide, torch.tensor([tokens]))[0, -1]


def small(student: Any, draw: Any, *, veiled: bool = False, **changes: Any) -> Small:
    """Make a Llama of ``FIELDS``, wild enough that its logits depend on all that went before.

    Of one that is veiled replays of graphs alone compute on the weights.
    """
    fields = FIELDS | changes
    embed, inner = fields["hidden_size"], fields["intermediate_size"]
    queries, keys = (fields[name] * fields["head_dim"] for name in ("num_heads", "num_kv_heads"))
    shapes = {
        **{"self_attn.q_proj": (queries, embed), "self_attn.k_proj": (keys, embed)},
        **{"self_attn.v_proj": (keys, embed), "self_attn.o_proj": (embed, queries)},
        **{"mlp.gate_proj": (inner, embed), "mlp.up_proj": (inner, embed)},
        **{"mlp.down_proj": (embed, inner)},
    }
    norms = ("input_layernorm", "post_attention_layernorm")
    weights = {"model.norm": 1 + draw.normal(embed, scale=0.1)}
    for i in range(fields["num_layers"]):
        for name, shape in shapes.items():
            weights[f"model.layers.{i}.{name}"] = draw.normal(*shape, scale=2 * shape[1] ** -0.5)
        weights |= {f"model.layers.{i}.{name}": 1 + draw.normal(embed, scale=0.1) for name in norms}
    weights["model.embed_tokens"] = draw.normal(fields["vocab_size"], embed)
    if not fields["tie_word_embeddings"]:
        weights["lm_head"] = draw.normal(fields["vocab_size"], embed, scale=embed**-0.5)
    named = {f"{name}.weight": weight for name, weight in weights.items()}
    return loaded(student, fields, named, veiled=veiled)


def loaded(
    student: Any, fields: dict[str, Any], weights: dict[str, Tensor], *, veiled: bool = False
) -> Small:
    config = student.record("LlamaConfig", **fields)
    veil = student.veil if veiled else lambda weight: weight
    inside = student.given("llama").Llama(config, {n: veil(w) for n, w in weights.items()})
    return Small(fields, weights, expect(inside, Proxy, "the given Llama"))


@dataclass(slots=True)
class Bench:
    """A model with a cache of the submission's, and beside it what the cache should hold."""

    student: Any
    model: Small
    cache: Proxy
    ours: oracle.Slots
    texts: dict[int, list[int]] = field(default_factory=dict[int, list[int]])  # by their slots

    @property
    def slots(self) -> int:
        return self.ours.keys[0].shape[0] - 1

    @property
    def max_len(self) -> int:
        return self.ours.keys[0].shape[2]

    def layer(self, index: int, positions: Tensor, slots: Tensor) -> Proxy:
        """Return the object for one layer."""
        layers = self.cache.layers(positions, slots)
        num = self.model.fields["num_layers"]
        if isinstance(layers, list | tuple):
            check(len(layers) == num, f"layers gives {len(layers)} objects, expected {num}")
            return expect(layers[index], Proxy, "an object of layers")
        made = expect(layers, Proxy, "what layers returns").invoke_("__getitem__", (index,), {})
        return expect(made, Proxy, "an object of layers")

    def memory(self, part: str) -> list[Tensor]:
        """Return what a list of the cache holds, checked for its form."""
        held = expect(getattr(self.cache, part), list[Tensor], part)
        want = getattr(self.ours, part)
        check(len(held) == len(want), f"{part} has {len(held)} tensors, expected {len(want)}")
        for index, tensor in enumerate(held):
            expect(tensor, Tensor, f"{part}[{index}]", shape=want[index].shape)
        return held

    def snapshot(self) -> dict[str, list[Tensor]]:
        return {part: self.memory(part) for part in PARTS}

    def assert_kept(self, before: dict[str, list[Tensor]], but: Sequence[int] = ()) -> None:
        """Fail if a slot, other than those of ``but`` and scratch, has lost a bit."""
        for part in PARTS:
            pairs = zip(self.memory(part), before[part], strict=True)
            for layer, (now, then) in enumerate(pairs):
                for slot in range(self.slots):
                    if slot not in but:
                        same = torch.equal(now[slot], then[slot])
                        check(same, f"slot {slot} of {part}[{layer}] has changed")

    def assert_written(self, before: dict[str, list[Tensor]], rows: Sequence[Row]) -> None:
        """Fail unless ours and theirs hold the same at the rows' places, and all else is kept."""
        for part in PARTS:
            pairs = zip(self.memory(part), before[part], strict=True)
            for layer, (now, then) in enumerate(pairs):
                want = getattr(self.ours, part)[layer]
                kept = torch.ones(now.shape[0], now.shape[2], dtype=torch.bool)
                kept[-1] = False
                for _, position, slot in rows:
                    kept[slot, position] = False
                    what = f"{part}[{layer}] of slot {slot} at position {position}"
                    close(now[slot, :, position], want[slot, :, position], what)
                same = (now == then).all(dim=3).all(dim=1) | ~kept
                check(
                    bool(same.all()), f"{part}[{layer}] has changed where no token of this step is"
                )

    def fill(self, draw: Any, value: float = 0.0, scale: float = 1.0) -> None:
        """Let the cache's own update fill every slot, scratch too, on both sides."""
        everywhere = torch.arange(self.max_len).repeat(self.slots + 1, 1)
        slots = torch.arange(self.slots + 1)
        for index in range(self.model.fields["num_layers"]):
            k, v = (draw.normal(*self.ours.keys[index].shape, scale=scale) + value for _ in PARTS)
            self.layer(index, everywhere, slots).update(k, v)
            self.ours.keys[index].copy_(k)
            self.ours.values[index].copy_(v)

    def next_rows(self, draw: Any, slots: Sequence[int]) -> list[Row]:
        """Let each of these slots have one more token."""
        rows: list[Row] = []
        for slot in slots:
            text = self.texts.setdefault(slot, [])
            text.append(draw.integer(0, VOCAB))
            rows.append((text[-1], len(text) - 1, slot))
        return rows

    def rows_anywhere(self, draw: Any, count: int) -> list[Row]:
        """Draw a step that no text leads to: tokens at any places of different slots."""
        slots = draw.shuffled(range(self.slots))[:count]
        return [(draw.integer(0, VOCAB), draw.integer(0, self.max_len), slot) for slot in slots]

    def want(self, rows: Sequence[Row]) -> Tensor:  # float64 [B, V]
        """Let a step happen on our side."""
        tokens, positions, slots = zip(*rows, strict=True)
        return oracle.step(
            *(self.model.config, self.model.wide, self.ours), tokens, positions, slots
        )


def bench(
    student: Any,
    draw: Any,
    device: str,
    slots: int = SLOTS,
    max_len: int = MAX_LEN,
    *,
    veiled: bool = False,
    **changes: Any,
) -> Bench:
    model = small(student, draw, veiled=veiled, **changes)
    place = {} if device == "cpu" else {"device": device}  # a cache lies on the CPU by default
    return on(student, model, slots, max_len, **place)


def on(student: Any, model: Small, slots: int, max_len: int, **options: Any) -> Bench:
    config = student.record("LlamaConfig", **model.fields)
    cache = student.StaticCache(config, slots, max_len, **options)
    ours = oracle.Slots.zeros(model.config, slots, max_len)
    return Bench(student, model, expect(cache, Proxy, "StaticCache(...)"), ours)


def given_step(here: Bench, rows: Sequence[Row]) -> Tensor:  # [B, V]
    """Let the given Llama take a step on the submission's cache, which is all that it needs."""
    places = columns(rows)
    positions = places["positions"].unsqueeze(1)
    mask = torch.arange(here.max_len) <= positions[:, None, None]  # [B, 1, 1, max_len]
    layers = here.cache.layers(positions, places["slots"])
    out = here.model.inside(places["tokens"].unsqueeze(1), positions, mask, layers)
    return expect(out, Tensor, "the logits", shape=(len(rows), 1, VOCAB))[:, 0]


def close(got: object, want: Tensor, what: str) -> None:
    """Compare with float64; errors of the layers add up as those of a long sum do."""
    assert_close(got, want, "matmul", dtype=torch.float32, inner=1 << 14, what=what)


def columns(rows: Sequence[Row]) -> dict[str, Tensor]:
    """Return a step as its three tensors, in memory of their own."""
    names = ("tokens", "positions", "slots")
    return {name: torch.tensor(x) for name, x in zip(names, zip(*rows, strict=True), strict=True)}


# --- cache -----------------------------------------------------------------------------------


@task("cache", contract=1, gate=True)
@pytest.mark.parametrize(("slots", "max_len", "layers"), [(5, 13, 2), (1, 7, 3), (8, 1, 1)])
def test_memory_is_there_from_the_start(student, draw, device, slots, max_len, layers):
    """keys and values are lists of L tensors [slots + 1, G, max_len, D] of zeros."""
    here = bench(student, draw, device, slots, max_len, num_layers=layers)

    for part in PARTS:
        for index, tensor in enumerate(here.memory(part)):
            zeros = torch.zeros_like(here.ours.keys[index], dtype=torch.float32)
            assert_equal(tensor, zeros, f"{part}[{index}] of a new cache")


@task("cache", contract=1)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
def test_memory_has_the_dtype_asked_for(student, draw, device, dtype):
    """keys and values have the dtype of the constructor; device is a torch.device or its name."""
    model = small(student, draw)
    for place in (device, torch.device(device)):
        here = on(student, model, 2, 5, dtype=dtype, device=place)

        for part in PARTS:
            for tensor in here.memory(part):
                check(tensor.dtype == dtype, f"{part} has dtype {tensor.dtype}, expected {dtype}")


@task("cache", contract=1)
@pytest.mark.parametrize("place", [torch.device("meta"), "meta"], ids=["a device", "a name"])
def test_memory_lies_where_it_was_asked_for(student, draw, place):
    """device is a device or its name: on meta, which has no memory, any number of places fits."""
    config = student.record("LlamaConfig", **small(student, draw).fields)

    made = student.StaticCache(config, 10**6, 10**7, torch.float32, place)

    expect(made, Proxy, "StaticCache(...)")


@task("cache", contract=1)
def test_memory_never_moves(student, draw, device):
    """Neither an update nor a step of the model makes new memory for keys and values."""
    here = bench(student, draw, device)
    before = [student.places(here.cache, part) for part in PARTS]
    check(len({*before[0], *before[1]}) > 0, "keys and values have no memory")

    for count in (3, 1, 4):
        rows = here.rows_anywhere(draw, count)
        places = columns(rows)
        k, v = (draw.normal(count, 3, 1, 4) for _ in PARTS)
        for index in range(2):
            positions = places["positions"].unsqueeze(1)
            here.layer(index, positions, places["slots"]).update(k, v)
        given_step(here, rows)
        here.snapshot()  # its form

    after = [student.places(here.cache, part) for part in PARTS]
    check(before == after, "keys or values lie in other memory than they did at first")


def distinct_places(draw: Any, batch: int, new: int, max_len: int) -> Tensor:
    """Draw different positions for each row, in any order."""
    return torch.tensor([draw.shuffled(range(max_len))[:new] for _ in range(batch)])


@task("cache", contract=2)
@pytest.mark.parametrize(("batch", "new"), [(3, 1), (1, 4), (4, 5), (6, 13)])
def test_update_writes_each_token_to_its_place(student, draw, device, batch, new):
    """Token t of row b goes to (slots[b], positions[b, t]), and the rows come back whole."""
    here = bench(student, draw, device)
    here.fill(draw)
    for index in (1, 0):
        slots = torch.tensor(draw.shuffled(range(SLOTS + 1))[:batch])
        positions = distinct_places(draw, batch, new, MAX_LEN)
        # As in a model: [B, T, G, D] in memory.
        k, v = (draw.normal(batch, new, 3, 4).transpose(1, 2) for _ in PARTS)

        got = here.layer(index, positions, slots).update(k, v)

        for b in range(batch):
            for t in range(new):
                here.ours.write(index, int(slots[b]), int(positions[b, t]), k[b, :, t], v[b, :, t])
        returned = expect(got, tuple[Tensor, Tensor], "what update returns")
        for part, rows in zip(PARTS, returned, strict=True):
            want = [x.float() for x in getattr(here.ours, part)]
            assert_equal(rows, want[index][slots], f"the {part} that update returns")
            assert_equal(here.memory(part), want, f"{part} after update")


@task("cache", contract=2)
def test_one_step_after_the_other(student, draw, device):
    """What earlier updates have written stays until it is written over."""
    here = bench(student, draw, device)
    for _ in range(6):
        batch = draw.integer(1, SLOTS + 1)
        slots = torch.tensor(draw.shuffled(range(SLOTS))[:batch])
        positions = distinct_places(draw, batch, 1, MAX_LEN)
        k, v = (draw.normal(batch, 3, 1, 4) for _ in PARTS)

        here.layer(0, positions, slots).update(k, v)

        for b in range(batch):
            here.ours.write(0, int(slots[b]), int(positions[b, 0]), k[b, :, 0], v[b, :, 0])
    for part in PARTS:
        want = [x.float() for x in getattr(here.ours, part)]
        assert_equal(here.memory(part), want, f"{part} after six updates")


@task("cache", contract=2)
def test_update_of_any_of_hundreds_of_slots(student, draw, device):
    """A slot is one of as many as the cache has."""
    here = bench(student, draw, device, 300, 2, num_layers=1)
    slots = torch.tensor([299, 127, 256, 0, 300, 128, 255])
    k, v = (draw.normal(7, 3, 1, 4) for _ in PARTS)

    here.layer(0, torch.ones(7, 1, dtype=torch.int64), slots).update(k, v)

    for b, slot in enumerate(slots.tolist()):
        here.ours.write(0, slot, 1, k[b, :, 0], v[b, :, 0])
    for part in PARTS:
        want = [x.float() for x in getattr(here.ours, part)]
        assert_equal(here.memory(part), want, f"{part} after an update of seven of 300 slots")


# --- step ------------------------------------------------------------------------------------


def play(here: Bench, draw: Any, step: Callable[..., Any], counts: Sequence[int]) -> None:
    """Let texts grow by steps of so many rows, in any order, and compare with full recompute."""
    for count in counts:
        rows = here.next_rows(draw, draw.shuffled(range(here.slots))[:count])

        got = step(rows)

        got = expect(got, Tensor, "the logits", shape=(count, VOCAB))
        for row, (_, position, slot) in zip(got, rows, strict=True):
            want = here.model.recompute(here.texts[slot])
            close(row, want, f"the logits of slot {slot} at position {position}")


def eager(here: Bench) -> Callable[[Sequence[Row]], Any]:
    return lambda rows: here.student.decode_step(
        here.model.inside, here.cache, *columns(rows).values()
    )


@task("step", contract=3, gate=True)
@pytest.mark.parametrize(
    "changes", [{}, {"num_kv_heads": 1}, {"tie_word_embeddings": True}], ids=str
)
def test_steps_give_the_logits_of_full_recompute(student, draw, device, changes):
    """Rows of any slots, each at its own position, say what their whole text says."""
    here = bench(student, draw, device, **changes)

    play(here, draw, eager(here), [4, 1, 3, 5, 2, 5, 5, 3])


@task("step", contract=3)
@pytest.mark.parametrize("garbage", [1e4, -1e4])
def test_garbage_behind_a_position_is_not_seen(student, draw, device, garbage):
    """What an earlier sequence has left behind a row's position does not matter."""
    here = bench(student, draw, device)
    here.fill(draw, garbage)

    play(here, draw, eager(here), [5, 3, 4, 5])


@task("step", contract=3)
def test_a_token_may_be_all_zeros(student, draw, device):
    """What is written may be 0: where a text ends is told by positions, and by no value."""
    model = small(student, draw, num_layers=1)
    weights = model.weights | {"model.embed_tokens.weight": draw.normal(VOCAB, 20)}
    weights["model.embed_tokens.weight"][: VOCAB // 2] = 0.0
    model = loaded(student, model.fields, weights)
    here = on(student, model, SLOTS, MAX_LEN, device=device)
    here.fill(draw)

    play(here, draw, eager(here), [5, 3, 4, 5, 5])


# Where a position may be beyond what a number of the dtype holds, and how far off honest code is.
FAR = {torch.float32: (4100, 2e-3), torch.float16: (2052, 2e-2), torch.bfloat16: (260, 1e-1)}


@task("step", contract=3)
@pytest.mark.parametrize("dtype", list(FAR), ids=str)
def test_far_positions_are_told_apart(student, draw, device, dtype):
    """Positions in the hundreds and thousands are what they are, in any dtype of the model."""
    far, limit = FAR[dtype]
    made = small(student, draw, num_layers=1, max_position_embeddings=8192)
    low = {name: weight.to(dtype) for name, weight in made.weights.items()}
    here = on(student, loaded(student, made.fields, low), 2, far, dtype=dtype, device=device)
    for slot in (0, 1, 2):
        k, v = (draw.normal(1, 3, far, 4).to(dtype) for _ in PARTS)
        k[:, :, -6:], v[:, :, -6:] = 300.0, -300.0  # whose products a half can hold
        here.layer(0, torch.arange(far).unsqueeze(0), torch.tensor([slot])).update(k, v)
        here.ours.keys[0][slot], here.ours.values[0][slot] = k[0], v[0]

    for position in range(far - 6, far):
        rows = [(draw.integer(0, VOCAB), position, slot) for slot in (1, 0)]
        got = student.decode_step(here.model.inside, here.cache, *columns(rows).values())
        got = expect(got, Tensor, "the logits", shape=(2, VOCAB))
        near(got, here.want(rows), limit, f"the logits at position {position}")
        for part in PARTS:
            now, want = here.memory(part)[0][:2, :, position], getattr(here.ours, part)[0]
            near(now, want[:2, :, position], limit, f"{part} at position {position}")


def near(got: Tensor, want: Tensor, limit: float, what: str) -> None:
    """Compare as a whole: what low precision loses is far less than what another place would."""
    error = (got.double() - want).norm() / want.norm()
    check_within(float(error), limit, f"{what} are off by {error:.1g} of their size", what)


@task("step", contract=3)
def test_hundreds_of_slots(student, draw, device):
    """A slot may be any of hundreds."""
    here = bench(student, draw, device, 300, 2, num_layers=1)
    here.fill(draw)
    rows = [(draw.integer(0, VOCAB), slot % 2, slot) for slot in (299, 127, 256, 0, 128, 255)]
    before, want = here.snapshot(), here.want(rows)

    got = eager(here)(rows)

    close(got, want, "the logits of slots up to 299")
    here.assert_written(before, rows)


@task("step", contract=3)
def test_arguments_of_a_step_stay_as_they_are(student, draw, device):
    """Tokens, positions and slots are the caller's: a step writes to the cache alone."""
    here = bench(student, draw, device, num_layers=1)
    _, step = compiled(here)
    for function in (partial(student.decode_step, here.model.inside, here.cache), step):
        given = {name: student.watch(x) for name, x in columns(here.rows_anywhere(draw, 3)).items()}

        expect(function(*given.values()), Tensor, "the logits", shape=(3, VOCAB))

        for name, argument in given.items():
            assert_unmodified(argument, name)


def compiled(here: Bench) -> tuple[Backend, Proxy]:
    backend = here.student.backend()
    backend.name(here.model.inside, keys=(here.cache, "keys"), values=(here.cache, "values"))
    step = here.student.compile_step(here.model.inside, here.cache, backend.argument)
    return backend, expect(step, Proxy, "what compile_step returns")


def assert_one_graph(
    here: Bench, rows: Sequence[Row], got: object, runs: int, backend: Backend
) -> None:
    """Compare the logits of a compiled step, for which one graph must have run."""
    got = expect(got, Tensor, "the logits", shape=(len(rows), VOCAB))
    close(got, here.want(rows), f"the logits of a step of {len(rows)} rows")
    many = "no graph of the backend" if not runs else f"{runs} graphs of the backend"
    why = "" if runs == 1 else backend.why  # it is asked for: not in each step
    check(runs == 1, f"in a step of {len(rows)} rows {many} ran, expected one{why}")


def run_step(here: Bench, backend: Backend, step: Proxy, rows: Sequence[Row]) -> None:
    """Run a compiled step and look at what comes of it."""
    before = backend.runs
    got = step(*columns(rows).values())
    assert_one_graph(here, rows, got, backend.runs - before, backend)


def graph_of(here: Bench, backend: Backend, step: Proxy, rows: Sequence[Row]) -> Any:
    """Run a compiled step, and return its graph."""
    seen = backend.watch(step, **columns(rows))
    assert_one_graph(here, rows, seen.result, seen.runs, backend)
    return seen.graph


@task("step", contract=4, gate=True)
@pytest.mark.parametrize(("count", "layers"), [(3, 2), (1, 1)])
def test_one_graph_for_all_steps(student, draw, device, count, layers):
    """backend is called once for a batch size, and each step is one call of its graph."""
    here = bench(student, draw, device, num_layers=layers)
    here.fill(draw)
    backend, step = compiled(here)

    for turn in range(14):
        rows = here.rows_anywhere(draw, count)
        if turn in (0, 9):  # the ends of a slot
            rows[0] = (rows[0][0], (MAX_LEN - 1) * (turn == 9), rows[0][2])
        before = here.snapshot()
        run_step(here, backend, step, rows)
        here.assert_written(before, rows)

    say = f"backend was called {backend.calls} times for 14 steps of {count} rows, expected 1"
    check(backend.calls == 1, f"{say}{backend.why}")


@task("step", contract=4)
def test_no_value_is_read(student, draw, device):
    """A compiled step looks at no value of a tensor: that would wait for the device."""
    here = bench(student, draw, device, num_layers=1)
    here.fill(draw)
    backend, step = compiled(here)
    for _ in range(2):
        run_step(here, backend, step, here.rows_anywhere(draw, 3))

    read = backend.reads(step, *columns(here.rows_anywhere(draw, 3)).values())

    check(not read, f"a step reads values of tensors, by {', '.join(read)}, expected none")


@task("step", contract=5)
@pytest.mark.parametrize(("counts", "layers"), [((3,), 2), ((1, 4), 1)], ids=str)
def test_graph_is_right_elsewhere(student, draw, device, counts, layers):
    """The graph of a step, run on another cache and on other inputs, gives their logits.

    So does that of a batch size that comes later.
    """
    here = bench(student, draw, device, num_layers=layers)
    backend, step = compiled(here)
    for count in counts:
        graph = graph_of(here, backend, step, here.rows_anywhere(draw, count))
        for _ in range(3):
            other = Bench(student, here.model, here.cache, drawn_slots(draw, here.ours))
            assert_right_elsewhere(student, other, graph, other.rows_anywhere(draw, count))


def drawn_slots(draw: Any, like: oracle.Slots) -> oracle.Slots:
    """Draw all that a cache holds, as float32 has it."""
    drawn = ([draw.normal(*x.shape).double() for x in part] for part in (like.keys, like.values))
    return oracle.Slots(*drawn)


def assert_right_elsewhere(student: Any, here: Bench, graph: Any, rows: Sequence[Row]) -> None:
    """Fail unless a graph does to ``here.ours`` what a step does."""
    weights = here.model.weights.items()
    held = {f"model.{name.removeprefix('model.')}": weight for name, weight in weights}
    for part in PARTS:
        held |= {f"{part}.{i}": x.float() for i, x in enumerate(getattr(here.ours, part))}
    before = {part: [x.float() for x in getattr(here.ours, part)] for part in PARTS}
    results, after = student.run_elsewhere(graph, held | columns(rows))
    want = here.want(rows)

    elsewhere = "of the graph, run elsewhere on other inputs,"
    close(logits_of(results, want), want, f"the logits {elsewhere}")
    for part in PARTS:
        for layer, then in enumerate(before[part]):
            now = expect(after.get(f"{part}.{layer}"), Tensor, part, shape=then.shape)
            places = torch.zeros(then.shape[0], then.shape[2], dtype=torch.bool)
            for _, position, slot in rows:
                places[slot, position] = True
            ours = getattr(here.ours, part)[layer].transpose(1, 2)[places]
            close(now.transpose(1, 2)[places], ours, f"{part}[{layer}] {elsewhere} at its places")
            same = torch.equal(now.transpose(1, 2)[~places], then.transpose(1, 2)[~places])
            check(same, f"{part}[{layer}] {elsewhere} has changed where no token is")


def logits_of(results: object, want: Tensor) -> Tensor:
    """Return that of a graph's results which has the size of the logits."""
    items: list[Any] = [results]
    if isinstance(results, list | tuple):
        items = [*results]
    fitting = [x for x in items if isinstance(x, Tensor) and x.numel() == want.numel()]
    if len(fitting) != 1:
        shapes = [[*x.shape] for x in items if isinstance(x, Tensor)]
        raise Mismatch(
            f"the graph gives tensors of shapes {shapes[:4]}, expected logits {[*want.shape]}"
        )
    return fitting[0].reshape(want.shape)


@task("step", contract=6)
def test_further_batch_sizes_cost_one_call(student, draw, device):
    """A batch size that is new costs one call of backend at most, one that was there none."""
    here = bench(student, draw, device, num_layers=1)
    here.fill(draw)
    backend, step = compiled(here)
    calls, known = 0, set[int]()
    for count in (3, 5, 3, 2, 4, 5, 1, 2):
        run_step(here, backend, step, here.rows_anywhere(draw, count))
        now, most = backend.calls, calls + (count not in known)
        kind = "an old" if count in known else "a new"
        text = f"{kind} batch size, {count}, cost {now - calls} calls of backend"
        check(now <= most, f"{text}, expected {most - calls} at most{backend.why}")
        calls = now
        known.add(count)


MANY = 11  # torch.compile keeps eight graphs of one piece of code, if sizes are no variables


@task("step", contract=6)
def test_many_batch_sizes(student, draw, device):
    """However many sizes there were, each step is one call of a graph."""
    here = bench(student, draw, device, MANY, 3, num_layers=1)
    here.fill(draw)
    backend, step = compiled(here)

    for count in (*draw.shuffled(range(1, MANY + 1)), *draw.shuffled(range(1, MANY + 1))[:4]):
        run_step(here, backend, step, here.rows_anywhere(draw, count))

    calls = backend.calls
    check(calls <= MANY, f"backend was called {calls} times for {MANY} batch sizes{backend.why}")


# --- prefill ---------------------------------------------------------------------------------


def prefilled(here: Bench, sizes: list[int]) -> tuple[Backend, Proxy]:
    backend = here.student.backend()
    prefill = here.student.Prefill(here.model.inside, here.cache, sizes, backend.argument)
    return backend, expect(prefill, Proxy, "Prefill(...)")


def read_prompt(here: Bench, draw: Any, prefill: Proxy, length: int, slot: int) -> None:
    """Let a prompt enter a slot; its logits, and all other slots, are compared."""
    here.texts[slot] = draw.tokens(VOCAB, length)
    before = here.snapshot()

    got = prefill(here.texts[slot], slot)

    got = expect(got, Tensor, "the logits", shape=(VOCAB,))
    close(got, here.model.recompute(here.texts[slot]), f"the logits of a prompt of {length} tokens")
    here.assert_kept(before, but=[slot])


@task("prefill", contract=7, gate=True)
def test_prompts_of_any_length(student, draw, device):
    """Prefill gives the logits of the last token, and leaves all other slots alone."""
    here = bench(student, draw, device)
    here.fill(draw)
    _, prefill = prefilled(here, [5, 12])

    for length in (3, 12, 1, 7, 9, 5, 6):
        read_prompt(here, draw, prefill, length, draw.integer(0, SLOTS))


@task("prefill", contract=7)
@pytest.mark.parametrize("sizes", [[11], [7, 13, 2]], ids=str)
def test_one_graph_for_each_bucket(student, draw, device, sizes):
    """backend is called once for a bucket at most, and each prompt is one call of a graph."""
    here = bench(student, draw, device, num_layers=1)
    backend, prefill = prefilled(here, sizes)
    used, runs = set[int](), 0
    for length in draw.shuffled([1, 2, 3, 4, 5, 6, 8, 10, 11]):
        size = min(size for size in sizes if size >= length)
        used.add(size)
        read_prompt(here, draw, prefill, length, draw.integer(0, SLOTS))
        runs += 1
        text = f"{backend.runs} calls of graphs for {runs} prompts"
        check(backend.runs == runs, f"{text}, expected {runs}{backend.why}")
        padded = any(size in shape for shape in backend.shapes)
        check(padded, f"no input of the graph for a prompt of {length} tokens has length {size}")

    text = f"backend was called {backend.calls} times for {len(used)} buckets"
    check(1 <= backend.calls <= len(used), f"{text}, expected one each at most{backend.why}")


@task("prefill", contract=7)
def test_many_buckets(student, draw, device):
    """However many buckets were used, each prompt is one call of a graph."""
    here = bench(student, draw, device, 2, MANY, num_layers=1)
    backend, prefill = prefilled(here, draw.shuffled(range(1, MANY + 1)))

    for runs, length in enumerate(draw.shuffled(range(1, MANY + 1)), 1):
        read_prompt(here, draw, prefill, length, runs % 2)
        text = f"{backend.runs} calls of graphs for {runs} prompts, expected {runs}"
        check(backend.runs == runs, f"{text}{backend.why}")

    calls = backend.calls
    check(calls <= MANY, f"backend was called {calls} times for {MANY} buckets{backend.why}")


@task("prefill", contract=7)
def test_decoding_goes_on_after_a_prefill(student, draw, device):
    """The tokens that follow see the prompt, and nothing of its padding."""
    here = bench(student, draw, device)
    here.fill(draw, 1e4)
    _, prefill = prefilled(here, [3, 8])
    lengths = draw.shuffled([1, 3, 4, 7, 8])
    for slot, length in enumerate(lengths):
        read_prompt(here, draw, prefill, length, slot)

    play(here, draw, partial(given_step, here), [5, 3, 5, 2, 5])


@task("prefill", contract=7)
def test_slot_is_used_again(student, draw, device):
    """A shorter prompt takes the place of a longer one."""
    here = bench(student, draw, device, num_layers=1)
    _, prefill = prefilled(here, [4, 12])
    for slot in range(SLOTS):
        read_prompt(here, draw, prefill, 11, slot)
    for slot in range(SLOTS):
        read_prompt(here, draw, prefill, 2 + slot % 3, slot)

    play(here, draw, partial(given_step, here), [5, 5, 4])


@task("prefill", contract=8)
@pytest.mark.parametrize(
    ("naming", "cases"),
    [
        ("tokens", [(0, 1), (10, 1), (30, 0), (13, 4)]),
        ("slot", [(3, SLOTS), (3, -1), (9, SLOTS + 1), (4, 1000)]),
    ],
    ids=["tokens", "slot"],
)
def test_prefill_refuses(student, draw, device, naming, cases):
    """What does not fit is a ValueError that names it, and the cache keeps every bit."""
    here = bench(student, draw, device, num_layers=1)
    here.fill(draw)
    _, prefill = prefilled(here, [9, 4])
    before = here.snapshot()

    for length, slot in cases:
        with student.raises(ValueError, naming=naming):
            prefill(draw.tokens(VOCAB, length), slot)

    here.assert_kept(before)
    read_prompt(here, draw, prefill, 9, 4)


def continued(
    student: Any, model: Small, prompt: list[int], count: int, eos: Any, max_len: int, sizes: Any
) -> tuple[list[int], Backend]:
    backend = student.backend()
    got = student.generate(model.inside, prompt, count, eos, max_len, sizes, backend.argument)
    return expect(got, list[int], "the new tokens"), backend


def assert_greedy(model: Small, prompt: list[int], got: list[int], slack: float = 2e-4) -> None:
    for place, regret in enumerate(llama.regrets(model.config, model.wide, prompt, got)):
        check_within(regret, slack, f"new token {place} is not the most likely one", "regret")


@task("prefill", contract=9)
@pytest.mark.parametrize(
    ("length", "count", "max_len", "layers"), [(5, 9, 14, 2), (4, 12, 40, 1), (1, 1, 9, 1)]
)
def test_generated_tokens(student, draw, length, count, max_len, layers):
    """generate gives the greedy tokens, by one graph for the prompt and one for decoding."""
    model = small(student, draw, num_layers=layers)
    prompt = draw.tokens(VOCAB, length)

    got, backend = continued(student, model, prompt, count, [], max_len, [8, 4])

    check(len(got) == count, f"{len(got)} new tokens came back, expected {count}")
    assert_greedy(model, prompt, got)
    calls, runs = backend.calls, backend.runs
    text = f"backend was called {calls} times, expected once for each of two graphs"
    check(1 <= calls <= 2, f"{text}{backend.why}")
    text = f"graphs were called {runs} times for {count} tokens"
    check(count <= runs <= count + 1, f"{text}, expected {count}, or one more{backend.why}")


def clear_text(
    draw: Any, model: Small, count: int, gap: float = 1e-2
) -> tuple[list[int], list[int]]:
    """Draw a prompt whose greedy tokens leave no doubt; the last of them is there once."""
    while True:
        prompt, new = draw.tokens(VOCAB, 4), list[int]()
        clear = True
        for _ in range(count):
            best = model.recompute(prompt + new).topk(2)
            clear &= bool(best.values[0] - best.values[1] > gap)
            if not clear:
                break
            new.append(int(best.indices[0]))
        if clear and new.index(new[-1]) == count - 1:
            return prompt, new


@task("prefill", contract=9)
def test_generate_ends_at_an_eos(student, draw):
    """Any of eos_ids ends the text, the first new token too, and is not returned."""
    model = small(student, draw, num_layers=1)
    prompt, tokens = clear_text(draw, model, 5)
    others = [token for token in range(VOCAB) if token not in tokens]
    for kind, place in ((list, 0), (tuple, 4)):
        eos = kind([others[0], tokens[place], others[1]])

        got, _ = continued(student, model, prompt, 9, eos, 20, [6])

        assert_equal(got, tokens[:place], "the tokens before an EOS")


@task("prefill", contract=9)
def test_generate_in_low_precision(student, draw):
    """The cache has the model's dtype: a Llama in bfloat16 says what its weights say."""
    made = small(student, draw, num_layers=1)
    low = {name: weight.bfloat16() for name, weight in made.weights.items()}
    model = loaded(student, made.fields, low)
    prompt, tokens = clear_text(draw, model, 3, gap=0.5)

    got, _ = continued(student, model, prompt, 3, [], 9, [6])

    assert_equal(got, tokens, "the new tokens")


@task("prefill", contract=9)
def test_generate_of_no_tokens_and_of_too_many(student, draw):
    """max_new_tokens = 0 gives []; a text above max_len is a ValueError that names max_len."""
    model = small(student, draw, num_layers=1)
    prompt = draw.tokens(VOCAB, 5)

    assert_equal(continued(student, model, prompt, 0, [], 9, [6])[0], [], "the new tokens")
    for count, max_len in ((5, 9), (40, 9), (1, 5)):
        with student.raises(ValueError, naming="max_len"):
            continued(student, model, prompt, count, [], max_len, [5])


@task("prefill", contract=9)
def test_text_of_the_target_checkpoint(student, draw):
    """On the target checkpoint each new token is the best one, given all before it."""
    folder = student.checkpoint("target").host
    raw = json.loads((folder / "config.json").read_text())
    fields = FIELDS | {
        **{name: raw[name] for name in ("vocab_size", "hidden_size", "intermediate_size")},
        **{name: raw[name] for name in ("head_dim", "rms_norm_eps", "tie_word_embeddings")},
        **{"num_layers": raw["num_hidden_layers"], "num_heads": raw["num_attention_heads"]},
        **{"num_kv_heads": raw["num_key_value_heads"]},
        "rope_theta": raw.get("rope_parameters", raw)["rope_theta"],
    }
    weights = {name: w.float() for name, w in load_file(folder / "model.safetensors").items()}
    model = loaded(student, fields, weights)
    prompt = draw.tokens(fields["vocab_size"], 9)

    got, _ = continued(student, model, prompt, 6, [], 20, [16])

    check(len(got) == 6, f"{len(got)} new tokens came back, expected 6")
    assert_greedy(model, prompt, got, 1e-2)


# --- buckets ---------------------------------------------------------------------------------


@task("buckets", contract=10, gate=True)
def test_smallest_size_that_fits(student, draw):
    """bucket gives the smallest size that is at least n, whatever the order of sizes."""
    for _ in range(12):
        sizes = draw.shuffled(range(1, 60))[: draw.integer(1, 8)]
        for n in {1, min(sizes), max(sizes), draw.integer(1, max(sizes) + 1)}:
            want = min(size for size in sizes if size >= n)
            assert_equal(student.bucket(n, sizes), want, f"bucket({n}, {sizes})")


@task("buckets", contract=10)
@pytest.mark.parametrize("sizes", [[8], [2, 9, 4], [64, 1]], ids=str)
def test_more_than_all_sizes_is_refused(student, sizes):
    """n above all sizes is a ValueError that names n."""
    for n in (max(sizes) + 1, 10 * max(sizes)):
        with student.raises(ValueError, naming="n"):
            student.bucket(n, sizes)


def assert_plan(student: Any, histogram: dict[str, int], count: int) -> None:
    got = expect(student.plan_sizes(histogram, count), list[int], "the sizes")
    what = f"for {len(histogram)} kinds of steps and count {count}"
    check(len(got) <= count, f"{len(got)} sizes {what}, expected {count} at most")
    check(got == sorted(got), f"the sizes {got} are not ascending")
    padded = oracle.padded_rows(histogram, got)
    check(padded is not None, f"the sizes {got} {what} do not carry every step")
    want = oracle.fewest_padded_rows(histogram, count)
    check(padded == want, f"{padded} padded rows {what}, expected {want}")


@task("buckets", contract=11, gate=True)
def test_plans_have_the_fewest_padded_rows(student, draw):
    """No other sizes, as many or fewer, would pad less."""
    for _ in range(25):
        kinds = draw.shuffled(range(1, 40))[: draw.integer(1, 9)]
        histogram = {str(rows): draw.choice([1, 2, 7, 30, 200]) for rows in kinds}
        assert_plan(student, histogram, draw.integer(1, 6))


@task("buckets", contract=11)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_plan_where_greed_fails(student, count):
    """The best three sizes need not hold the best two, nor the most frequent ones."""
    assert_plan(student, {"1": 10, "5": 9, "6": 9, "10": 10}, count)
    assert_plan(student, {"2": 100, "3": 1, "4": 100, "9": 60, "10": 1, "30": 2}, count)
    assert_plan(student, {"100": 1, "9": 5, "10": 5, "11": 5}, count)
    assert_plan(student, {str(rows): 1 for rows in range(1, 10)}, count)
    for more in (0, 1):  # which of them no 32 bits tell
        assert_plan(student, {"1": 10**9 + more, "2": 10**9 + 1 - more, "3": 1}, count)
    assert_plan(student, {"5": 7, "6": 1, "7": 1, "10": 1, "15": 2}, count)
    assert_plan(student, {"1": 30, "3": 1, "6": 1, "10": 2, "12": 2, "15": 7}, count)


@task("buckets", contract=11)
def test_plans_of_many_sizes(student, draw):
    """Sixty kinds of steps and eight sizes: too many to try all in ten seconds."""
    histogram = {str(rows): 1 for rows in draw.shuffled(range(1, 61))}
    with student.time_limit(10):
        got = expect(student.plan_sizes(histogram, 8), list[int], "the sizes")
    # Steps as frequent as each other are best cut into runs as long as each other.
    lengths = [60 // 8 + (i < 60 % 8) for i in range(8)]
    want = sum(n * (n - 1) // 2 for n in lengths)
    check(len(got) <= 8, f"{len(got)} sizes came back, expected 8 at most")
    padded = oracle.padded_rows(histogram, got)
    check(padded == want, f"{padded} padded rows for 60 kinds of steps, expected {want}")


@task("buckets", contract=11)
def test_plan_of_nothing_and_of_no_sizes(student):
    """{} needs no sizes; count < 1 is a ValueError that names count."""
    assert_equal(student.plan_sizes({}, 3), [], "the sizes for no steps")
    for count in (0, -2):
        with student.raises(ValueError, naming="count"):
            student.plan_sizes({"3": 4}, count)


# --- graphs ----------------------------------------------------------------------------------


# Elements that torch may compute on between two replays: enough to look at the logits, and not a
# third of the products that one row takes.
BESIDE = 10 * SLOTS * VOCAB


@dataclass(slots=True)
class Running:
    """A GraphRunner, with the graphs that were made for it."""

    here: Bench
    runner: Proxy
    graphs: Graphs

    def step(self, rows: Sequence[Row]) -> Any:
        return self.runner.step(*([*column] for column in zip(*rows, strict=True)))

    def right_step(self, rows: Sequence[Row]) -> None:
        """Run a step; logits and cache must be ours."""
        before, want = self.here.snapshot(), self.here.want(rows)

        got = expect(self.step(rows), Tensor, "the logits", shape=(len(rows), VOCAB))

        close(got, want, f"the logits of a step of {len(rows)} rows")
        self.here.assert_written(before, rows)

    def replays(self, rows: Sequence[Row]) -> list[int]:
        """Run such a step, and return which graphs it has replayed; [0] where nobody can tell."""
        before = len(self.graphs.replayed or ())
        self.right_step(rows)
        replayed = self.graphs.replayed
        return [0] if replayed is None else replayed[before:]


@contextmanager
def a_bench(student: Any, draw: Any, device: str) -> Generator[tuple[Bench, Graphs], None, None]:
    """Lend graphs for a model on whose weights they alone compute, and a cache that is full."""
    with student.graphs(BESIDE) as graphs:
        here = bench(student, draw, device, veiled=True)
        here.fill(draw)
        yield here, graphs


def run_on(here: Bench, graphs: Graphs, sizes: list[int]) -> Running:
    runner = here.student.GraphRunner(here.model.inside, here.cache, sizes, graphs.argument)
    return Running(here, expect(runner, Proxy, "GraphRunner(...)"), graphs)


@contextmanager
def running(
    student: Any, draw: Any, device: str, sizes: list[int]
) -> Generator[Running, None, None]:
    with a_bench(student, draw, device) as (here, graphs):
        yield run_on(here, graphs, sizes)


@task("graphs", contract=12)
@pytest.mark.parametrize("sizes", [[1, 2, 4], [4, 1], [3]], ids=str)
def test_captures_leave_the_slots_alone(student, draw, device, sizes):
    """To capture leaves slots 0 to slots - 1 as they were, in the constructor and later."""
    with a_bench(student, draw, device) as (here, graphs):
        before = here.snapshot()

        run = run_on(here, graphs, sizes)

        here.assert_kept(before)
        for size in draw.shuffled(sizes):
            run.right_step(here.rows_anywhere(draw, size))


@task("graphs", contract=12)
@pytest.mark.parametrize("sizes", [[1, 2, 4], [5, 3]], ids=str)
def test_each_size_is_captured_once(student, draw, device, sizes):
    """captured lists the sizes that have a graph, each once."""
    used = set[int]()
    with running(student, draw, device, sizes) as run:
        for size in [*draw.shuffled(sizes), *sizes, *sizes]:
            run.step(run.here.rows_anywhere(draw, size))
            used.add(size)
            captured = expect(run.runner.captured, list[int], "captured")
            text = f"captured is {captured} after steps of {sorted(used)} rows"
            check(
                used <= {*captured} <= {*sizes}, f"{text}, expected each of these, of sizes {sizes}"
            )
            check(len({*captured}) == len(captured), f"{text}: a size is there twice")
            there = run.graphs.captured
            check(len(captured) <= there, f"{text}, expected no more than were captured, {there}")
        made = run.graphs.made
        text = f"{made} graphs were made for sizes {sizes}"
        check(made <= len(sizes), f"{text}, expected one each")


@task("graphs", contract=13, gate=True)
def test_steps_are_right(student, draw, device):
    """Each step works on its own tokens, positions and slots; padding touches only scratch."""
    with running(student, draw, device, [2, 5, 4]) as run:
        for count in (2, 1, 5, 3, 4, 1, 5, 2, 3, 1):
            run.right_step(run.here.rows_anywhere(draw, count))


@task("graphs", contract=13)
def test_texts_by_replays(student, draw, device):
    """Texts that grow by replays say what full recompute says."""
    with student.graphs(BESIDE) as graphs:
        here = bench(student, draw, device, veiled=True)
        here.fill(draw, 1e4)

        play(here, draw, run_on(here, graphs, [1, 3, 5]).step, [5, 2, 3, 1, 5, 4, 2])


@task("graphs", contract=13)
@pytest.mark.parametrize("sizes", [[1, 2, 5], [4, 2], [5, 3, 4]], ids=str)
def test_the_smallest_graph_that_fits_is_replayed(student, draw, device, sizes):
    """A step is one replay, of the graph of the smallest size that fits."""
    graph_of: dict[int, int] = {}
    with running(student, draw, device, sizes) as run:
        for count in [*sizes, *range(1, max(sizes) + 1), 1]:
            size = min(size for size in sizes if size >= count)
            replayed = run.replays(run.here.rows_anywhere(draw, count))
            text = f"in a step of {count} rows {len(replayed)} replays happened"
            check(len(replayed) == 1, f"{text}, expected 1")
            check(
                graph_of.setdefault(size, replayed[0]) == replayed[0],
                f"a step of {count} rows is not replayed by the graph of size {size}",
            )
    if device == "cpu":
        text = f"{len({*graph_of.values()})} graphs serve {len(graph_of)} sizes"
        check(len({*graph_of.values()}) == len(graph_of), f"{text}, expected one each")


@task("graphs", contract=14)
def test_results_are_the_callers(student, draw, device):
    """What a step has returned stays as it is when later steps run."""
    with running(student, draw, device, [2, 4]) as run:
        here = run.here
        steps = [here.rows_anywhere(draw, count) for count in (2, 3, 2, 4, 1, 3)]

        cases = [tuple([*column] for column in zip(*rows, strict=True)) for rows in steps]
        results = expect(student.together_of(run.runner, "step", *cases), list, "the results")

        for place, (rows, got) in enumerate(zip(steps, results, strict=True)):
            got = expect(got, Tensor, "the logits", shape=(len(rows), VOCAB))
            text = f"the logits of step {place} after step {len(steps) - 1}"
            close(got, here.want(rows), text)


@task("graphs", contract=15)
def test_numbers_of_the_model_stay(student, draw, device):
    """A number that the model's Python holds stays what it was in the capture."""
    with running(student, draw, device, [2, 4]) as run:
        here = run.here
        for count in (2, 4):
            run.right_step(here.rows_anywhere(draw, count))

        kinds = ("input", "post_attention")
        names = [f"layers.{i}.{kind}_layernorm" for i in (0, 1) for kind in kinds]
        for name in [*names, "norm"]:
            norm = expect(here.model.inside.get_submodule(name), Proxy, "a norm")
            student.assign(norm, "eps", 40.0)

        for count in (2, 3, 1, 4):
            run.right_step(here.rows_anywhere(draw, count))


@task("graphs", contract=15)
def test_weights_are_live(student, draw, device):
    """Weights that are changed in place are the new ones at once."""
    with running(student, draw, device, [2, 4]) as run:
        here = run.here
        for count in (2, 4):
            run.right_step(here.rows_anywhere(draw, count))

        changed = {
            name: weight * (1 + draw.normal(*weight.shape, scale=0.3))
            for name, weight in here.model.weights.items()
        }
        inner = {name.removeprefix("model."): student.veil(w) for name, w in changed.items()}
        here.model.inside.load_state_dict(inner)
        here.model.weights = changed

        for count in (4, 1, 3, 2):
            run.right_step(here.rows_anywhere(draw, count))


@task("graphs", contract=16)
@pytest.mark.parametrize(
    ("lists", "naming"),
    [
        *(([[], [], []], "tokens"), ([[1], [2, 3], [0, 1]], "tokens")),
        *(([[1, 2], [2], [0, 1]], "tokens"), ([[1, 2], [2, 3], [0]], "tokens")),
        *(([[1] * 5, [2] * 5, [*range(5)]], "tokens"), ([[1, 2], [3, 4], [2, 2]], "slots")),
        *(([[1, 2], [3, 4], [0, 5]], "slots"), ([[1, 2], [3, 4], [-1, 2]], "slots")),
        *(([[1] * 3, [3] * 3, [2, 0, 2]], "slots"), ([[1] * 3, [3] * 3, [1, 5, 2]], "slots")),
        ([[1] * 3, [3, 13, 4], [1, 0, 2]], "positions"),
        *(([[1, 2], [3, 13], [0, 2]], "positions"), ([[1], [-1], [0]], "positions")),
    ],
    ids=str,
)
def test_runner_refuses(student, draw, device, lists, naming):
    """What does not fit is a ValueError that names it, and nothing is written."""
    with running(student, draw, device, [2, 4]) as run:
        here = run.here
        run.right_step(here.rows_anywhere(draw, 2))
        before = here.snapshot()

        with student.raises(ValueError, naming=naming):
            run.runner.step(*lists)

        here.assert_kept(before)
        run.right_step(here.rows_anywhere(draw, 3))


# --- speed -----------------------------------------------------------------------------------

LAYERS, WIDTH = 22, 2048  # 1.1 billion weights
SECRET = secrets.randbits(60)  # of the weights of this grading


def step_race(batch: int) -> Race:
    """Race a step of a batch against the given Llama in a CUDA graph; tokens are fresh each time.

    ``labs/timed.py`` makes model, cache and runner once; each step reads all weights.
    """

    def inputs(generator: torch.Generator) -> tuple[Tensor, ...]:
        vocab = 125 * WIDTH // 8
        return (torch.randint(vocab, (batch,), generator=generator, device=generator.device),)

    layer = (2 + 2 / 8 + 3 * 11 / 4) * WIDTH**2
    weights = round(LAYERS * layer + 125 * WIDTH**2 / 8)
    return Race(
        function="timed_step",
        case=f"a batch of {batch}",
        inputs=inputs,
        options={"seed": SECRET, "layers": LAYERS, "width": WIDTH},
        compare="model",
        bytes=2 * weights,
        flops=2 * batch * weights,
        size=batch,
        axis="rows",
    )


@task("speed", gate=True, needs=("graphs",))
@pytest.mark.parametrize("batch", [1, 8])
def test_timed_steps_are_right(stopwatch, batch):
    """Steps are right at the size that is timed."""
    stopwatch.verify(step_race(batch))


@task("speed", tiers="step", needs=("graphs",))
@pytest.mark.parametrize("batch", [1, 8])
def test_step_speed(stopwatch, tier, batch):
    """A step keeps up with the given Llama in a CUDA graph."""
    stopwatch.reach(tier, step_race(batch))
