"""Scripted language models: no trained weights, yet every logit depends on all that is visible.

A model that forgets would forgive wrong masks and positions. These hash instead: two rounds of
exact integer "attention" over the (position, token) pairs that the mask shows to each query, so
that what a neighbour saw matters too, as in a real transformer. Arguments may be anything.
"""

from collections.abc import Collection, Mapping

import torch
from torch import Tensor

PRIME = 2**31 - 1  # products of two residues fit in int64
SPREAD = 1009  # a prime above any vocabulary here: logits of one query are pairwise distinct
POSITIONS = 4096  # positions are told apart modulo this
MAX_PAIRS = 4_000_000  # query-key pairs in one call
MAX_CALLS = 400
INTEGERS = (torch.int32, torch.int64)


class Misuse(Exception):
    """A call that breaks the contract of a model's arguments; the message says how."""


class MaskedModel:
    """``model(tokens [B, T], positions [B, T], mask [B, 1, T, T])`` -> logits [B, T, vocab].

    ``endings`` maps the token seen at position 0 to (visible tokens, id): the query that sees
    exactly so many gives that id its best logit. Ids in ``silent`` are never best otherwise. A row
    in which some query sees nothing is NaN throughout, as after a softmax over nothing.
    """

    def __init__(
        self,
        vocab: int,
        seed: int,
        silent: Collection[int] = (),
        endings: Mapping[int, tuple[int, int]] | None = None,
    ) -> None:
        generator = torch.Generator().manual_seed(seed % 2**63)
        self.vocab = vocab
        self.calls: list[tuple[int, int]] = []  # rows and columns of each call, in order
        self.misuses: list[str] = []
        self.notes: list[str] = []  # what explains a wrong answer
        self._token_keys = torch.randint(1, PRIME, (vocab,), generator=generator)
        self._position_keys = torch.randint(1, PRIME, (POSITIONS,), generator=generator)
        self._silent = sorted(silent)
        self._endings = dict(endings or {})

    def __call__(
        self,
        tokens: object = None,
        positions: object = None,
        mask: object = None,
        *others: object,
        **unknown: object,
    ) -> Tensor:  # [B, T, vocab]
        """Check the arguments, note the call and answer; raise Misuse if no model could answer."""
        try:
            if others or unknown:
                raise Misuse("the model takes tokens, positions and mask, nothing else")
            self._check_count()
            ids = self._checked_tokens(tokens)
            places = _checked_positions(positions, ids)
            seen = _checked_mask(mask, ids)
        except Misuse as misuse:
            self.misuses.append(str(misuse))
            raise
        self.calls.append((ids.shape[0], ids.shape[1]))
        blind = (~seen.any(-1)).nonzero()
        if len(blind):
            row, column = (int(index) for index in blind[0])
            self.notes.append(
                f"in call {len(self.calls)} the query in row {row}, column {column} may attend to "
                "nothing, so its softmax is NaN"
            )
        return self.logits(ids, places, seen[:, None])

    def logits(
        self,
        tokens: Tensor,  # [B, T], ids below vocab
        positions: Tensor,  # [B, T]
        mask: Tensor,  # bool [B, 1, T, T]
    ) -> Tensor:  # [B, T, vocab] float32
        """Answer without checking or counting."""
        seen = mask[:, 0].long()
        places = self._position_keys[positions % POSITIONS]
        state = self._token_keys[tokens] * places % PRIME
        for _ in range(2):
            mixed = (seen * state[:, None, :]).sum(-1) % PRIME
            state = (mixed * mixed + places) % PRIME
        values = _distinct_values(state, self.vocab)
        values[..., self._silent] -= SPREAD
        first = (seen * (tokens * (positions == 0))[:, None, :]).sum(-1)
        for start, (length, ending) in self._endings.items():
            values[..., ending] += 3 * SPREAD * ((first == start) & (seen.sum(-1) == length))
        values[(seen.sum(-1) == 0).any(-1)] = torch.nan
        return values

    def _check_count(self) -> None:
        if len(self.calls) >= MAX_CALLS:
            raise Misuse(f"the model was called more than {MAX_CALLS} times")

    def _checked_tokens(self, tokens: object) -> Tensor:
        if not isinstance(tokens, Tensor) or tokens.dim() != 2 or tokens.dtype not in INTEGERS:
            raise Misuse(f"tokens must be an integer tensor [B, T], not {describe(tokens)}")
        rows, columns = tokens.shape
        if rows == 0 or columns == 0:
            raise Misuse(f"tokens have shape {list(tokens.shape)}: nothing to do in this call")
        if rows * columns * columns > MAX_PAIRS:
            raise Misuse(f"tokens have shape {list(tokens.shape)}: far more than the prompts need")
        if int(tokens.min()) < 0 or int(tokens.max()) >= self.vocab:
            raise Misuse(f"tokens hold an id outside the vocabulary 0..{self.vocab - 1}")
        return tokens.long()


def _checked_positions(positions: object, tokens: Tensor) -> Tensor:
    if not isinstance(positions, Tensor) or positions.dtype not in INTEGERS:
        raise Misuse(f"positions must be an integer tensor [B, T], not {describe(positions)}")
    if positions.shape != tokens.shape:
        raise Misuse(
            f"positions have shape {list(positions.shape)}, tokens have {list(tokens.shape)}"
        )
    return positions.long()


def _checked_mask(mask: object, tokens: Tensor) -> Tensor:  # -> bool [B, T, T]
    if not isinstance(mask, Tensor) or mask.dtype is not torch.bool:
        raise Misuse(f"mask must be a bool tensor [B, 1, T, T], not {describe(mask)}")
    rows, columns = tokens.shape
    wanted = [rows, 1, columns, columns]
    if list(mask.shape) != wanted:
        raise Misuse(
            f"mask has shape {list(mask.shape)}; with tokens {[rows, columns]} it must be {wanted}"
        )
    return mask[:, 0]


def _distinct_values(state: Tensor, vocab: int) -> Tensor:  # [B, T] -> [B, T, vocab]
    """Spread each state over the vocabulary: v -> a·v + b modulo a prime, at least 1/8 apart."""
    factor = state % (SPREAD - 1) + 1
    offset = state // SPREAD % SPREAD
    spread = (factor[..., None] * torch.arange(vocab) + offset[..., None]) % SPREAD
    return (spread - SPREAD // 2).float() / 8


def describe(value: object) -> str:
    """Say in a few words what was passed, without trusting it."""
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    return type(value).__name__
