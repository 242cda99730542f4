"""Oracle of lab 01: each formula of a Llama, written once, slowly and in plain sight.

Fed float64 this is the truth. Fed a submission's own dtype it is the trusted implementation, whose
rounding says what that dtype can reach. Reductions, angles and softmax run in float32 or better.

Letters, which end the names of tensors too (``scores_BTS`` is [B, T, S]): B sequences, T new
tokens, S context positions, H query heads, G key/value heads, D head width, E model width, F
feed-forward width, V vocabulary, 1 an axis of one.
"""

import math
from collections.abc import Callable, Mapping
from typing import Protocol

import torch
from torch import Tensor

Norm = Callable[[Tensor, Tensor, float], Tensor]
Attention = Callable[[Tensor, Tensor, Tensor], Tensor]


class Config(Protocol):
    """What the formulas ask of a configuration; the given code's ``LlamaConfig`` has it all."""

    @property
    def num_layers(self) -> int: ...
    @property
    def num_heads(self) -> int: ...
    @property
    def num_kv_heads(self) -> int: ...
    @property
    def head_dim(self) -> int: ...
    @property
    def rms_norm_eps(self) -> float: ...
    @property
    def rope_theta(self) -> float: ...
    @property
    def tie_word_embeddings(self) -> bool: ...


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:  # [..., E], [E] -> [..., E]
    """Divide by the root of (mean square + eps); nothing is subtracted (arXiv:1910.07467)."""
    wide = _widen(x)
    mean_square = (wide**2).sum(-1, keepdim=True) / x.shape[-1]
    return (wide / torch.sqrt(mean_square + eps) * weight).to(x.dtype)


def apply_rope(x: Tensor, positions: Tensor, theta: float) -> Tensor:  # [B,H,T,D], [B,T] -> same
    """Turn pair (x[i], x[i + D/2]) by position * theta**(-2i/D) (arXiv:2104.09864, HF pairing)."""
    wide_BHTD, half = _widen(x), x.shape[-1] // 2
    out_BHTD = torch.empty_like(wide_BHTD)
    for i in range(half):
        # The exponent is exact in Python; the angle is then as good as the dtype allows.
        speed = torch.tensor(theta ** (-2 * i / x.shape[-1]), dtype=wide_BHTD.dtype)
        angle_B1T = (positions.to(wide_BHTD.dtype) * speed)[:, None, :]  # the same for all heads
        a_BHT, b_BHT = wide_BHTD[..., i], wide_BHTD[..., i + half]
        out_BHTD[..., i] = a_BHT * torch.cos(angle_B1T) - b_BHT * torch.sin(angle_B1T)
        out_BHTD[..., i + half] = b_BHT * torch.cos(angle_B1T) + a_BHT * torch.sin(angle_B1T)
    return out_BHTD.to(x.dtype)


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:  # [B,H,T,D], [B,G,S,D] x2 -> [B,H,T,D]
    """Causal softmax(q k' / sqrt(D)) v, one head at a time; the last query sees the last key."""
    heads, new, width = q.shape[1:]
    groups, context = k.shape[1:3]
    out_BHTD = torch.empty_like(q)
    hidden_TS = torch.arange(context)[None, :] > torch.arange(context - new, context)[:, None]
    for h in range(heads):
        g = h // (heads // groups)  # consecutive query heads share a key/value head
        scores_BTS = _widen(q[:, h]) @ _widen(k[:, g]).mT / math.sqrt(width)
        weights_BTS = torch.softmax(scores_BTS.masked_fill(hidden_TS, -math.inf), dim=-1)
        out_BHTD[:, h] = weights_BTS.to(q.dtype) @ v[:, g]
    return out_BHTD


def swiglu(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    """Return w_down (silu(w_gate x) * w_up x), in x's dtype (arXiv:2002.05202).

    x [..., E], w_gate and w_up [F, E], w_down [E, F] -> [..., E].
    """
    gate, up = x @ w_gate.to(x.dtype).T, x @ w_up.to(x.dtype).T
    return (gate * torch.sigmoid(gate) * up) @ w_down.to(x.dtype).T


def logits(
    config: Config,
    weights: Mapping[str, Tensor],
    tokens: Tensor,
    norm: Norm = rms_norm,
    attend: Attention = attention,
) -> Tensor:
    """Return the logits [B,T,V] of tokens [B,T]; ``weights`` under their Hugging Face names."""
    x_BTE = weights["model.embed_tokens.weight"][tokens]
    positions_BT = torch.arange(tokens.shape[1]).expand(tokens.shape)
    for layer in range(config.num_layers):
        w = {
            name.removeprefix(f"model.layers.{layer}.").removesuffix(".weight"): value
            for name, value in weights.items()
        }
        y_BTE = norm(x_BTE, w["input_layernorm"], config.rms_norm_eps)
        q_BHTD = _heads(y_BTE @ w["self_attn.q_proj"].T, config.num_heads)
        k_BGTD = _heads(y_BTE @ w["self_attn.k_proj"].T, config.num_kv_heads)
        v_BGTD = _heads(y_BTE @ w["self_attn.v_proj"].T, config.num_kv_heads)
        q_BHTD = apply_rope(q_BHTD, positions_BT, config.rope_theta)
        k_BGTD = apply_rope(k_BGTD, positions_BT, config.rope_theta)
        mixed = attend(q_BHTD, k_BGTD, v_BGTD).transpose(1, 2).flatten(2)  # [B, T, H * D]
        x_BTE = x_BTE + mixed @ w["self_attn.o_proj"].T
        y_BTE = norm(x_BTE, w["post_attention_layernorm"], config.rms_norm_eps)
        x_BTE = x_BTE + swiglu(y_BTE, w["mlp.gate_proj"], w["mlp.up_proj"], w["mlp.down_proj"])
    x_BTE = norm(x_BTE, weights["model.norm.weight"], config.rms_norm_eps)
    tied = config.tie_word_embeddings
    return x_BTE @ weights["model.embed_tokens.weight" if tied else "lm_head.weight"].T


def greedy(
    config: Config, weights: Mapping[str, Tensor], prompt: list[int], steps: int
) -> tuple[list[int], list[float]]:
    """Return ``steps`` greedy tokens, EOS or not, and how far each beats the second best logit."""
    tokens, margins = list(prompt), list[float]()
    for _ in range(steps):
        best = logits(config, weights, torch.tensor([tokens]))[0, -1].topk(2)
        tokens.append(int(best.indices[0]))
        margins.append(float(best.values[0] - best.values[1]))
    return tokens[len(prompt) :], margins


def regrets(
    config: Config, weights: Mapping[str, Tensor], prompt: list[int], tokens: list[int]
) -> list[float]:
    """Return how far below the best logit each of ``tokens`` is, given all that precedes it.

    A greedy decoder's regrets are 0, but for ties within its rounding.
    """
    history_1S = torch.tensor([prompt + tokens])
    rows_TV = logits(config, weights, history_1S)[0, len(prompt) - 1 : -1]
    chosen_T = rows_TV.gather(1, history_1S[0, len(prompt) :, None])[:, 0]
    return [float(gap) for gap in rows_TV.amax(-1) - chosen_T]


def _widen(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _heads(x: Tensor, num_heads: int) -> Tensor:  # [B, T, heads * D] -> [B, heads, T, D]
    return x.view(*x.shape[:2], num_heads, -1).transpose(1, 2)
