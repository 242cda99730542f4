"""One step, then the same again for the rows that are left: generate calls itself."""

from collections.abc import Callable, Sequence
from functools import reduce

import torch
from torch import Tensor

from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.llama import Llama

Model = Callable[[Tensor, Tensor, Tensor], Tensor]


def left_pad(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor, Tensor]:
    if [] in prompts:
        raise ValueError("prompts may not be empty: there is nothing to continue")
    longest = max(map(len, prompts))
    # -1 marks padding while the grid is built; no token has that id.
    marks = torch.stack([torch.tensor([-1] * (longest - len(p)) + p) for p in prompts])
    valid = marks != -1
    counts = valid.long().cumsum(1)
    return marks.where(valid, torch.tensor(pad_id)), torch.relu(counts - 1), valid


def causal_mask(valid: Tensor) -> Tensor:
    width = valid.shape[1]
    itself = torch.eye(width, device=valid.device).bool()
    conditions = (
        torch.ones_like(itself).tril().logical_xor(itself),
        valid.unsqueeze(1),
        valid.unsqueeze(2),
    )
    earlier = reduce(torch.logical_and, conditions)
    return torch.logical_or(earlier, itself).unsqueeze(1)


def padding_waste(lengths: list[int]) -> float:
    longest, total = 0, 0
    for length in lengths:
        if length < 0:
            raise ValueError(f"negative length {length} in lengths")
        longest, total = max(longest, length), total + length
    return 1.0 - total / longest / len(lengths) if longest else 0.0


def generate(
    model: Model,
    prompts: list[list[int]],
    max_new_tokens: int,
    eos_ids: Sequence[int],
    pad_id: int,
) -> list[list[int]]:
    if max_new_tokens == 0 or not prompts:
        return [[] for _ in prompts]
    tokens, positions, valid = left_pad(prompts, pad_id)
    logits = model(tokens=tokens, positions=positions, mask=causal_mask(valid))
    chosen = logits.argmax(-1)[:, -1].tolist()
    longer = [[*p, t] for p, t in zip(prompts, chosen, strict=True) if t not in eos_ids]
    rest = iter(generate(model, longer, max_new_tokens - 1, eos_ids, pad_id))
    return [[] if token in eos_ids else [token, *next(rest)] for token in chosen]


class BatchEngine:
    def __init__(self, model_path: str) -> None:
        self.config = LlamaConfig.from_pretrained(model_path)
        self.model = Llama(self.config, load_weights(model_path))
        self.tokenizer = load_tokenizer(model_path)

    @torch.inference_mode()
    def execute(self, prompts: list[str], max_new_tokens: int = 128) -> list[str]:
        encoded = [self.tokenizer.encode(prompt) for prompt in prompts]
        eos_ids = self.config.eos_token_ids
        outputs = generate(self.model, encoded, max_new_tokens, eos_ids, pad_id=0)
        return [self.tokenizer.decode(output) for output in outputs]
