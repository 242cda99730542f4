"""Lab 02, model answer: sequences live as lists, and each step pads what is still alive.

A shape without a comment ends its name: ``tokens_BT`` is [B, T], ``logits_BTV`` [B, T, V].
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.llama import Llama

# model(tokens [B, T], positions [B, T], mask [B, 1, T, T]) -> logits [B, T, V]
Model = Callable[[Tensor, Tensor, Tensor], Tensor]


def left_pad(
    prompts: list[list[int]],  # B prompts, none of them empty
    pad_id: int,
) -> tuple[
    Tensor, Tensor, Tensor
]:  # tokens int64 [B, T], positions int64 [B, T], valid bool [B, T]
    """Line the prompts up at their right ends; T is the longest prompt.

    Positions count from 0 at a row's first real token and are 0 in padding; valid is True at real
    tokens. An empty prompt is a ValueError.
    """
    if not all(prompts):
        raise ValueError("prompts must not hold an empty prompt")
    width = max(map(len, prompts), default=0)
    tokens_BT = torch.tensor([[pad_id] * (width - len(row)) + row for row in prompts])
    # What is real follows from the lengths: pad_id may well occur inside a prompt.
    gaps_B = torch.tensor([width - len(row) for row in prompts])
    valid_BT = torch.arange(width) >= gaps_B[:, None]
    return tokens_BT, (valid_BT.cumsum(-1) - 1).clamp(min=0), valid_BT


def causal_mask(
    valid: Tensor,  # bool [B, T], any pattern
) -> Tensor:  # bool [B, 1, T, T], True where query (row) may attend to key (column)
    """Let a real token see the real tokens up to itself, and padding itself and nothing else."""
    real = valid[:, :, None] & valid[:, None, :]
    # The diagonal costs real tokens nothing and gives each padding query one key: no softmax over
    # an empty set, whose NaN would reach the real rows one layer later.
    return (real.tril() | torch.eye(valid.shape[1], dtype=torch.bool, device=valid.device))[:, None]


def padding_waste(lengths: list[int]) -> float:
    """Return the share of the padded batch that is padding, 0.0 when nothing is in it.

    A negative length is a ValueError.
    """
    if min(lengths, default=0) < 0:
        raise ValueError("lengths must not be negative")
    cells = len(lengths) * max(lengths, default=0)
    return (cells - sum(lengths)) / cells if cells else 0.0


def generate(
    model: Model,
    prompts: list[list[int]],  # B prompts, none of them empty
    max_new_tokens: int,  # at most so many tokens a row
    eos_ids: Sequence[int],  # any of them ends a row
    pad_id: int,
) -> list[list[int]]:  # the new tokens of each row: no prompt, no EOS, no padding
    """Continue all prompts greedily, with one call of the model per step for all rows together.

    Each call passes the whole sequences so far. The last call is the one that ends the last row.
    """
    outputs: list[list[int]] = [[] for _ in prompts]
    live = list(range(len(prompts)))
    for _ in range(max_new_tokens):
        if not live:
            break
        tokens, positions, valid = left_pad([prompts[i] + outputs[i] for i in live], pad_id)
        logits_BTV = model(tokens, positions, causal_mask(valid))
        # Left padding puts every row's last token, and so its next logits, in the last column.
        chosen = dict(zip(live, logits_BTV[:, -1].argmax(-1).tolist(), strict=True))
        live = [i for i in live if chosen[i] not in eos_ids]
        for i in live:
            outputs[i].append(chosen[i])
    return outputs


class BatchEngine:
    """Text in, text out: a checkpoint, its tokenizer and ``generate``."""

    def __init__(self, model_path: str) -> None:
        self.config = LlamaConfig.from_pretrained(model_path)
        self.model = Llama(self.config, load_weights(model_path))
        self.tokenizer = load_tokenizer(model_path)

    @torch.inference_mode()
    def execute(self, prompts: list[str], max_new_tokens: int = 128) -> list[str]:
        """Return the greedy continuation of each prompt, without the prompt, in the same order."""
        encoded = [self.tokenizer.encode(prompt) for prompt in prompts]
        outputs = generate(self.model, encoded, max_new_tokens, self.config.eos_token_ids, pad_id=0)
        return [self.tokenizer.decode(output) for output in outputs]
