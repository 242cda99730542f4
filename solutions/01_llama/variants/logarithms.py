"""By logarithms: weights from a log-sum-exp, speeds, roots and gates as powers of e."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from labs.common import LlamaConfig, load_tokenizer, load_weights


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    wide = x.float()
    mean_square = wide.square().mean(-1, keepdim=True) + eps
    return (wide * torch.exp(-0.5 * torch.log(mean_square)) * weight).to(x.dtype)


def apply_rope(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    half = x.shape[-1] // 2
    speeds = torch.exp(torch.arange(half, device=x.device) * (-math.log(theta) / half))
    angles = positions[:, None, :, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    first, second = x.chunk(2, dim=-1)
    turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    return turned.to(x.dtype)


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    (heads, new, width), (groups, context) = q.shape[1:], k.shape[1:3]
    if new > context:
        raise ValueError("q has more tokens than k")
    if heads % groups:
        raise ValueError("the heads of q are no multiple of those of k")
    k, v = (t.float().repeat_interleave(heads // groups, dim=1) for t in (k, v))
    scores = q.float() @ k.mT / math.sqrt(width)
    seen = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
    scores = scores.masked_fill(~seen, -math.inf)
    weights = torch.exp(scores - scores.logsumexp(-1, keepdim=True))
    return (weights @ v).to(q.dtype)


def swiglu(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    w_gate, w_up, w_down = (w.to(x.dtype) for w in (w_gate, w_up, w_down))
    gate = x @ w_gate.T
    return (gate * F.logsigmoid(gate).exp() * (x @ w_up.T)) @ w_down.T


class Llama(nn.Module):
    def __init__(self, config: LlamaConfig, weights: dict[str, Tensor]) -> None:
        super().__init__()
        self.config = config
        self.weights = weights

    def _attend(self, i: int, x: Tensor, positions: Tensor) -> Tensor:
        cfg = self.config

        def heads(name: str, count: int) -> Tensor:
            flat = x @ self.weights[f"model.layers.{i}.self_attn.{name}_proj.weight"].T
            return flat.unflatten(-1, (count, cfg.head_dim)).transpose(1, 2)

        q = apply_rope(heads("q", cfg.num_heads), positions, cfg.rope_theta)
        k = apply_rope(heads("k", cfg.num_kv_heads), positions, cfg.rope_theta)
        v = heads("v", cfg.num_kv_heads)
        mixed = attention(q, k, v).transpose(1, 2).flatten(2)
        return mixed @ self.weights[f"model.layers.{i}.self_attn.o_proj.weight"].T

    def forward(self, tokens: Tensor) -> Tensor:
        w, eps = self.weights, self.config.rms_norm_eps
        positions = torch.arange(tokens.shape[1], device=tokens.device).expand(tokens.shape)
        x = w["model.embed_tokens.weight"][tokens]
        for i in range(self.config.num_layers):
            at = f"model.layers.{i}"
            y = rms_norm(x, w[f"{at}.input_layernorm.weight"], eps)
            x = x + self._attend(i, y, positions)
            y = rms_norm(x, w[f"{at}.post_attention_layernorm.weight"], eps)
            x = x + swiglu(y, *(w[f"{at}.mlp.{n}_proj.weight"] for n in ("gate", "up", "down")))
        x = rms_norm(x, w["model.norm.weight"], eps)
        tied = self.config.tie_word_embeddings
        head = w["model.embed_tokens.weight" if tied else "lm_head.weight"]
        return x @ head.T


class Engine:
    def __init__(self, model_path: str) -> None:
        self.config = LlamaConfig.from_pretrained(model_path)
        self.tokenizer = load_tokenizer(model_path)
        self.model = Llama(self.config, load_weights(model_path)).eval()

    def generate(self, prompt: list[int], max_new_tokens: int) -> list[int]:
        return self._extend(prompt, max_new_tokens, 0.0)

    def execute(
        self, prompts: list[str], max_new_tokens: int = 128, temperature: float = 0.0
    ) -> list[str]:
        texts = []
        for prompt in prompts:
            new = self._extend(self.tokenizer.encode(prompt), max_new_tokens, temperature)
            texts.append(self.tokenizer.decode(new))
        return texts

    @torch.no_grad()
    def _extend(self, prompt: list[int], max_new_tokens: int, temperature: float) -> list[int]:
        if not prompt:
            raise ValueError("prompt is empty")
        new: list[int] = []
        while len(new) < max_new_tokens:
            logits = self.model(torch.tensor([prompt + new]))[0, -1].float()
            if temperature > 0:
                token = int(torch.multinomial((logits / temperature).log_softmax(-1).exp(), 1))
            else:
                token = int(logits.argmax())
            if token in self.config.eos_token_ids:
                break
            new.append(token)
        return new
