"""A Llama in fewer bits: by your pieces of lab 09, or rounded by torch where they are missing.

What torch rounds stays a float: the text is that of quantized weights, the memory is not.
"""

from collections.abc import Callable
from enum import StrEnum
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from labs.llama import Llama

GROUP = 32  # columns of an int4 weight that share a scale
Find = Callable[..., ModuleType | None]  # a name for the table, (lab, task) -> your module


class Bits(StrEnum):
    """What a weight becomes."""

    INT8 = "int8"
    INT4 = "int4"


def quantize(model: Llama, bits: Bits, find: Find) -> Llama:
    """Return the model with every linear layer but ``lm_head`` quantized; the argument may change.

    ValueError if a layer's width is not a multiple of the group.
    """
    linears = find("quantized layers", (9, "linears"))
    if linears is None:
        _round_weights(model, bits, find(f"rounding to {bits}", (9, bits)))
        return model
    linear_cls = linears.Int8Linear if bits is Bits.INT8 else linears.Int4Linear
    module = find("quantized model", (9, "model"))
    if module is not None:
        return module.quantize_model(model, linear_cls)
    for part, name in _places(model):
        setattr(part, name, linear_cls.from_float(getattr(part, name)))
    return model


def _places(model: Llama) -> list[tuple[Any, str]]:
    """Return where the layers are: the module that each is in, and its name there."""
    layers: Any = model.layers
    parts = [part for layer in layers for part in (layer.self_attn, layer.mlp)]
    return [(part, name) for part in parts for name, _ in part.named_children()]


def _round_weights(model: Llama, bits: Bits, module: Any) -> None:
    for part, name in _places(model):
        weight = getattr(part, name).weight
        if bits is Bits.INT4 and weight.shape[1] % GROUP:
            raise ValueError(f"{name} is {weight.shape[1]} wide: int4 has groups of {GROUP}")
        if module is None:
            rounded = _by_torch(weight, bits)
        elif bits is Bits.INT8:
            rounded = module.dequantize_int8(*module.quantize_int8(weight))
        else:
            rounded = module.dequantize_int4(*module.quantize_int4(weight, GROUP), GROUP)
        getattr(part, name).weight = nn.Parameter(rounded.to(weight.dtype), requires_grad=False)


def _by_torch(weight: Tensor, bits: Bits) -> Tensor:  # [O, I] -> float32 [O, I]
    """Round each row to 255 steps around 0, or each group to the 16 that span its range."""
    rows = weight.float() if bits is Bits.INT8 else weight.float().reshape(-1, GROUP)
    low, high = rows.amin(1).clamp(max=0), rows.amax(1).clamp(min=0)
    if bits is Bits.INT8:
        first, last, span = -127, 127, 2 * torch.maximum(-low, high)
    else:
        first, last, span = 0, 15, high - low
    scale = torch.where(span > 0, span / (last - first), 1.0)
    zero = first - low / scale if bits is Bits.INT4 else torch.zeros_like(scale)
    rounded = torch.fake_quantize_per_channel_affine(
        rows, scale, zero.round().int(), 0, first, last
    )
    return rounded.reshape(weight.shape)
