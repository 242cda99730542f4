"""Public tests of lab 11: the examples of the handout and a few more, by the handout's numbers.

What a text should say is asked of the given Llama, which reads it whole.
"""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.suite import Backend, Graphs, Proxy, assert_close, assert_equal, check, expect, task

VOCAB, SLOTS, MAX_LEN = 31, 3, 10
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


def loaded(student: Any, weights: dict[str, Any], layers: int = 2) -> Proxy:
    """The given Llama with these weights."""
    config = student.record("LlamaConfig", **FIELDS | {"num_layers": layers})
    return expect(student.given("llama").Llama(config, weights), Proxy, "the given Llama")


def given_model(student: Any, draw: Any, layers: int = 2) -> Proxy:
    """The given Llama with random weights."""
    return loaded(student, random_weights(draw, layers), layers)


def a_cache(student: Any, device: str, layers: int = 2, slots: int = SLOTS) -> Proxy:
    config = student.record("LlamaConfig", **FIELDS | {"num_layers": layers})
    place = {} if device == "cpu" else {"device": device}  # a cache lies on the CPU by default
    cache = student.StaticCache(config, slots, MAX_LEN, **place)
    return expect(cache, Proxy, "StaticCache(...)")


def memory(cache: Proxy) -> dict[str, list[Tensor]]:
    """What the cache holds, checked for its form."""
    held = {part: expect(getattr(cache, part), list[Tensor], part) for part in PARTS}
    for part, tensors in held.items():
        check(len(tensors) == 2, f"{part} has {len(tensors)} tensors, expected 2")
        for tensor in tensors:
            expect(tensor, Tensor, part, shape=(SLOTS + 1, 2, MAX_LEN, 6))
    return held


def layer_of(cache: Proxy, index: int, positions: Tensor, slots: Tensor) -> Proxy:
    layers = cache.layers(positions, slots)
    if isinstance(layers, Proxy):
        layers = [layers.invoke_("__getitem__", (i,), {}) for i in range(2)]
    check(len(layers) == 2, f"layers gives {len(layers)} objects, expected 2")
    return expect(layers[index], Proxy, "an object of layers")


def fill(draw: Any, cache: Proxy, value: float = 0.0) -> None:
    """Let the cache's own update fill all slots, scratch too."""
    positions, slots = torch.arange(MAX_LEN).repeat(SLOTS + 1, 1), torch.arange(SLOTS + 1)
    for index in range(2):
        k, v = (draw.normal(SLOTS + 1, 2, MAX_LEN, 6) + value for _ in PARTS)
        layer_of(cache, index, positions, slots).update(k, v)


def assert_kept(cache: Proxy, before: dict[str, list[Tensor]], but: Sequence[int] = ()) -> None:
    for part, tensors in memory(cache).items():
        for now, then in zip(tensors, before[part], strict=True):
            for slot in range(SLOTS):
                same = slot in but or torch.equal(now[slot], then[slot])
                check(same, f"slot {slot} of {part} has changed")


def says(model: Proxy, text: list[int]) -> Tensor:
    """The logits [V] behind a text, as the given Llama reads it whole."""
    out = model(torch.tensor([text]), torch.arange(len(text)).unsqueeze(0))
    return expect(out, Tensor, "the logits", shape=(1, len(text), VOCAB))[0, -1]


def close(got: object, want: Tensor, what: str) -> None:
    assert_close(got, want.double(), "matmul", dtype=torch.float32, inner=1 << 14, what=what)


def columns(rows: Sequence[Row]) -> dict[str, Tensor]:
    names = ("tokens", "positions", "slots")
    return {name: torch.tensor(x) for name, x in zip(names, zip(*rows, strict=True), strict=True)}


