"""A submission run in this very process, with no isolation: the yardstick for the judge's own cost.

Only ``bench`` uses it, on our own solutions. It offers tests what ``Student`` does.
"""

import contextlib
import copy
import dataclasses
import functools
import importlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import torch

from bench.direct_objects import DirectGiven, DirectProxy, LentCaller
from grader.errors import Mismatch, NotGraded, StudentError
from grader.labs.lab import Lab
from grader.labs.task import Task
from grader.proxy.conversation.calls import Calls
from grader.proxy.instruments.readings import Count, Operators
from grader.proxy.loans.loans import Loan
from grader.proxy.loans.watched_arguments import Watched
from grader.proxy.requests import Folder, Offers
from grader.wire.codec import Record
from grader.wire.storage import content
from grader.worker.calls.ways import backward, forward, gradients, overwritten
from grader.worker.probes import Probes
from grader.worker.serve import MODULE

PLAIN = (type(None), bool, int, float, str, torch.dtype, torch.device, torch.Tensor)


class DirectStudent(Offers):
    """A stand-in for ``Student`` without a worker."""

    def __init__(self, lab: Lab, file: Path, checkpoints: dict[str, Path]) -> None:
        self._lab = lab
        self._checkpoints = checkpoints
        self._probes = Probes()
        self._folders = tempfile.TemporaryDirectory()
        sys.path.insert(0, str(lab.root))
        if "triton" in lab.imports:
            os.environ["TRITON_INTERPRET"] = "1"
            from grader.worker.kernels import interpreter

            interpreter.prepare("cpu")
        self._given = {name: importlib.import_module(f"labs.{name}") for name in lab.given}
        spec = importlib.util.spec_from_file_location(MODULE, file)
        assert spec is not None
        assert spec.loader is not None
        self._module = importlib.util.module_from_spec(spec)
        sys.modules[MODULE] = self._module
        spec.loader.exec_module(self._module)

    def begin_(self, test_deadline: float, grading_deadline: float, workers_to_come: int) -> None:
        """Do nothing: there are no deadlines and no workers."""

    def turn_to_(self, task: Task) -> None:
        """Do nothing: what any task loads is here."""

    def inspect_(self) -> None:
        """Do nothing: nobody looks at a process that is our own."""

    def printed_(self) -> str:
        """Return nothing: what the submission prints is not caught."""
        return ""

    def asked_(self) -> set[str]:
        """Return nothing: only ``lab check`` wants to know."""
        return set()

    def calls_(self) -> Calls:
        """Return no calls: nobody reads a message here."""
        return Calls()

    def retire_(self) -> None:
        """Do nothing."""

    def close_(self) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self.run(getattr(self._module, name), args, kwargs)

    def gradients(self, name: str, tensors: tuple[Any, ...], upstream: Any, **options: Any) -> Any:
        """Let autograd go back through a function of the submission."""
        function = functools.partial(gradients, getattr(self._module, name))
        return self.run(function, (tensors, upstream), options)

    def each(self, name: str, args: tuple[Any, ...], *lasts: Any) -> list[Any]:
        """Call a function of the submission on ``args`` and each of ``lasts`` in turn."""
        function = getattr(self._module, name)
        return [self.run(function, (*copy.deepcopy(args), last), {}) for last in lasts]

    def together(self, name: str, *cases: tuple[Any, ...]) -> Any:
        """Call a function of the submission on each case in turn."""
        function = getattr(self._module, name)
        return self.run(lambda *cases: [function(*case) for case in cases], cases, {})

    def gradients_together(self, name: str, *cases: tuple[tuple[Any, ...], Any]) -> Any:
        """Let autograd go back through several results of a function of the submission."""
        function = getattr(self._module, name)

        def all_of(*cases: tuple[tuple[Any, ...], Any]) -> list[Any]:
            gone = [forward(function, tensors) for tensors, _ in cases]
            pairs = zip(gone, cases, strict=True)
            return [backward(each, upstream) for each, (_, upstream) in pairs]

        return self.run(all_of, cases, {})

    def overwritten(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a function of the submission, and write over what it returned."""
        return self.run(functools.partial(overwritten, getattr(self._module, name)), args, kwargs)

    def generator(self, seed: int) -> Any:
        """Return a generator that goes on from call to call."""
        return self.outward(torch.Generator().manual_seed(seed))

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function of the submission with the test's values."""
        watched = [item for item in (*args, *kwargs.values()) if isinstance(item, Watched)]
        inward = self.inward
        try:
            result = function(*map(inward, args), **{k: inward(v) for k, v in kwargs.items()})
        except (Mismatch, StudentError):
            raise
        except Exception as error:
            bases = tuple(cls.__name__ for cls in type(error).__mro__)
            raise StudentError(type(error).__name__, str(error), bases) from error
        for item in watched:
            item.after = content(item.value)
        return self.outward(result)

    def inward(self, value: Any) -> Any:
        """Turn a value of the test into what the submission gets."""
        match value:
            case Loan():
                return LentCaller(self, value)
            case Watched():
                return self.inward(value.value)
            case DirectProxy():
                return value._value  # pyright: ignore[reportPrivateUsage]
            case Record():
                found = (getattr(module, value.name, None) for module in self._given.values())
                return next(cls for cls in found if cls)(**value.fields)
            case list() | tuple():
                return type(value)(map(self.inward, value))
            case dict():
                return {key: self.inward(item) for key, item in value.items()}
            case _:
                return value

    def outward(self, value: Any) -> Any:
        """Turn a value of the submission into what the test gets."""
        if isinstance(value, torch.Tensor):
            return value.detach()
        if isinstance(value, PLAIN):
            return value
        if type(value) in (list, tuple):
            return type(value)(map(self.outward, value))
        if isinstance(value, dict):
            return {key: self.outward(item) for key, item in value.items()}
        if dataclasses.is_dataclass(value) and type(value).__module__.startswith("labs."):
            fields = dataclasses.fields(value)
            return Record(type(value).__name__, {f.name: getattr(value, f.name) for f in fields})
        return DirectProxy(self, value)

    def given(self, module: str) -> "DirectGiven":
        """Return a given module."""
        return DirectGiven(self, self._given[module])

    def handle(self, name: str, given: str = "") -> Any:
        """Return a name itself, uncalled."""
        return self.outward(getattr(self._given[given] if given else self._module, name))

    def held_bytes(self) -> int:
        """Raise NotGraded: the test's own tensors are here in the same process."""
        raise NotGraded("tensors are counted in a worker only")

    def private_bytes(self) -> int | None:
        """Return None: the test's own memory is in the same process."""
        return None

    @contextlib.contextmanager
    def time_limit(self, seconds: float) -> Generator[None, None, None]:
        """Do nothing."""
        yield

    def checkpoint(self, name: str) -> Folder:
        """Return a checkpoint that the lab lists."""
        return Folder(self._checkpoints[name], str(self._checkpoints[name]))

    def new_folder(self) -> Folder:
        """Return an empty folder."""
        folder = Path(tempfile.mkdtemp(dir=self._folders.name))
        return Folder(folder, str(folder))

    @contextlib.contextmanager
    def guard(self) -> Generator[None, None, None]:
        """Do nothing: the solutions are known to follow the rules."""
        yield

    @contextlib.contextmanager
    def _counted(self, probe: str) -> Generator[Count, None, None]:
        count = Count()
        self._probes.run(probe, "start", {})
        try:
            yield count
        finally:
            count.total = self._probes.run(probe, "stop", {})

    def flops(self) -> contextlib.AbstractContextManager[Count]:
        """Count floating-point operations."""
        return self._counted("flops")

    def largest_tensor(self) -> contextlib.AbstractContextManager[Count]:
        """Measure the largest tensor."""
        return self._counted("largest")

    def launches(self) -> contextlib.AbstractContextManager[Count]:
        """Count launches of Triton kernels."""
        return self._counted("launches")

    def sound_kernels(self, order: str = "") -> contextlib.AbstractContextManager[None]:
        """Let kernels run as they are: the solutions are known to be sound."""
        return contextlib.nullcontext()

    def compilable_kernels(self, *targets: str) -> contextlib.AbstractContextManager[None]:
        """Let kernels run as they are: the solutions are known to compile."""
        return contextlib.nullcontext()

    def silenced(self) -> contextlib.AbstractContextManager[Count]:
        """Let no Triton kernel run."""
        return self._counted("silenced")

    @property
    def hides(self) -> bool:
        """Whether an argument can be hidden: not from the test's own process."""
        return False

    @contextlib.contextmanager
    def operators(self) -> Generator[Operators, None, None]:
        """Tell none: the test's own work, here in the same process, would be among them."""
        yield Operators()

    def peak_memory(self) -> contextlib.AbstractContextManager[Count]:
        """Raise NotGraded: the yardstick runs on the CPU."""
        raise NotGraded("memory is measured on a GPU only")
