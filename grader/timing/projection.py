"""What proves a timed call: fresh inputs before it, projections of all its outputs after it.

Every row of every output is multiplied with a secret vector of random signs and compared with the
same for the trusted implementation; few rows are cut into more, so that rounding averages out. A
row that was not computed, is stale, or comes from other inputs differs by about its own length.
Reading the outputs once is cheap enough for the clock to run meanwhile, so time stops when the
right values lie in the judge's memory.
"""

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from grader.errors import Mismatch
from grader.proxy.values.compare import check
from grader.proxy.values.tolerance import tolerance
from grader.timing.race import Race
from grader.wire.ring import Layout, Slot, Spec

# Both sides round, and a projection is rounded once more: limits in units of the table's.
TYPICAL, WORST = 2.0, 14.0
FEW_ROWS = 64  # one projection of one row would be judged by how it happens to be rounded
DOUBLED = 2.0  # for whole outputs: what they are compared with has been rounded too


@dataclass(frozen=True, slots=True)
class Expected:
    """Of one output: projections and lengths of its rows."""

    projections: Tensor  # [rows]
    lengths: Tensor  # [rows]


class Reader:
    """Projects the outputs of the same slots, as often as they are asked for.

    On a GPU the launches are recorded once and repeated together. One by one they take a processor
    about as long as the GPU takes to read the outputs, and longer whenever it is busy: that would
    count as the calls' time.
    """

    def __init__(self, slots: Sequence[Slot], signs: Sequence[Tensor]) -> None:
        self._slots = [tuple(_rows(output) for output in slot.outputs) for slot in slots]
        self._signs = signs
        self._graph: torch.cuda.CUDAGraph | None = None
        if signs[0].is_cuda:
            self._seen = self._project()  # outside the recording: cuBLAS sets itself up
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
                self._seen = self._project()
            self._graph.replay()  # the first repetition takes longer

    def read(self) -> list[list[Tensor]]:
        """Return the projections, which the next reading overwrites: every byte is read."""
        if self._graph is None:
            return self._project()
        self._graph.replay()
        return self._seen

    def _project(self) -> list[list[Tensor]]:
        return [
            [torch.mv(rows, sign) for rows, sign in zip(outputs, self._signs, strict=True)]
            for outputs in self._slots
        ]


