"""Decode steps that are prepared once and run again: compiled on a CPU, a CUDA graph on a GPU.

Each keeps its own inputs and outputs at fixed addresses. A step leaves its choice as the next
token, one place further, so that several can run without a word from the host.
"""

import warnings
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from reference.engine.decoder import Decoder, StaticCache

SHORTEST = 256  # reach of the first compiled step; each further one has twice as much


class Replay(Protocol):
    """A step for a fixed number of rows, B."""

    @property
    def inputs(self) -> Tensor: ...  # int64 [3, B]: tokens, positions, slots
    @property
    def logits(self) -> Tensor: ...  # float32 [B, V] of the last step
    @property
    def history(self) -> Tensor: ...  # int64 [B, max_len]: what was chosen at each position
    def run(self, longest: int) -> None:
        """Make a step, whose largest position is ``longest``."""
        ...


class TorchReplay:
    """Plain torch; compiled by inductor if asked, once for each power of two that texts reach."""

    def __init__(self, decoder: Decoder, cache: StaticCache, size: int, compiled: bool) -> None:
        self._decoder, self._cache, self._compiled = decoder, cache, compiled
        device = decoder.weights.device
        self.inputs = torch.zeros(3, size, dtype=torch.int64, device=device)
        self.inputs[2] = cache.slots
        vocabulary = decoder.fields["vocab_size"]
        self.logits = torch.zeros(size, vocabulary, device=device)
        self.history = torch.zeros(size, cache.max_len, dtype=torch.int64, device=device)
        self._steps: dict[int, Callable[[], Tensor]] = {}

    def run(self, longest: int) -> None:
        reach = SHORTEST
        while reach <= longest:
            reach *= 2
        reach = min(reach, self._cache.max_len)
        if reach not in self._steps:
            self._steps[reach] = self._prepare(reach)
        self.logits.copy_(self._steps[reach]())

    def _prepare(self, reach: int) -> Callable[[], Tensor]:
        def step(inputs: Tensor, history: Tensor) -> Tensor:
            tokens, positions, slots = inputs
            logits = self._decoder.step(self._cache, tokens, positions, slots, reach)
            chosen = logits.argmax(-1)
            history.scatter_(1, positions.unsqueeze(1), chosen.unsqueeze(1))
            tokens.copy_(chosen)
            positions.copy_((positions + 1).clamp(max=self._cache.max_len - 1))
            return logits

        def eager() -> Tensor:
            return step(self.inputs, self.history)

        if not self._compiled:
            return eager
        # A code object has 8 compiled forms at most, but this one is shared by all replays.
        torch._dynamo.config.recompile_limit = 256  # pyright: ignore
        fast = torch.compile(step, fullgraph=True, dynamic=False)

        def run() -> Tensor:
            try:
                return fast(self.inputs, self.history)
            except Exception as error:
                if "InvalidCxxCompiler" not in f"{type(error).__name__} {error}":
                    raise
            warnings.warn("no C++ compiler was found: steps run eager, slowly", stacklevel=2)
            self._compiled = False
            self._steps = {reach: eager}
            return eager()

        return run


class Captured:
    """A CUDA graph, and what has launched it, whose memory it writes."""

    def __init__(self, launch: Callable[[], None]) -> None:
        self._launch = launch
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):  # kernels are compiled before the capture; only scratch is written
                launch()
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            launch()

    def replay(self) -> None:
        self._graph.replay()


class GraphReplay:
    """What ``launch`` launches on a GPU, as a CUDA graph; ``step`` has its inputs and outputs."""

    def __init__(self, step: Replay, launch: Callable[[], None], scratch: int) -> None:
        self.inputs, self.logits, self.history = step.inputs, step.logits, step.history
        self._graph = Captured(launch)
        self.inputs[:2] = 0
        self.inputs[2] = scratch

    def run(self, longest: int) -> None:
        self._graph.replay()


class Window:
    """Up to ``size`` tokens of one sequence at once, and what follows each: a CUDA graph.

    Where there are fewer the last one is repeated, at its place.
    """

    def __init__(self, decoder: Decoder, cache: StaticCache, size: int) -> None:
        self._inputs = torch.zeros(2, size, dtype=torch.int64, device=decoder.weights.device)
        self._slot = torch.full_like(self._inputs[0, :1], cache.slots)
        self._logits = torch.empty(0)  # [size, V] of the last run

        def launch() -> None:
            tokens, positions = self._inputs
            x = decoder.extend(cache, tokens, positions, self._slot, cache.max_len)
            self._logits = decoder.logits(x)

        self._graph = Captured(launch)

    def run(self, tokens: Tensor, position: int, slot: int) -> Tensor:  # int64 [T] -> [T, V]
        """Let tokens enter, the first at ``position``; return float32 logits, the caller's."""
        count, size = len(tokens), self._inputs.shape[1]
        places = torch.arange(size, device=tokens.device).clamp(max=count - 1)
        self._inputs.copy_(torch.stack((tokens[places], position + places)))
        self._slot.fill_(slot)
        self._graph.replay()
        return self._logits[:count].clone()
