"""Modules as in Hugging Face: nn.Linear, nn.Embedding, load_state_dict, grouped heads."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from labs.common import LlamaConfig, load_tokenizer, load_weights


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    dtype = x.dtype
    x = x.to(torch.float32)
    x = x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps)
    # Rounded before the weight is applied, as transformers does it.
    return (weight * x.to(dtype)).to(dtype)


def apply_rope(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    width = x.size(-1)
    inverse = 1.0 / theta ** (
        torch.arange(0, width, 2, device=x.device, dtype=torch.float32) / width
    )
    angles = torch.einsum("bt,d->btd", positions.float(), inverse)
    angles = torch.cat((angles, angles), dim=-1).unsqueeze(1)
    rotated = torch.cat((-x[..., width // 2 :], x[..., : width // 2]), dim=-1)
    return x * angles.cos().to(x.dtype) + rotated * angles.sin().to(x.dtype)


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    batch, heads, new, width = q.shape
    groups, context = k.size(1), k.size(2)
    if heads % groups != 0:
        raise ValueError(f"k has {groups} heads, which do not divide the {heads} of q")
    if new > context:
        raise ValueError(f"q is longer ({new}) than k ({context})")
    q = q.reshape(batch, groups, heads // groups, new, width)
    scores = torch.matmul(q, k.unsqueeze(2).transpose(-1, -2)) * width**-0.5
    future = torch.full((new, context), torch.finfo(scores.dtype).min, device=q.device)
    scores = scores + future.triu(context - new + 1).to(scores.dtype)
    weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(v.dtype)
    return torch.matmul(weights, v.unsqueeze(2)).reshape(batch, heads, new, width)


def swiglu(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    gate, up = F.linear(x, w_gate.to(x)), F.linear(x, w_up.to(x))
    return F.linear(gate * torch.sigmoid(gate) * up, w_down.to(x))


class Norm(nn.Module):
    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.weight, self.eps)


class Attention(nn.Module):
    def __init__(self, c: LlamaConfig) -> None:
        super().__init__()
        self.q_proj = nn.Linear(c.hidden_size, c.num_heads * c.head_dim, bias=False)
        self.k_proj = nn.Linear(c.hidden_size, c.num_kv_heads * c.head_dim, bias=False)
        self.v_proj = nn.Linear(c.hidden_size, c.num_kv_heads * c.head_dim, bias=False)
        self.o_proj = nn.Linear(c.num_heads * c.head_dim, c.hidden_size, bias=False)
        self.width, self.theta = c.head_dim, c.rope_theta

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        batch, length, _ = x.shape
        projections = (self.q_proj, self.k_proj, self.v_proj)
        q, k, v = (p(x).view(batch, length, -1, self.width).transpose(1, 2) for p in projections)
        q, k = (apply_rope(t, positions, self.theta) for t in (q, k))
        return self.o_proj(attention(q, k, v).transpose(1, 2).reshape(batch, length, -1))


class MLP(nn.Module):
    def __init__(self, c: LlamaConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.up_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.down_proj = nn.Linear(c.intermediate_size, c.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return swiglu(x, self.gate_proj.weight, self.up_proj.weight, self.down_proj.weight)


class Layer(nn.Module):
    def __init__(self, c: LlamaConfig) -> None:
        super().__init__()
        self.input_layernorm = Norm(c.hidden_size, c.rms_norm_eps)
        self.self_attn = Attention(c)
        self.post_attention_layernorm = Norm(c.hidden_size, c.rms_norm_eps)
        self.mlp = MLP(c)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), positions)
        return x + self.mlp(self.post_attention_layernorm(x))


class Body(nn.Module):
    def __init__(self, c: LlamaConfig) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.num_layers))
        self.norm = Norm(c.hidden_size, c.rms_norm_eps)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed_tokens(tokens)
        positions = torch.arange(tokens.size(1), device=tokens.device)[None].expand_as(tokens)
        for layer in self.layers:
            x = layer(x, positions)
        return self.norm(x)


class Llama(nn.Module):
    def __init__(self, config: LlamaConfig, weights: dict[str, Tensor]) -> None:
        super().__init__()
        with torch.device("meta"):
            self.model = Body(config)
            self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        if config.tie_word_embeddings:
            weights = {**weights, "lm_head.weight": weights["model.embed_tokens.weight"]}
        self.load_state_dict(weights, assign=True)
        self.requires_grad_(False)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.lm_head(self.model(tokens))


class Engine:
    def __init__(self, model_path: str) -> None:
        self.config = LlamaConfig.from_pretrained(model_path)
        self.llama = Llama(self.config, load_weights(model_path))
        self.tokenizer = load_tokenizer(model_path)

    @torch.inference_mode()
    def _next(self, tokens: list[int], temperature: float) -> int:
        logits = self.llama(torch.tensor(tokens).unsqueeze(0))[0, -1]
        if temperature == 0:
            return logits.argmax().item()
        chances = F.softmax(logits.float() / temperature, dim=0)
        # The exponential trick: the first of V clocks to ring is a draw from the distribution.
        return (chances / torch.empty_like(chances).exponential_()).argmax().item()

    def _run(self, prompt: list[int], max_new_tokens: int, temperature: float) -> list[int]:
        if len(prompt) == 0:
            raise ValueError("the prompt has no tokens")
        tokens = list(prompt)
        for _ in range(max_new_tokens):
            token = self._next(tokens, temperature)
            if token in self.config.eos_token_ids:
                break
            tokens.append(token)
        return tokens[len(prompt) :]

    def generate(self, prompt: list[int], max_new_tokens: int) -> list[int]:
        return self._run(prompt, max_new_tokens, 0)

    def execute(
        self, prompts: list[str], max_new_tokens: int = 128, temperature: float = 0.0
    ) -> list[str]:
        runs = (self._run(self.tokenizer.encode(p), max_new_tokens, temperature) for p in prompts)
        return [self.tokenizer.decode(tokens) for tokens in runs]
