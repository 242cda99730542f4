"""A Llama put together from your pieces of the labs, and the given code where one is missing.

Letters: B sequences, T new tokens, S context positions, H query heads, G key/value heads, D head
width, E model width, V vocabulary.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from labs import llama
from labs.common import LlamaConfig
from labs.pieces import Work
from labs.quantized import Bits, quantize

Filter = Callable[[Tensor], Tensor]  # logits [B, V] -> logits [B, V]


@dataclass(slots=True)
class Speed:
    """Tokens that entered the model, and seconds in it: prompts (T > 1) and single tokens apart."""

    tokens: dict[str, int] = field(default_factory=lambda: {"prefill": 0, "decode": 0})
    seconds: dict[str, float] = field(default_factory=lambda: {"prefill": 0.0, "decode": 0.0})

    def per_second(self, phase: str) -> float:
        """Return the tokens per second of "prefill" or "decode"; 0 if there were none."""
        seconds = self.seconds[phase]
        return self.tokens[phase] / seconds if seconds else 0.0


class Assembly:
    """A model of pieces; ``owners`` says of each piece whose it is.

    Called like the given Llama, ``model(tokens [B,T], positions [B,T], caches=, attend=)``.
    """

    def __init__(
        self,
        works: Mapping[int, Work],
        config: LlamaConfig,
        weights: dict[str, Tensor],
        bits: Bits | None = None,
    ) -> None:
        self.owners: dict[str, str] = {}
        self.speed = Speed()
        self.config = config
        self.num_layers = config.num_layers
        self._works = works
        self._positions = torch.empty(0, dtype=torch.int64)
        self._model = llama.Llama(config, weights)
        if bits is not None:
            self._model = quantize(self._model, bits, self.piece)
        self._use_norm_and_mlp()
        self._rotate = self._find_rotation()
        self._attend = self._find_attention()
        self._padding = self.piece("padding", (2, "pad"))
        self._prompt = True  # the next call brings a prompt

    @property
    def precision(self) -> torch.dtype:
        """What it computes in."""
        return self._model.embed_tokens.weight.dtype

    @property
    def dtype(self) -> str:
        """The name of that: "float32", "bfloat16"."""
        return str(self.precision).removeprefix("torch.")

    @property
    def inner(self) -> llama.Llama:
        """The given model with your pieces in it, to be called within ``running`` alone."""
        return self._model

    def piece(self, name: str, *places: tuple[int, str]) -> Any:
        """Return the first of your modules that has a piece, and note whose the piece is."""
        for number, task in places:
            work = self._works.get(number)
            module = work.piece(task) if work else None
            if module is not None:
                self.owners[name] = f"yours, lab {number:02}"
                return module
        self.owners[name] = given_since(self._works, places)
        return None

    def _use_norm_and_mlp(self) -> None:
        norm, mlp = self.piece("norm", (1, "norm")), self.piece("mlp", (1, "mlp"))
        for part in self._model.modules():
            if norm is not None and isinstance(part, llama.RMSNorm):
                part.forward = _norm(norm.rms_norm, part)
            if mlp is not None and isinstance(part, llama.MLP):
                if isinstance(part.gate_proj, nn.Linear):
                    part.forward = _mlp(mlp.swiglu, part)
                else:
                    self.owners["mlp"] = "given: yours takes weights, not quantized layers"

    def _find_rotation(self) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        frequencies = self.piece("frequencies", (4, "frequencies"))
        rotation = self.piece("rotation", (4, "rotate"))
        if rotation is None:
            self.owners.pop("frequencies")  # nothing would use them
            return llama.rotate
        config = self.config
        plain = self._model.forward

        def forward(tokens: Tensor, positions: Tensor, *others: Any, **named: Any) -> Tensor:
            self._positions = positions  # the given code rotates by cosines, yours by positions
            return plain(tokens, positions, *others, **named)

        self._model.forward = forward
        if frequencies is None:
            angles = llama.rope_frequencies(config, torch.device("cpu"))
        else:
            angles = frequencies.rope_frequencies(
                config.head_dim, config.rope_theta, config.rope_scaling
            )
        return lambda x, cos, sin: rotation.rotate(x, self._positions, angles)

    def _find_attention(self) -> Callable[[Tensor, Tensor, Tensor], Tensor] | None:
        module = self.piece("attention", (5, "attend"), (1, "attention"))
        if module is None:
            return None
        return module.attend if "05" in self.owners["attention"] else module.attention

    def lay_out(self, text: list[int], start: int) -> tuple[Tensor, Tensor]:
        """Return tokens [1, T] and positions [1, T] of a text that begins at ``start``."""
        if self._padding is None:
            tokens = torch.tensor([text])
            return tokens, torch.arange(start, start + len(text)).unsqueeze(0)
        tokens, positions, _ = self._padding.left_pad([text], 0)
        return tokens, positions + start

    def make_caches(self, length: int) -> list[Any] | None:
        """Return a cache for each layer with room for ``length`` tokens; None without lab 05."""
        config, some = self.config, self._model.embed_tokens.weight
        module = self.piece("cache", (5, "static"), (5, "growing"))
        if module is None:
            self.owners["cache"] = "none: every step repeats the whole text"
            return None
        work = self._works[5]
        if work.piece("static") is None:
            return [module.GrowingCache() for _ in range(self.num_layers)]
        shape = (1, config.num_kv_heads, length, config.head_dim, some.dtype, some.device)
        return [module.StaticCache(*shape) for _ in range(self.num_layers)]

    @torch.inference_mode()
    def __call__(
        self,
        tokens: Tensor,  # [B, T]
        positions: Tensor,  # [B, T]
        caches: Sequence[Any] | None = None,
        attend: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None,
    ) -> Tensor:  # [B, T, V]
        """Return the logits; the time counts as prefill for the first call of a text."""
        with self.running(tokens.numel()):
            return self._model(tokens, positions, caches=caches, attend=attend or self._attend)

    @contextmanager
    def running(self, count: int) -> Iterator[None]:
        """Rotate by your piece meanwhile, and take the time for ``count`` tokens."""
        given, llama.rotate = llama.rotate, self._rotate
        started = time.perf_counter()
        try:
            yield
        finally:
            llama.rotate = given
            phase = "prefill" if self._prompt else "decode"
            self._prompt = False
            self.speed.seconds[phase] += time.perf_counter() - started
            # Without a cache a step repeats the text, and still makes one token.
            self.speed.tokens[phase] += count if phase == "prefill" else 1

    def begin(self) -> None:
        """Count the next call as the prompt of a new text, whose speed is told alone."""
        self._prompt = True
        self.speed = Speed()


def given_since(works: Mapping[int, Work], places: Sequence[tuple[int, str]]) -> str:
    """Say that a piece is given, and what is wrong with yours if you have begun it."""
    for number, task in places:
        work = works.get(number)
        why = work.left_out(task) if work else ""
        if why and why != "not written yet":
            return f"given; yours, lab {number:02}: {why}"
    return "given"


def _norm(function: Callable[..., Tensor], part: Any) -> Callable[[Tensor], Tensor]:
    return lambda x: function(x, part.weight, part.eps)


def _mlp(function: Callable[..., Tensor], part: Any) -> Callable[[Tensor], Tensor]:
    weights = part.gate_proj.weight, part.up_proj.weight, part.down_proj.weight
    return lambda x: function(x, *weights)
