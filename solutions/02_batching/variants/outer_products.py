"""The mask is an einsum, torch pads, and rows that ended run on until the last one ends.

What a row says behind its EOS is cut off at the end: rows never see each other, so it harms nobody.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.llama import Llama

Model = Callable[[Tensor, Tensor, Tensor], Tensor]


def left_pad(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor, Tensor]:
    if any(prompt == [] for prompt in prompts):
        raise ValueError("prompts: an empty one cannot be continued")

    def pad(rows: list[Tensor], value: int) -> Tensor:
        return pad_sequence(rows, True, value, padding_side="left")

    tokens = pad([torch.tensor(prompt) for prompt in prompts], pad_id)
    positions = pad([torch.arange(len(prompt)) for prompt in prompts], 0)
    valid = pad([torch.ones(len(prompt)) for prompt in prompts], 0).bool()
    return tokens, positions, valid


def causal_mask(valid: Tensor) -> Tensor:
    real = valid.float()
    width = valid.shape[-1]
    triangle = real.new_ones(width, width).tril()
    pairs = torch.einsum("bq,bk,qk->bqk", real, real, triangle)
    alone = torch.diag_embed(1 - real)
    return (pairs + alone)[:, None] > 0.5


def padding_waste(lengths: list[int]) -> float:
    if any(length < 0 for length in lengths):
        raise ValueError("negative lengths")
    try:
        return 1.0 - sum(lengths) / (len(lengths) * max(lengths))
    except (ValueError, ZeroDivisionError):
        return 0.0


def generate(
    model: Model,
    prompts: list[list[int]],
    max_new_tokens: int,
    eos_ids: Sequence[int],
    pad_id: int,
) -> list[list[int]]:
    if not prompts or max_new_tokens < 1:
        return [[] for _ in prompts]
    tokens, positions, valid = left_pad(prompts, pad_id)
    stops, said = frozenset(eos_ids), []
    while len(said) < max_new_tokens:
        logits = model(tokens, positions, mask=causal_mask(valid))
        said.append(torch.argmax(logits[:, -1], dim=-1, keepdim=True))
        rows = torch.cat(said, dim=1).tolist()
        if all(stops & set(row) for row in rows):
            break
        tokens = torch.cat((tokens, said[-1]), dim=1)
        positions = torch.cat((positions, positions[:, -1:] + 1), dim=1)
        valid = torch.nn.functional.pad(valid, (0, 1), value=True)
    ends = [next((i for i, t in enumerate(row) if t in stops), len(row)) for row in rows]
    return [row[:end] for row, end in zip(rows, ends, strict=True)]


class BatchEngine:
    def __init__(self, model_path: str) -> None:
        self.tokenizer = load_tokenizer(model_path)
        self.model = Llama(LlamaConfig.from_pretrained(model_path), load_weights(model_path))

    @torch.no_grad()
    def execute(self, prompts: list[str], max_new_tokens: int = 128) -> list[str]:
        encode, decode = self.tokenizer.encode, self.tokenizer.decode
        eos_ids = self.model.config.eos_token_ids
        return [
            decode(row)
            for row in generate(self.model, [*map(encode, prompts)], max_new_tokens, eos_ids, 2)
        ]
