"""The oracle of lab 01 against transformers: a second opinion that shares no code with it."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig as HubConfig
from transformers import LlamaForCausalLM

from reference import llama as oracle

TARGET = Path(__file__).parents[2] / "labs" / "checkpoints" / "target"
SHAPES = {  # heads, key/value heads, head width, layers, tied
    "grouped": (6, 2, 10, 2, False),
    "one key head": (3, 1, 6, 3, True),
    "as many key heads": (5, 5, 4, 1, False),
}


def random_model(name: str) -> LlamaForCausalLM:
    heads, groups, width, layers, tied = SHAPES[name]
    torch.manual_seed(len(name))
    config = HubConfig(
        vocab_size=53,
        hidden_size=30,  # transformers insists on a multiple of the heads
        intermediate_size=41,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=groups,
        head_dim=width,
        rms_norm_eps=0.03,
        rope_parameters={"rope_type": "default", "rope_theta": 123.0},
        tie_word_embeddings=tied,
        attn_implementation="eager",
    )
    model = LlamaForCausalLM(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)  # the default hardly lets attention matter
    return model


def facts(config: Any) -> SimpleNamespace:
    return SimpleNamespace(
        num_layers=config.num_hidden_layers,
        num_heads=config.num_attention_heads,
        num_kv_heads=config.num_key_value_heads,
        head_dim=config.head_dim,
        rms_norm_eps=config.rms_norm_eps,
        rope_theta=config.rope_parameters["rope_theta"],
        tie_word_embeddings=config.tie_word_embeddings,
    )


def exact_weights(model: LlamaForCausalLM) -> dict[str, Tensor]:
    return {name: value.double() for name, value in model.state_dict().items()}


@torch.no_grad()
def relative_error(model: LlamaForCausalLM, tokens: Tensor) -> float:
    want = oracle.logits(facts(model.config), exact_weights(model), tokens)
    return float((model(tokens).logits.double() - want).norm() / want.norm())


@pytest.mark.parametrize("name", SHAPES)
def test_logits_are_those_of_transformers(name: str) -> None:
    model = random_model(name)

    error = relative_error(model, torch.randint(53, (3, 17)))

    assert error < 2e-6


@pytest.mark.parametrize("name", SHAPES)
@torch.no_grad()
def test_greedy_tokens_are_those_of_transformers(name: str) -> None:
    model, prompt = random_model(name), [7, 3, 11, 3]

    tokens, margins = oracle.greedy(facts(model.config), exact_weights(model), prompt, 12)
    theirs = model.generate(
        torch.tensor([prompt]),
        attention_mask=torch.ones(1, 4),
        max_new_tokens=12,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=0,
    )

    assert min(margins) > 1e-4
    assert tokens == theirs[0, 4:].tolist()


def test_regret_is_zero_for_the_best_token_and_the_gap_for_another() -> None:
    model, prompt = random_model("grouped"), [5, 9, 2]
    args = (facts(model.config), exact_weights(model))
    tokens, _ = oracle.greedy(*args, prompt, 5)
    worse = [*tokens[:-1], (tokens[-1] + 1) % 53]

    last = oracle.logits(*args, torch.tensor([prompt + tokens[:-1]]))[0, -1]

    assert oracle.regrets(*args, prompt, tokens) == [0.0] * 5
    gap = float(last[tokens[-1]] - last[worse[-1]])
    assert oracle.regrets(*args, prompt, worse)[-1] == pytest.approx(gap)


def test_rope_turns_pairs_half_a_head_apart() -> None:
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64).view(1, 1, 1, 4)

    got = oracle.apply_rope(x, torch.tensor([[5]]), 100.0).flatten().tolist()

    fast, slow = 5.0, 0.5  # radians: position * 100 ** 0, position * 100 ** -0.5
    assert got == pytest.approx(
        [
            math.cos(fast) - 3 * math.sin(fast),
            2 * math.cos(slow) - 4 * math.sin(slow),
            3 * math.cos(fast) + math.sin(fast),
            4 * math.cos(slow) + 2 * math.sin(slow),
        ]
    )


@pytest.mark.skipif(not TARGET.is_dir(), reason="the target checkpoint is not in this tree")
def test_target_logits_are_those_of_transformers() -> None:
    model = LlamaForCausalLM.from_pretrained(
        TARGET, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    tokens = torch.randint(model.config.vocab_size, (2, 40), generator=torch.manual_seed(3))

    error = relative_error(model, tokens)

    assert error < 5e-6
