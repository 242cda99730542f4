"""A Llama's weights laid out for decoding: projections joined, rotations tabled, maybe in 4 bits.

Letters: H query heads, G key/value heads, D head width, E model width, F feed-forward width, V
vocabulary, O outputs, I inputs.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from reference.models.checkpoint import Model

MOST = 15  # the largest code of 4 bits
GROUP = 32  # inputs that share a scale


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """A weight in lab 09's int4: ``codes`` hold even columns in their low halves."""

    codes: Tensor  # uint8 [O, I/2]
    scale: Tensor  # float32 [O, I/group]
    zero: Tensor  # uint8 [O, I/group]
    group: int

    @classmethod
    def of(cls, w: Tensor, group: int) -> "Packed":
        """Quantize w [O, I]; I must be a multiple of group and of 2, else a ValueError names w."""
        if w.shape[1] % group or w.shape[1] % 2:
            raise ValueError(f"w has {w.shape[1]} columns, no even multiple of group {group}")
        groups = w.float().unflatten(1, (-1, group))
        low = groups.amin(2, keepdim=True).clamp(max=0)
        high = groups.amax(2, keepdim=True).clamp(min=0)
        scale = torch.where(high > low, (high - low) / MOST, 1.0)
        zero = (-low / scale).round()
        codes = ((groups / scale).round() + zero).clamp(0, MOST).flatten(1).to(torch.uint8)
        packed = codes[:, 0::2] | codes[:, 1::2] << 4
        return cls(packed.contiguous(), scale[..., 0], zero[..., 0].to(torch.uint8), group)

    @property
    def shape(self) -> tuple[int, int]:
        """Of the weight that this stands for."""
        return self.codes.shape[0], 2 * self.codes.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of codes, scales and zeros."""
        return self.codes.nbytes + self.scale.nbytes + self.zero.nbytes

    def dequantize(self, dtype: torch.dtype) -> Tensor:  # [O, I]
        """Return (code - zero) * scale."""
        codes = torch.stack((self.codes & MOST, self.codes >> 4), 2).flatten(1)
        groups = codes.unflatten(1, (-1, self.group)).float() - self.zero[..., None].float()
        return (groups * self.scale[..., None]).flatten(1).to(dtype)


Weight = Tensor | Packed


def linear(x: Tensor, weight: Weight) -> Tensor:  # [..., I], [O, I] -> [..., O]
    """Multiply in x's dtype."""
    return F.linear(x, weight if isinstance(weight, Tensor) else weight.dequantize(x.dtype))


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """The weights of one layer."""

    norm: Tensor  # [E]
    qkv: Weight  # [(H + 2G) D, E]
    out: Weight  # [E, H D]
    mlp_norm: Tensor  # [E]
    gate_up: Weight  # [2F, E]
    down: Weight  # [E, F]

    @property
    def nbytes(self) -> int:
        """Bytes of all."""
        parts = self.norm, self.qkv, self.out, self.mlp_norm, self.gate_up, self.down
        return sum(part.nbytes for part in parts)


class Weights:
    """All that a step reads beside the cache; the embedding and the head stay in ``dtype``."""

    def __init__(
        self,
        model: Model,
        max_len: int,
        dtype: torch.dtype,
        device: str,
        bits: int | None = None,
        group: int = GROUP,
    ) -> None:
        if model.fields["rope_scaling"] is not None:
            raise ValueError("rope_scaling is not supported")
        if bits not in (None, 4):
            raise ValueError(f"bits {bits} is neither None nor 4")
        self.fields, self.dtype, self.device = model.fields, dtype, device

        def load(*names: str) -> Tensor:
            joined = torch.cat([model.weights[f"{name}.weight"] for name in names])
            return joined.to(device=device, dtype=dtype).contiguous()

        def pack(*names: str) -> Weight:
            joined = load(*names)
            return joined if bits is None else Packed.of(joined, group)

        self.embedding = load("model.embed_tokens")  # [V, E]
        self.norm = load("model.norm")  # [E]
        tied = self.fields["tie_word_embeddings"]
        self.head = self.embedding if tied else load("lm_head")  # [V, E]
        self.layers: list[Layer] = []
        for i in range(self.fields["num_layers"]):
            at = f"model.layers.{i}"
            attention, mlp = f"{at}.self_attn", f"{at}.mlp"
            layer = Layer(
                load(f"{at}.input_layernorm"),
                pack(*(f"{attention}.{kind}_proj" for kind in "qkv")),
                pack(f"{attention}.o_proj"),
                load(f"{at}.post_attention_layernorm"),
                pack(f"{mlp}.gate_proj", f"{mlp}.up_proj"),
                pack(f"{mlp}.down_proj"),
            )
            self.layers.append(layer)
        self.cos, self.sin = rotations(self.fields, max_len, device)

    @property
    def num_bytes(self) -> int:
        """Bytes of the weights that a step reads: of the embedding table it reads B rows."""
        return sum(layer.nbytes for layer in self.layers) + self.norm.nbytes + self.head.nbytes


def rotations(
    fields: dict[str, Any], max_len: int, device: str
) -> tuple[Tensor, Tensor]:  # float32 [max_len, D/2] x2
    """Return cosine and sine of each pair's angle at each position."""
    exponent = torch.arange(0, fields["head_dim"], 2, dtype=torch.float64) / fields["head_dim"]
    angles = torch.arange(max_len)[:, None] / fields["rope_theta"] ** exponent
    return angles.cos().float().to(device), angles.sin().float().to(device)
