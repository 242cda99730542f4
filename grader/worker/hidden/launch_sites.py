"""Where kernels are launched in the interpreter, led elsewhere: what is told of a launch.

A kernel is named by the line of the file on which it begins, its arguments by what they are, its
grid by numbers; so are the names that its text may use.
"""

import ast
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import Tensor

from grader.wire.codec import Packer
from grader.wire.errors import Misfit
from grader.worker.code import kernel_names
from grader.worker.code.kernel_syntax import functions, reads
from grader.worker.operators.places import arguments

MOST_ITEMS = 16  # of a tuple that a name stands for
TAKES = (
    "a kernel takes tensors of plain memory and their descriptors, Python's numbers and texts, "
    "None, types of tl, kernels, and tuples of these"
)
Special = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel, its grid, and what it is launched with."""

    kernel: Any
    grid: tuple[int, ...]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    encode: "Encoder"

    def tensors(self) -> Iterator[Tensor]:
        """Walk through the tensors of the launch, in wrappers and descriptors too."""
        return arguments((self.args, self.kwargs))

    def plain(self, special: Special) -> dict[str, Any]:
        """Return all of it as data; raises TypeError for what no kernel takes."""
        kernel = self.encode.kernel(self.kernel)
        packer = Packer(functools.partial(self.encode.special, special))

        def pack(name: str, value: Any) -> Any:
            try:
                return packer.pack(value)
            except Misfit as error:
                raise TypeError(f"{kernel[1]}: its argument {name} is {error}; {TAKES}") from None

        args = [pack(*pair) for pair in zip(self.kernel.arg_names, self.args, strict=False)]
        kwargs = [[name, pack(name, value)] for name, value in self.kwargs.items()]
        values = [args, {"d": kwargs}, list(self.grid)]
        return {"kernel": kernel, "values": values, "names": self.encode.names(self.kernel)}


class LaunchSites:
    """Stands in the interpreter's place: ``launch`` is given each, and says whether it took it."""

    def __init__(self, file: str, launch: Callable[[Launch], bool]) -> None:
        interpreter: Any = importlib.import_module("triton.runtime.interpreter")
        self._function = interpreter.InterpretedFunction
        self._encoder = Encoder(file)
        self._launch = launch
        self._plain: Any = None

    def __enter__(self) -> "LaunchSites":
        self._plain = plain = self._function.run
        sites = self

        @functools.wraps(plain)
        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if not warmup and sites.take(kernel, grid, args, kwargs):
                return None
            return plain(kernel, *args, grid=grid, warmup=warmup, **kwargs)

        self._function.run = run
        return self

    def __exit__(self, *_error: object) -> None:
        self._function.run = self._plain

    def take(self, kernel: Any, grid: Any, args: Any, kwargs: Any) -> bool:
        """Tell of a launch; False where it is to run here."""
        known = inspect.getfullargspec(kernel.fn)
        kwargs = {k: v for k, v in kwargs.items() if k in known.args or k in known.kwonlyargs}
        for hook in kernel.pre_run_hooks:
            hook(*args, **kwargs)
        if callable(grid):
            bound = inspect.signature(kernel.fn).bind(*args, **kwargs)
            bound.apply_defaults()
            grid = grid(bound.arguments)
        numbers = tuple(map(int, grid))
        return self._launch(Launch(kernel, numbers, args, kwargs, self._encoder))


class Encoder:
    """Makes data of what kernels are launched with and of what their names stand for."""

    def __init__(self, file: str) -> None:
        self._file = file
        tree = ast.parse(Path(file).read_bytes())
        self._reads = {line: reads(node) for line, node in functions(tree).items()}
        self._met: list[Any] = []  # functions of kernels that were told
        self._tritons: dict[int, tuple[str, str]] = {}
        self._language: Any = importlib.import_module("triton.language")

    def kernel(self, kernel: Any) -> list[Any]:
        """Return where a kernel begins in the submission's file, and its name."""
        code = kernel.fn.__code__
        if code.co_filename != self._file:
            raise TypeError(f"{code.co_name}: the text of a kernel stands in the file handed in")
        return [code.co_firstlineno, code.co_name]

    def special(self, otherwise: Special, value: Any) -> Any:
        """Return as data what a plain message does not hold."""
        language = self._language
        kind = type(value).__name__
        if isinstance(value, language.constexpr):
            return {"e": Packer(functools.partial(self.special, otherwise)).pack(value.value)}
        if isinstance(value, language.dtype):
            return {"n": str(value)}
        if kind == "TensorDescriptor":
            layout = [value.base, list(value.shape), list(value.strides), list(value.block_shape)]
            rest = [value.padding, getattr(value, "round_f32_to_tf32", False)]
            return {"b": Packer(functools.partial(self.special, otherwise)).pack([*layout, *rest])}
        if kind == "TensorWrapper":
            return {"a": [otherwise(value.base), str(value.dtype)]}
        if (found := self._function(value)) is not None:
            return found
        return otherwise(value)

    def names(self, kernel: Any) -> dict[str, Any]:
        """Return what the names stand for that a kernel reads, and those that it may call.

        Those are kernels that it names, and what it was packed with.
        """
        self._tritons = self._tritons or kernel_names.known()
        told: dict[str, Any] = {}
        self._met.append(kernel.fn)
        for function in self._met:  # it grows meanwhile
            cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
            space = {**function.__globals__, **{name: cell.cell_contents for name, cell in cells}}
            for name in self._reads.get(function.__code__.co_firstlineno, ()):
                if name in space and name not in told:
                    told[name] = self._name(space[name])
        self._met.clear()
        return {name: value for name, value in told.items() if value is not None}

    def _name(self, value: Any) -> Any:
        """Return what a name stands for as data; None for what is nothing to a kernel."""
        if isinstance(value, ModuleType):
            return {"M": value.__name__} if value.__name__ in kernel_names.MODULES else None
        if id(value) in self._tritons:
            return {"L": [*self._tritons[id(value)]]}
        if (found := self._function(value)) is not None:
            return found
        small = isinstance(value, (*kernel_names.PLAIN, self._language.constexpr)) or (
            isinstance(value, self._language.dtype | tuple) and _is_small(value)
        )
        try:
            return Packer(functools.partial(self.special, _refuse)).pack(value) if small else None
        except Misfit:
            return None

    def _function(self, value: Any) -> Any:
        """Return a kernel as data, out of its decorators; None for anything else."""
        for _ in range(8):
            if type(value).__name__ not in ("Autotuner", "Heuristics"):
                break
            value = value.fn
        if type(value).__name__ != "InterpretedFunction":
            return None
        code = value.fn.__code__
        if code.co_filename != self._file:
            return None
        self._met.append(value.fn)
        return {"k": code.co_firstlineno}


def _is_small(value: Any) -> bool:
    return not isinstance(value, tuple) or len(value) <= MOST_ITEMS


def _refuse(value: Any) -> Any:
    raise Misfit(f"a {type(value).__name__}")
