"""Oracle of lab 05: what a cache holds, what it costs, and a scripted model that lives on caches.

The scripted model knows of the past only what its caches give back, and all of it matters: a
forgotten token, a stale one, a wrong position or one cache for two layers changes what it says.

Shapes end names: T new tokens, S tokens in a cache, G heads of keys and values, D their width, 1 an
axis of one. So ``k_1GTD`` is [1, G, T, D].
"""

from collections.abc import Sequence
from typing import Any, Protocol, cast

import torch
from torch import Tensor

from reference.scripted.masked import INTEGERS, MaskedModel, Misuse, describe

GROUPS, WIDTH = 2, 3  # heads and head width of the scripted model's keys and values
MAX_CALLS = 400
MAX_TOKENS = 2_000  # that a cache may give back


class Sizes(Protocol):
    """What the formulas ask of a configuration."""

    @property
    def vocab_size(self) -> int: ...
    @property
    def hidden_size(self) -> int: ...
    @property
    def intermediate_size(self) -> int: ...
    @property
    def num_layers(self) -> int: ...
    @property
    def num_heads(self) -> int: ...
    @property
    def num_kv_heads(self) -> int: ...
    @property
    def head_dim(self) -> int: ...


def cache_bytes(config: Sizes, batch: int, length: int, itemsize: int) -> int:
    """Return the bytes of all keys and values, counted layer by layer."""
    total = 0
    for _ in range(config.num_layers):
        numbers = batch * config.num_kv_heads * length * config.head_dim
        total += numbers * itemsize  # keys
        total += numbers * itemsize  # values
    return total


def weight_flops(config: Sizes) -> int:
    """Return the FLOPs that a token costs in the matrices: 2 for each weight but the embedding."""
    queries = config.num_heads * config.head_dim
    keys = config.num_kv_heads * config.head_dim
    attention = config.hidden_size * (queries + 2 * keys + queries)
    mlp = 3 * config.hidden_size * config.intermediate_size
    head = config.hidden_size * config.vocab_size
    return 2 * (config.num_layers * (attention + mlp) + head)


def attention_flops(batch: int, heads: int, new: int, context: int, width: int) -> int:
    """Return the FLOPs of the scores and of the weighted sum of values, hidden pairs included."""
    return 2 * 2 * batch * heads * new * context * width


class History:
    """A cache that keeps every chunk; ours to lend where the submission's own is not the point."""

    def __init__(self) -> None:
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []

    @property
    def length(self) -> int:
        """Tokens in the cache."""
        return sum(k.shape[2] for k in self._keys)

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:  # [B,G,T,D] -> [B,G,S,D]
        """Add T tokens, one by one, and return all so far."""
        self._keys += [k[:, :, t : t + 1].clone() for t in range(k.shape[2])]
        self._values += [v[:, :, t : t + 1].clone() for t in range(v.shape[2])]
        return torch.cat(self._keys, dim=2), torch.cat(self._values, dim=2)

    def rewind(self, n: int) -> None:
        """Drop the last n tokens."""
        if n > self.length:
            raise ValueError(f"n is {n}, more than the {self.length} tokens held")
        left = self.length - n
        self._keys, self._values = self._keys[:left], self._values[:left]


class CachedModel:
    """``model(tokens [1,T], positions [1,T], caches=..., attend=...)`` -> logits [1, T, vocab].

    The logits are those that ``script`` gives the tokens and positions in the caches, each seeing
    itself and all before. ``caches`` may be any objects with ``update``. ``attend`` is only noted.
    """

    def __init__(self, script: MaskedModel, num_layers: int) -> None:
        self.num_layers = num_layers
        self.calls: list[int] = []  # T of each call, in order
        self.entered: list[int] = []  # all tokens, in order
        self.places: list[int] = []  # the position of each
        self.attends: list[Any] = []  # of each call
        self._script = script

    def __call__(
        self,
        tokens: object = None,
        positions: object = None,
        mask: object = None,
        caches: object = None,
        attend: object = None,
    ) -> Tensor:  # [1, T, vocab]
        """Answer, and note what entered; raise Misuse where no model could answer."""
        if len(self.calls) >= MAX_CALLS:
            raise Misuse(f"the model was called more than {MAX_CALLS} times")
        if mask is not None:
            raise Misuse("mask must be None when attend is given")
        ids_1T = _checked_row(tokens, "tokens", self._script.vocab)
        places_1T = _checked_row(positions, "positions", MAX_TOKENS)
        if ids_1T.shape != places_1T.shape:
            raise Misuse(
                f"positions {[*places_1T.shape]} and tokens {[*ids_1T.shape]} differ in shape"
            )
        layers = _checked_caches(caches, self.num_layers)
        self.calls.append(ids_1T.shape[1])
        self.entered += ids_1T[0].tolist()
        self.places += places_1T[0].tolist()
        self.attends.append(attend)
        seen = [_through(cache, i, ids_1T, places_1T) for i, cache in enumerate(layers)]
        if not bool(((seen[0][0] >= 0) & (seen[0][0] < self._script.vocab)).all()):
            raise Misuse("the caches gave back tokens that never entered")
        if any(not torch.equal(seen[0], other) for other in seen):
            raise Misuse("the caches of two layers hold different tokens: has each layer its own?")
        return self._answer(seen[0], ids_1T.shape[1])

    def _answer(self, seen: Tensor, new: int) -> Tensor:  # [2, S] -> [1, T, vocab]
        context = seen.shape[1]
        causal_11SS = torch.ones(1, 1, context, context, dtype=torch.bool).tril()
        return self._script.logits(seen[:1], seen[1:], causal_11SS)[:, context - new :]


