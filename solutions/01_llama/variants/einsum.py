"""Functions over a flat dict, einsum for every product, RoPE by complex numbers, all in float64."""

from collections.abc import Iterator

import torch
from torch import Tensor, einsum, nn

from labs.common import LlamaConfig, load_tokenizer, load_weights


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    z = x.double()
    power = einsum("...e,...e->...", z, z) / z.shape[-1]
    return einsum("...e,...,e->...e", z, (power + eps).rsqrt(), weight.double()).to(x.dtype)


def apply_rope(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    half = x.shape[-1] // 2
    steps = torch.arange(half, dtype=torch.float64, device=x.device)
    angles = einsum("bt,i->bti", positions.double(), theta ** (-steps / half))
    turn = torch.polar(torch.ones_like(angles), angles)
    z = torch.complex(x[..., :half].double(), x[..., half:].double())
    z = einsum("bhti,bti->bhti", z, turn)
    return torch.cat((z.real, z.imag), dim=-1).to(x.dtype)


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    b, h, t, d = q.shape
    g, s = k.shape[1:3]
    if s < t or h % g:
        raise ValueError(f"q {list(q.shape)} does not go with k {list(k.shape)}")
    grouped = q.double().reshape(b, g, h // g, t, d) / d**0.5
    scores = einsum("bgrtd,bgsd->bgrts", grouped, k.double())
    at = torch.arange(s, device=q.device)
    scores = torch.where(at <= at[s - t :, None], scores, -torch.inf)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    out = einsum("bgrts,bgsd->bgrtd", weights, v.double())
    return (out / weights.sum(-1, keepdim=True)).reshape(b, h, t, d).to(q.dtype)


def swiglu(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    z = x.double()
    gate = einsum("...e,fe->...f", z, w_gate.double())
    up = einsum("...e,fe->...f", z, w_up.double())
    return einsum("...f,ef->...e", gate / (1 + torch.exp(-gate)) * up, w_down.double()).to(x.dtype)


def block(x: Tensor, layer: dict[str, Tensor], c: LlamaConfig) -> Tensor:
    """One layer: [B, T, E] -> [B, T, E]."""
    positions = torch.arange(x.shape[1], device=x.device).repeat(x.shape[0], 1)
    y = rms_norm(x, layer["input_layernorm"], c.rms_norm_eps)

    def split(name: str) -> Tensor:
        weight = layer[f"self_attn.{name}_proj"].to(x.dtype).reshape(-1, c.head_dim, x.shape[-1])
        return einsum("bte,hde->bhtd", y, weight)

    q, k = (apply_rope(split(name), positions, c.rope_theta) for name in "qk")
    out = layer["self_attn.o_proj"].to(x.dtype).reshape(x.shape[-1], -1, c.head_dim)
    x = x + einsum("bhtd,ehd->bte", attention(q, k, split("v")), out)
    y = rms_norm(x, layer["post_attention_layernorm"], c.rms_norm_eps)
    return x + swiglu(y, *(layer[f"mlp.{name}_proj"] for name in ("gate", "up", "down")))


class Llama(nn.Module):
    def __init__(self, config: LlamaConfig, weights: dict[str, Tensor]) -> None:
        super().__init__()
        self.config = config
        self.embedding = weights["model.embed_tokens.weight"].float()
        self.norm = weights["model.norm.weight"]
        tied = config.tie_word_embeddings
        self.head = self.embedding if tied else weights["lm_head.weight"].float()
        self.layers: list[dict[str, Tensor]] = [{} for _ in range(config.num_layers)]
        for name, weight in weights.items():
            match name.split("."):
                case ["model", "layers", index, *rest, "weight"]:
                    self.layers[int(index)][".".join(rest)] = weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding[tokens]
        for layer in self.layers:
            x = block(x, layer, self.config)
        x = rms_norm(x, self.norm, self.config.rms_norm_eps)
        return einsum("bte,ve->btv", x, self.head)


class Engine:
    def __init__(self, model_path: str) -> None:
        self.config = LlamaConfig.from_pretrained(model_path)
        self.model = Llama(self.config, load_weights(model_path))
        self.tokenizer = load_tokenizer(model_path)

    def _stream(self, prompt: list[int], temperature: float) -> Iterator[int]:
        if not prompt:
            raise ValueError("empty prompt")
        tokens = torch.tensor([prompt])
        while True:
            with torch.no_grad():
                logits = self.model(tokens)[0, -1]
            if temperature:
                # Gumbel's trick: the largest of logits / temperature + noise is a draw.
                noise = -torch.log(-torch.log(torch.rand_like(logits, dtype=torch.float64)))
                logits = logits.double() / temperature + noise
            best = logits.argmax()
            if int(best) in self.config.eos_token_ids:
                return
            yield int(best)
            tokens = torch.cat((tokens, best.view(1, 1)), dim=1)

    def generate(self, prompt: list[int], max_new_tokens: int) -> list[int]:
        if not prompt:
            raise ValueError("empty prompt")
        return [t for _, t in zip(range(max_new_tokens), self._stream(prompt, 0.0), strict=False)]

    def execute(
        self, prompts: list[str], max_new_tokens: int = 128, temperature: float = 0.0
    ) -> list[str]:
        texts = []
        for prompt in prompts:
            stream = self._stream(self.tokenizer.encode(prompt), temperature)
            new = [token for _, token in zip(range(max_new_tokens), stream, strict=False)]
            texts.append(self.tokenizer.decode(new))
        return texts
