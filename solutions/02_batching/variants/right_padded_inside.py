"""generate pads on the right and reads each row at its own last token; any true layout will do.

Rows are kept as small objects, sorted by length inside, and handed back in the caller's order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.llama import Llama

Model = Callable[[Tensor, Tensor, Tensor], Tensor]


def left_pad(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor, Tensor]:
    lengths = np.array([len(prompt) for prompt in prompts])
    if (lengths < 1).any():
        raise ValueError("each of the prompts needs a token")
    columns = np.arange(lengths.max())
    offsets = columns[None, :] - (lengths.max() - lengths)[:, None]
    valid = offsets >= 0
    tokens = np.full(valid.shape, pad_id, dtype=np.int64)
    tokens[valid] = np.concatenate([np.array(prompt) for prompt in prompts])
    positions = np.maximum(offsets, 0).astype(np.int64)
    return torch.from_numpy(tokens), torch.from_numpy(positions), torch.from_numpy(valid)


def causal_mask(valid: Tensor) -> Tensor:
    width = valid.size(1)
    mask = valid.unsqueeze(1).repeat(1, width, 1).tril()
    mask.masked_fill_(~valid.unsqueeze(2), False)
    mask.diagonal(dim1=1, dim2=2).fill_(True)
    return mask.unsqueeze(1)


def padding_waste(lengths: list[int]) -> float:
    sizes = np.array(lengths, dtype=np.int64)
    if sizes.size and sizes.min() < 0:
        raise ValueError("lengths below zero")
    if sizes.size == 0 or sizes.max() == 0:
        return 0.0
    return float(np.mean(1 - sizes / sizes.max()))


@dataclass
class Row:
    prompt: list[int]
    new: list[int] = field(default_factory=list)
    ended: bool = False

    @property
    def sequence(self) -> list[int]:
        return self.prompt + self.new


def generate(
    model: Model,
    prompts: list[list[int]],
    max_new_tokens: int,
    eos_ids: Sequence[int],
    pad_id: int,
) -> list[list[int]]:
    if any(len(prompt) == 0 for prompt in prompts):
        raise ValueError("prompts: one is empty")
    rows = [Row(prompt) for prompt in prompts]
    for _ in range(max_new_tokens):
        batch = sorted((row for row in rows if not row.ended), key=lambda row: len(row.prompt))
        if not batch:
            break
        _step(model, batch, eos_ids, pad_id)
    return [row.new for row in rows]


def _step(model: Model, batch: list[Row], eos_ids: Sequence[int], pad_id: int) -> None:
    lengths = torch.tensor([len(row.sequence) for row in batch])
    width = int(lengths.max())
    tokens = torch.tensor([r.sequence + [pad_id] * (width - len(r.sequence)) for r in batch])
    valid = torch.arange(width) < lengths[:, None]
    positions = torch.arange(width).repeat(len(batch), 1) * valid
    logits = model(tokens, positions, causal_mask(valid))
    last = logits[torch.arange(len(batch)), lengths - 1]
    for row, token in zip(batch, last.argmax(-1).tolist(), strict=True):
        if token in set(eos_ids):
            row.ended = True
        else:
            row.new.append(token)


class BatchEngine:
    def __init__(self, model_path: str) -> None:
        self.config = LlamaConfig.from_pretrained(model_path)
        self.model = Llama(self.config, load_weights(model_path))
        self.tokenizer = load_tokenizer(model_path)

    def execute(self, prompts: list[str], max_new_tokens: int = 128) -> list[str]:
        ids = [self.tokenizer.encode(prompt) for prompt in prompts]
        eos_ids = list(self.config.eos_token_ids)
        return [
            self.tokenizer.decode(new)
            for new in generate(
                self.model, ids, max_new_tokens, eos_ids, eos_ids[0] if eos_ids else 0
            )
        ]
