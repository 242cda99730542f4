"""Plain Python lists for everything; tensors appear only where the model wants them."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.llama import Llama

Model = Callable[[Tensor, Tensor, Tensor], Tensor]


def left_pad(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor, Tensor]:
    width = max([len(prompt) for prompt in prompts])
    tokens, positions, valid = [], [], []
    for index, prompt in enumerate(prompts):
        if len(prompt) == 0:
            raise ValueError(f"prompts[{index}] is empty")
        gap = width - len(prompt)
        tokens.append(gap * [pad_id] + prompt)
        positions.append(gap * [0] + list(range(len(prompt))))
        valid.append(gap * [False] + len(prompt) * [True])
    return torch.tensor(tokens), torch.tensor(positions), torch.tensor(valid)


def causal_mask(valid: Tensor) -> Tensor:
    rows = []
    for real in valid.tolist():
        width = range(len(real))
        rows.append(
            [
                [k == q or (real[q] and real[k] and k < q) for k in width]  # one query
                for q in width
            ]
        )
    return torch.tensor(rows, device=valid.device).unsqueeze(1)


def padding_waste(lengths: list[int]) -> float:
    for length in lengths:
        if length < 0:
            raise ValueError(f"lengths holds {length}")
    if not any(lengths):
        return 0.0
    longest = max(lengths)
    return sum(longest - length for length in lengths) / (longest * len(lengths))


def generate(
    model: Model,
    prompts: list[list[int]],
    max_new_tokens: int,
    eos_ids: Sequence[int],
    pad_id: int,
) -> list[list[int]]:
    sequences = [list(prompt) for prompt in prompts]
    ended = [False for _ in prompts]
    for _ in range(max_new_tokens):
        if all(ended):
            break
        # Ended rows come along, but say nothing any more.
        logits = model(*_inputs(sequences, pad_id))
        for row, scores in enumerate(logits[:, -1, :]):
            token = scores.argmax().item()
            if token in eos_ids:
                ended[row] = True
            if not ended[row]:
                sequences[row].append(token)
    return [s[len(p) :] for s, p in zip(sequences, prompts, strict=True)]


def _inputs(sequences: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor, Tensor]:
    tokens, positions, valid = left_pad(sequences, pad_id)
    return tokens, positions, causal_mask(valid)


class BatchEngine:
    def __init__(self, model_path: str) -> None:
        self.path = model_path
        self.config = LlamaConfig.from_pretrained(model_path)
        self.tokenizer = load_tokenizer(model_path)
        self.model = Llama(self.config, load_weights(model_path))

    def execute(self, prompts: list[str], max_new_tokens: int = 128) -> list[str]:
        if not prompts:
            return []
        ids = [self.tokenizer.encode(prompt) for prompt in prompts]
        eos_ids = list(self.config.eos_token_ids)
        new = generate(self.model, ids, max_new_tokens, eos_ids, pad_id=(eos_ids or [0])[0])
        return [self.tokenizer.decode(row) for row in new]