def given_step(model: Proxy, cache: Proxy, rows: Sequence[Row]) -> Tensor:  # [B, V]
    """Let the given Llama take a step on a cache."""
    places = columns(rows)
    positions = places["positions"].unsqueeze(1)
    mask = torch.arange(MAX_LEN) <= positions[:, None, None]  # [B, 1, 1, max_len]
    layers = cache.layers(positions, places["slots"])
    out = model(places["tokens"].unsqueeze(1), positions, mask, layers)
    return expect(out, Tensor, "the logits", shape=(len(rows), 1, VOCAB))[:, 0]


class Texts:
    """Texts in slots that grow by a token a step."""

    def __init__(self, draw: Any, model: Proxy) -> None:
        self._draw = draw
        self._model = model
        self.of: dict[int, list[int]] = {}

    def grow(self, slots: Sequence[int]) -> list[Row]:
        """Return the rows of a step in which each of these slots has one more token."""
        rows: list[Row] = []
        for slot in slots:
            text = self.of.setdefault(slot, [])
            text.append(self._draw.integer(0, VOCAB))
            rows.append((text[-1], len(text) - 1, slot))
        return rows

    def assert_said(self, got: object, rows: Sequence[Row]) -> None:
        logits = expect(got, Tensor, "the logits", shape=(len(rows), VOCAB))
        for row, (_, position, slot) in zip(logits, rows, strict=True):
            want = says(self._model, self.of[slot])
            close(row, want, f"the logits of slot {slot} at position {position}")


ORDERS = [[0, 2, 1], [1], [2, 0], [1, 0, 2], [2, 1]]

# --- Task 1: cache ---------------------------------------------------------------------------


@task("cache", contract=1)
def test_memory_of_a_cache(student, draw, device):
    """Two layers, [4, 2, 10, 6] each, all zeros, in the same place after a step."""
    cache = a_cache(student, device)
    for tensors in memory(cache).values():
        for tensor in tensors:
            assert_equal(tensor, torch.zeros(SLOTS + 1, 2, MAX_LEN, 6), "a new cache")
    before = [student.places(cache, part) for part in PARTS]

    fill(draw, cache)
    memory(cache)

    check(before == [student.places(cache, part) for part in PARTS], "the memory has moved")


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


@task("cache", contract=2)
def test_update_of_several_tokens(student, draw, device):
    """Three tokens of a row, in any order of positions, over what was there."""
    cache = a_cache(student, device)
    fill(draw, cache)
    want = memory(cache)["values"][0].clone()
    positions, slots = torch.tensor([[4, 9, 0], [2, 3, 1]]), torch.tensor([1, 3])
    k, v = (draw.normal(2, 3, 2, 6).transpose(1, 2) for _ in PARTS)

    returned = layer_of(cache, 0, positions, slots).update(k, v)

    for row in range(2):
        for new in range(3):
            want[slots[row], :, positions[row, new]] = v[row, :, new]
    _, values = expect(returned, tuple[Tensor, Tensor], "what update returns")
    assert_equal(values, want[slots], "the values that update returns")
    assert_equal(memory(cache)["values"][0], want, "values[0]")


# --- Task 2: step ----------------------------------------------------------------------------


@task("step", contract=3)
@pytest.mark.parametrize("garbage", [0.0, 1e4])
def test_steps_say_what_whole_texts_say(student, draw, device, garbage):
    """Rows in any order, each at its own position, over garbage of earlier sequences."""
    model, cache = given_model(student, draw), a_cache(student, device)
    fill(draw, cache, garbage)
    texts = Texts(draw, model)
    for slots in ORDERS:
        rows = texts.grow(slots)

        texts.assert_said(student.decode_step(model, cache, **columns(rows)), rows)


def compiled(student: Any, model: Proxy, cache: Proxy) -> tuple[Backend, Proxy]:
    backend = student.backend()
    backend.name(model, keys=(cache, "keys"), values=(cache, "values"))
    step = student.compile_step(model, cache, backend.argument)
    return backend, expect(step, Proxy, "what compile_step returns")


