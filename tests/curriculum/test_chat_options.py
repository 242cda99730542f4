"""``make chat`` with quantized weights and with guesses: whose code runs, and what is told."""

import dataclasses
from pathlib import Path

import pytest
import torch
from stand_ins.model_answers import solution
from torch import Tensor, nn

from labs import chat
from labs.assembly import Assembly, Speed
from labs.common import LlamaConfig, load_weights
from labs.guessing import Guesses, joint, speculate
from labs.llama import Llama
from labs.pieces import Work
from labs.quantized import GROUP, Bits, quantize
from labs.reader import load

CHECKPOINTS = Path(__file__).resolve().parents[2] / "labs" / "checkpoints"
TARGET, DRAFT = CHECKPOINTS / "target", CHECKPOINTS / "draft"
CONFIG = LlamaConfig.from_pretrained(TARGET)
WEIGHTS = {name: weight.float() for name, weight in load_weights(TARGET).items()}
PROMPT = [5, 9, 301, 7]
CACHE = {5: Work(5, frozenset({"growing", "static"}), solution(5))}
GUESSING = CACHE | {10: Work(10, frozenset({"greedy", "sample", "generate"}), solution(10))}


def lab_09(*tasks: str) -> dict[int, Work]:
    return {9: Work(9, frozenset(tasks), solution(9))}


def layers(model: Llama) -> dict[str, Tensor]:
    return {name: p for name, p in model.named_parameters() if name.endswith("_proj.weight")}


def logits(bits: Bits | None, works: dict[int, Work]) -> tuple[Tensor, dict[str, str]]:
    model = Assembly(works, CONFIG, WEIGHTS, bits)
    return model(*model.lay_out(PROMPT, 0)), model.owners


# --- quantized -------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", list(Bits))
def test_torch_rounds_where_lab_09_is_missing(bits: Bits) -> None:
    plain = layers(Llama(CONFIG, WEIGHTS))

    model = quantize(Llama(CONFIG, WEIGHTS), bits, lambda *_: None)

    steps, width = (254, 0) if bits is Bits.INT8 else (15, GROUP)
    for name, weight in layers(model).items():
        was, now = (x.reshape(-1, width or x.shape[1]) for x in (plain[name], weight))
        low, high = was.amin(1, keepdim=True).clamp(max=0), was.amax(1, keepdim=True).clamp(min=0)
        span = 2 * torch.maximum(-low, high) if bits is Bits.INT8 else high - low
        assert bool(((now - was).abs() <= span / steps * 0.5001).all()), name
        assert max(len(row.unique()) for row in now[:50]) <= steps + 1, name
    for name in ("embed_tokens", "norm", "lm_head"):
        torch.testing.assert_close(
            model.get_submodule(name).weight, Llama(CONFIG, WEIGHTS).get_submodule(name).weight
        )


def test_rows_and_groups_of_zeros_stay_zeros() -> None:
    for bits in Bits:
        model = Llama(CONFIG, WEIGHTS)
        first = model.get_submodule("layers.0.mlp.up_proj")
        first.weight = nn.Parameter(torch.zeros(3, 64), requires_grad=False)

        quantize(model, bits, lambda *_: None)

        assert torch.equal(first.weight, torch.zeros(3, 64))


def test_width_that_has_no_groups_is_refused() -> None:
    model = Llama(CONFIG, WEIGHTS)
    model.get_submodule("layers.0.mlp.up_proj").weight = nn.Parameter(torch.ones(3, 48))

    with pytest.raises(ValueError, match="up_proj is 48 wide: int4 has groups of 32"):
        quantize(model, Bits.INT4, lambda *_: None)


@pytest.mark.in_turn
@pytest.mark.parametrize("bits", list(Bits))
@pytest.mark.parametrize(
    ("tasks", "yours"),
    [
        ({"int8", "int4"}, {"rounding to"}),
        ({"linears"}, {"quantized layers"}),
        ({"linears", "model"}, {"quantized layers", "quantized model"}),
    ],
    ids=lambda names: " ".join(sorted(names)),
)
def test_pieces_of_lab_09_round_as_torch_does(bits: Bits, tasks: set[str], yours: set[str]) -> None:
    want, _ = logits(bits, {})

    got, owners = logits(bits, lab_09(*tasks))

    # A weight halfway between two codes may go either way.
    assert float((got - want).norm() / want.norm()) < 0.02
    assert float((logits(None, {})[0] - want).norm() / want.norm()) > 0.001
    mine = {name.removesuffix(f" {bits}") for name, who in owners.items() if "yours" in who}
    assert mine == yours


def test_your_mlp_gives_way_to_quantized_layers() -> None:
    mlp = {1: Work(1, frozenset({"mlp"}), solution(1))}

    got, owners = logits(Bits.INT8, mlp | lab_09("linears"))

    assert owners["mlp"] == "given: yours takes weights, not quantized layers"
    torch.testing.assert_close(got, logits(Bits.INT8, lab_09("linears"))[0])
    assert logits(Bits.INT8, mlp)[1]["mlp"] == "yours, lab 01"


# --- guesses ---------------------------------------------------------------------------------


