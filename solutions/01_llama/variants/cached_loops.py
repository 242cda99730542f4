"""A loop over heads and queries in place of masks, and an engine that keeps keys and values."""

import math

import torch
from torch import Tensor, nn

from labs.common import LlamaConfig, load_tokenizer, load_weights


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    rows = x.float().reshape(-1, x.shape[-1])
    # The norm of row / sqrt(E) is the root mean square; no square is ever kept.
    mean_square = (rows / math.sqrt(x.shape[-1])).norm(dim=-1, keepdim=True) ** 2
    return (rows / (mean_square + eps).sqrt() * weight.float()).view(x.shape).to(x.dtype)


def apply_rope(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    half = x.shape[-1] // 2
    index = torch.arange(half, device=x.device, dtype=torch.float32)
    speeds = torch.exp(index * (-math.log(theta) / half))
    out = torch.empty_like(x)
    for row in range(x.shape[0]):
        angles = torch.outer(positions[row].float(), speeds)  # [T, D/2]
        a, b = x[row, :, :, :half].float(), x[row, :, :, half:].float()
        out[row, :, :, :half] = a * angles.cos() - b * angles.sin()
        out[row, :, :, half:] = a * angles.sin() + b * angles.cos()
    return out


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    heads, new, context = q.shape[1], q.shape[2], k.shape[2]
    if new > context:
        raise ValueError("more tokens in q than in k")
    if heads % k.shape[1] > 0:
        raise ValueError("num_heads of q must be a multiple of that of k")
    share = heads // k.shape[1]
    out = torch.empty_like(q)
    for h in range(heads):
        keys, values = k[:, h // share].float(), v[:, h // share].float()
        for t in range(new):
            seen = context - new + t + 1
            scores = (keys[:, :seen] @ q[:, h, t, :, None].float()) / math.sqrt(q.shape[-1])
            weights = torch.softmax(scores, dim=1)  # [B, seen, 1]
            out[:, h, t] = (weights * values[:, :seen]).sum(1)
    return out


def swiglu(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    gate = torch.nn.functional.silu(x @ w_gate.to(x.dtype).t())
    return (gate * (x @ w_up.to(x.dtype).t())) @ w_down.to(x.dtype).t()


class Llama(nn.Module):
    """forward is the contract's; ``step`` continues from the keys and values of earlier tokens."""

    def __init__(self, config: LlamaConfig, weights: dict[str, Tensor]) -> None:
        super().__init__()
        self.config = config
        for name, weight in weights.items():
            self.register_buffer(name.replace(".", "_"), weight.float())
        if config.tie_word_embeddings:
            self.register_buffer("lm_head_weight", weights["model.embed_tokens.weight"].float())

    def _get(self, layer: int, name: str) -> Tensor:
        return getattr(self, f"model_layers_{layer}_{name}_weight")

    def forward(self, tokens: Tensor) -> Tensor:
        return self.step(tokens, [None] * self.config.num_layers)

    def step(self, tokens: Tensor, past: list[tuple[Tensor, Tensor] | None]) -> Tensor:
        """Return logits [B, T, V] of the new tokens and put their keys and values into ``past``."""
        c = self.config
        batch, new = tokens.shape
        start = past[0][0].shape[2] if past and past[0] is not None else 0
        positions = torch.arange(start, start + new, device=tokens.device).repeat(batch, 1)
        x = self.model_embed_tokens_weight[tokens]
        for i in range(c.num_layers):
            y = rms_norm(x, self._get(i, "input_layernorm"), c.rms_norm_eps)
            q, k, v = (
                (y @ self._get(i, f"self_attn_{n}_proj").T)
                .reshape(batch, new, -1, c.head_dim)
                .permute(0, 2, 1, 3)
                for n in "qkv"
            )
            k = apply_rope(k, positions, c.rope_theta)
            if past[i] is not None:
                k, v = torch.cat((past[i][0], k), 2), torch.cat((past[i][1], v), 2)
            past[i] = (k, v)
            out = attention(apply_rope(q, positions, c.rope_theta), k, v)
            out = out.permute(0, 2, 1, 3).reshape(batch, new, -1)
            x = x + out @ self._get(i, "self_attn_o_proj").T
            y = rms_norm(x, self._get(i, "post_attention_layernorm"), c.rms_norm_eps)
            x = x + swiglu(y, *(self._get(i, f"mlp_{n}_proj") for n in ("gate", "up", "down")))
        return rms_norm(x, self.model_norm_weight, c.rms_norm_eps) @ self.lm_head_weight.T


class Engine:
    def __init__(self, model_path: str) -> None:
        self.config = LlamaConfig.from_pretrained(model_path)
        self.model = Llama(self.config, load_weights(model_path))
        self.tokenizer = load_tokenizer(model_path)

    def generate(self, prompt: list[int], max_new_tokens: int) -> list[int]:
        return self._decode(prompt, max_new_tokens, greedy)

    def execute(
        self, prompts: list[str], max_new_tokens: int = 128, temperature: float = 0.0
    ) -> list[str]:
        def draw(logits: Tensor) -> int:
            shares = torch.softmax(logits / temperature, dim=-1).cumsum(-1)
            return min(int((shares < torch.rand(())).sum()), len(shares) - 1)

        choose = draw if temperature > 0 else greedy
        results = []
        for prompt in prompts:
            tokens = self._decode(self.tokenizer.encode(prompt), max_new_tokens, choose)
            results.append(self.tokenizer.decode(tokens))
        return results

    @torch.no_grad()
    def _decode(self, prompt: list[int], max_new_tokens: int, choose) -> list[int]:
        if not prompt:
            raise ValueError("prompt must hold at least one token")
        output: list[int] = []
        past: list[tuple[Tensor, Tensor] | None] = [None] * self.config.num_layers
        entering = prompt
        while len(output) < max_new_tokens:
            token = choose(self.model.step(torch.tensor([entering]), past)[0, -1])
            if token in self.config.eos_token_ids:
                return output
            output.append(token)
            entering = [token]
        return output


def greedy(logits: Tensor) -> int:
    return int(torch.argmax(logits))
