"""A backend for ``torch.compile`` that counts, and tells its graphs so that others can run them.

A graph is told as operators of aten with their arguments. Its inputs are told by the memory that
they lie in: that of a tensor which the judge has named (a weight, a cache, an argument), else a
constant, whose bytes are told too.
"""

import importlib
import logging
import operator
import re
import sys
import traceback
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

from grader.worker.compiling.reads import Reads, is_number
from grader.worker.compiling.reasons import LIMIT, reason_of

MAX_CONSTANTS = 4 << 20  # bytes that a graph may bring along
MAX_NODES = 5_000
LOGGER = "torch._dynamo.convert_frame"
MAX_REASONS = 3  # of graphs that were made anew: the first, and the last


def is_news(record: logging.LogRecord) -> bool:
    """Tell whether a line of torch's log says more than ``counts`` does of its limit."""
    return LIMIT not in record.getMessage()


class Backend:
    """Runs each graph as it is; ``calls`` and ``runs`` count what it was asked for.

    ``last`` holds the shapes of the tensors that the last graph was run on.
    """

    def __init__(self, file: str = "") -> None:
        """``file`` is the submission's: places in others are told with the name of theirs."""
        self._file = file
        self._items: list[str] = []  # where code that became a graph takes numbers of tensors
        # What torch notes on standard error of what it then raises says nothing more.
        logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)
        logging.getLogger(LOGGER).addFilter(is_news)
        # What was compiled for others counts towards torch's limits, and makes sizes dynamic.
        importlib.import_module("torch._dynamo").reset()
        self._records().clear_compilation_metrics()
        self.calls = 0
        self.runs = 0
        self.last: list[list[int]] = []
        self._named: dict[str, Tensor] = {}
        self._told: list[dict[str, Any]] | None = None  # of the graphs that ran, while it matters
        self._depth = 0  # of graphs that run

    def __call__(self, module: Callable[..., Any], _examples: Any, **_options: Any) -> Any:
        self.calls += 1
        nodes = getattr(getattr(module, "graph", None), "nodes", ())
        self._items += [str(node.stack_trace) for node in nodes if node.target == "item"]
        told: dict[Any, dict[str, Any]] = {}

        def run(*inputs: Any) -> Any:
            self.runs += 1
            self.last = [[*x.shape] for x in inputs if isinstance(x, Tensor)]
            if self._told is not None:
                form = tuple(tuple(x.shape) if isinstance(x, Tensor) else x for x in inputs)
                if form not in told:
                    told[form] = self._tell(module, inputs)
                self._told.append(told[form])
            self._depth += 1
            try:
                return module(*inputs)
            finally:
                self._depth -= 1

        return run

    def name(self, module: Any, **sources: Any) -> None:
        """Know the parameters of a module by their names, and lists of tensors by ours.

        A source is an object with the name of its attribute; item i of ``keys`` is ``keys.i``.
        """
        self._named = {f"model.{name}": weight for name, weight in module.named_parameters()}
        for name, (owner, attribute) in sources.items():
            for place, tensor in enumerate(getattr(owner, attribute)):
                self._named[f"{name}.{place}"] = tensor

    def watch(self, function: Callable[..., Any], **arguments: Tensor) -> list[Any]:
        """Call a function on arguments that are known by their names, in their order.

        Returns its result, how many graphs ran, and what the first of these is, if one did.
        """
        self._named |= arguments
        self._told, before = [], self.runs
        try:
            result = function(*arguments.values())
            told = self._told
        finally:
            self._told = None
        return [result, self.runs - before, told[0] if told else None]

    def reads(self, function: Callable[..., Any], *args: Any) -> list[str]:
        """Call a function, and return by what it has read values of tensors."""
        reads, before = Reads(self._place), sys.getprofile()
        sys.setprofile(reads.profile)
        try:
            with reads:
                function(*args)
        finally:
            sys.setprofile(before)
        return [*reads.seen][:5]

    def _place(self) -> str:
        """Return where the submission reads a tensor that is read now: in a graph, or as it runs.

        A graph knows the lines that it was made of; of several the first that takes a number.
        """
        if self._depth and self._items:
            lines = re.findall(r'File "([^"]+)", line (\d+)', self._items[0])
        else:
            lines = [(f.filename, f.lineno) for f in traceback.extract_stack()]
        own = [line for file, line in lines if self._file and file == self._file]
        return f" (line {own[-1]})" if own else ""

    def counts(self) -> list[Any]:
        """Return how often the backend was called, how often a graph of it, and why that often."""
        made = self._records().get_compilation_metrics()
        reasons = [reason_of(each, self._file) for each in made]
        first, *rest = [*dict.fromkeys(filter(None, reasons))] or [""]
        return [self.calls, self.runs, [*filter(None, [first, *rest[1 - MAX_REASONS :]])]]

    @staticmethod
    def _records() -> Any:
        """Return where torch's compiler keeps a record of each piece of code that it took."""
        return importlib.import_module("torch._dynamo.utils")

    def shapes(self) -> list[list[int]]:
        """Return the shapes of the tensors that the last graph was run on, each once."""
        return [[*shape] for shape in {tuple(shape): None for shape in self.last}]

    def _tell(self, module: Callable[..., Any], inputs: tuple[Any, ...]) -> dict[str, Any]:
        try:
            with _disable_current_modes(), torch.inference_mode(False), torch.no_grad():
                return Telling(self._named, inputs).of(module)
        except Exception as error:  # the code's, of any kind: the graph is of its making
            return {"problem": f"{type(error).__name__}: {error}"[:300]}


