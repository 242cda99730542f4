"""A backend that tells graphs, and the referee that runs them where they were not made."""

import logging
import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from grader.worker.compiling.graphs import LOGGER, MAX_CONSTANTS, Backend
from grader.worker.compiling.referee import MAX_ELEMENTS, MAX_NODES, Referee, Refused

CPU = torch.device("cpu")


def named(backend: Backend, weight: Tensor, memory: Tensor) -> None:
    """Let a backend know a module of one weight, and a list of one memory."""
    module = nn.Module()
    module.weight = nn.Parameter(weight, requires_grad=False)
    backend.name(module, memory=(SimpleNamespace(all=[memory]), "all"))


def told_by(function: Any, weight: Tensor, memory: Tensor, x: Tensor, **options: Any) -> Any:
    """Return the backend, and what it tells of one call of a compiled function."""
    backend = Backend()
    named(backend, weight, memory)
    compiled = torch.compile(function, backend=backend, **options)
    return backend, backend.watch(compiled, x=x)


def run(graph: Any, **values: Tensor) -> list[Any]:
    return Referee(CPU).run(graph, {"model.weight": torch.ones(3), **values})


@pytest.mark.parametrize("dynamic", [None, True])
def test_graph_works_on_other_memory(dynamic):
    weight, memory = torch.tensor([1.0, 2.0, 3.0]), torch.zeros(5, 3)

    def step(x: Tensor) -> Tensor:
        memory[x] = weight * 1.5
        return memory.sum(0) ** 0.5

    backend, (_, runs, graph) = told_by(step, weight, memory, torch.tensor([4]), dynamic=dynamic)
    results, after = run(
        graph,
        **{"model.weight": 2 * weight, "memory.0": torch.ones(5, 3), "x": torch.tensor([1])},
    )

    want = torch.ones(5, 3)
    want[1] = 3 * weight
    assert (backend.calls, runs) == (1, 1)
    assert torch.equal(after["memory.0"], want)
    assert torch.allclose(results[0], want.sum(0).sqrt())
    assert torch.equal(memory[4], weight * 1.5)  # the call itself was made, once


def test_shapes_are_those_of_the_last_run():
    weight = torch.ones(3)
    backend = Backend()
    doubled = torch.compile(lambda x: x * weight, backend=backend)

    shapes: list[list[list[int]]] = [backend.shapes()]
    for rows in (4, 5, 2):
        doubled(torch.ones(rows, 3))
        shapes.append(sorted(backend.shapes()))

    assert shapes == [[], [[3], [4, 3]], [[3], [5, 3]], [[2, 3], [3]]]


def test_views_of_one_memory_stay_views():
    weight, block = torch.ones(3), torch.zeros(2, 4, 3)
    first, second = block

    def step(x: Tensor) -> Tensor:
        first[x] = 7.0
        return second + first

    backend = Backend()
    module = nn.Module()
    module.weight = nn.Parameter(weight, requires_grad=False)
    backend.name(module, memory=(SimpleNamespace(all=[first, second]), "all"))
    told = backend.watch(torch.compile(step, backend=backend), x=torch.tensor([2]))[2]

    held = torch.arange(12.0).view(4, 3)
    results, after = run(told, **{"memory.0": held, "memory.1": 2 * held, "x": torch.tensor([0])})

    held[0] = 7.0
    assert torch.equal(after["memory.0"], held)
    assert torch.equal(after["memory.1"][1:], 2 * held[1:])
    assert torch.equal(results[0], after["memory.1"] + held)


def test_what_is_baked_in_shows():
    first = torch.tensor([2])

    def step(x: Tensor) -> Tensor:
        return x + first  # an input of the graph that nobody has named: a constant

    _, (_, _, graph) = told_by(step, torch.ones(3), torch.zeros(5, 3), torch.tensor([4]))

    assert run(graph, x=torch.tensor([10]))[0][0].tolist() == [12]


