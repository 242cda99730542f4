"""Room for prompts and answers is made once; each step passes the part that is filled so far."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.llama import Llama

Model = Callable[[Tensor, Tensor, Tensor], Tensor]


def left_pad(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor, Tensor]:
    if min(map(len, prompts), default=1) == 0:
        raise ValueError("prompts holds an empty one")
    batch, width = len(prompts), max(map(len, prompts), default=0)
    tokens = torch.empty(batch, width, dtype=torch.long).fill_(pad_id)
    positions = torch.zeros_like(tokens)
    valid = torch.zeros_like(tokens, dtype=torch.bool)
    for row, prompt in enumerate(prompts):
        n = len(prompt)
        tokens[row, -n:] = torch.as_tensor(prompt)
        positions[row, -n:] = torch.arange(n)
        valid[row, -n:] = True
    return tokens, positions, valid


def causal_mask(valid: Tensor) -> Tensor:
    batch, width = valid.shape
    mask = valid.new_zeros(batch, 1, width, width)
    for query in range(width):
        seen = mask[:, 0, query]
        seen[:, : query + 1] = valid[:, : query + 1] & valid[:, query, None]
        seen[:, query] = True
    return mask


def padding_waste(lengths: list[int]) -> float:
    if [n for n in lengths if n < 0]:
        raise ValueError("every one of lengths must be at least 0")
    full = max([0, *lengths])
    padding = [full - n for n in lengths]
    return sum(padding) / max(1, full * len(lengths))


def generate(
    model: Model,
    prompts: list[list[int]],
    max_new_tokens: int,
    eos_ids: Sequence[int],
    pad_id: int,
) -> list[list[int]]:
    batch, stop = len(prompts), set(eos_ids)
    if batch == 0:
        return []
    first, places, real = left_pad(prompts, pad_id)
    width = first.shape[1]
    tokens = torch.cat((first, first.new_full((batch, max_new_tokens), pad_id)), 1)
    lengths = real.sum(1, keepdim=True)
    positions = torch.cat((places, lengths + torch.arange(max_new_tokens)), 1)
    valid = torch.cat((real, real.new_ones(batch, max_new_tokens)), 1)
    mask = causal_mask(valid)
    counts = [0] * batch
    open_rows = set(range(batch))
    for end in range(width, width + max_new_tokens):
        logits = model(tokens[:, :end], positions[:, :end], mask[:, :, :end, :end])
        tokens[:, end] = logits[:, -1].max(-1).indices
        open_rows -= {row for row in open_rows if int(tokens[row, end]) in stop}
        for row in open_rows:
            counts[row] += 1
        if not open_rows:
            break
    return [tokens[row, width : width + count].tolist() for row, count in enumerate(counts)]


class BatchEngine:
    def __init__(self, model_path: str) -> None:
        self.config = LlamaConfig.from_pretrained(model_path)
        weights = {name: weight.float() for name, weight in load_weights(model_path).items()}
        self.model = Llama(self.config, weights)
        self.tokenizer = load_tokenizer(model_path)

    def execute(self, prompts: list[str], max_new_tokens: int = 128) -> list[str]:
        with torch.inference_mode():
            new = generate(
                model=self.model,
                prompts=[self.tokenizer.encode(text) for text in prompts],
                max_new_tokens=max_new_tokens,
                eos_ids=self.config.eos_token_ids,
                pad_id=0,
            )
        return [self.tokenizer.decode(tokens) for tokens in new]
