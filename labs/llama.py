"""Given code from lab 02 on: a complete Llama; masks, caches and attention are yours to choose.

Letters: B sequences, T new tokens, S context positions, H query heads, G key/value heads, D head
width, E model width, F feed-forward width, V vocabulary.
"""

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from labs.common import LlamaConfig

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]  # q [B,H,T,D], k, v [B,G,S,D] -> [B,H,T,D]


class Cache(Protocol):
    """What a layer asks of its cache."""

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add [B,G,T,D] keys and values; return all so far, [B,G,S,D]."""
        ...


def rope_frequencies(config: LlamaConfig, device: torch.device) -> Tensor:  # float32 [D/2]
    """Return the angle per position of each pair; ``llama3`` scaling as in Llama 3.1."""
    exponent = torch.arange(0, config.head_dim, 2, device=device, dtype=torch.float32)
    plain = 1.0 / config.rope_theta ** (exponent / config.head_dim)
    scaling = config.rope_scaling
    if scaling is None:
        return plain
    if scaling["rope_type"] != "llama3":
        raise ValueError(f"rope_scaling: {scaling['rope_type']!r} is not supported, only 'llama3'")
    turns = scaling["original_max_position_embeddings"] * plain / (2 * math.pi)
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    # Pairs that turn often in the original context keep their speed, slow ones are stretched by
    # the factor, and those between the two bounds are blended.
    keep = ((turns - low) / (high - low)).clamp(0, 1)
    return keep * plain + (1 - keep) * plain / scaling["factor"]


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:  # [B,*,T,D], [B,1,T,D] x2 -> [B,*,T,D]
    """Turn each pair (i, i + D/2) by its angle."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def attention(
    q: Tensor,  # [B, H, T, D]
    k: Tensor,  # [B, G, S, D]
    v: Tensor,  # [B, G, S, D]
    mask: Tensor | None,  # bool [B, 1, T, S], True = may attend; None = causal, last on last
) -> Tensor:  # [B, H, T, D]
    """Attend each query to the keys of its group; softmax in float32."""
    (batch, heads, new, width), (groups, context) = q.shape, k.shape[1:3]
    if mask is None:
        causal = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
        mask = causal[None, None]
    grouped = q.reshape(batch, groups, heads // groups, new, width)
    scores = grouped @ k.unsqueeze(2).mT * width**-0.5  # [B, G, H/G, T, S]
    scores = scores.masked_fill(~mask.unsqueeze(2), -math.inf)
    weights = scores.softmax(dim=-1, dtype=torch.float32).to(q.dtype)
    return (weights @ v.unsqueeze(2)).reshape(batch, heads, new, width)


class RMSNorm(nn.Module):
    """Divide by the root mean square of the last axis, in float32, and multiply by a weight."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:  # [..., E] -> [..., E]
        wide = x.float()
        normed = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return self.weight * normed.to(x.dtype)


class Attention(nn.Module):
    """Grouped-query attention with rotary positions."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.head_dim = config.head_dim
        queries, keys = (n * config.head_dim for n in (config.num_heads, config.num_kv_heads))
        self.q_proj = nn.Linear(config.hidden_size, queries, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, keys, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, keys, bias=False)
        self.o_proj = nn.Linear(queries, config.hidden_size, bias=False)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, cache: Cache | None, attend: Attend
    ) -> Tensor:  # [B, T, E] -> [B, T, E]
        projected = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        q, k, v = (y.unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for y in projected)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if cache is not None:
            k, v = cache.update(k, v)
        return self.o_proj(attend(q, k, v).transpose(1, 2).flatten(2))


class MLP(nn.Module):
    """SwiGLU."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:  # [..., E] -> [..., E]
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """Attention and MLP, each behind a norm and beside a residual path."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = MLP(config)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, cache: Cache | None, attend: Attend
    ) -> Tensor:  # [B, T, E] -> [B, T, E]
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, cache, attend)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    """Llama for inference: parameters share memory with ``weights``, keep their dtype, no grad.

    ``weights`` have Hugging Face names; ValueError if they do not fit the config.
    """

    def __init__(self, config: LlamaConfig, weights: dict[str, Tensor]) -> None:
        super().__init__()
        self.config = config
        self.num_layers = config.num_layers
        rope_frequencies(config, torch.device("cpu"))  # refuses a scaling now, not in mid-run
        with torch.device("meta"):  # shapes only: the memory is that of the weights
            # nn.Embedding(V, E) would draw values, for which torch imports its compiler here: 2 s.
            embeddings = torch.empty(config.vocab_size, config.hidden_size)
            self.embed_tokens = nn.Embedding.from_pretrained(embeddings)
            self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_layers))
            self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
            self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self._load(weights)
        self.requires_grad_(False)

    def _load(self, weights: dict[str, Tensor]) -> None:
        state = {name.removeprefix("model."): weight for name, weight in weights.items()}
        # Old checkpoints also store the frequencies, which follow from the config.
        state = {name: w for name, w in state.items() if not name.endswith("rotary_emb.inv_freq")}
        if self.config.tie_word_embeddings and "embed_tokens.weight" in state:
            state["lm_head.weight"] = state["embed_tokens.weight"]
        try:
            self.load_state_dict(state, assign=True)
        except RuntimeError as error:
            raise ValueError(f"weights do not fit the config: {error}") from None
        if self.config.tie_word_embeddings:
            self.lm_head.weight = self.embed_tokens.weight  # one parameter, also after .to()

    def forward(
        self,
        tokens: Tensor,  # int64 [B, T]
        positions: Tensor,  # int64 [B, T]
        mask: Tensor | None = None,  # bool [B, 1, T, S], True = may attend
        caches: Sequence[Cache] | None = None,  # one per layer
        attend: Attend | None = None,
    ) -> Tensor:  # [B, T, V]
        """Return the logits; without a mask attention is causal, the last query on the last key.

        ``attend`` replaces the built-in attention and sees no mask, so ``mask`` must be None.
        """
        if positions.shape != tokens.shape:
            raise ValueError(f"positions {[*positions.shape]} must match tokens {[*tokens.shape]}")
        if attend is not None and mask is not None:
            raise ValueError("mask must be None when attend is given")
        if caches is not None and len(caches) != self.num_layers:
            raise ValueError(f"caches: {len(caches)} for {self.num_layers} layers")
        x = self.embed_tokens(tokens)
        angles = positions[..., None].float() * rope_frequencies(self.config, positions.device)
        angles = torch.cat((angles, angles), dim=-1).unsqueeze(1)  # [B, 1, T, D]
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        # Torch 2.11 cannot compile what asks whether a function is true.
        run = attend if attend is not None else lambda q, k, v: attention(q, k, v, mask)
        for i, layer in enumerate(self.layers):
            x = layer(x, cos, sin, None if caches is None else caches[i], run)
        return self.lm_head(self.norm(x))
