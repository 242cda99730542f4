"""What lab 11 is raced against: the given Llama's eager operators in a CUDA graph.

On a CPU, where it is only tested, the operators run as they are. Weights and cache are drawn as
``labs/timed.py`` draws them: in this order, from this seed.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

MAX_LEN, FIRST, BETWEEN, HEAD = 1024, 600, 40, 64
Step = Callable[[Tensor], Tensor]  # int64 [B] -> [B, V]


def timed_step(tokens: Tensor, *, seed: int, layers: int, width: int) -> Tensor:  # [B] -> [B, V]
    """Let one token of each row enter, at places that are the same in each call."""
    return _stepper(len(tokens), tokens.device, seed, layers, width)(tokens)


class Model:
    """A Llama and its cache."""

    def __init__(self, batch: int, device: torch.device, seed: int, layers: int, width: int):
        draws = torch.Generator(device).manual_seed(seed)
        heads, vocab, inner = width // HEAD, 125 * width // 8, 11 * width // 4
        self.groups = max(1, heads // 8)
        keys = self.groups * HEAD
        self.embed = matrix(draws, vocab, width)
        shapes = (width, width), (keys, width), (keys, width), (width, width)
        shapes = (*shapes, (inner, width), (inner, width), (width, inner))
        self.layers = [
            ([matrix(draws, *shape) for shape in shapes], [norm(draws, width) for _ in range(2)])
            for _ in range(layers)
        ]
        self.norm = norm(draws, width)
        self.head = matrix(draws, vocab, width)
        size = batch + 1, self.groups, MAX_LEN, HEAD
        made = [torch.zeros(size, dtype=torch.bfloat16, device=device) for _ in range(2 * layers)]
        self.keys, self.values = made[:layers], made[layers:]
        for memory in made:
            memory.normal_(0, 1, generator=draws)
        self.rows = torch.arange(batch, device=device)
        self.positions = FIRST + BETWEEN * self.rows
        self.seen = (torch.arange(MAX_LEN, device=device) <= self.positions[:, None])[:, None, None]
        exponent = torch.arange(0, HEAD, 2, device=device, dtype=torch.float32) / HEAD
        angles = self.positions[:, None].float() * (1.0 / 1e4**exponent)
        angles = torch.cat((angles, angles), -1)[:, None, None]
        self.cos, self.sin = angles.cos().bfloat16(), angles.sin().bfloat16()

    def __call__(self, tokens: Tensor) -> Tensor:  # int64 [B] -> [B, V]
        x = self.embed[tokens].unsqueeze(1)
        for index, (weights, norms) in enumerate(self.layers):
            x = x + self._attention(index, normed(x, norms[0]), weights)
            y = normed(x, norms[1])
            hidden = F.silu(F.linear(y, weights[4])) * F.linear(y, weights[5])
            x = x + F.linear(hidden, weights[6])
        return F.linear(normed(x, self.norm), self.head)[:, 0]

    def _attention(self, index: int, x: Tensor, weights: list[Tensor]) -> Tensor:
        projected = (F.linear(x, weight).unflatten(-1, (-1, HEAD)) for weight in weights[:3])
        q, k, v = (y.transpose(1, 2) for y in projected)
        q, k = (y * self.cos + turned(y) * self.sin for y in (q, k))
        self.keys[index][self.rows, :, self.positions] = k[:, :, 0]
        self.values[index][self.rows, :, self.positions] = v[:, :, 0]
        keys, values = self.keys[index][self.rows], self.values[index][self.rows]
        grouped = q.reshape(len(x), self.groups, -1, 1, HEAD)
        scores = grouped @ keys.unsqueeze(2).mT * HEAD**-0.5
        scores = scores.masked_fill(~self.seen.unsqueeze(2), -torch.inf)
        shares = scores.softmax(-1, dtype=torch.float32).to(q.dtype)
        mixed = (shares @ values.unsqueeze(2)).reshape(q.shape)
        return F.linear(mixed.transpose(1, 2).flatten(2), weights[3])


def matrix(draws: Generator, *shape: int) -> Tensor:
    """Draw a weight of a product."""
    made = torch.randn(shape, generator=draws, device=draws.device, dtype=torch.bfloat16)
    return made * shape[-1] ** -0.5


def norm(draws: Generator, width: int) -> Tensor:
    """Draw the weight of a norm."""
    made = torch.randn((width,), generator=draws, device=draws.device, dtype=torch.bfloat16)
    return 1 + made / 10


def normed(x: Tensor, weight: Tensor) -> Tensor:
    """RMSNorm in float32."""
    wide = x.float()
    return weight * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype)


def turned(x: Tensor) -> Tensor:
    """Return what the sines are multiplied with."""
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


@functools.lru_cache(maxsize=1)  # one size at a time: gigabytes
def _stepper(batch: int, device: torch.device, seed: int, layers: int, width: int) -> Step:
    with torch.no_grad():
        model = Model(batch, device, seed, layers, width)
    if device.type == "cpu":
        return torch.no_grad()(model)
    static = torch.zeros(batch, dtype=torch.int64, device=device)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.no_grad(), torch.cuda.stream(stream):
        model(static)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        logits = model(static)
    return Captured(model, static, graph, logits)


@dataclass(frozen=True, slots=True)
class Captured:
    """A step as a graph, and what it reads: a graph alone keeps no memory of others alive."""

    model: Model
    static: Tensor  # int64 [B]
    graph: torch.cuda.CUDAGraph
    logits: Tensor  # [B, V]

    def __call__(self, tokens: Tensor) -> Tensor:
        self.static.copy_(tokens)
        self.graph.replay()
        return self.logits.clone()
