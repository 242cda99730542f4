"""A Llama from scratch: four formulas, a model made of them, an engine around the model.

Letters, which end names too (``scores_BHTS`` is [B, H, T, S]): B sequences, T new tokens, S context
positions, H query heads, G key/value heads, D head width, E model width, F feed-forward width, V
vocabulary.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from labs.common import LlamaConfig, load_tokenizer, load_weights


def rms_norm(
    x: Tensor,  # [..., E]
    weight: Tensor,  # [E]
    eps: float,
) -> Tensor:  # [..., E], x's dtype
    """Scale the last axis to a root mean square of 1, then multiply by ``weight``."""
    wide = x.float()  # in fp16 the square of 256 is already infinite
    rms = torch.sqrt(wide.square().mean(-1, keepdim=True) + eps)
    return (wide / rms * weight).to(x.dtype)


def apply_rope(
    x: Tensor,  # [B, H, T, D]
    positions: Tensor,  # [B, T]
    theta: float,
) -> Tensor:  # [B, H, T, D], x's dtype
    """Turn each pair (x[i], x[i + D/2]) by the angle position * theta**(-2i/D)."""
    half = x.shape[-1] // 2
    # float32: bf16 cannot tell position 257 from 256, fp16 not 2049 from 2048.
    speeds = theta ** -(torch.arange(half, device=x.device).float() / half)
    angles = positions[:, None, :, None] * speeds  # [B, 1, T, D/2]: all heads turn alike
    cos, sin = angles.cos(), angles.sin()
    first, second = x.chunk(2, dim=-1)
    turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    return turned.to(x.dtype)


def attention(
    q: Tensor,  # [B, H, T, D]
    k: Tensor,  # [B, G, S, D]
    v: Tensor,  # [B, G, S, D]
) -> Tensor:  # [B, H, T, D], q's dtype
    """Causal attention; the last query sees the last key, query head h reads head h // (H / G)."""
    (heads, new, width), (groups, context) = q.shape[1:], k.shape[1:3]
    if new > context:
        raise ValueError(f"q has {new} tokens, k only {context}: the first queries see no key")
    if heads % groups:
        raise ValueError(f"q has {heads} heads, not a multiple of the {groups} heads of k")
    # repeat_interleave gives 0 0 1 1, the heads of a group side by side; repeat would give 0 1 0 1.
    k, v = (t.float().repeat_interleave(heads // groups, dim=1) for t in (k, v))
    scores_BHTS = q.float() @ k.mT / math.sqrt(width)
    # Query t stands at position S - T + t: the diagonal starts S - T to the right.
    seen_TS = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
    return (scores_BHTS.masked_fill(~seen_TS, -math.inf).softmax(-1) @ v).to(q.dtype)


def swiglu(
    x: Tensor,  # [..., E]
    w_gate: Tensor,  # [F, E]
    w_up: Tensor,  # [F, E]
    w_down: Tensor,  # [E, F]
) -> Tensor:  # [..., E], x's dtype
    """Return w_down (silu(w_gate x) * w_up x)."""
    w_gate, w_up, w_down = (w.to(x.dtype) for w in (w_gate, w_up, w_down))
    return (F.silu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T


class Llama(nn.Module):
    """tokens [B, T] -> logits [B, T, V]."""

    def __init__(self, config: LlamaConfig, weights: dict[str, Tensor]) -> None:
        super().__init__()
        self.config = config
        # A parameter's name may hold no dot. As parameters the weights follow .to(device).
        self.weights = nn.ParameterDict(
            {
                name.replace(".", "/"): nn.Parameter(weight, requires_grad=False)
                for name, weight in weights.items()
            }
        )

    def _weight(self, name: str, layer: int | None = None) -> Tensor:
        """Look up a weight by its Hugging Face name, or by its short name inside a layer."""
        full = f"model.{name}" if layer is None else f"model.layers.{layer}.{name}"
        return self.weights[f"{full}.weight".replace(".", "/")]

    def _attend(self, layer: int, x: Tensor, positions: Tensor) -> Tensor:  # [B, T, E] -> same
        """Project, rotate, attend and project back."""
        cfg = self.config

        def heads(name: str, count: int) -> Tensor:  # [B, count, T, D]
            flat = x @ self._weight(f"self_attn.{name}_proj", layer).T
            return flat.unflatten(-1, (count, cfg.head_dim)).transpose(1, 2)

        q_BHTD = apply_rope(heads("q", cfg.num_heads), positions, cfg.rope_theta)
        k_BGTD = apply_rope(heads("k", cfg.num_kv_heads), positions, cfg.rope_theta)
        mixed = attention(q_BHTD, k_BGTD, heads("v", cfg.num_kv_heads))
        return mixed.transpose(1, 2).flatten(2) @ self._weight("self_attn.o_proj", layer).T

    def forward(self, tokens: Tensor) -> Tensor:  # [B, T] -> [B, T, V]
        """Return the logits of the token that follows each position."""
        cfg = self.config
        positions = torch.arange(tokens.shape[1], device=tokens.device).expand(tokens.shape)
        x = self._weight("embed_tokens")[tokens]  # [B, T, E]
        for i in range(cfg.num_layers):
            # The residual stream x is only ever added to; each block reads a normed copy.
            y = rms_norm(x, self._weight("input_layernorm", i), cfg.rms_norm_eps)
            x = x + self._attend(i, y, positions)
            y = rms_norm(x, self._weight("post_attention_layernorm", i), cfg.rms_norm_eps)
            x = x + swiglu(y, *(self._weight(f"mlp.{w}_proj", i) for w in ("gate", "up", "down")))
        x = rms_norm(x, self._weight("norm"), cfg.rms_norm_eps)
        # Tied: the embedding read backwards; the checkpoint then holds no lm_head.
        tied = cfg.tie_word_embeddings
        head = self._weight("embed_tokens") if tied else self.weights["lm_head/weight"]
        return x @ head.T


class Engine:
    """Text in, text out, one sequence at a time; each step runs the whole sequence again."""

    def __init__(self, model_path: str) -> None:
        self.config = LlamaConfig.from_pretrained(model_path)
        self.tokenizer = load_tokenizer(model_path)
        self.model = Llama(self.config, load_weights(model_path)).eval()

    def generate(self, prompt: list[int], max_new_tokens: int) -> list[int]:
        """Return the greedy continuation, without the prompt and without the EOS that ends it."""
        return self._extend(prompt, max_new_tokens, temperature=0.0)

    def execute(
        self, prompts: list[str], max_new_tokens: int = 128, temperature: float = 0.0
    ) -> list[str]:
        """Return the continuation of each prompt; a temperature above 0 draws the tokens."""
        encoded = [self.tokenizer.encode(prompt) for prompt in prompts]
        new = [self._extend(tokens, max_new_tokens, temperature) for tokens in encoded]
        return [self.tokenizer.decode(tokens) for tokens in new]

    @torch.no_grad()
    def _extend(self, prompt: list[int], max_new_tokens: int, temperature: float) -> list[int]:
        """Add one token at a time until an EOS or until there are ``max_new_tokens``."""
        if not prompt:
            raise ValueError("prompt is empty: there is no last position to predict from")
        new: list[int] = []
        while len(new) < max_new_tokens:
            logits_V = self.model(torch.tensor([prompt + new]))[0, -1].float()
            if temperature > 0:
                # Divide: below 1 sharpens, above 1 flattens.
                token = int(torch.multinomial((logits_V / temperature).softmax(-1), 1))
            else:
                token = int(logits_V.argmax())
            if token in self.config.eos_token_ids:
                break
            new.append(token)
        return new
