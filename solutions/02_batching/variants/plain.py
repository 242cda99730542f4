"""Plain: as the model answer, each function in its shortest form.

Without a word on why: most wrong answers are edits of this one.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.llama import Llama

Model = Callable[[Tensor, Tensor, Tensor], Tensor]


def left_pad(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor, Tensor]:
    if not all(prompts):
        raise ValueError("prompts must not hold an empty prompt")
    width = max(map(len, prompts), default=0)
    tokens = torch.tensor([[pad_id] * (width - len(row)) + row for row in prompts])
    gaps = torch.tensor([width - len(row) for row in prompts])
    valid = torch.arange(width) >= gaps[:, None]
    return tokens, (valid.cumsum(-1) - 1).clamp(min=0), valid


def causal_mask(valid: Tensor) -> Tensor:
    real = valid[:, :, None] & valid[:, None, :]
    return (real.tril() | torch.eye(valid.shape[1], dtype=torch.bool, device=valid.device))[:, None]


def padding_waste(lengths: list[int]) -> float:
    if min(lengths, default=0) < 0:
        raise ValueError("lengths must not be negative")
    cells = len(lengths) * max(lengths, default=0)
    return (cells - sum(lengths)) / cells if cells else 0.0


def generate(
    model: Model,
    prompts: list[list[int]],
    max_new_tokens: int,
    eos_ids: Sequence[int],
    pad_id: int,
) -> list[list[int]]:
    outputs: list[list[int]] = [[] for _ in prompts]
    live = list(range(len(prompts)))
    for _ in range(max_new_tokens):
        if not live:
            break
        tokens, positions, valid = left_pad([prompts[i] + outputs[i] for i in live], pad_id)
        logits = model(tokens, positions, causal_mask(valid))
        chosen = dict(zip(live, logits[:, -1].argmax(-1).tolist(), strict=True))
        live = [i for i in live if chosen[i] not in eos_ids]
        for i in live:
            outputs[i].append(chosen[i])
    return outputs


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
