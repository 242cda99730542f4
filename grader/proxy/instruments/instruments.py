"""What tests can measure of a submission's calls: each is a context manager around them."""

import os
import re
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import torch
from torch import Tensor

from grader.errors import Forbidden, Mismatch, NotGraded, StudentError, WrongNumbers
from grader.labs.lab import Lab
from grader.proxy.instruments.device import Policy
from grader.proxy.instruments.kernels import KernelInstruments
from grader.proxy.instruments.readings import Apart, Count, Operators
from grader.proxy.instruments.replayed import Graphs, beside_replays
from grader.proxy.values.shown import plain
from grader.proxy.values.values import Far, Hidden

ON_A_GPU = "INFERLAB_HIDE_ON_GPU"  # in the judge's environment
Counted = TypeVar("Counted", Count, Operators)
NUMBERS = 64  # that may leave where graphs compute: no row of logits, and no weights


class Instruments(KernelInstruments):
    """The part of the proxy that starts probes in the worker and believes what may be believed."""

    _lab: Lab

    def guard(self) -> AbstractContextManager[None]:
        """Fail if the submission reaches, in the calls inside, what the lab's rules forbid.

        That closes the task, as what can be read in the code does.
        """
        return self._guarded(audit=True)

    def race_guard_(self) -> AbstractContextManager[None] | None:
        """Return the same for runs of a race, of which nothing may stay in what is timed next.

        None: nothing is forbidden.
        """
        return self._guarded(audit=False) if self._lab.rules else None

    @contextmanager
    def _guarded(self, *, audit: bool) -> Generator[None, None, None]:
        rules = self._lab.rules
        config = {
            "audit": audit,
            "names": [name for rule in rules for name in rule.forbid],
            "aten": [pattern for rule in rules for pattern in rule.aten],
            "packages": [rule.package for rule in rules if rule.package],
        }
        with self._conversation().probe("guard", config) as reading:
            yield
        hits = reading[0] if reading and isinstance(reading[0], list) else []
        if hits:
            names = ", ".join(str(hit)[:100] for hit in hits[:5])
            raise Forbidden(f"the code called what this lab forbids: {names}")

    def flops(self) -> AbstractContextManager[Count]:
        """Count floating-point operations of the calls inside, by torch's counter."""
        return self._counted("flops", Count(), elsewhere=True)

    def largest_tensor(self) -> AbstractContextManager[Count]:
        """Measure the largest tensor, in elements, that the calls inside make."""
        return self._counted("largest", Count(), elsewhere=True)

    def launches(self) -> AbstractContextManager[Count]:
        """Count the Triton kernels that the calls inside launch, but no trials of autotune."""
        return self._counted("launches", Count())

    def silenced(self) -> AbstractContextManager[Count]:
        """Let no Triton kernel run in the calls inside; count those that would have."""
        return self._counted("silenced", Count())

    @property
    def hides(self) -> bool:
        """Whether arguments can be hidden from all but kernels here; on a GPU if that is asked for.

        There it is not the rule: it takes a copy of all memory around each launch.
        """
        return self._on_cpu or os.environ.get(ON_A_GPU) == "1"

    def hide(self, value: Tensor, decoy: Tensor) -> Hidden:
        """Return a stand-in for an argument inside ``decoys``: kernels load ``value``.

        All else finds ``decoy`` in its place, of the same shape, strides and dtype.
        """
        return Hidden(value, decoy)

    def far(self, value: Tensor, *strides: int) -> Far:
        """Return a stand-in for an argument: the submission gets a view of these strides.

        They may reach over gigabytes: on a CPU these cost nothing, as long as nobody touches them.
        """
        return Far(value.contiguous(), strides)

    def veil(self, value: Tensor) -> Any:  # Hidden; on a GPU the tensor
        """Return a stand-in for a floating-point argument inside ``torch_alone``.

        torch's operators work on ``value``. All else finds normal noise of its size and form.
        """
        return Hidden(value, noise_like(value)) if self._on_cpu else value

    @contextmanager
    def torch_alone(self, numbers: int = 16) -> Generator[None, None, None]:
        """Let torch's operators alone see what is veiled, in all calls inside.

        So whoever counts operators has counted all work: what else computes has computed on noise.
        Operators may tell Python ``numbers`` numbers, as ``item`` does. Look at the results inside:
        a Mismatch is told with what left torch. On a GPU nothing is hidden.
        """
        if not self._on_cpu:
            yield
            return
        few = f"{numbers} numbers may leave them, one at a time"

        def why(apart: Apart) -> str:
            used = f"; what left them: {apart.doors}; {few}" if apart.left else ""
            return f"torch's operators alone could read the numbers{used}"

        with self._explained(Policy(numbers=numbers), why):
            yield

    @contextmanager
    def graphs(self, elements: int) -> Generator[Graphs, None, None]:
        """Lend graphs in all calls inside; on a CPU they alone compute on what is veiled.

        Elsewhere torch may move it, compute on ``elements`` elements in all from one replay to the
        next, and tell Python a few numbers. Wrong numbers are told with what else was asked for:
        nothing else can come of it. On a GPU nothing is hidden, and replays are not counted.
        """
        if not self._on_cpu:
            target = ["given", "tape", "CudaGraph"]
            yield Graphs(lambda _: self._conversation().call(target, (), {}))
            return

        def make(number: int) -> Any:
            self._device.lend(number)
            return self._conversation().request({"op": "graph", "number": number})

        policy = Policy(elements, numbers=NUMBERS, graphs=True)
        with self._explained(policy, beside_replays, of=WrongNumbers):
            yield Graphs(make, self._device.replays)

    @contextmanager
    def _explained(
        self, policy: Policy, why: Callable[[Apart], str], of: type[Mismatch] = Mismatch
    ) -> Generator[None, None, None]:
        """Hide arguments on the device; what is ``of`` a kind is told with what it has seen."""
        wrong = None
        with self._apart(policy) as apart:
            try:
                yield
            except Mismatch as error:
                if isinstance(error, Forbidden) or not isinstance(error, of):
                    raise
                wrong = error
        if wrong is not None:
            told = why(apart)
            raise type(wrong)(f"{wrong} ({told})" if told else str(wrong))

    @contextmanager
    def peak_memory(self) -> Generator[Count, None, None]:
        """Measure the GPU memory, in bytes, that the calls inside hold at most, arguments included.

        Raises NotGraded on a CPU.
        """
        if self._setting.device == "cpu":
            raise NotGraded("memory is measured on a GPU only")
        with self._counted("memory", Count()) as count:
            yield count

    def operators(self) -> AbstractContextManager[Operators]:
        """Note the aten operators of the calls inside, by base name ("sum"), and their sizes."""
        return self._counted("operators", Operators(), elsewhere=True)

    @contextmanager
    def _counted(
        self, probe: str, into: Counted, *, elsewhere: bool = False
    ) -> Generator[Counted, None, None]:
        """Count in the worker; and, ``elsewhere``, what the device does, if that is more."""
        counting = self._device.counting(probe) if elsewhere else nullcontext(())
        with counting as there, self._conversation().probe(probe, {}) as reading:
            yield into
        into.take(reading, there)


