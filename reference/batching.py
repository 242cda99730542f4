"""Oracle for lab 02: grids filled cell by cell, each prompt continued alone and without padding.

Shapes end names: B sequences, T tokens, V vocabulary, 1 an axis of one; so ``mask_B1TT`` is
[B, 1, T, T].
"""

from collections.abc import Callable, Collection, Sequence

import torch
from torch import Tensor

# (tokens [B, T], positions [B, T], mask [B, 1, T, T]) -> logits [B, T, V]
Logits = Callable[[Tensor, Tensor, Tensor], Tensor]


def left_pad(
    prompts: Sequence[Sequence[int]],  # none of them empty
    pad_id: int,
) -> tuple[Tensor, Tensor, Tensor]:  # tokens, positions int64 [B, T]; valid bool [B, T]
    """Fill three grids cell by cell; T is the longest prompt."""
    width = max(len(prompt) for prompt in prompts)
    tokens_BT = torch.full((len(prompts), width), pad_id, dtype=torch.int64)
    positions_BT = torch.zeros(len(prompts), width, dtype=torch.int64)
    valid_BT = torch.zeros(len(prompts), width, dtype=torch.bool)
    for b, prompt in enumerate(prompts):
        for i, token in enumerate(prompt):
            column = width - len(prompt) + i
            tokens_BT[b, column], positions_BT[b, column], valid_BT[b, column] = token, i, True
    return tokens_BT, positions_BT, valid_BT


def causal_mask(valid: Tensor) -> Tensor:  # bool [B, T] -> bool [B, 1, T, T]
    """Decide for each query what it sees, by the sentence in the handout."""
    batch, width = valid.shape
    mask_B1TT = torch.zeros(batch, 1, width, width, dtype=torch.bool)
    for b in range(batch):
        for query in range(width):
            if valid[b, query]:
                mask_B1TT[b, 0, query, : query + 1] = valid[b, : query + 1]
            else:
                mask_B1TT[b, 0, query, query] = True
    return mask_B1TT


def padding_waste(lengths: Sequence[int]) -> float:
    """Count the cells of the padded batch, and those that hold nothing."""
    longest = max(lengths, default=0)
    cells = [i < length for length in lengths for i in range(longest)]
    return cells.count(False) / len(cells) if cells else 0.0


def solo_run(
    logits: Logits,
    prompt: Sequence[int],
    max_new_tokens: int,
    eos_ids: Collection[int],
) -> list[int]:
    """Continue one prompt greedily in a batch of its own, without padding; EOS is not returned."""
    sequence = list(prompt)
    while len(sequence) < len(prompt) + max_new_tokens:
        width = len(sequence)
        mask_11TT = torch.ones(1, 1, width, width, dtype=torch.bool).tril()
        logits_1TV = logits(torch.tensor([sequence]), torch.arange(width)[None], mask_11TT)
        token = int(logits_1TV[0, -1].argmax())
        if token in eos_ids:
            break
        sequence.append(token)
    return sequence[len(prompt) :]


def calls_needed(outputs: Sequence[Sequence[int]], max_new_tokens: int) -> int:
    """Return the steps of the row that lasts longest; saying EOS costs one step too."""
    return max((min(len(output) + 1, max_new_tokens) for output in outputs), default=0)