@task("step", contract=4)
def test_one_graph_for_eight_steps(student, draw, device):
    """Two rows a step: one call of backend, eight of its graph, and no value is read."""
    model, cache = given_model(student, draw), a_cache(student, device)
    backend, step = compiled(student, model, cache)
    texts = Texts(draw, model)
    for turn in range(8):
        rows = texts.grow([turn % 3, (turn + 1) % 3])
        texts.assert_said(step(**columns(rows)), rows)

    check(backend.calls == 1, f"backend was called {backend.calls} times, expected once")
    check(backend.runs == 8, f"its graphs ran {backend.runs} times in 8 steps, expected 8")
    read = backend.reads(step, *columns(texts.grow([0, 1])).values())
    check(not read, f"a step reads values of tensors, by {', '.join(read)}")


@task("step", contract=5)
def test_graph_of_a_step_is_right_elsewhere(student, draw, device):
    """The graph of the first token, run elsewhere, says what the second and third token should."""
    model, cache = given_model(student, draw), a_cache(student, device)
    backend, step = compiled(student, model, cache)
    texts = Texts(draw, model)
    first = texts.grow([2])
    graph = backend.watch(step, **columns(first)).graph
    values = {f"model.{name}": weight for name, weight in model.state_dict().items()}
    for _ in range(2):
        rows = texts.grow([2])
        held = memory(cache)
        values |= {f"{part}.{i}": held[part][i] for part in PARTS for i in range(2)}
        results, after = student.run_elsewhere(graph, values | columns(rows))
        logits = [x for x in results if isinstance(x, Tensor) and x.numel() == VOCAB]
        check(len(logits) == 1, "the graph does not give the logits of one row")
        texts.assert_said(logits[0].reshape(1, VOCAB), rows)
        step(**columns(rows))
        for part in PARTS:
            for i, tensor in enumerate(memory(cache)[part]):
                close(after[f"{part}.{i}"], tensor, f"{part}[{i}], as the graph leaves it,")


@task("step", contract=6)
def test_other_batch_sizes(student, draw, device):
    """Sizes 3, 2, 3, 1, 2: three are new, and cost three calls of backend at most."""
    model, cache = given_model(student, draw, layers=1), a_cache(student, device, layers=1)
    backend, step = compiled(student, model, cache)
    texts, most, known = Texts(draw, model), 0, set[int]()
    for slots in ([0, 1, 2], [2, 0], [1, 0, 2], [1], [0, 2]):
        rows = texts.grow(slots)
        most += len(slots) not in known
        known.add(len(slots))
        texts.assert_said(step(**columns(rows)), rows)
        text = f"backend was called {backend.calls} times after sizes {sorted(known)}"
        check(backend.calls <= most, f"{text}, expected {most} at most")


@task("step", contract=6)
def test_ten_batch_sizes(student, draw, device):
    """Ten slots, steps of 1 to 10 rows, each the first in its slot: always one graph runs."""
    model = given_model(student, draw, layers=1)
    backend, step = compiled(student, model, a_cache(student, device, layers=1, slots=10))
    for count in range(1, 11):
        tokens = torch.tensor(draw.tokens(VOCAB, count))
        got = step(tokens, torch.zeros_like(tokens), torch.arange(count))
        got = expect(got, Tensor, "the logits", shape=(count, VOCAB))
        close(got[-1], says(model, [int(tokens[-1])]), f"the last row of {count}")
        check(backend.runs == count, f"graphs ran {backend.runs} times in {count} steps")


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


# --- Task 3: prefill -------------------------------------------------------------------------


def prefilled(student: Any, model: Proxy, cache: Proxy, sizes: list[int]) -> tuple[Backend, Proxy]:
    backend = student.backend()
    prefill = student.Prefill(model, cache, sizes, backend.argument)
    return backend, expect(prefill, Proxy, "Prefill(...)")


