"""The trained checkpoints are small, load everywhere, and are as good as figures.json says."""

import hashlib
import json
import math
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.llama import Llama
from reference.models.corpus import BOS, EOS, Part, read_library

CHECKPOINTS = Path(__file__).parents[2] / "labs" / "checkpoints"
FIGURES = json.loads((CHECKPOINTS / "figures.json").read_text())
HELDOUT = (CHECKPOINTS / "heldout.txt").read_bytes()


def load(name: str) -> Llama:
    folder = CHECKPOINTS / name
    return Llama(LlamaConfig.from_pretrained(folder), load_weights(folder)).float()


def heldout_tokens(count: int) -> Tensor:
    return torch.tensor(load_tokenizer(CHECKPOINTS / "target").encode(HELDOUT.decode())[:count])


def perplexity(model: Llama, tokens: Tensor) -> float:
    positions = torch.arange(len(tokens) - 1)[None]
    with torch.no_grad():
        logits = model(tokens[None, :-1], positions)
    return math.exp(F.cross_entropy(logits[0], tokens[1:]))


def test_all_checkpoints_fit_in_sixteen_megabytes() -> None:
    assert sum(f.stat().st_size for f in CHECKPOINTS.rglob("*") if f.is_file()) <= 16_000_000


def test_the_two_share_a_tokenizer_and_group_their_heads() -> None:
    tokenizers = {
        (CHECKPOINTS / name / "tokenizer.json").read_bytes() for name in ("target", "draft")
    }
    configs = [LlamaConfig.from_pretrained(CHECKPOINTS / name) for name in ("target", "draft")]

    assert len(tokenizers) == 1
    assert all(config.num_kv_heads < config.num_heads for config in configs)
    assert all(config.bos_token_id == 0 and config.eos_token_ids == (1,) for config in configs)


@pytest.mark.parametrize("name", ["target", "draft"])
def test_weights_are_finite_and_in_bfloat16(name: str) -> None:
    weights = load_weights(CHECKPOINTS / name)

    assert {weight.dtype for weight in weights.values()} == {torch.bfloat16}
    assert all(weight.isfinite().all() for weight in weights.values())


@pytest.mark.parametrize("name", ["target", "draft"])
def test_heldout_perplexity_is_far_below_the_bigram_baseline(name: str) -> None:
    # The excerpt's first 1,024 predictions; lost layers or wrong positions score in the tens.
    got = perplexity(load(name), heldout_tokens(1025))

    assert got < 0.2 * FIGURES["perplexity"]["bigram"]


def test_figures_belong_to_these_files() -> None:
    assert FIGURES["heldout"]["sha256"] == hashlib.sha256(HELDOUT).hexdigest()
    assert FIGURES["heldout"]["tokens"] == len(heldout_tokens(10**6))
    parameters = {
        name: sum(weight.numel() for weight in load_weights(CHECKPOINTS / name).values())
        for name in ("target", "draft")
    }
    assert FIGURES["parameters"] == parameters


def test_no_heldout_file_of_size_is_in_the_training_text() -> None:
    # Files of a line or two, such as an empty package's, do occur twice in the library.
    heldout = {file for file in HELDOUT.decode().split(EOS + BOS) if len(file) > 500}
    training = {source.text for source in read_library()[Part.TRAIN]}

    assert len(heldout) > 20
    assert not heldout & training