def _through(cache: Any, layer: int, tokens_1T: Tensor, positions_1T: Tensor) -> Tensor:  # [2, S]
    """Send tokens and positions through a layer's cache, as keys and values; return all it gives.

    A key is (token, layer, head), a value (position, layer, head): exact in float32.
    """
    new = tokens_1T.shape[1]
    k_1GTD, v_1GTD = torch.zeros(2, 1, GROUPS, new, WIDTH)
    k_1GTD[..., 0], v_1GTD[..., 0] = tokens_1T, positions_1T
    k_1GTD[..., 1] = v_1GTD[..., 1] = layer
    k_1GTD[..., 2] = v_1GTD[..., 2] = torch.arange(GROUPS)[:, None]
    seen_S, places_S = (_read(x, layer, new) for x in _pair(cache.update(k_1GTD, v_1GTD)))
    if seen_S.shape != places_S.shape:
        raise Misuse(f"update returned {len(seen_S)} keys and {len(places_S)} values")
    return torch.stack((seen_S, places_S))


def _pair(value: object) -> tuple[Any, Any]:
    match value:
        case (keys, values):
            return keys, values
        case _:
            raise Misuse(f"update returned {describe(value)}, not all keys and all values")


def _read(x: object, layer: int, new: int) -> Tensor:  # [1, GROUPS, S, WIDTH] -> int64 [S]
    plain = isinstance(x, Tensor) and x.is_floating_point() and x.dim() == 4
    if not isinstance(x, Tensor) or not plain or x.shape[:2] != (1, GROUPS):
        raise Misuse(f"update returned {describe(x)}, not keys or values of a sequence")
    if x.shape[3] != WIDTH or not new <= x.shape[2] <= MAX_TOKENS:
        raise Misuse(f"update returned {describe(x)} for {new} new tokens")
    marks = torch.stack(torch.broadcast_tensors(torch.tensor(layer), torch.arange(GROUPS)), dim=-1)
    if not bool((x[0, :, :, 1:] == marks[:, None]).all()):
        raise Misuse(f"the cache of layer {layer} gave back what another layer or head put in")
    if not bool((x[0, 0, :, 0] == x[0, 1, :, 0]).all()):
        raise Misuse(f"the cache of layer {layer} gave back different tokens for two heads")
    return x[0, 0, :, 0].long()


def _checked_row(value: object, name: str, limit: int) -> Tensor:  # -> int64 [1, T]
    if not isinstance(value, Tensor) or value.dim() != 2 or value.dtype not in INTEGERS:
        raise Misuse(f"{name} must be an integer tensor [1, T], not {describe(value)}")
    if value.shape[0] != 1 or not 0 < value.shape[1] <= MAX_TOKENS:
        raise Misuse(f"{name} must be [1, T] with T >= 1, not {[*value.shape]}")
    if int(value.min()) < 0 or int(value.max()) >= limit:
        raise Misuse(f"{name} must lie in 0..{limit - 1}")
    return value.long()


def _checked_caches(caches: object, num_layers: int) -> Sequence[Any]:
    if not isinstance(caches, list | tuple):
        raise Misuse(f"caches must be a list, one for each layer, not {describe(caches)}")
    layers = cast(Sequence[Any], caches)
    if len(layers) != num_layers:
        raise Misuse(f"{len(layers)} caches came for {num_layers} layers")
    if not all(callable(getattr(cache, "update", None)) for cache in layers):
        raise Misuse("each of the caches must have an update")
    return layers
