"""Lab 09: keep weights and caches in fewer bits, and multiply with them as they are.

Letters: O, I output and input features of a linear layer, M rows of x, B sequences, G key/value
heads, T new tokens, S all tokens so far, D head width.
For the kernel, ``import triton`` and ``import triton.language as tl``; without a GPU it runs under
Triton's interpreter.
"""

from collections.abc import Collection
from typing import Any, Self

from torch import Tensor, nn

# --- Task 1: int8 ----------------------------------------------------------------------------


def quantize_int8(
    w: Tensor,  # [O, I], float32, float16 or bfloat16, any strides
) -> tuple[Tensor, Tensor]:  # codes int8 [O, I], scale float32 [O]
    """Quantize each row symmetrically: scale = max|w| / 127, codes in -127..127, half to even.

    A row of zeros has scale 1.
    """
    raise NotImplementedError("int8: quantize_int8")


def dequantize_int8(
    q: Tensor,  # int8 [O, I]
    scale: Tensor,  # float32 [O]
) -> Tensor:  # float32 [O, I]
    """Return the weights that the codes stand for."""
    raise NotImplementedError("int8: dequantize_int8")


# --- Task 2: int4 ----------------------------------------------------------------------------


def quantize_int4(
    w: Tensor,  # [O, I], float32, float16 or bfloat16, any strides
    group: int,  # columns that share a scale and a zero
) -> tuple[Tensor, Tensor, Tensor]:  # packed uint8 [O, I/2], scale float32, zero uint8 [O, I/group]
    """Quantize each group to 0..15; its range, stretched to hold 0, is 15 steps of scale.

    zero = round(-min / scale); an all-zero group has scale 1, zero 0. The even column of a pair is
    in the low half of its byte. ValueError naming w if I is odd, group if it does not divide I.
    """
    raise NotImplementedError("int4: quantize_int4")


def dequantize_int4(
    packed: Tensor,  # uint8 [O, I/2]
    scale: Tensor,  # float32 [O, I/group]
    zero: Tensor,  # uint8 [O, I/group]
    group: int,
) -> Tensor:  # float32 [O, I]
    """Return the weights that the codes stand for: (code - zero) * scale."""
    raise NotImplementedError("int4: dequantize_int4")


# --- Task 3: linears -------------------------------------------------------------------------


class Int8Linear(nn.Module):
    """A linear layer that keeps int8 codes and scales, its bias or none, and no float weight."""

    @classmethod
    def from_float(cls, linear: nn.Linear) -> Self:
        """Quantize a layer, which stays as it is."""
        raise NotImplementedError("linears: Int8Linear.from_float")

    def forward(self, x: Tensor) -> Tensor:  # [..., I] -> [..., O] in x's dtype
        raise NotImplementedError("linears: Int8Linear.forward")


class Int4Linear(nn.Module):
    """A linear layer that keeps packed int4 codes, scales and zeros, its bias or none."""

    @classmethod
    def from_float(cls, linear: nn.Linear, group: int = 32) -> Self:
        """Quantize a layer, which stays as it is; ValueError as in quantize_int4."""
        raise NotImplementedError("linears: Int4Linear.from_float")

    def forward(self, x: Tensor) -> Tensor:  # [..., I] -> [..., O] in x's dtype
        raise NotImplementedError("linears: Int4Linear.forward")


# --- Task 4: kernel, and task 7: speed -------------------------------------------------------


def int4_matmul(
    x: Tensor,  # [M, I], float32, float16 or bfloat16, any strides
    packed: Tensor,  # uint8 [O, I/2]
    scale: Tensor,  # float32 [O, I/group]
    zero: Tensor,  # uint8 [O, I/group]
    group: int,
) -> Tensor:  # [M, O] in x's dtype
    """Return x @ W.T in a Triton kernel that dequantizes as it goes: W is never in memory."""
    raise NotImplementedError("kernel: int4_matmul")


# --- Task 5: model ---------------------------------------------------------------------------


def quantize_model(
    model: nn.Module,
    linear_cls: Any,  # any object with from_float(linear) -> nn.Module
    skip: Collection[str] = ("lm_head",),  # names, without what stands before the last dot
) -> nn.Module:
    """Return a new model whose nn.Linear layers are quantized; the argument stays as it is.

    A layer stays in float if the last part of its name is in ``skip``.
    """
    raise NotImplementedError("model: quantize_model")


# --- Task 6: cache ---------------------------------------------------------------------------


class QuantizedCache:
    """The keys and values of all tokens so far in int8, one scale for each token and head.

    ``length`` (int): tokens held.
    """

    def __init__(self) -> None:
        raise NotImplementedError("cache: QuantizedCache")

    def update(
        self,
        k: Tensor,  # [B, G, T, D]
        v: Tensor,  # [B, G, T, D]
    ) -> tuple[Tensor, Tensor]:  # all keys, all values so far, [B, G, S, D] in k's dtype
        """Add T tokens; what the cache gave back for older ones stays the same, bit by bit."""
        raise NotImplementedError("cache: QuantizedCache.update")

    def rewind(self, n: int) -> None:
        """Drop the last n tokens; ValueError naming n, and no change, if there are fewer."""
        raise NotImplementedError("cache: QuantizedCache.rewind")
