"""What the pictures know of our checkpoints: text, weights, and what a model makes of a text.

transformers runs the model here, not ours: in the first lab there is none yet.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from labs.common import LlamaConfig, Tokenizer, load_tokenizer, load_weights

FOLDER = Path(__file__).resolve().parents[1] / "checkpoints"
TEXT = """import os
import sys

def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()

if __name__ == "__main__":
"""


@dataclass(frozen=True, slots=True)
class Run:
    """What a model makes of T tokens, in float32."""

    words: tuple[str, ...]  # the T tokens as text
    logits: Tensor  # [T, V]
    hidden: tuple[Tensor, ...]  # [T, E] before each layer, and after the last with its norm
    attention: tuple[Tensor, ...]  # [H, T, T] of each layer


@functools.cache
def tokenizer() -> Tokenizer:
    """The tokenizer that target and draft share."""
    return load_tokenizer(FOLDER / "target")


@functools.cache
def weights(name: str) -> dict[str, Tensor]:
    """The weights of a checkpoint in float32."""
    return {key: value.float() for key, value in load_weights(FOLDER / name).items()}


@functools.cache
def config(name: str) -> LlamaConfig:
    """The shape of a checkpoint."""
    return LlamaConfig.from_pretrained(FOLDER / name)


@functools.cache
def model(name: str) -> Any:
    """A checkpoint as transformers' LlamaForCausalLM, in float32."""
    from transformers import LlamaForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    found = LlamaForCausalLM.from_pretrained(
        FOLDER / name, dtype=torch.float32, attn_implementation="eager"
    )
    return found.requires_grad_(False)


@functools.cache
@torch.inference_mode()
def run(name: str, text: str = TEXT) -> Run:
    """Read a text with a model; logits, hidden states and attention of every token."""
    ids = tokenizer().encode(text)
    out = model(name)(torch.tensor([ids]), output_attentions=True, output_hidden_states=True)
    return Run(
        tuple(word(item) for item in ids),
        out.logits[0],
        tuple(state[0] for state in out.hidden_states),
        tuple(layer[0] for layer in out.attentions),
    )


def word(token: int) -> str:
    """Show a token: blanks as ·, ends of lines as ↵, the mark that begins a text as ⊢."""
    text = tokenizer().decode([token])
    return text.replace(" ", "·").replace("\n", "↵") or "⊢"
