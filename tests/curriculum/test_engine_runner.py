"""The reference engine's runner in plain torch: against full recompute, and what it refuses."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from reference import llama
from reference.engine import replays
from reference.engine.decoder import Decoder, StaticCache
from reference.engine.replays import TorchReplay
from reference.engine.runner import Runner
from reference.engine.weights import Packed, Weights
from reference.models.checkpoint import Model, random_model
from reference.quantization import dequantize_int4, fake_int4

PROMPTS = [[3, 5, 7, 1], [9, 2], [31, 8, 30, 2, 6]]
SLOTS = [2, 0, 3]
SIZES: dict[str, Any] = {"hidden_size": 64, "intermediate_size": 96, "head_dim": 16}


def model(**changes: Any) -> Model:
    generator = torch.Generator().manual_seed(5)

    def normal(*shape: int, scale: float = 1.0, shift: float = 0.0) -> Tensor:
        return torch.randn(*shape, generator=generator) * scale + shift

    return random_model(normal, **changes)


def truth(m: Model, tokens: list[int]) -> Tensor:  # [T, V]
    config, weights = m.exact
    return llama.logits(config, weights, torch.tensor([tokens]))[0]


def close(got: Tensor, want: Tensor) -> bool:
    return bool((got - want).abs().max() < 1e-4 * want.abs().max())


@pytest.fixture
def filled() -> tuple[Model, Runner]:
    m = model()
    runner = Runner(m, 4, 24, sizes=[2, 4], compiled=False)
    for prompt, slot in zip(PROMPTS, SLOTS, strict=True):
        assert close(runner.prefill(prompt, slot), truth(m, prompt)[-1])
    return m, runner


def test_a_step_of_rows_at_different_places_is_full_recompute(filled: tuple[Model, Runner]) -> None:
    m, runner = filled

    got = runner.step([11, 12, 13], [4, 2, 5], SLOTS)

    assert got.shape == (3, m.fields["vocab_size"])
    for row, prompt, token in zip(got, PROMPTS, [11, 12, 13], strict=True):
        assert close(row, truth(m, [*prompt, token])[-1])


def test_a_result_stays_when_the_next_step_comes(filled: tuple[Model, Runner]) -> None:
    _, runner = filled
    first = runner.step([11], [4], [2])
    kept = first.clone()

    runner.step([12], [5], [2])

    assert torch.equal(first, kept)


def test_a_replay_stays_where_a_graph_would_look_for_it() -> None:
    weights = Weights(model(), 24, torch.float32, "cpu")
    cache = StaticCache(weights.fields, 2, 24, torch.float32, "cpu")
    replay = TorchReplay(Decoder(weights), cache, 2, False)
    held = replay.inputs, replay.logits, replay.history
    replay.inputs.copy_(torch.tensor([[3, 5], [0, 0], [0, 1]]))

    replay.run(0)

    want = [truth(model(), [token])[-1] for token in (3, 5)]
    assert all(close(row, right) for row, right in zip(held[1], want, strict=True))
    assert torch.equal(held[0][0], held[1].argmax(-1))
    assert torch.equal(held[2][:, 0], held[1].argmax(-1))


def test_greedy_tokens_are_those_of_full_recompute(filled: tuple[Model, Runner]) -> None:
    m, runner = filled

    got = runner.greedy([11, 12, 13], [4, 2, 5], SLOTS, 6)

    config, weights = m.exact
    for row, prompt, token in zip(got.tolist(), PROMPTS, [11, 12, 13], strict=True):
        assert row == llama.greedy(config, weights, [*prompt, token], 6)[0]


def test_several_tokens_enter_behind_others_and_a_prompt_behind_its_start() -> None:
    m = model()
    runner = Runner(m, 2, 24, compiled=False)
    text = [4, 8, 15, 16, 23, 42, 7]
    want = truth(m, text)

    runner.prefill(text[:2], 1)
    got = runner.extend(torch.tensor(text[2:5]), 2, 1)

    assert close(got, want[2:5])
    assert close(runner.prefill(text, 1, start=5), want[-1])


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_a_window_takes_fewer_tokens_than_it_is_made_for(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Again:  # a graph's work without a graph
        def __init__(self, launch: Callable[[], None]) -> None:
            launch()
            self.replay = launch

    monkeypatch.setattr(replays, "Captured", Again)
    m, text = model(), [4, 8, 15, 16, 23, 42, 7]
    want, end = truth(m, text), len(text)
    runner = Runner(m, 2, end, compiled=False)  # the last place of all is among those it fills
    runner.prefill(text[: end - count], 1)
    memory = [*runner._cache.keys, *runner._cache.values]  # pyright: ignore[reportPrivateUsage]
    before = [x.clone() for x in memory]

    take = runner._windowed  # pyright: ignore[reportPrivateUsage]

    got = take(torch.tensor(text[-count:]), end - count, 1)

    assert close(got, want[-count:])
    for old, new in zip(before, memory, strict=True):
        assert torch.equal(old[0], new[0])
        assert torch.equal(old[1, :, : end - count], new[1, :, : end - count])
    runner.prefill(text[: end - 1], 0)
    assert close(take(torch.tensor(text[-1:]), end - 1, 0), want[-1:])
    assert close(got, want[-count:])  # what was returned is the caller's


def test_other_slots_keep_every_bit(filled: tuple[Model, Runner]) -> None:
    _, runner = filled
    memory = [*runner._cache.keys, *runner._cache.values]  # pyright: ignore[reportPrivateUsage]
    before = [x.clone() for x in memory]

    runner.step([1], [4], [2])  # of size 2: one row is padding

    for old, new in zip(before, memory, strict=True):
        old[2, :, 4] = new[2, :, 4]
        assert torch.equal(old[:4], new[:4])


def test_int4_is_the_model_of_dequantized_weights() -> None:
    m = model(**SIZES)
    runner = Runner(m, 1, 24, bits=4, compiled=False)
    joined = {
        name: fake_int4(w, 32).float()
        if "_proj" in name else w for name, w in m.weights.items()
    }  # fmt: skip
    text = [4, 8, 15]

    got = runner.prefill(text, 0)

    assert close(got, truth(Model(m.fields, joined), text)[-1])


def test_codes_lie_in_bytes_as_in_lab_09() -> None:
    w = torch.tensor([[-2, 0, 1.5, 5.5, 15, 1, 2, 0]])

    packed = Packed.of(w, 4)

    assert packed.codes.tolist() == [[0x40, 0xF7, 0x1F, 0x02]]
    parts = packed.codes, packed.scale, packed.zero, packed.group
    assert torch.equal(packed.dequantize(torch.float64), dequantize_int4(*parts))
    assert packed.nbytes == 4 + 2 * 4 + 2


def test_a_step_reads_all_weights_but_of_the_embedding_one_row() -> None:
    m = model()
    read = sum(w.numel() for name, w in m.weights.items() if "embed" not in name)

    assert Runner(m, 1, 8, dtype=torch.bfloat16, compiled=False).num_bytes == 2 * read


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (([], [], []), "tokens"),
        (([1, 2], [0], [0, 1]), "tokens"),
        (([1] * 5, [0] * 5, [0, 1, 2, 3, 4]), "tokens"),
        (([1, 2], [0, 0], [1, 1]), "slots"),
        (([1], [0], [4]), "slots"),
        (([1], [24], [0]), "positions"),
        (([1], [-1], [0]), "positions"),
    ],
)
def test_a_step_that_cannot_be_is_refused(arguments: Any, name: str) -> None:
    runner = Runner(model(), 4, 24, sizes=[2, 4], compiled=False)

    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        runner.step(*arguments)


def test_what_does_not_fit_is_refused() -> None:
    runner = Runner(model(), 2, 8, compiled=False)

    for call, name in (
        (lambda: runner.prefill([1] * 9, 0), "tokens"),
        (lambda: runner.prefill([], 0), "tokens"),
        (lambda: runner.prefill([1], 2), "slot"),
        (lambda: runner.extend(torch.tensor([1, 2]), 7, 0), "tokens"),
        (lambda: runner.greedy([1], [5], [0], 4), "positions"),
        (lambda: runner.greedy([1], [5], [0], 0), "count"),
        (lambda: Runner(model(), 2, 8, sizes=[2, 1]), "sizes"),
        (lambda: Runner(model(), 2, 8, bits=3), "bits"),
        (lambda: Weights(model(), 8, torch.float32, "cpu", 4), "group"),
    ):
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            call()


def test_without_a_compiler_steps_run_eager_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    m = model()
    runner = Runner(m, 1, 8)

    def missing(*_: object, **__: object) -> Any:
        raise RuntimeError("InvalidCxxCompiler: No working C++ compiler found")

    monkeypatch.setattr(torch, "compile", lambda *_, **__: missing)

    with pytest.warns(UserWarning, match=r"no C\+\+ compiler"):
        got = runner.step([3], [0], [0])

    assert close(got[0], truth(m, [3])[0])
    assert close(runner.step([5], [1], [0])[0], truth(m, [3, 5])[1])
