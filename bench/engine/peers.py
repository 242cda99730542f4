"""Who decodes: our engine, and transformers with a compiled static cache or without anything.

``transformers`` is timed in a loop of ours, which does less between two steps than its
``generate``: what is compared is the fastest that its model can be driven.
"""

import dataclasses
import time
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

from bench.engine.cases import DRAFT, DTYPES, INT4, LOOKUP, Case
from reference.engine.engine import Engine, Setting
from reference.engine.requests import Request
from reference.engine.weights import GROUP, Packed
from reference.models.checkpoint import Model

GUESSES = 4  # a round
EAGER_STEPS = 16  # its steps cost the same, and many times those of the others
CLOSE = {"float32": 1e-3, "bfloat16": 0.1}  # relative L2 of logits

Prompts = list[list[int]]


class Peer(Protocol):
    """``rate`` decodes a case once, ``last_logits`` shows what it computes."""

    num_bytes: int  # of the weights that a step reads; 0 for those that the engine reads

    @property
    def note(self) -> str:
        """What else there is to say of the runs; "" if nothing."""
        ...

    def rate(self, prompts: Prompts) -> float:
        """Return tokens per second, all sequences together, prompts not counted."""
        ...

    def last_logits(self, prompts: Prompts) -> Tensor:  # [B, V]
        """Return the logits behind the prompts, whose last tokens enter by one step."""
        ...


class Ours:
    """The engine, as its users drive it: requests in, tokens on the host out."""

    def __init__(
        self, model: Model, case: Case, device: str, name: str, draft: Model | None
    ) -> None:
        self.steps = case.steps
        setting = Setting(
            slots=case.batch,
            max_len=case.context + case.steps,
            dtype=DTYPES[case.dtype],
            device=device,
            bits=4 if name == INT4 else None,
            sizes=(case.batch,),
        )
        guesses = GUESSES if name in (DRAFT, LOOKUP) else 0
        self.engine = Engine(model, setting, guesses, draft if name == DRAFT else None)
        self.num_bytes = self.engine.runner.num_bytes

    def rate(self, prompts: Prompts) -> float:
        for prompt in prompts:
            self.engine.add(Request(prompt, self.steps + 1))
        stream = self.engine.stream()
        for _ in prompts:
            next(stream)  # the first tokens belong to the prompts
        started = time.perf_counter()
        count = sum(1 for _ in stream)
        return count / (time.perf_counter() - started)

    @property
    def note(self) -> str:
        """What became of the guesses."""
        rounds = self.engine.rounds
        if not rounds.guessed:
            return ""
        share = f"{rounds.accepted / rounds.guessed:.0%} of {rounds.guessed} guesses stayed"
        return f"{share}, {1 + rounds.accepted / rounds.passes:.2f} tokens a pass that had some"

    def last_logits(self, prompts: Prompts) -> Tensor:
        runner, last = self.engine.runner, len(prompts[0]) - 1
        slots = list(range(len(prompts)))
        for slot in slots:
            runner.prefill(prompts[slot][:-1], slot)
        return runner.step([prompt[-1] for prompt in prompts], [last] * len(slots), slots)


class Theirs:
    """A model of transformers with a static cache, compiled, or with what it does by itself."""

    num_bytes = 0
    note = ""

    def __init__(self, hf: Any, case: Case, device: str, compiled: bool) -> None:
        self._hf, self._device, self._compiled = hf, device, compiled
        self._length = case.context + case.steps + 1
        self._steps = case.steps if compiled else min(case.steps, EAGER_STEPS)
        self._cache = self._new_cache()
        self._step: Callable[[Tensor], Tensor] = self._best
        if compiled:
            # CUDA graphs, as its own generate does with such a cache.
            mode = "reduce-overhead" if device == "cuda" else None
            step = torch.compile(self._best, fullgraph=True, dynamic=False, mode=mode)
            self._step = _replayed(step) if device == "cuda" else step

    def _new_cache(self) -> Any:
        from transformers import DynamicCache, StaticCache

        if not self._compiled:
            return DynamicCache(config=self._hf.config)
        return StaticCache(config=self._hf.config, max_cache_len=self._length)

    def _best(self, tokens: Tensor) -> Tensor:  # [B, T] -> [B, 1]
        answer = self._hf(tokens, past_key_values=self._cache, use_cache=True, logits_to_keep=1)
        return answer.logits[:, -1].argmax(-1, keepdim=True)

    def _begin(self) -> None:
        # A compiled step keeps the cache that it was compiled with.
        if self._compiled:
            self._cache.reset()
        else:
            self._cache = self._new_cache()

    @torch.no_grad()
    def rate(self, prompts: Prompts) -> float:
        self._begin()
        tokens = self._best(torch.tensor(prompts, device=self._device))
        _wait(self._device)
        started = time.perf_counter()
        for _ in range(self._steps):
            tokens = self._step(tokens)
        _wait(self._device)
        return len(prompts) * self._steps / (time.perf_counter() - started)

    @torch.no_grad()
    def last_logits(self, prompts: Prompts) -> Tensor:
        ids = torch.tensor(prompts, device=self._device)
        return self._hf(ids, use_cache=False, logits_to_keep=1).logits[:, -1]


def hugging_face(model: Model, dtype: torch.dtype, device: str) -> Any:
    """Return the model as one of transformers; ModuleNotFoundError without the package."""
    from transformers import LlamaConfig, LlamaForCausalLM

    fields = model.fields
    config = LlamaConfig(
        vocab_size=fields["vocab_size"],
        hidden_size=fields["hidden_size"],
        intermediate_size=fields["intermediate_size"],
        num_hidden_layers=fields["num_layers"],
        num_attention_heads=fields["num_heads"],
        num_key_value_heads=fields["num_kv_heads"],
        head_dim=fields["head_dim"],
        rms_norm_eps=fields["rms_norm_eps"],
        max_position_embeddings=fields["max_position_embeddings"],
        rope_parameters={"rope_type": "default", "rope_theta": fields["rope_theta"]},
        tie_word_embeddings=fields["tie_word_embeddings"],
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )
    with torch.device(device):
        # Not ".to(dtype)": that would round the angles too.
        hf: Any = LlamaForCausalLM._from_config(config, dtype=dtype)  # pyright: ignore[reportPrivateUsage]
    with torch.no_grad():
        for name, weight in hf.state_dict().items():
            tied = name == "lm_head.weight" and fields["tie_word_embeddings"]
            weight.copy_(model.weights["model.embed_tokens.weight" if tied else name])
    return hf.eval()


def in_int4(model: Model, dtype: torch.dtype) -> Model:
    """Return the model with the values that its projections have in the engine's int4.

    With random weights little of the logits is left by them, so no other model says what is right.
    """
    weights = {
        name: Packed.of(weight.to(dtype), GROUP).dequantize(dtype)
        if name.endswith("_proj.weight")
        else weight
        for name, weight in model.weights.items()
    }
    return dataclasses.replace(model, weights=weights)


def disagreement(found: Tensor, expected: Tensor, limit: float) -> str:
    """Say how logits are wrong; empty if they are close."""
    off = (found.double() - expected.double()).norm() / expected.double().norm()
    # Not "off > limit": NaN has to count as off.
    return "" if off <= limit else f"its logits are off by {float(off):.1e} of their size"


def _replayed(step: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """A step whose result may go into the next one: a replay writes over what the last wrote."""

    def stepped(tokens: Tensor) -> Tensor:
        torch.compiler.cudagraph_mark_step_begin()
        return step(tokens).clone()

    return stepped


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
