"""What the two checkpoints are worth, on the held-out excerpt that travels with them.

All figures come from the saved bfloat16 weights, computed in float32 by transformers' own Llama,
each window of ``CONTEXT`` tokens on its own: a score does not depend on the lab's code.
"""

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import AutoModelForCausalLM, AutoTokenizer

CONTEXT = 1024  # tokens a model sees at once, in training and here
PROMPTS = 16  # windows of held-out text that the target continues greedily ...
PROMPT_TOKENS, CONTINUED_TOKENS = 64, 64  # ... from so many tokens for so many
SAMPLE_PROMPTS = ("def read_config(", "class Queue:\n", "import os\nimport sys\n\n")


@dataclass(slots=True)
class Tally:
    """Sums over the scored positions of one text."""

    positions: int = 0
    target_nats: float = 0.0
    draft_nats: float = 0.0
    agreements: int = 0  # the two argmaxes are the same token
    overlap: float = 0.0  # sum of min(p, q): the chance that a sampled guess is accepted


def load_model(folder: Path) -> Any:
    """Load a checkpoint for evaluation, in float32."""
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def windows(tokens: Tensor) -> list[tuple[Tensor, Tensor]]:  # int64 [N] -> [1, <=CONTEXT], same
    """Cut into inputs and next tokens, so that each token but the first is scored once."""
    inputs, nexts = tokens[:-1].split(CONTEXT), tokens[1:].split(CONTEXT)
    return [(a[None], b[None]) for a, b in zip(inputs, nexts, strict=True)]


@torch.inference_mode()
def score(target: Any, draft: Any, tokens: Tensor) -> Tally:
    """Score a text under both models and compare them position by position (teacher forced)."""
    tally = Tally()
    for inputs, nexts in windows(tokens):
        p, q = (model(inputs).logits[0].float().log_softmax(-1) for model in (target, draft))
        tally.positions += nexts.numel()
        tally.target_nats += F.nll_loss(p, nexts[0], reduction="sum").item()
        tally.draft_nats += F.nll_loss(q, nexts[0], reduction="sum").item()
        tally.agreements += int((p.argmax(-1) == q.argmax(-1)).sum())
        tally.overlap += torch.minimum(p, q).exp().sum().item()
    return tally


@torch.inference_mode()
def acceptance_on_own_text(target: Any, draft: Any, tokens: Tensor) -> float:
    """Return the share of the target's greedy tokens that the draft's argmax guesses."""
    starts = torch.arange(PROMPTS) * (len(tokens) // PROMPTS)
    prompts = tokens[starts[:, None] + torch.arange(PROMPT_TOKENS)]
    text = new = prompts
    cache = None
    for _ in range(CONTINUED_TOKENS):  # past an end of sequence too: every row counts the same
        output = target(new, past_key_values=cache, use_cache=True)
        new, cache = output.logits[:, -1:].argmax(-1), output.past_key_values
        text = torch.cat((text, new), dim=1)
    guesses = draft(text[:, :-1]).logits[:, PROMPT_TOKENS - 1 :].argmax(-1)
    return (guesses == text[:, PROMPT_TOKENS:]).float().mean().item()


def bigram_nats(train: Tensor, tokens: Tensor, vocab: int) -> float:
    """Return the mean surprise under a Witten-Bell smoothed bigram model of the training tokens."""
    pairs = torch.zeros(vocab * vocab, dtype=torch.float64)
    pairs += torch.bincount(train[:-1] * vocab + train[1:], minlength=vocab * vocab)
    pairs = pairs.view(vocab, vocab)
    unigram = (torch.bincount(train, minlength=vocab) + 1.0).double()
    unigram /= unigram.sum()
    total, kinds = pairs.sum(1), (pairs > 0).sum(1).clamp(min=1)
    before, after = tokens[:-1], tokens[1:]
    mixed = pairs[before, after] + kinds[before] * unigram[after]
    return -(mixed / (total + kinds)[before]).log().mean().item()


@torch.inference_mode()
def sample(target: Any, tokenizer: Any, prompt: str, length: int = 100) -> str:
    """Continue a prompt at temperature 0.7, always in the same way."""
    generator = torch.Generator().manual_seed(7)
    ids = new = torch.tensor([tokenizer.encode(prompt)])
    cache = None
    for _ in range(length):
        output = target(new, past_key_values=cache, use_cache=True)
        weights, cache = (output.logits[0, -1:] / 0.7).softmax(-1), output.past_key_values
        new = torch.multinomial(weights, 1, generator=generator)
        ids = torch.cat((ids, new), dim=1)
        if new.item() == tokenizer.eos_token_id:
            break
    return tokenizer.decode(ids[0], skip_special_tokens=True)


def measure(folder: Path, train: Tensor) -> dict[str, Any]:
    """Measure the checkpoints in a folder; ``train`` are the training tokens, for the bigram."""
    target, draft = load_model(folder / "target"), load_model(folder / "draft")
    tokenizer = AutoTokenizer.from_pretrained(folder / "target")
    text = (folder / "heldout.txt").read_bytes()
    tokens = torch.tensor(tokenizer.encode(text.decode()))
    tally = score(target, draft, tokens)
    vocab = target.config.vocab_size
    nats = {
        "target": tally.target_nats / tally.positions,
        "draft": tally.draft_nats / tally.positions,
        "bigram": bigram_nats(train, tokens, vocab),
        "uniform": math.log(vocab),
    }
    per_byte = tally.positions / len(text) / math.log(2)
    return {
        "heldout": {
            "bytes": len(text),
            "tokens": len(tokens),
            "sha256": hashlib.sha256(text).hexdigest(),
        },
        "parameters": {"target": target.num_parameters(), "draft": draft.num_parameters()},
        "perplexity": {name: round(math.exp(mean), 3) for name, mean in nats.items()},
        "bits_per_byte": {name: round(mean * per_byte, 4) for name, mean in nats.items()},
        "acceptance": {
            "greedy_on_heldout": round(tally.agreements / tally.positions, 4),
            "greedy_on_target_text": round(acceptance_on_own_text(target, draft, tokens), 4),
            "sampled_on_heldout": round(tally.overlap / tally.positions, 4),
        },
        "samples": [sample(target, tokenizer, prompt) for prompt in SAMPLE_PROMPTS],
    }


def show(figures: dict[str, Any]) -> None:
    """Print the figures as tables, and the samples."""
    print(json.dumps({key: figures[key] for key in ("heldout", "parameters")}, indent=2))
    print(f"{'model':<10}{'perplexity':>12}{'bits/byte':>12}")
    for name, perplexity in figures["perplexity"].items():
        print(f"{name:<10}{perplexity:>12.3f}{figures['bits_per_byte'][name]:>12.4f}")
    for name, share in figures["acceptance"].items():
        print(f"acceptance, {name}: {share:.1%}")
    for text in figures["samples"]:
        print("-" * 60, text, sep="\n")
