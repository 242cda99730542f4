"""What tests can measure of a submission's calls: each is a context manager around them."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor

from grader.errors import Forbidden, Mismatch, NotGraded, StudentError
from grader.labs.compiled import Compiled
from grader.labs.lab import Lab
from grader.proxy.conversation import Conversation
from grader.proxy.mistakes import TOO_LARGE, Sanitized, told
from grader.proxy.readings import Count, Left, Meter, Operators, Recorded, Shadow
from grader.proxy.refused import told as told_refused
from grader.proxy.shown import plain
from grader.proxy.values import Hidden
from grader.sandbox.process import Setting

ON_A_GPU = "INFERLAB_HIDE_ON_GPU"  # in the judge's environment


class Instruments(ABC):
    """The part of the proxy that starts probes in the worker and believes what may be believed."""

    _lab: Lab
    _setting: Setting
    _replaced = False  # whether a probe stands in the interpreter's place
    _records = False  # whether launches are being noted

    @abstractmethod
    def _lines(self) -> list[str]:
        """Return the lines of the submission."""

    @abstractmethod
    def _refused(
        self, launches: Sequence[dict[str, Any]], targets: Sequence[str]
    ) -> list[Compiled]:
        """Return what no compiler takes of launches, or no card has room for."""

    @abstractmethod
    def _conversation(self) -> Conversation:
        """Return the conversation with a worker that has loaded the submission."""

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
        return self._counted("flops")

    def largest_tensor(self) -> AbstractContextManager[Count]:
        """Measure the largest tensor, in elements, that the calls inside make."""
        return self._counted("largest")

    def launches(self) -> AbstractContextManager[Count]:
        """Count the Triton kernels that the calls inside launch, but no trials of autotune."""
        return self._counted("launches")

    @contextmanager
    def recorded(self) -> Generator[Recorded, None, None]:
        """Note the Triton kernels that the calls inside launch, and with what, in the interpreter.

        Raises NotGraded on a GPU.
        """
        recorded = Recorded()
        with self._launched("recorder", recorded):
            yield recorded

    @contextmanager
    def metered(self) -> Generator[Meter, None, None]:
        """Count what the Triton kernels that the calls inside launch move and compute.

        Launches beside ``decoys`` or ``sanitized`` are left out. Raises NotGraded on a GPU.
        """
        meter = Meter()
        with self._launched("meter", meter):
            yield meter

    @contextmanager
    def _launched(self, probe: str, into: Recorded | Meter) -> Generator[None, None, None]:
        if not self._on_cpu:
            raise NotGraded("launches are recorded in the interpreter only")
        reading: list[Any] = []
        self._records = True
        try:
            with self._conversation().probe(probe, {}) as reading:
                yield
        finally:  # what was launched before a fault counts
            self._records = False
            if reading:
                into.take(reading)

    def silenced(self) -> AbstractContextManager[Count]:
        """Let no Triton kernel run in the calls inside; count those that would have."""
        return self._counted("silenced")

    @property
    def hides(self) -> bool:
        """Whether arguments can be hidden from all but kernels here; on a GPU if that is asked for.

        There it is not the rule: it takes a copy of all memory around each launch.
        """
        return self._on_cpu or os.environ.get(ON_A_GPU) == "1"

    @property
    def _on_cpu(self) -> bool:
        return self._setting.device == "cpu"

    def hide(self, value: Tensor, decoy: Tensor) -> Hidden:
        """Return a stand-in for an argument inside ``decoys``: kernels load ``value``.

        All else finds ``decoy`` in its place, of the same shape, strides and dtype.
        """
        return Hidden(value, decoy)

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
        left, wrong = Left(), None
        with self._conversation().probe("torch_alone", {"numbers": numbers}) as reading:
            try:
                yield
            except Mismatch as error:
                if isinstance(error, Forbidden):
                    raise
                wrong = error
        if reading or wrong is None:
            left.take(reading)
        _refuse_digging(left.dug)
        if wrong is not None:
            few = f"{numbers} numbers may leave them, one at a time"
            used = f"; what left them: {left.doors}; {few}" if left.elements else ""
            raise Mismatch(f"{wrong} (torch's operators alone could read the numbers{used})")

    @contextmanager
    def decoys(
        self, elements: int, free: tuple[str, ...] = (), *, led: bool = True
    ) -> Generator[Shadow, None, None]:
        """Let kernels alone see what is hidden, in one call; what it returns is what they wrote.

        torch may move values outside of kernels. What it computes there works on decoys, but for
        the operators ``free`` on what kernels wrote, and for ``elements`` elements in all. On a
        GPU, or without ``led``, memory is exchanged around each launch.
        """
        shadow = Shadow()
        how = {"led": led and self._on_cpu, "compiled": not self._on_cpu}
        config = {"elements": elements, "free": [*free], **how}
        with self._alone(), self._conversation().probe("decoys", config) as reading:
            yield shadow
        shadow.take(reading)
        _refuse_digging(shadow.dug)

    @contextmanager
    def _alone(self) -> Generator[None, None, None]:
        """Hold what takes the interpreter's place; raises RuntimeError if something has it."""
        if self._replaced:
            raise RuntimeError("decoys and the sanitizer cannot run at one time")
        self._replaced = True
        try:
            yield
        finally:
            self._replaced = False

    @contextmanager
    def sanitized(self, order: str = "", seed: int = 0) -> Generator[Sanitized, None, None]:
        """Follow the kernels of the calls inside through memory, in Triton's interpreter.

        ``order`` is that of a launch's programs: "" as they are numbered, "reversed", or
        "shuffled" by ``seed``. Not inside ``decoys``, nor these inside: either hides from the
        other what it works on. Raises NotGraded on a GPU, where kernels are compiled.
        """
        if self._setting.device != "cpu":
            raise NotGraded("kernels are followed in the interpreter only")
        sanitized, config = Sanitized(), {"order": order, "seed": seed}
        with self._alone(), self._conversation().probe("sanitizer", config) as reading:
            yield sanitized
        sanitized.take(reading)

    @contextmanager
    def sound_kernels(self, order: str = "") -> Generator[None, None, None]:
        """Fail if kernels of the calls inside do what a GPU would not forgive: ``sanitized`` says.

        Blocks that are too large for some card are let pass. On a GPU the calls run as they are:
        there what programs do to each other shows in the numbers.
        """
        if not self._on_cpu:
            yield
            return
        with self.sanitized(order) as sanitized:
            yield
        found = [mistake for mistake in sanitized.found if mistake.kind != TOO_LARGE]
        if found:
            raise Mismatch(told(found, self._lines()))

    @contextmanager
    def compilable_kernels(self, *targets: str) -> Generator[None, None, None]:
        """Fail if no GPU would take a kernel that the calls inside launch, as they launch it.

        Each is compiled for ``targets``, names of ``labs.cards``. On a GPU the calls run as they
        are: there what does not compile does not run. So they do inside of ``recorded``, whose
        launches ``make compile`` compiles afterwards.
        """
        if not self._on_cpu or self._records:
            yield
            return
        with self.recorded() as recorded:
            yield
        refused = self._refused(recorded.launches, targets)
        if refused:
            raise Mismatch(told_refused(refused, self._lines()))

    @contextmanager
    def peak_memory(self) -> Generator[Count, None, None]:
        """Measure the GPU memory, in bytes, that the calls inside hold at most, arguments included.

        Raises NotGraded on a CPU.
        """
        if self._setting.device == "cpu":
            raise NotGraded("memory is measured on a GPU only")
        with self._counted("memory") as count:
            yield count

    @contextmanager
    def operators(self) -> Generator[Operators, None, None]:
        """Note the aten operators of the calls inside, by base name ("sum"), and their sizes."""
        operators = Operators()
        with self._conversation().probe("operators", {}) as reading:
            yield operators
        operators.take(reading)

    @contextmanager
    def _counted(self, probe: str) -> Generator[Count, None, None]:
        count = Count()
        with self._conversation().probe(probe, {}) as reading:
            yield count
        count.take(reading)


