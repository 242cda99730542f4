"""Lab 03: choose the next token, or the best sequence.

Letters: B sequences, T tokens of a sequence so far, V vocabulary. Work from top to bottom. A filter
takes logits and returns new ones: what it removes becomes -inf, the rest keeps its place. All
filters leave their arguments alone, compute in float32 or better and return the dtype they got.
"""

from collections.abc import Callable

from torch import Generator, Tensor

Filter = Callable[[Tensor], Tensor]  # logits [B, V] -> new logits [B, V]
Model = Callable[[Tensor], Tensor]  # tokens [B, T] -> logits [B, V] of the token that comes next


# --- Task 1: filters -------------------------------------------------------------------------


def temperature(
    logits: Tensor,  # [B, V]
    t: float,  # > 0, else ValueError
) -> Tensor:  # [B, V]
    """Divide by t: below 1 sharpens the distribution, above 1 flattens it."""
    raise NotImplementedError("filters: temperature")


def top_k(
    logits: Tensor,  # [B, V]
    k: int,  # >= 1, else ValueError; k >= V keeps all
) -> Tensor:  # [B, V]
    """Keep exactly the k largest logits of each row; of equal ones, those with the lower id."""
    raise NotImplementedError("filters: top_k")


def top_p(
    logits: Tensor,  # [B, V]
    p: float,  # 0 < p <= 1, else ValueError
) -> Tensor:  # [B, V]
    """Keep the smallest set of tokens whose probabilities add up to p or more.

    The token that crosses p belongs to it; of equal logits the lower id goes first.
    """
    raise NotImplementedError("filters: top_p")


def min_p(
    logits: Tensor,  # [B, V]
    p: float,  # 0 <= p <= 1, else ValueError
) -> Tensor:  # [B, V]
    """Keep the tokens that are at least p times as probable as the most probable one."""
    raise NotImplementedError("filters: min_p")


def repetition_penalty(
    logits: Tensor,  # [B, V]
    history: list[list[int]],  # B lists of ids below V, else ValueError; may be empty
    penalty: float,  # > 1 discourages what has been said
) -> Tensor:  # [B, V]
    """Divide the positive logits of each row's history by penalty, multiply the negative ones.

    Once for each id, however often it was said: as in Hugging Face.
    """
    raise NotImplementedError("filters: repetition_penalty")


# --- Task 2: sampler -------------------------------------------------------------------------


class Sampler:
    """Logits in, one token per row out."""

    def __init__(self, *filters: Filter, greedy: bool = False) -> None:
        """Keep the filters, which are applied in this order; greedy with filters: ValueError."""
        raise NotImplementedError("sampler: Sampler")

    def __call__(
        self,
        logits: Tensor,  # [B, V]
        generator: Generator | None = None,  # of the logits' device; None: torch's global one
    ) -> Tensor:  # int64 [B]
        """Draw one token per row, each row on its own, from the softmax of the filtered logits.

        Random numbers come from ``generator`` and from nowhere else. Greedy takes the largest
        logit and draws none.
        """
        raise NotImplementedError("sampler: Sampler.__call__")


# --- Task 3: beam ----------------------------------------------------------------------------


def beam_search(
    model: Model,
    prompt: list[int],
    num_beams: int,
    max_new_tokens: int,
    eos_id: int,
    length_penalty: float = 1.0,
) -> list[tuple[list[int], float]]:  # (new tokens with EOS, score), the best first
    """Search for the new tokens of the best score: sum of log-probabilities / len ** penalty.

    A step extends each live beam by every token, and keeps the num_beams best among these and the
    finished beams, which keep slot and score. It ends when all kept beams are finished or have
    max_new_tokens tokens. No beam of probability 0 is kept.
    """
    raise NotImplementedError("beam: beam_search")
