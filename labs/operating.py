"""What a lab on operators asks of them beside a call, here to be tried at home too.

Operators are named as one calls them, without "torch.ops.": "inferlab15.silu_mul". Where tensors
lie on a GPU, they are fetched from there for all but the last three: the CPU's kernels are meant.
What comes back alone, in no list, is brought back there.
"""

import functools
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

DELAY = 200_000_000  # cycles of a GPU, 0.1 s


@functools.cache
def once(function: Callable[[], None]) -> None:
    """Call a function unless it has been called: what is registered twice may be refused."""
    function()


def operator(name: str) -> Any:
    """Return an operator by its name."""
    found: Any = torch.ops
    for part in name.split("."):
        found = getattr(found, part)
    return found


def schema(name: str) -> str:
    """Return the schema of an operator as torch writes it."""
    return str(operator(name).default._schema)


def form(value: Any) -> list[Any]:
    """Return shape, strides, dtype and kind of device of a tensor, or of each of several."""
    if isinstance(value, tuple | list):
        return [form(item) for item in value]
    shape = [int(size) for size in value.shape]
    return [shape, [int(step) for step in value.stride()], str(value.dtype), value.device.type]


def fetched(value: Any) -> Any:
    """Return a tensor on the CPU, with its strides and what lies around it; all else as it is."""
    if not isinstance(value, Tensor) or value.device.type == "cpu":
        return value
    return moved(value, torch.device("cpu"))


def moved(value: Tensor, device: torch.device) -> Tensor:
    """Return a tensor on a device, with its strides and what lies around it."""
    place = value.storage_offset(), value.shape, value.stride()
    storage = value.untyped_storage().to(device=device)
    return torch.empty(0, dtype=value.dtype, device=device).set_(storage, *place)


def brought(result: Any, args: Sequence[Any]) -> Any:
    """Return tensors of a result where the arguments lie; all else as it is."""
    if isinstance(result, tuple):
        return tuple(brought(item, args) for item in result)
    device = next((arg.device for arg in args if isinstance(arg, Tensor)), None)
    if device is None or not isinstance(result, Tensor) or result.device == device:
        return result
    return moved(result, device)


def on_cpu(name: str, *args: Any) -> Any:
    """Call an operator on the CPU; what it writes into arguments is written where they lie."""
    here = [fetched(arg) for arg in args]
    result = operator(name)(*here)
    for arg, own in zip(args, here, strict=True):
        if own is not arg:
            arg.untyped_storage().copy_(own.untyped_storage())
    return brought(result, args)


def form_of(name: str, args: list[Any], on_cpu: bool = True) -> list[Any]:
    """Return the ``form`` of what an operator really gives."""
    return form(operator(name)(*(map(fetched, args) if on_cpu else args)))


def faked(name: str, args: list[Any], symbolic: bool, device: str = "cpu") -> list[Any]:
    """Call an operator on tensors without values; with ``symbolic`` their sizes are symbols too.

    Any ``device`` will do, also one that this machine lacks. Returns the ``form`` of the result.
    """
    mode = FakeTensorMode(shape_env=ShapeEnv() if symbolic else None, static_shapes=not symbolic)

    here = [fetched(arg) for arg in args]  # in the mode nothing could be

    def fake(arg: Any) -> Any:
        if not isinstance(arg, Tensor):
            return arg
        own = mode.from_tensor(arg)
        if device == "cpu":
            return own
        return torch.empty_strided(own.shape, own.stride(), dtype=own.dtype, device=device)

    with mode:
        return form(operator(name)(*map(fake, here)))


def opcheck(name: str, args: list[Any], wanted: list[int], tests: list[str]) -> list[str]:
    """Let torch look at an operator; return what its ``tests`` find, a line each.

    Arguments at the places ``wanted`` need gradients.
    """
    leaves = _leaves(args, wanted)
    found = torch.library.opcheck(
        operator(name).default, tuple(leaves), test_utils=tests, raise_exception=False
    )
    said = ((test, str(result)) for test, result in found.items() if result != "SUCCESS")
    return [f"{test}: {text.strip().splitlines()[0]}" for test, text in said]