class Telling:
    """One graph as plain values; its tensors as views of numbered memories."""

    def __init__(self, named: dict[str, Tensor], inputs: tuple[Any, ...]) -> None:
        self._inputs = inputs
        self._places: dict[int, int] = {}  # the number of a storage
        self._storages: list[Tensor] = []  # one tensor of each
        self._named = [[name, *self._view(tensor)] for name, tensor in named.items()]
        self._known = len(self._storages)

    def of(self, module: Callable[..., Any]) -> dict[str, Any]:
        """Trace a module on copies of the inputs."""
        traced: Any = importlib.import_module("torch.fx.experimental.proxy_tensor")
        fixed = [self._is_fixed(x) for x in self._inputs]
        views = [self._view(x) if isinstance(x, Tensor) else [x] for x in self._inputs]
        copies = self._copies()

        def run(*some: Any) -> Any:
            rest = iter(some)
            pairs = zip(copies, fixed, strict=True)
            return module(*(copy if known else next(rest) for copy, known in pairs))

        free = [copy for copy, known in zip(copies, fixed, strict=True) if not known]
        graph = traced.make_fx(run)(*free).graph
        if len(graph.nodes) > MAX_NODES:
            raise ValueError(f"it has {len(graph.nodes)} nodes; {MAX_NODES:,} are allowed")
        owner, numbers, nodes, out = graph.owning_module, dict[Any, int](), list[Any](), None
        waiting = (each for each, known in zip(views, fixed, strict=True) if not known)
        for node in graph.nodes:
            numbers[node] = len(numbers)
            if node.op == "placeholder":
                nodes.append(["input", next(waiting), {}])
            elif node.op == "get_attr":
                nodes.append(["input", self._view(getattr(owner, node.target)), {}])
            elif node.op == "output":
                out = plain(node.args[0], numbers)
            else:
                args, kwargs = plain(node.args, numbers), plain(node.kwargs, numbers)
                nodes.append([name_of(node.target), args, kwargs])
        contents = self._contents()
        return {"named": self._named, "storages": contents, "nodes": nodes, "output": out}

    def _is_fixed(self, x: Any) -> bool:
        """Tell whether an input is a number of the program, which a graph may ask for its value."""
        return isinstance(x, Tensor) and is_number(x) and id_of(x) not in self._places

    def _view(self, tensor: Tensor) -> list[Any]:
        """Return which memory a tensor lies in, and how."""
        key = id_of(tensor)
        if key not in self._places:
            self._places[key] = len(self._storages)
            self._storages.append(tensor)
        form = [*tensor.shape], [*tensor.stride()], tensor.storage_offset()
        return [self._places[key], tensor.dtype, *form]

    def _copies(self) -> list[Any]:
        """Return the inputs in memory of their own; what shared it still does."""
        copies: dict[int, Any] = {}
        found: list[Any] = []
        for x in self._inputs:
            if isinstance(x, Tensor):
                place = id_of(x)
                if place not in copies:
                    copies[place] = x.untyped_storage().clone()
                base = torch.empty(0, dtype=x.dtype, device=x.device)
                form = x.storage_offset(), x.shape, x.stride()
                found.append(base.set_(copies[place], *form))  # pyright: ignore
            else:
                found.append(x)
        return found

    def _contents(self) -> list[list[Any]]:
        """Return the bytes of each memory, and of those that nobody has named what is in them."""
        storages = [tensor.untyped_storage() for tensor in self._storages]
        constants = sum(storage.nbytes() for storage in storages[self._known :])
        if constants > MAX_CONSTANTS:
            text = f"it holds {constants:,} bytes that are neither weights, cache nor arguments"
            raise ValueError(f"{text}; {MAX_CONSTANTS:,} are allowed")
        found: list[list[Any]] = [[storage.nbytes(), None] for storage in storages[: self._known]]
        for storage in storages[self._known :]:
            raw = torch.empty(0, dtype=torch.uint8, device=storage.device)
            found.append([storage.nbytes(), raw.set_(storage).clone()])  # pyright: ignore
        return found


def id_of(tensor: Tensor) -> int:
    """Return what tells the memory of a tensor from any other."""
    return tensor.untyped_storage()._cdata  # pyright: ignore[reportPrivateUsage]


def name_of(target: Any) -> str:
    """Return what the referee calls an operator."""
    return "getitem" if target is operator.getitem else str(target)[:100]


def plain(value: Any, numbers: dict[Any, int]) -> Any:
    """Return an argument as values that the wire takes."""
    if isinstance(value, torch.fx.Node):
        return {"node": numbers[value]}
    if isinstance(value, list | tuple):
        return [plain(item, numbers) for item in value]
    if isinstance(value, dict):
        return {str(name): plain(item, numbers) for name, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str | torch.dtype | torch.device):
        return value
    if isinstance(value, torch.layout):
        return {"layout": str(value).removeprefix("torch.")}
    if isinstance(value, torch.memory_format):
        return {"memory_format": str(value).removeprefix("torch.")}
    raise TypeError(f"an argument is a {type(value).__name__}")