@task("prefill", contract=7)
def test_prompts_in_buckets(student, draw, device):
    """Prompts of 3, 5, 1, 8, 7 tokens in buckets of 4 and 9; then decoding goes on."""
    model, cache = given_model(student, draw), a_cache(student, device)
    fill(draw, cache, 1e4)
    backend, prefill = prefilled(student, model, cache, [9, 4])
    texts = Texts(draw, model)
    for length, slot in ((3, 0), (5, 1), (1, 2), (8, 0), (7, 1)):
        texts.of[slot] = draw.tokens(VOCAB, length)
        before = memory(cache)
        got = expect(prefill(texts.of[slot], slot), Tensor, "the logits", shape=(VOCAB,))
        close(got, says(model, texts.of[slot]), f"the logits of {length} tokens")
        assert_kept(cache, before, but=[slot])
        if length > 4:
            padded = any(9 in shape for shape in backend.shapes)
            check(padded, f"no input of the graph for a prompt of {length} tokens has length 9")
    check(backend.calls <= 2, f"backend was called {backend.calls} times for 2 buckets")
    check(backend.runs == 5, f"graphs ran {backend.runs} times for 5 prompts")

    for slots in ([0, 1, 2], [2, 1]):
        rows = texts.grow(slots)
        texts.assert_said(given_step(model, cache, rows), rows)


@task("prefill", contract=8)
def test_what_prefill_refuses(student, draw, device):
    """No tokens, more than the largest size, and slots that are not there."""
    model, cache = given_model(student, draw), a_cache(student, device)
    fill(draw, cache)
    _, prefill = prefilled(student, model, cache, [4, 6])
    before = memory(cache)

    for tokens, slot, naming in (([], 0, "tokens"), ([1] * 7, 0, "tokens"), ([1], 3, "slot")):
        with student.raises(ValueError, naming=naming):
            prefill(tokens, slot)
    with student.raises(ValueError, naming="slot"):
        prefill([1, 2], -1)

    assert_kept(cache, before)


@task("prefill", contract=9)
def test_greedy_tokens(student, draw):
    """Six tokens, each the best one behind those before; an EOS ends them; max_len refuses."""
    model = given_model(student, draw, layers=1)
    prompt, backend = draw.tokens(VOCAB, 3), student.backend()

    got = student.generate(model, prompt, 6, [], 9, [4], backend.argument)

    got = expect(got, list[int], "the new tokens")
    check(len(got) == 6, f"{len(got)} new tokens came back, expected 6")
    for place, token in enumerate(got):
        want = int(says(model, prompt + got[:place]).argmax())
        check(token == want, f"new token {place} is {token}, expected {want}")
    check(backend.calls in (1, 2), f"backend was called {backend.calls} times, expected twice")
    check(backend.runs in (6, 7), f"graphs ran {backend.runs} times, expected 6")
    stop = [VOCAB, got[2]]
    ended = student.generate(model, prompt, 6, stop, 9, [4], student.backend().argument)
    assert_equal(ended, got[: got.index(got[2])], "the tokens before an EOS")
    with student.raises(ValueError, naming="max_len"):
        student.generate(model, prompt, 7, [], 9, [4], student.backend().argument)


# --- Task 4: buckets -------------------------------------------------------------------------


@task("buckets", contract=10)
def test_smallest_size(student):
    """Of 4, 16 and 8: 1 needs 4, 8 needs 8, 9 needs 16, and 17 does not fit."""
    for n, want in ((1, 4), (4, 4), (5, 8), (8, 8), (9, 16), (16, 16)):
        assert_equal(student.bucket(n, [4, 16, 8]), want, f"bucket({n}, [4, 16, 8])")
    with student.raises(ValueError, naming="n"):
        student.bucket(17, [4, 16, 8])


@task("buckets", contract=11)
@pytest.mark.parametrize(("count", "want"), [(1, [10]), (2, [6, 10]), (3, [1, 6, 10])], ids=str)
def test_plan_of_the_handout(student, count, want):
    """Steps of 1, 5, 6 and 10 rows."""
    histogram = {"5": 9, "1": 10, "10": 10, "6": 9}
    assert_equal(student.plan_sizes(histogram, count), want, "the sizes")


