"""Everything is a tensor: ended rows stay in the batch as padding, no loop goes over rows."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.llama import Llama

Model = Callable[[Tensor, Tensor, Tensor], Tensor]


def left_pad(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor, Tensor]:
    lengths = torch.tensor([len(prompt) for prompt in prompts], dtype=torch.int64)
    if (lengths == 0).any():
        raise ValueError("one of the prompts is empty")
    width = int(lengths.max()) if prompts else 0
    valid = torch.arange(width).flip(0) < lengths[:, None]
    tokens = torch.full((len(prompts), width), pad_id)
    tokens[valid] = torch.tensor([token for prompt in prompts for token in prompt])
    positions = torch.where(valid, torch.arange(width) - (width - lengths)[:, None], 0)
    return tokens, positions, valid


def causal_mask(valid: Tensor) -> Tensor:
    columns = torch.arange(valid.shape[1], device=valid.device)
    queries, keys = columns[:, None], columns[None, :]
    allowed = (keys <= queries) & valid[:, None, :]
    return torch.where(valid[:, :, None], allowed, queries == keys).unsqueeze(1)


def padding_waste(lengths: list[int]) -> float:
    sizes = torch.tensor(lengths, dtype=torch.float64)
    if (sizes < 0).any():
        raise ValueError("lengths: one is negative")
    if sizes.sum() == 0:
        return 0.0
    return 1.0 - (sizes / sizes.max()).mean().item()


def generate(
    model: Model,
    prompts: list[list[int]],
    max_new_tokens: int,
    eos_ids: Sequence[int],
    pad_id: int,
) -> list[list[int]]:
    if not prompts:
        return []
    tokens, positions, valid = left_pad(prompts, pad_id)
    start = tokens.shape[1]
    live = torch.ones(len(prompts), dtype=torch.bool)
    ends = torch.tensor(list(eos_ids), dtype=torch.int64)
    while bool(live.any()) and tokens.shape[1] < start + max_new_tokens:
        chosen = model(tokens, positions, causal_mask(valid))[:, -1].argmax(dim=-1)
        live = live & ~torch.isin(chosen, ends)
        following = torch.where(live, positions[:, -1] + 1, 0)
        tokens = torch.cat((tokens, chosen.where(live, pad_id)[:, None]), dim=1)
        positions = torch.cat((positions, following[:, None]), dim=1)
        valid = torch.cat((valid, live[:, None]), dim=1)
    return [
        row[kept].tolist() for row, kept in zip(tokens[:, start:], valid[:, start:], strict=True)
    ]


class BatchEngine:
    def __init__(self, model_path: str) -> None:
        config = LlamaConfig.from_pretrained(model_path)
        self.eos_ids = config.eos_token_ids
        self.tokenizer = load_tokenizer(model_path)
        self.model = Llama(config, load_weights(model_path)).eval()

    def execute(self, prompts: list[str], max_new_tokens: int = 128) -> list[str]:
        encoded = list(map(self.tokenizer.encode, prompts))
        with torch.no_grad():
            outputs = generate(self.model, encoded, max_new_tokens, self.eos_ids, 0)
        return list(map(self.tokenizer.decode, outputs))
