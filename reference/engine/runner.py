"""What an engine drives: prompts in, steps of a changing batch, drafts to verify, greedy runs.

A batch becomes the smallest prepared size that holds it; the rows that it lacks go to scratch. On a
GPU a step is one CUDA graph of our kernels, where they can do the model's sizes, else of torch's.
"""

import importlib
from collections.abc import Callable

import torch
from torch import Tensor

from reference.engine.decoder import Decoder, StaticCache
from reference.engine.replays import GraphReplay, Replay, TorchReplay, Window
from reference.engine.weights import Weights
from reference.models.checkpoint import Model

KERNELS = "reference.engine.launches"  # imported where there is a GPU: it needs triton
WINDOW = 16  # tokens of one sequence that a graph takes at once
MULTIPLE = 32  # of which kernels need widths to be


class Runner:
    """A model, its cache, and a prepared step for each of ``sizes``, made when first needed.

    On a GPU a few tokens of one sequence are a graph too, such as guesses that it verifies.

    bits=4: lab 09's int4 weights, but for embedding and head. sizes: by default powers of two up
    to ``slots``. compiled: False for eager steps on a CPU.
    """

    def __init__(
        self,
        model: Model,
        slots: int,
        max_len: int,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
        bits: int | None = None,
        sizes: list[int] | None = None,
        compiled: bool = True,
    ) -> None:
        self.slots, self.max_len, self.device = slots, max_len, device
        self.sizes = sizes or [*(1 << i for i in range((slots - 1).bit_length())), slots]
        if self.sizes != sorted({*self.sizes}) or self.sizes[0] < 1:
            raise ValueError(f"sizes {self.sizes} are not ascending from 1 on")
        self._weights = Weights(model, max_len, dtype, device, bits)
        self._cache = StaticCache(model.fields, slots, max_len, dtype, device)
        self._decoder = Decoder(self._weights)
        self._compiled = compiled
        self._replays: dict[int, Replay] = {}
        self._windows: dict[int, Window] = {}

    @property
    def num_bytes(self) -> int:
        """Bytes of the weights that a step reads."""
        return self._weights.num_bytes

    @torch.inference_mode()
    def prefill(self, tokens: list[int], slot: int, start: int = 0) -> Tensor:  # logits [V]
        """Let a prompt enter, of which ``start`` tokens are in the slot already."""
        entering = torch.tensor(tokens[start:], dtype=torch.int64, device=self.device)
        return self._behind(entering, start, slot, 1)[-1]

    @torch.inference_mode()
    def extend(self, tokens: Tensor, position: int, slot: int) -> Tensor:  # int64 [T] -> [T, V]
        """Let tokens of one sequence enter, the first at ``position``; return what follows each."""
        return self._behind(tokens.to(self.device), position, slot, len(tokens))

    def _behind(self, tokens: Tensor, position: int, slot: int, last: int) -> Tensor:  # [last, V]
        """Let tokens of one sequence enter; return what follows each of the last ones."""
        count = len(tokens)
        self._check_text(count, position, slot)
        # A few tokens, guesses as a rule, are worth a graph.
        if self.device != "cpu" and count <= WINDOW:
            return self._windowed(tokens, position, slot)[-last:]
        end = position + count
        positions = torch.arange(position, end, device=self.device)
        chosen = torch.tensor([slot], device=self.device)
        x = self._decoder.extend(self._cache, tokens, positions, chosen, end)
        return self._decoder.logits(x[-last:])

    def _windowed(self, tokens: Tensor, position: int, slot: int) -> Tensor:  # [T] -> [T, V]
        size = 1 << (len(tokens) - 1).bit_length()
        if size not in self._windows:
            self._windows[size] = Window(self._decoder, self._cache, size)
        return self._windows[size].run(tokens, position, slot)

    @torch.inference_mode()
    def step(self, tokens: list[int], positions: list[int], slots: list[int]) -> Tensor:  # [n, V]
        """Let one token of each sequence enter; return float32 logits, which are the caller's."""
        replay = self._enter(tokens, positions, slots, 1)
        replay.run(max(positions))
        return replay.logits[: len(tokens)].clone()

    @torch.inference_mode()
    def greedy(
        self, tokens: list[int], positions: list[int], slots: list[int], count: int
    ) -> Tensor:  # int64 [n, count]
        """Make ``count`` steps, each of which takes the choice of the one before."""
        replay = self._enter(tokens, positions, slots, count)
        for step in range(count):
            replay.run(max(positions) + step)
        start = torch.tensor(positions, device=self.device).unsqueeze(1)
        return replay.history.gather(1, start + torch.arange(count, device=self.device))

    def _enter(
        self, tokens: list[int], positions: list[int], slots: list[int], count: int
    ) -> Replay:
        """Return the replay of the smallest size that fits, its inputs set."""
        self._check(tokens, positions, slots, count)
        n = len(tokens)
        size = min(size for size in self.sizes if size >= n)
        if size not in self._replays:
            self._replays[size] = self._prepare(size)
        more = size - n
        rows = [tokens + [0] * more, positions + [0] * more, slots + [self.slots] * more]
        self._replays[size].inputs.copy_(torch.tensor(rows))
        return self._replays[size]

    def _prepare(self, size: int) -> Replay:
        if self.device == "cpu":
            return TorchReplay(self._decoder, self._cache, size, self._compiled)
        step: Replay
        launch: Callable[[], None]
        if self._fits_kernels():
            launches = importlib.import_module(KERNELS)
            step = launches.KernelStep(self._weights, self._cache, size)
            launch = step.launch  # pyright: ignore[reportAttributeAccessIssue]  # of a KernelStep
        else:
            plain = TorchReplay(self._decoder, self._cache, size, False)
            step, launch = plain, lambda: plain.run(self.max_len - 1)
        return GraphReplay(step, launch, self.slots)

    def _fits_kernels(self) -> bool:
        fields = self._weights.fields
        width = fields["head_dim"]
        wide = fields["hidden_size"], fields["intermediate_size"], fields["num_heads"] * width
        return width in (32, 64, 128, 256) and all(size % MULTIPLE == 0 for size in wide)

    def _check_text(self, count: int, start: int, slot: int) -> None:
        if not 0 <= slot < self.slots:
            raise ValueError(f"slot {slot} is none of {self.slots}")
        if not (0 <= start and 0 < count <= self.max_len - start):
            raise ValueError(f"tokens: {count} of them from {start} on are none or do not fit")

    def _check(self, tokens: list[int], positions: list[int], slots: list[int], count: int) -> None:
        n, most = len(tokens), self.sizes[-1]
        if not (0 < n <= most and n == len(positions) == len(slots)):
            text = f"{n} tokens, {len(positions)} positions and {len(slots)} slots"
            raise ValueError(f"{text}: as many of each, at least 1, at most {most}")
        if len({*slots}) < n or not all(0 <= slot < self.slots for slot in slots):
            raise ValueError(f"slots {slots} must be different ones below {self.slots}")
        if count < 1:
            raise ValueError(f"count {count} is less than 1")
        if not all(0 <= position <= self.max_len - count for position in positions):
            raise ValueError(f"positions {positions} must leave {count} below {self.max_len}")