@contextmanager
def raises(kind: type[Exception], naming: str = "") -> Generator[None, None, None]:
    """Expect the submission to raise ``kind``, with ``naming`` as a word of the message."""
    try:
        yield
    except StudentError as error:
        if kind.__name__ not in error.bases or error.kind == "NotImplementedError":
            raise
        if naming and not _names(error.message, naming):
            said = f"the {error.kind} should name {naming}; it says {plain(error.message)}"
            raise Mismatch(said) from None
        return
    raise Mismatch(f"expected a {kind.__name__}, but nothing was raised")


def _names(message: str, name: str) -> bool:
    """Tell whether a message holds a name as a word of its own: no "t" is in "can't" or "step"."""
    word = rf"(?<!\w)(?<!\w'){re.escape(name)}(?!\w)"
    return re.search(word, message, re.IGNORECASE) is not None


def _refuse_digging(dug: list[str]) -> None:
    if dug:
        raise Forbidden(f"the code looked for what was kept from it: {', '.join(dug)}")


def noise_like(value: Tensor) -> Tensor:
    """Return other numbers of a tensor's shape, strides, dtype and size."""
    size = value.double().std(correction=0).nan_to_num(1.0).clamp(1e-3, 1e3)
    noise = torch.randn(value.shape, dtype=torch.float64) * size
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(noise)
