"""What tests can measure of a submission's Triton kernels, mostly in the interpreter."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from grader.errors import Forbidden, Mismatch, NotGraded, StudentError, Unsound
from grader.labs.compiled import Compiled
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.instruments.device import Device, Policy
from grader.proxy.instruments.mistakes import Sanitized, mistakes, told
from grader.proxy.instruments.readings import Apart, Meter, Recorded, Shadow
from grader.proxy.instruments.refused import told as told_refused
from grader.sandbox.setting import Setting

UNLIFTED = "a kernel is run by its text alone, as a compiler would read it"


class KernelInstruments(ABC):
    """The part of the proxy that follows kernels; each is a context manager around their calls."""

    _setting: Setting
    _device: Device
    _replaced = False  # whether a probe stands in the interpreter's place
    _records = False  # whether launches are being noted

    @abstractmethod
    def lines_(self) -> list[str]:
        """Return the lines of the submission."""

    @abstractmethod
    def _refused(
        self, launches: Sequence[dict[str, Any]], targets: Sequence[str]
    ) -> list[Compiled]:
        """Return what no compiler takes of launches, or no card has room for."""

    @abstractmethod
    def _conversation(self) -> Conversation:
        """Return the conversation with a worker that has loaded the submission."""

    @property
    def _on_cpu(self) -> bool:
        return self._setting.device == "cpu"

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

        Launches beside ``decoys`` or ``sanitized`` are left out, and all where ``make bench`` or
        ``make compile`` notes those of the test. Raises NotGraded on a GPU.
        """
        meter = Meter()
        if self._records:
            yield meter
            return
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
        if led and self._on_cpu:
            policy = Policy(elements, free, kernels=True)
            with self._alone(), self._apart(policy) as apart:
                yield shadow
            shadow.launches, shadow.notes = apart.launches, apart.notes
            if apart.found:
                shadow.unsound = told(mistakes(apart.found), self.lines_())
            return
        config = {"elements": elements, "free": [*free], "compiled": not self._on_cpu}
        with self._alone(), self._conversation().probe("decoys", config) as reading:
            yield shadow
        shadow.take(reading)
        refuse_digging(shadow.dug)

    @contextmanager
    def _apart(self, policy: Policy) -> Generator[Apart, None, None]:
        """Hide arguments on the device in the calls inside, which ``policy`` says what it may do.

        What went wrong there is raised, ahead of what it has led to here.
        """
        apart, talk, failure = Apart(), self._conversation(), None
        theirs = self._device.begin(policy)
        with theirs:
            config = {"kernels": policy.kernels, "tells": policy.numbers > 0}
            start = talk.probe("sender", config, fds=(theirs.fileno(),))
            with talk.hiding(self._device), start as reading:
                theirs.close()
                try:
                    yield apart
                except (Mismatch, StudentError) as error:
                    failure = error
        if reading and not isinstance(failure, Forbidden):
            apart.take(reading, self._done(Apart.sent(reading)))
        if failure is not None:
            raise failure

    def _done(self, sent: int) -> dict[str, Any]:
        """Return what the device has done; raises Mismatch for a kernel that it cannot run."""
        try:
            return self._device.end(sent)
        except StudentError as error:
            if error.kind == "Unliftable":
                raise Mismatch(f"{UNLIFTED}: {error.message}") from None
            raise

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
        reading: list[Any] = []
        try:
            with self._alone(), self._conversation().probe("sanitizer", config) as reading:
                yield sanitized
        except (Mismatch, StudentError):
            if reading:  # what was found before it counts
                sanitized.take(reading)
            raise
        sanitized.take(reading)

    @contextmanager
    def sound_kernels(self, order: str = "") -> Generator[None, None, None]:
        """Fail if kernels of the calls inside do what a GPU would not forgive: ``sanitized`` says.

        That halves the task. Blocks that are too large for some card are let pass. On a GPU the
        calls run as they are: there what programs do to each other shows in the numbers.
        """
        if not self._on_cpu:
            yield
            return
        sanitized, failure = Sanitized(), None
        try:
            with self.sanitized(order) as sanitized:
                yield
        except (Mismatch, StudentError) as error:  # what was found until then may be why
            failure = error
        if sanitized.unsound:
            raise Unsound(told(sanitized.unsound, self.lines_()))
        if failure is not None:
            raise failure

    @contextmanager
    def grids_alone(self) -> Generator[None, None, None]:
        """Fail if the calls inside launch a grid that no GPU takes, which halves the task.

        No program runs, and what comes back means nothing: so a call may be as large as tensors
        without memory are. On a GPU the calls run as they are, and such a launch fails.
        """
        if not self._on_cpu:
            yield
            return
        grids = Sanitized()
        with self._alone(), self._conversation().probe("grids", {}) as reading:
            yield
        grids.take(reading)
        if grids.found:
            raise Unsound(told(grids.found, self.lines_()))

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
            raise Mismatch(told_refused(refused, self.lines_()))


def refuse_digging(dug: list[str]) -> None:
    """Raise Forbidden if a submission has looked for what was kept from it."""
    if dug:
        raise Forbidden(f"the code looked for what was kept from it: {', '.join(dug)}")