@contextmanager
def raises(
    kind: type[Exception], naming: str = "", called: Callable[[], str] = str
) -> Generator[None, None, None]:
    """Expect the submission to raise ``kind``, with ``naming`` as a word of the message.

    ``called`` says which call was the last: a test may try several cases.
    """
    try:
        yield
    except StudentError as error:
        if kind.__name__ not in error.bases or error.kind == "NotImplementedError":
            raise
        if naming and not _names(error.message, naming):
            of = f" of {called()}" if called() else ""
            said = f"the {error.kind}{of} should name {naming}; it says {plain(error.message)}"
            raise Mismatch(said) from None
        return
    wanted = f"a {kind.__name__}{f' that names {naming}' if naming else ''}"
    by = f" by {called()}" if called() else ""
    raise Mismatch(f"expected {wanted}, but nothing was raised{by}")


def _names(message: str, name: str) -> bool:
    """Tell whether a message holds a name as a word of its own: no "t" is in "can't" or "step"."""
    word = rf"(?<!\w)(?<!\w'){re.escape(name)}(?!\w)"
    return re.search(word, message, re.IGNORECASE) is not None


def noise_like(value: Tensor) -> Tensor:
    """Return other numbers of a tensor's shape, strides, dtype and size."""
    size = value.double().std(correction=0).nan_to_num(1.0).clamp(1e-3, 1e3)
    noise = torch.randn(value.shape, dtype=torch.float64) * size
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(noise)