@task("buckets", contract=11)
def test_plans_of_few_and_of_no_steps(student):
    """{} gives [], one kind of step its own size, and count 0 a ValueError."""
    assert_equal(student.plan_sizes({}, 2), [], "the sizes for no steps")
    assert_equal(student.plan_sizes({"7": 3}, 1), [7], "the sizes")
    alike = {str(rows): 1 for rows in range(1, 7)}
    assert_equal(student.plan_sizes(alike, 3), [2, 4, 6], "the sizes for 1 to 6 rows")
    with student.raises(ValueError, naming="count"):
        student.plan_sizes({"7": 3}, 0)


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
        runner = student.GraphRunner(self.model, self.cache, sizes, graphs.argument)
        self.runner = expect(runner, Proxy, "GraphRunner(...)")

    def step(self, rows: Sequence[Row]) -> Any:
        return self.runner.step(*([*column] for column in zip(*rows, strict=True)))


BESIDE = 10 * SLOTS * VOCAB  # elements that torch may compute on between two replays


@task("graphs", contract=12)
def test_captures(student, draw, device):
    """Sizes 1 and 3 are captured once each, and the slots keep what they hold."""
    with student.graphs(BESIDE) as graphs:
        run = Running(student, draw, device, graphs, [1, 3])

        assert_kept(run.cache, run.before)
        for slots in ([0], [2, 0, 1], [1], [1, 2, 0]):
            run.step([(1, 0, slot) for slot in slots])
        captured = expect(run.runner.captured, list[int], "captured")
        assert_equal(sorted(captured), [1, 3], "captured, sorted,")
        check(graphs.made == 2, f"{graphs.made} graphs were made, expected 2")
        check(graphs.captured == 2, f"{graphs.captured} graphs were captured, expected 2")


@task("graphs", contract=13)
def test_replayed_steps_say_what_whole_texts_say(student, draw, device):
    """Rows of padding write to scratch alone, and each step is one replay."""
    with student.graphs(BESIDE) as graphs:
        run = Running(student, draw, device, graphs, [3, 1], 1e4)
        texts = Texts(draw, run.known)
        for step, slots in enumerate(ORDERS, 1):
            rows, before = texts.grow(slots), memory(run.cache)
            texts.assert_said(run.step(rows), rows)
            assert_kept(run.cache, before, but=slots)
            if (replayed := graphs.replayed) is not None:  # a GPU does not tell
                text = f"{len(replayed)} replays happened in {step} steps"
                check(len(replayed) == step, f"{text}, expected one each")


@task("graphs", contract=14)
def test_results_stay(student, draw, device):
    """Three steps of one size, whose results are looked at after the last."""
    with student.graphs(BESIDE) as graphs:
        run = Running(student, draw, device, graphs, [2])
        texts = Texts(draw, run.known)
        steps = [texts.grow([0, 1])]
        first = says(run.known, texts.of[0])
        steps += [texts.grow([1, 2]), texts.grow([2, 0])]

        cases = [tuple([*column] for column in zip(*rows, strict=True)) for rows in steps]
        results = expect(student.together_of(run.runner, "step", *cases), list, "the results")

        logits = expect(results[0], Tensor, "the logits", shape=(2, VOCAB))
        close(logits[0], first, "the logits of the first step after the third")


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
        "tokens": [([], [], []), ([1], [0, 1], [0, 1]), ([1] * 3, [0] * 3, [0, 1, 2])],
        "slots": [([1, 2], [0, 0], [1, 1]), ([1], [0], [3]), ([1], [0], [-1])],
        "positions": [([1], [MAX_LEN], [0]), ([1, 2], [0, -1], [0, 1])],
    }
    with student.graphs(BESIDE) as graphs:
        run = Running(student, draw, device, graphs, [2])
        run.step([(1, 2, 0), (3, 4, 2)])
        before = memory(run.cache)
        for naming, cases in refused.items():
            for lists in cases:
                with student.raises(ValueError, naming=naming):
                    run.runner.step(*lists)

        assert_kept(run.cache, before)
