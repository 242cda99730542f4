"""Tokenizer and weights by transformers' from_pretrained, in bfloat16; the mathematics by hand."""

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer

from labs.common import LlamaConfig


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    z = x.to(torch.float32)
    variance = torch.linalg.vector_norm(z, dim=-1, keepdim=True).div(z.shape[-1] ** 0.5).square()
    return torch.addcmul(torch.zeros_like(z), z / (variance + eps).sqrt(), weight.float()).type_as(
        x
    )


def apply_rope(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    """Turn all of x at once: roll brings each element's partner to its place."""
    d = x.shape[-1]
    i = torch.arange(d, device=x.device)
    frequency = torch.pow(torch.tensor(theta, device=x.device), -2.0 * (i % (d // 2)) / d)
    angle = positions.unsqueeze(-1) * frequency  # [B, T, D], each frequency twice
    sign = torch.where(i < d // 2, -1.0, 1.0)
    partner = torch.roll(x.float(), d // 2, dims=-1) * sign
    return (x.float() * angle.cos()[:, None] + partner * angle.sin()[:, None]).type_as(x)


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    t, s = q.size(2), k.size(2)
    if t > s:
        raise ValueError("k must be at least as long as q")
    if q.size(1) % k.size(1):
        raise ValueError("q's heads cannot be shared evenly among those of k")
    group = torch.arange(q.size(1), device=q.device).div(
        q.size(1) // k.size(1), rounding_mode="floor"
    )
    scores = torch.baddbmm(
        torch.full((1, t, s), float("-inf"), device=q.device).triu(s - t + 1),
        q.float().flatten(0, 1),
        k[:, group].float().flatten(0, 1).transpose(1, 2),
        alpha=q.size(-1) ** -0.5,
    )
    weights = torch.log_softmax(scores, dim=-1).exp()
    return torch.bmm(weights, v[:, group].float().flatten(0, 1)).view_as(q).type_as(q)


def swiglu(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    both = x @ torch.cat((w_gate, w_up)).type_as(x).mT
    gate, up = both.chunk(2, dim=-1)
    return nn.SiLU()(gate).mul(up) @ w_down.type_as(x).mT


class Llama(nn.Module):
    def __init__(self, config: LlamaConfig, weights: dict[str, Tensor]) -> None:
        super().__init__()
        self.config = config
        self.weights = dict(weights)
        if config.tie_word_embeddings:
            self.weights["lm_head.weight"] = weights["model.embed_tokens.weight"]

    def forward(self, tokens: Tensor) -> Tensor:
        c, w = self.config, self.weights
        where = torch.arange(tokens.size(1), device=tokens.device).unsqueeze(0).expand_as(tokens)
        x = nn.functional.embedding(tokens, w["model.embed_tokens.weight"])
        for i in range(c.num_layers):
            p = f"model.layers.{i}."
            y = rms_norm(x, w[p + "input_layernorm.weight"], c.rms_norm_eps)
            packed = [w[f"{p}self_attn.{n}_proj.weight"] for n in "qkv"]
            sizes = [weight.size(0) for weight in packed]
            q, k, v = (
                part.unflatten(-1, (-1, c.head_dim)).movedim(1, 2)
                for part in (y @ torch.cat(packed).mT).split(sizes, dim=-1)
            )
            q, k = apply_rope(q, where, c.rope_theta), apply_rope(k, where, c.rope_theta)
            heads = attention(q, k, v).movedim(1, 2).flatten(-2)
            x = x + nn.functional.linear(heads, w[p + "self_attn.o_proj.weight"])
            y = rms_norm(x, w[p + "post_attention_layernorm.weight"], c.rms_norm_eps)
            x = x + swiglu(y, *(w[f"{p}mlp.{n}_proj.weight"] for n in ("gate", "up", "down")))
        x = rms_norm(x, w["model.norm.weight"], c.rms_norm_eps)
        return nn.functional.linear(x, w["lm_head.weight"])


class Engine:
    def __init__(self, model_path: str) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(model_path)
        self.config = LlamaConfig.from_pretrained(model_path)
        theirs = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.bfloat16)
        self.llama = Llama(self.config, theirs.state_dict())

    def generate(self, prompt: list[int], max_new_tokens: int) -> list[int]:
        return self._continue(list(prompt), max_new_tokens, None)

    def _continue(self, tokens: list[int], left: int, temperature: float | None) -> list[int]:
        """Recursion for a change: one token, then the continuation of the longer list."""
        if not tokens:
            raise ValueError("prompt: at least one token is needed")
        if left == 0:
            return []
        with torch.no_grad():
            logits = self.llama(torch.tensor(tokens)[None])[0, -1].float()
        if temperature:
            token = torch.distributions.Categorical(logits=logits / temperature).sample().item()
        else:
            token = logits.max(dim=0).indices.item()
        if token in self.config.eos_token_ids:
            return []
        return [token, *self._continue([*tokens, token], left - 1, temperature)]

    def execute(
        self, prompts: list[str], max_new_tokens: int = 128, temperature: float = 0.0
    ) -> list[str]:
        ids = self.tokenizer(prompts)["input_ids"]
        new = [self._continue(prompt, max_new_tokens, temperature) for prompt in ids]
        return self.tokenizer.batch_decode(new, skip_special_tokens=True)
