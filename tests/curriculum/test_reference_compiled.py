"""The oracles of lab 11 against transformers' static cache, and against sums by hand."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from transformers import LlamaForCausalLM, StaticCache

from reference import compiled

TARGET = Path(__file__).resolve().parents[2] / "labs" / "checkpoints" / "target"


def test_steps_are_those_of_transformers_with_a_static_cache():
    """Two texts in slots 2 and 0, one step each in turn, on the target checkpoint."""
    theirs = LlamaForCausalLM.from_pretrained(TARGET, dtype=torch.float64).eval()
    theirs.config._attn_implementation = "eager"
    raw = json.loads((TARGET / "config.json").read_text())
    ours = SimpleNamespace(
        num_layers=raw["num_hidden_layers"],
        num_heads=raw["num_attention_heads"],
        num_kv_heads=raw["num_key_value_heads"],
        head_dim=raw["head_dim"],
        rms_norm_eps=raw["rms_norm_eps"],
        rope_theta=raw.get("rope_parameters", raw)["rope_theta"],
        tie_word_embeddings=raw["tie_word_embeddings"],
    )
    weights = theirs.state_dict()
    cache = compiled.Slots.zeros(ours, 3, 8)
    texts = {2: [5, 77, 301, 8], 0: [91, 4, 4]}
    static = {slot: StaticCache(config=theirs.config, max_cache_len=8) for slot in texts}
    for place in range(4):
        rows = [(text[place], place, slot) for slot, text in texts.items() if place < len(text)]
        got = compiled.step(ours, weights, cache, *zip(*rows, strict=True))
        for logits, (token, position, slot) in zip(got, rows, strict=True):
            with torch.no_grad():
                want = theirs(
                    torch.tensor([[token]]),
                    past_key_values=static[slot],
                    cache_position=torch.tensor([position]),
                    position_ids=torch.tensor([[position]]),
                ).logits[0, 0]
            # Angles and softmax are float32 in transformers.
            assert torch.allclose(logits, want, atol=1e-4 * float(want.abs().max()))
    for layer, (keys, values) in enumerate(zip(cache.keys, cache.values, strict=True)):
        held = static[2].layers[layer]
        assert torch.allclose(keys[2, :, :4], held.keys[0, :, :4], atol=1e-4)
        assert torch.allclose(values[2, :, :4], held.values[0, :, :4], atol=1e-4)
        assert not torch.stack((keys, values))[:, [1, 3]].any()


@pytest.mark.parametrize(
    ("count", "least"), [(1, 10 * 9 + 9 * 5 + 9 * 4), (2, 59), (3, 9), (4, 0), (9, 0)]
)
def test_plan_of_the_handout(count, least):
    histogram = {"1": 10, "5": 9, "6": 9, "10": 10}

    assert compiled.fewest_padded_rows(histogram, count) == least


def test_padded_rows_by_hand():
    assert compiled.padded_rows({"3": 2, "4": 1}, [8, 4]) == 2
    assert compiled.padded_rows({"3": 2, "9": 1}, [8, 4]) is None
    assert compiled.padded_rows({}, []) == 0
    assert compiled.fewest_padded_rows({}, 2) == 0
