"""Lab 02: one forward pass for prompts of many lengths.

Letters: B sequences, T columns of the padded batch (queries and keys alike), V vocabulary.
Work from top to bottom: each task uses the one above it. Given code is in ``labs/common.py`` and
``labs/llama.py``; read the docstring of ``Llama`` before the last task.
"""

from collections.abc import Callable, Sequence

from torch import Tensor

# model(tokens [B, T], positions [B, T], mask [B, 1, T, T]) -> logits [B, T, V]
Model = Callable[[Tensor, Tensor, Tensor], Tensor]


# --- Task 1: pad -----------------------------------------------------------------------------


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
    raise NotImplementedError("pad: left_pad")


# --- Task 2: mask ----------------------------------------------------------------------------


def causal_mask(
    valid: Tensor,  # bool [B, T], any pattern
) -> Tensor:  # bool [B, 1, T, T], True where query (row) may attend to key (column)
    """Let a real token see the real tokens up to itself, and padding itself and nothing else.

    The mask is on the device of ``valid``.
    """
    raise NotImplementedError("mask: causal_mask")


# --- Task 3: waste ---------------------------------------------------------------------------


def padding_waste(lengths: list[int]) -> float:
    """Return the share of the padded batch that is padding, 0.0 when nothing is in it.

    A negative length is a ValueError.
    """
    raise NotImplementedError("waste: padding_waste")


# --- Task 4: generate ------------------------------------------------------------------------


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
    raise NotImplementedError("generate: generate")


# --- Task 5: engine --------------------------------------------------------------------------


class BatchEngine:
    """Text in, text out: a checkpoint, its tokenizer and ``generate``."""

    def __init__(self, model_path: str) -> None:
        raise NotImplementedError("engine: BatchEngine")

    def execute(self, prompts: list[str], max_new_tokens: int = 128) -> list[str]:
        """Return the greedy continuation of each prompt, without the prompt, in the same order."""
        raise NotImplementedError("engine: BatchEngine.execute")