class Counting:
    """A backend of torch.compile that runs graphs as they are, and counts nodes of operators."""

    def __init__(self, names: list[str]) -> None:
        self.targets = [target for name in names for target in _targets(name)]
        self.graphs: list[int] = []

    def __call__(self, graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        """Count, and run the graph by itself."""
        nodes = (node for node in graph.graph.nodes if node.op == "call_function")
        self.graphs.append(sum(node.target in self.targets for node in nodes))
        return graph.forward


def _targets(name: str) -> list[Any]:
    found = operator(name)
    return [found, found.default]


def compiled(names: list[str], cases: list[list[Any]]) -> list[Any]:
    """Compile a function that calls operators in a row, and call it on each case.

    Each operator gets its part of the case's arguments. Returns the results of each case, and the
    number of nodes that are operators of each graph.
    """
    torch.compiler.reset()
    backend = Counting(names)

    def run(*arguments: list[Any]) -> list[Any]:
        return [operator(name)(*part) for name, part in zip(names, arguments, strict=True)]

    function = torch.compile(run, backend=backend, fullgraph=True)
    with torch.no_grad():
        results = [function(*([*map(fetched, part)] for part in case)) for case in cases]
    return [results, backend.graphs]


def _leaves(args: list[Any], wanted: list[int]) -> list[Any]:
    return [
        arg.detach().requires_grad_(index in wanted) if isinstance(arg, Tensor) else arg
        for index, arg in enumerate(map(fetched, args))
    ]


def gradients(name: str, args: list[Any], wanted: list[int], upstream: Tensor) -> list[Any]:
    """Return gradients of ``sum(operator(*args) * upstream)`` for the arguments ``wanted``."""
    leaves = _leaves(args, wanted)
    operator(name)(*leaves).backward(fetched(upstream))
    return [leaves[index].grad for index in wanted]


def gradient_of_square(name: str, x: Tensor, upstream: Tensor) -> Any:
    """Return the gradient of ``sum(operator(x, x) * upstream)`` for x."""
    (leaf,) = _leaves([x], [0])
    operator(name)(leaf, leaf).backward(fetched(upstream))
    return brought(leaf.grad, [x])


def gradients_in_turn(
    name: str, cases: list[list[Any]], upstreams: list[Tensor]
) -> list[list[Any]]:
    """Return gradients for all arguments of each case; all go forward before one goes back."""
    leaves = [_leaves(case, [*range(len(case))]) for case in cases]
    results = [operator(name)(*own) for own in leaves]
    for result, upstream in zip(results, upstreams, strict=True):
        result.backward(fetched(upstream))
    return [[leaf.grad for leaf in own if isinstance(leaf, Tensor)] for own in leaves]


def at_once(name: str, cases: list[list[Any]], seconds: float) -> list[Any]:
    """Call an operator from as many threads as there are cases, again and again.

    Returns the first result of each thread, and whether all of its results were the same.
    """
    barrier = threading.Barrier(len(cases))

    def work(case: list[Any]) -> list[Any]:
        here = [fetched(arg) for arg in case]

        def call() -> Tensor:
            return operator(name)(*(a.clone() if isinstance(a, Tensor) else a for a in here))

        barrier.wait()
        ends, first, same = time.monotonic() + seconds, call(), True
        while same and time.monotonic() < ends:
            same = torch.equal(call(), first)
        return [first, same]

    with ThreadPoolExecutor(len(cases)) as threads:
        return list(threads.map(work, cases))


def on_another_stream(name: str, args: list[Any]) -> list[Any]:
    """Call an operator on a stream of a GPU that has something else to do first.

    The stream brings the arguments too: before, their memory holds other numbers. Returns the
    results, and what the tensors hold afterwards.
    """
    places = [torch.full_like(arg, 7) if isinstance(arg, Tensor) else arg for arg in args]
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(DELAY)
        for place, arg in zip(places, args, strict=True):
            if isinstance(arg, Tensor):
                place.copy_(arg)
        result = operator(name)(*places)
    stream.synchronize()
    return [*_several(result), *(place for place in places if isinstance(place, Tensor))]


def at_the_end(name: str, rows: int, ends: list[Tensor], others: list[Any]) -> list[Tensor]:
    """Call an operator on tensors of so many rows, the last of which are ``ends``, before others.

    All other rows are zeros. Returns those last rows of the results, and of the tensors afterwards.
    """
    first = rows - len(ends[0])
    wholes = [end.new_zeros(rows, *end.shape[1:]) for end in ends]
    for whole, end in zip(wholes, ends, strict=True):
        whole[first:] = end
    results = _several(operator(name)(*wholes, *others))
    return [each[first:].clone() for each in [*results, *wholes]]


def _several(result: Any) -> list[Any]:
    return [*result] if isinstance(result, tuple | list) else [result]


def silu_mul(submission: Any, gate: Tensor, up: Tensor) -> Tensor:
    """Call the operator of that name: so it is timed, beside a function of another file."""
    return operator("inferlab15.silu_mul")(gate, up)