def guessed(draft: Path, works: dict[int, Work], *options: str) -> tuple[list[int], Guesses]:
    models = load(TARGET, works), load(draft, works)
    return speculate(*models, PROMPT, chat.parse(["", "--max-new-tokens", "14", *options]), works)


@pytest.mark.in_turn
@pytest.mark.parametrize("k", [0, 1, 4])
@pytest.mark.parametrize("works", [GUESSING, {10: GUESSING[10]}], ids=["cache", "no cache"])
def test_text_is_that_of_the_target_alone(k: int, works: dict[int, Work]) -> None:
    options = chat.parse(["", "--max-new-tokens", "14"])
    alone = chat.generate(load(TARGET, works), PROMPT, options, works)

    text, guesses = guessed(DRAFT, works, "--speculate", str(k))

    assert text == alone
    assert guesses.tokens == 14
    assert guesses.k == k
    assert (guesses.calls < 14) == (k > 0)


def test_guesses_of_a_twin_are_all_accepted() -> None:
    text, guesses = guessed(TARGET, GUESSING, "--speculate", "6")

    assert len(text) == 14
    assert guesses == Guesses(k=6, drafted=12, accepted=12, tokens=14, calls=2)
    told = "6 guesses a round: 12 of 12 accepted (100%), 7.00 tokens a call of the target"
    assert str(guesses) == told


def test_no_guess_is_told_without_a_share() -> None:
    assert "0 of 0 accepted, 1.00 tokens" in str(Guesses(0, 0, 0, 5, 5))
    assert "0 of 0 accepted, 0.00 tokens" in str(Guesses(3, 0, 0, 0, 0))


def test_seed_decides_what_is_drawn() -> None:
    hot = ("--speculate", "3", "--temperature", "1.5")

    texts = [guessed(DRAFT, GUESSING, *hot, "--seed", seed)[0] for seed in ("1", "1", "2")]

    assert texts[0] == texts[1] != texts[2]


def test_both_models_take_time_and_the_first_token_is_of_the_prompt() -> None:
    target = Speed({"prefill": 12, "decode": 3}, {"prefill": 2.0, "decode": 4.0})
    draft = Speed({"prefill": 9, "decode": 8}, {"prefill": 1.0, "decode": 2.0})

    both = joint(target, draft, 9, 13)

    assert both.per_second("prefill") == pytest.approx(3.0)
    assert both.per_second("decode") == pytest.approx(2.0)
    assert joint(target, draft, 9, 0).per_second("decode") == 0


# --- the program -----------------------------------------------------------------------------


def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Put model answers in the place of the user's work; return the labs that are asked for."""
    numbers: list[int] = []

    def work_on(number: int) -> Work:
        numbers.append(number)
        return GUESSING.get(number, Work(number, frozenset(), None))

    monkeypatch.setattr(chat, "work_on", work_on)
    monkeypatch.setenv("TRITON_INTERPRET", "1")  # so that it is taken back after the test
    return numbers


def test_acceptance_is_told_beside_the_speed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = asked(monkeypatch)

    code = chat.main(["def main(", "--speculate", "2", "--max-new-tokens", "8"])

    out, err = capsys.readouterr()
    assert code == 0
    assert out.startswith("def main(")
    assert "speculation  yours, lab 10" in err
    assert "8 written: prefill" in err
    assert "in float32" in err
    assert "2 guesses a round:" in err
    assert "tokens a call of the target" in err
    assert numbers == [1, 2, 3, 4, 5, 10]


def test_quantized_weights_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = asked(monkeypatch)

    code = chat.main(["def main(", "--quantize", "int4", "--max-new-tokens", "3"])

    err = capsys.readouterr().err
    assert code == 0
    assert "rounding to int4  given" in err
    assert "in float32" in err
    assert numbers == [1, 2, 3, 4, 5, 9]


def test_plain_text_asks_for_neither_lab(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = asked(monkeypatch)

    assert chat.main(["def main(", "--max-new-tokens", "2"]) == 0

    assert "in bfloat16" in capsys.readouterr().err
    assert numbers == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--given", "--speculate", "2"],
            "your lab 10, tasks greedy and generate",
        ),
        (["--given", "--speculate", "2", "--temperature", "1"], "tasks sample and generate"),
        (["--speculate", "2", "--top-k", "3", "--temperature", "1"], "--top-k does not go with"),
        (["--speculate", "2", "--draft", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_served_is_said(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked(monkeypatch)

    assert chat.main(["x", *arguments]) == 2

    assert message in capsys.readouterr().err


def test_draft_with_other_tokens_is_refused() -> None:
    draft = load(DRAFT, GUESSING)
    draft.config = dataclasses.replace(draft.config, vocab_size=7)

    with pytest.raises(chat.Unfit, match="different vocabularies, of 7 and 2048 tokens"):
        speculate(load(TARGET, GUESSING), draft, PROMPT, chat.parse(["--speculate=1"]), GUESSING)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--speculate", "-1"], "--speculate must be 0 or more"),
        (["--quantize", "int3"], "--quantize: invalid choice: 'int3'"),
    ],
)
def test_wrong_values_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        chat.parse(["x", *arguments])

    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
