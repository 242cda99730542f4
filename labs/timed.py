"""Given code for lab 11: the step that is timed on a GPU, by the ``GraphRunner`` of a submission.

Weights and cache are drawn from a seed. Each call puts its tokens at the same places, so that what
it says depends on its tokens alone, in whatever order calls come.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from labs.common import LlamaConfig
from labs.llama import Llama
from labs.tape import make_graph_for

MAX_LEN = 1024
FIRST, BETWEEN = 600, 40  # position of row 0, and from each row to the next


def timed_step(
    answer: Any,  # a module with StaticCache and GraphRunner
    tokens: Tensor,  # int64 [B]
    *,
    seed: int,
    layers: int,
    width: int,  # 2048: 22 layers of it are a Llama of 1.1 billion weights
) -> Tensor:  # [B, V]
    """Let one token of each row enter; the first call makes what all others use."""
    return _stepper(answer, len(tokens), tokens.device, seed, layers, width)(tokens)


def config_of(layers: int, width: int) -> LlamaConfig:
    """Return the shape of a model with heads of 64, eight of which share a key."""
    heads = width // 64
    sizes = 125 * width // 8, width, 11 * width // 4, layers, heads, max(1, heads // 8), 64
    return LlamaConfig(*sizes, 1e-5, 1e4, None, 2 * MAX_LEN, False, None, ())


def shapes_of(config: LlamaConfig) -> dict[str, tuple[int, ...]]:
    """Return the names and shapes of all weights, in the order in which they are drawn."""
    embed, inner = config.hidden_size, config.intermediate_size
    queries, keys = (n * config.head_dim for n in (config.num_heads, config.num_kv_heads))
    heads = {"q": (queries, embed), "k": (keys, embed), "v": (keys, embed), "o": (embed, queries)}
    parts = {
        **{f"self_attn.{name}_proj": shape for name, shape in heads.items()},
        **{"mlp.gate_proj": (inner, embed), "mlp.up_proj": (inner, embed)},
        **{"mlp.down_proj": (embed, inner), "input_layernorm": (embed,)},
        "post_attention_layernorm": (embed,),
    }
    names: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config.vocab_size, embed)}
    for layer in range(config.num_layers):
        names |= {f"model.layers.{layer}.{name}.weight": shape for name, shape in parts.items()}
    return names | {"model.norm.weight": (embed,), "lm_head.weight": (config.vocab_size, embed)}


@functools.lru_cache(1)  # the weights of one size fill gigabytes
def _stepper(
    answer: Any, batch: int, device: torch.device, seed: int, layers: int, width: int
) -> Callable[[Tensor], Tensor]:
    noise = torch.Generator(device).manual_seed(seed)

    def drawn(shape: tuple[int, ...]) -> Tensor:
        made = torch.randn(shape, generator=noise, device=device, dtype=torch.bfloat16)
        return 1 + made / 10 if len(shape) == 1 else made * shape[-1] ** -0.5

    config = config_of(layers, width)
    weights = {name: drawn(shape) for name, shape in shapes_of(config).items()}
    model = Llama(config, weights)
    cache = answer.StaticCache(config, batch, MAX_LEN, torch.bfloat16, device)
    for memory in (*cache.keys, *cache.values):
        memory.normal_(generator=noise)
    runner = answer.GraphRunner(model, cache, [batch], make_graph_for(device))
    positions = [FIRST + BETWEEN * row for row in range(batch)]

    # A graph reads the memory of model and cache, but does not keep it: this function does.
    def step(tokens: Tensor, held: tuple[Any, ...] = (model, cache)) -> Tensor:
        return runner.step(tokens.tolist(), positions, [*range(batch)])

    return step