def test_constants_have_a_limit():
    large = torch.zeros(MAX_CONSTANTS // 4 + 1)
    told = told_by(lambda x: x + large[0], torch.ones(3), torch.zeros(2, 3), torch.ones(1))[1][2]

    assert "are allowed" in told["problem"]


def test_runs_that_break_are_counted():
    def step(x: Tensor) -> Tensor:
        y = x * 2
        torch._dynamo.graph_break()
        return y + 1

    backend, (result, runs, _) = told_by(step, torch.ones(3), torch.zeros(2, 3), torch.ones(1))

    assert (backend.calls, runs, result.tolist()) == (2, 2, [3.0])


def compiled_often(function: Any, *cases: tuple[Any, ...], **options: Any) -> list[Any]:
    """Compile a function for each of the cases, as a rule, and return the counts."""
    backend = Backend()
    compiled = torch.compile(function, backend=backend, **options)
    for case in cases:
        compiled(*case)
    return backend.counts()


def test_guards_that_failed_are_told():
    def step(x: Tensor, place: int) -> Tensor:
        return x * place

    line = step.__code__.co_firstlineno + 1
    x = torch.ones(2)

    assert compiled_often(step, (x, 3), (x, 3)) == [1, 2, []]
    assert compiled_often(step, (x, 3), (x, 4), (x, 5)) == [
        *(2, 3, [f"place == 3 (line {line}, in step)"]),
    ]
    assert compiled_often(step, (x, 3), (torch.ones(5), 3))[2] == [
        "tensor 'x' size mismatch at index 0. expected 2, actual 5"
    ]


def test_limit_of_torch_is_told_once_and_by_us(monkeypatch):
    logged: list[str] = []
    handler = SimpleNamespace(level=0, handle=lambda record: logged.append(record.getMessage()))
    monkeypatch.setattr(logging.getLogger(LOGGER), "handlers", [handler])

    def step(x: Tensor, place: int) -> Tensor:
        return x * place

    cases = [(torch.ones(2), place) for place in range(2, 12)]
    with torch._dynamo.config.patch(recompile_limit=8):  # others may have set it in this process
        calls, runs, told = compiled_often(step, *cases, dynamic=False)

    assert (calls, runs, len(told)) == (8, 8, 3)
    assert told[0].startswith("place == 2 ")
    assert "recompile_limit" in told[2]
    assert logged == []


def test_breaks_of_a_graph_are_told():
    def step(x: Tensor) -> Tensor:
        y = x * 2
        torch._dynamo.graph_break()
        return y + 1

    line = step.__code__.co_firstlineno + 2

    assert compiled_often(step, (torch.ones(1),)) == [
        *(2, 2, [f"the graph breaks in step, at line {line}"]),
    ]
    backend = Backend("/submission/compiled.py")
    torch.compile(step, backend=backend)(torch.ones(1))
    assert backend.counts()[2] == [f"the graph breaks in step, at line {line} of test_graphs.py"]


@pytest.mark.parametrize(
    ("look", "by"),
    [
        (lambda x: x.max().item(), ".item(), int(tensor) or `if tensor`"),
        (lambda x: bool(x[0] > 0), ".item(), int(tensor) or `if tensor`"),
        (lambda x: x.tolist(), ".tolist()"),
        (lambda x: x.shape[0], None),
    ],
)
def test_reads_are_seen(look, by):
    backend = Backend()
    inner = torch.compile(lambda x: x * 1.5, backend=backend)

    def step(x: Tensor) -> Tensor:
        look(x)
        return inner(x)

    step(torch.ones(2))

    assert backend.reads(step, torch.ones(2)) == ([] if by is None else [by])
    assert backend.counts()[:2] == [1, 2]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize(
    ("factor", "count"), [(lambda step, _x: step.factor, 0), (lambda _, x: x[0].item(), 1)]
)
def test_a_float_of_the_program_is_not_read_and_one_of_a_tensor_is(mode, factor, count):
    step, backend = SimpleNamespace(factor=1.5), Backend()

    @torch.compile(backend=backend, dynamic=True, fullgraph=True)
    def scaled(x: Tensor) -> Tensor:
        return x * factor(step, x)

    with mode():
        scaled(torch.ones(3, dtype=torch.float64))
        reads = backend.reads(scaled, torch.ones(3, dtype=torch.float64))

    assert len(reads) == count


@pytest.mark.parametrize("fullgraph", [True, False])
def test_line_that_reads_is_told(fullgraph: bool):
    def step(x: Tensor) -> Tensor:
        y = x * 2
        return y + int(x[1])

    backend, line = Backend(__file__), step.__code__.co_firstlineno + 2
    compiled = torch.compile(step, backend=backend, fullgraph=fullgraph)
    compiled(torch.tensor([1, 2]))

    (read,) = backend.reads(compiled, torch.tensor([3, 4]))
    assert read == f".item(), int(tensor) or `if tensor` (line {line})"


def graph_of(*nodes: list[Any], size: int = 4, shape: tuple[int, ...] = (1,)) -> dict[str, Any]:
    """A graph by hand on one memory of float32, called x; its result is the last node."""
    form = [0, torch.float32, [*shape], [1] * len(shape), 0]
    return {
        "named": [["x", *form]],
        "storages": [[size, None]],
        "nodes": [["input", form, {}], *nodes],
        "output": [{"node": len(nodes)}],
    }


X = {"node": 0}


@pytest.mark.parametrize(
    ("graph", "says"),
    [
        (graph_of(["aten.rand.default", [[3]], {}]), "none of the operators"),
        (graph_of(["aten.from_file.default", ["/etc/passwd"], {}]), "none of the operators"),
        (graph_of(["aten.add.Nothing", [X, 1], {}]), "none of the operators"),
        (graph_of(["prims.add.default", [X, 1], {}]), "none of the operators"),
        (graph_of(*[["aten.neg.default", [X], {}]] * MAX_NODES), "nodes"),
        (graph_of(["aten.ones.default", [[10**9]], {}]), "makes a tensor of 1,000,000,000"),
        (graph_of(["aten.expand.default", [X, [MAX_ELEMENTS + 1]], {}]), "makes a tensor of"),
        (graph_of(*[["aten.ones.default", [[1 << 22]], {}]] * 40), "more than"),
        (graph_of(["aten.as_strided.default", [X, [9], [1]], {}]), "aten.as_strided.default fails"),
        (graph_of(["aten.add.Tensor", ["x", 1], {}]), "aten.add.Tensor fails"),
        (graph_of(size=1 << 40), "bytes"),
        (graph_of(shape=(9,)), "does not lie in its memory"),
        (graph_of(size=-4), "bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refused(graph, says):
    with pytest.raises(Refused, match=says):
        Referee(CPU).run(graph, {"x": torch.ones(1)})


def test_broadcasts_have_a_limit():
    row = ["aten.ones.default", [[1, 4_000]], {}]
    column = ["aten.ones.default", [[4_000, 1]], {}]
    graph = graph_of(row, column, ["aten.mul.Tensor", [{"node": 1}, {"node": 2}], {}])

    with pytest.raises(Refused, match=f"makes a tensor of {4_000**2:,} elements"):
        Referee(CPU).run(graph, {})


def test_results_are_sent_row_by_row():
    graph = graph_of(["aten.neg.default", [X], {}])

    results, named_after = Referee(CPU).run(graph, {"x": torch.tensor([2.0])})

    assert results[0].tolist() == [-2.0]
    assert math.prod(named_after["x"].stride()) == 1