class Prover:
    """Fills slots and judges what comes back; one for each race."""

    def __init__(self, race: Race, trusted: Callable[..., Any], device: torch.device) -> None:
        self._race = race
        self._trusted = trusted
        self._device = device
        self._generator = torch.Generator(device)
        self._seeds: list[int] = []  # of the slots' inputs; no worker sees them
        inputs = self._draw(0)
        outputs = self._answer(inputs)
        self._signs = [output.new_empty(_rows(output).shape[1]) for output in outputs]
        self._inputs = tuple(Spec.of(tensor) for tensor in inputs)
        self._outputs = tuple(Spec.of(tensor) for tensor in outputs)
        # Outputs in float32 count as the inputs do, from which they are made, if these are numbers
        # of that kind: tokens are not.
        made = inputs[0] if inputs[0].is_floating_point() else outputs[0]
        self._limit = tolerance(race.compare, made.dtype, made.shape[-1])

    def layout(self, slots: int) -> Layout:
        """Return the layout of a ring of this race."""
        return Layout(self._inputs, self._outputs, slots)

    def _draw(self, seed: int) -> tuple[Tensor, ...]:
        return self._race.inputs(self._generator.manual_seed(seed))

    def _answer(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        result = self._trusted(*inputs, **self._race.options)
        return cast(tuple[Tensor, ...], result) if isinstance(result, tuple) else (result,)

    def repeat(self, slot: Slot) -> None:
        """Let the trusted implementation work on what a slot holds."""
        self._answer(slot.inputs)

    def prepare(self, slots: Sequence[Slot]) -> list[list[Expected]]:
        """Fill the slots with fresh inputs, poison their outputs, return what must come back."""
        self._generator.manual_seed(secrets.randbits(62))
        for sign in self._signs:
            self._toss(sign)
        self._seeds = [secrets.randbits(62) for _ in slots]
        expected: list[list[Expected]] = []
        for slot, seed in zip(slots, self._seeds, strict=True):
            inputs = self._draw(seed)
            for place, value in zip(slot.inputs, inputs, strict=True):
                place.copy_(value)
            # From our own copies: a worker can write to the ring at any time.
            pairs = zip(self._answer(inputs), self._signs, strict=True)
            expected.append([self._expected(answer, sign) for answer, sign in pairs])
            for output in slot.outputs:
                output.view(-1).view(torch.uint8).fill_(0xFF)  # NaN in every float
        return expected

    def _toss(self, sign: Tensor) -> None:
        coins = torch.randint(0, 2, sign.shape, generator=self._generator, device=self._device)
        sign.copy_(2 * coins - 1)

    def _expected(self, answer: Tensor, sign: Tensor) -> Expected:
        rows = _rows(answer)
        lengths = torch.linalg.vector_norm(rows, dim=1, dtype=torch.float32)
        return Expected(torch.mv(rows, sign), lengths)

    def reader(self, slots: Sequence[Slot]) -> Reader:
        """Return what reads the projections of all outputs of these slots."""
        return Reader(slots, self._signs)

    def judge(self, seen: list[list[Tensor]], expected: list[list[Expected]]) -> None:
        """Raise Mismatch unless every projection is that of the right output."""
        right = [
            self._is_right(*pair)
            for values, wanted in zip(seen, expected, strict=True)
            for pair in zip(values, wanted, strict=True)
        ]
        if not bool(torch.stack(right).all()):  # the GPU is asked once
            raise Mismatch(
                f"{self._race.function} had not left the right values in memory"
                " when its calls were said to be done"
            )

    def _is_right(self, seen: Tensor, want: Expected) -> Tensor:  # bool []
        typical = want.lengths.square().mean().sqrt()
        error = (seen.float() - want.projections.float()) / (want.lengths + 1e-3 * typical)
        rms, worst = error.square().mean().sqrt(), error.abs().max()
        # Written so that NaN, the poison, is wrong.
        return (rms <= TYPICAL * self._limit.l2) & (worst <= WORST * self._limit.l2)

    def judge_whole(self, slots: Sequence[Slot]) -> None:
        """Compare every element with the trusted implementation's; inputs must be unchanged."""
        for slot, seed in zip(slots, self._seeds, strict=False):
            inputs = self._draw(seed)
            for place, value in zip(slot.inputs, inputs, strict=True):
                check(torch.equal(place, value), f"{self._race.function} changed an argument")
            for got, want in zip(slot.outputs, self._answer(inputs), strict=True):
                self._judge_elements(got.float(), want.float())

    def _judge_elements(self, x: Tensor, y: Tensor) -> None:
        # Rows may be of very different size: an element is held against the larger of its row's
        # size and that of all.
        size = _rows(y).square().mean(-1, keepdim=True).sqrt()
        size = size.clamp_min(float(y.square().mean().sqrt())).expand_as(_rows(y)).reshape(y.shape)
        bound = self._limit.atol * size + self._limit.rtol * y.abs()
        wrong = int((~((x - y).abs() <= DOUBLED * bound)).sum())
        what = f"{self._race.function} is wrong at {self._race.case}"
        check(not wrong, f"{what}: {wrong} of {x.numel()} elements are off")
        norm = torch.linalg.vector_norm
        l2 = float(norm(x - y) / norm(y).clamp_min(1e-30))
        check(l2 <= DOUBLED * self._limit.l2, f"{what}: relative L2 error {l2:.1e}")


def _rows(tensor: Tensor) -> Tensor:
    """Return a tensor as [rows, width], where few rows are cut into equal parts if they can be."""
    width = tensor.shape[-1]
    if tensor.numel() < FEW_ROWS * width:
        width //= math.gcd(width, FEW_ROWS)
    return tensor.reshape(-1, width)
