"""What tests can measure of a submission's calls: each is a context manager around them."""

import re
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager

from torch import Tensor

from grader.errors import Forbidden, Mismatch, NotGraded, StudentError
from grader.labs.lab import Lab
from grader.proxy.conversation import Conversation, Hidden
from grader.proxy.readings import Count, Operators, Sanitized, Shadow
from grader.proxy.shown import plain
from grader.sandbox.process import Setting


class Instruments(ABC):
    """The part of the proxy that starts probes in the worker and believes what may be believed."""

    _lab: Lab
    _setting: Setting

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

    def silenced(self) -> AbstractContextManager[Count]:
        """Let no Triton kernel run in the calls inside; count those that would have."""
        return self._counted("silenced")

    @property
    def hides(self) -> bool:
        """Whether an argument can be hidden here: memory of a GPU cannot."""
        return self._setting.device == "cpu"

    def hide(self, value: Tensor, decoy: Tensor) -> Hidden:
        """Return a stand-in for an argument inside ``decoys``: kernels load ``value``.

        All else finds ``decoy`` in its place, of the same shape, strides and dtype.
        """
        return Hidden(value, decoy)

    @contextmanager
    def decoys(self, elements: int, free: tuple[str, ...] = ()) -> Generator[Shadow, None, None]:
        """Let kernels alone see what is hidden, in one call; what it returns is what they wrote.

        torch may move values outside of kernels. What it computes there works on decoys, but for
        the operators ``free`` on what kernels wrote, and for ``elements`` elements in all.
        """
        shadow = Shadow()
        config = {"elements": elements, "free": [*free]}
        with self._conversation().probe("decoys", config) as reading:
            yield shadow
        shadow.take(reading)

    @contextmanager
    def sanitized(self, order: str = "", seed: int = 0) -> Generator[Sanitized, None, None]:
        """Follow the kernels of the calls inside through memory, in Triton's interpreter.

        ``order`` is that of a launch's programs: "" as they are numbered, "reversed", or
        "shuffled" by ``seed``. Raises NotGraded on a GPU, where kernels are compiled.
        """
        if self._setting.device != "cpu":
            raise NotGraded("kernels are followed in the interpreter only")
        sanitized = Sanitized()
        with self._conversation().probe("sanitizer", {"order": order, "seed": seed}) as reading:
            yield sanitized
        sanitized.take(reading)

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
