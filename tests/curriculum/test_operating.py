"""What lab 15 gives to look at operators with: each way of asking, on operators made here."""

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from labs import operating

NAMES = (f"operating_test_{number}" for number in itertools.count())


class Made:
    """A library with one operator, ``scale(Tensor x, float by) -> Tensor``."""

    def __init__(self, kernel: Any) -> None:
        namespace = next(NAMES)
        self.name = f"{namespace}.scale"
        self.library = torch.library.Library(namespace, "DEF")
        self.library.define("scale(Tensor x, float by) -> Tensor")
        self.library.impl("scale", kernel, "CPU")

    def fake(self, function: Any) -> None:
        torch.library.register_fake(self.name.replace(".", "::"), function, lib=self.library)

    def gradient(self, backward: Any, keep: Any) -> None:
        torch.library.register_autograd(
            self.name.replace(".", "::"), backward, setup_context=keep, lib=self.library
        )


@pytest.fixture
def made() -> Iterator[Made]:
    made = Made(lambda x, by: (x * by).contiguous())
    made.fake(lambda x, by: torch.empty(x.shape, dtype=x.dtype, device=x.device))
    yield made
    made.library._destroy()


def test_an_operator_is_found_with_its_schema(made: Made) -> None:
    namespace = made.name.partition(".")[0]

    assert operating.schema(made.name) == f"{namespace}::scale(Tensor x, float by) -> Tensor"
    assert torch.equal(operating.on_cpu(made.name, torch.ones(2), 3.0), torch.full((2,), 3.0))


def test_forms_are_those_of_results(made: Made) -> None:
    x = torch.ones(3, 2).t()

    assert operating.form(x) == [[2, 3], [1, 2], "torch.float32", "cpu"]
    assert operating.form_of(made.name, [x, 2.0]) == [[2, 3], [3, 1], "torch.float32", "cpu"]
    assert operating.form((x, x)) == [operating.form(x)] * 2


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_fake_is_asked_on_any_device(made: Made, symbolic: bool, device: str) -> None:
    x = torch.ones(3, 2).bfloat16().t()

    got = operating.faked(made.name, [x, 2.0], symbolic, device)

    assert got == [[2, 3], [3, 1], "torch.bfloat16", device]


def test_a_fake_that_reads_a_value_is_told() -> None:
    made = Made(lambda x, by: x * by)
    made.fake(lambda x, by: torch.empty_like(x) if float(x.sum()) else x)

    with pytest.raises(RuntimeError):
        operating.faked(made.name, [torch.ones(2), 2.0], False)


def test_opcheck_finds_strides_that_differ() -> None:
    made = Made(lambda x, by: (x * by).contiguous())
    made.fake(lambda x, by: torch.empty_like(x))
    args = [torch.ones(3, 2).t(), 2.0]

    assert operating.opcheck(made.name, args, [], ["test_schema"]) == []
    (found,) = operating.opcheck(made.name, args, [], ["test_faketensor"])
    assert found.startswith("test_faketensor: ")


def test_graphs_and_their_nodes_are_counted(made: Made) -> None:
    cases = [[[torch.ones(rows, 2), 3.0], [torch.ones(rows), 2.0]] for rows in (3, 4, 6)]

    results, graphs = operating.compiled([made.name, made.name], cases)

    assert set(graphs) == {2}
    assert len(graphs) <= 2
    assert torch.equal(results[2][0], torch.full((6, 2), 3.0))


def keep(ctx: Any, inputs: Any, output: Tensor) -> None:
    ctx.by = inputs[1]


def test_gradients_come_for_what_wants_them(made: Made) -> None:
    made.gradient(lambda ctx, dy: (dy * ctx.by, None), keep)
    x, dy = torch.ones(2, 3), torch.arange(6.0).view(2, 3)

    assert torch.equal(operating.gradients(made.name, [x, 2.0], [0], dy)[0], 2 * dy)
    assert not x.requires_grad
    got = operating.gradients_in_turn(made.name, [[x, 2.0], [x, 3.0]], [dy, dy])
    (first,), (second,) = got
    assert torch.equal(first, 2 * dy)
    assert torch.equal(second, 3 * dy)


def test_threads_that_share_memory_are_told() -> None:
    shared = torch.zeros(1)

    def kernel(x: Tensor, by: float) -> Tensor:
        shared.fill_(by)
        time.sleep(0.001)
        return x * shared

    mixed, alone = Made(kernel), Made(lambda x, by: x * by)
    cases = [[torch.ones(4), 1.0], [torch.ones(4), 2.0]]

    assert not all(same for _, same in operating.at_once(mixed.name, cases, 0.3))
    told = operating.at_once(alone.name, cases, 0.05)
    assert all(same for _, same in told)
    assert [float(first[0]) for first, _ in told] == [1.0, 2.0]


def test_a_function_is_called_once() -> None:
    calls: list[int] = []

    def register() -> None:
        calls.append(1)

    operating.once(register)
    operating.once(register)

    assert calls == [1]


def test_tensors_on_the_cpu_are_passed_as_they_are(made: Made) -> None:
    x = torch.arange(12.0).view(3, 4)[:, 1::2]

    assert operating.fetched(x) is x
    assert operating.fetched(2.0) == 2.0


@pytest.mark.gpu
def test_on_a_gpu_the_cpu_answers_and_what_it_says_comes_back(made: Made) -> None:
    x = torch.arange(12.0).view(3, 4)[:, 1::2].cuda()

    got = operating.on_cpu(made.name, x, 3.0)

    assert (got.device, got.tolist()) == (x.device, (x * 3).tolist())
    assert operating.moved(x, torch.device("cpu")).stride() == x.stride()
    assert operating.brought((x.cpu(), 1), [2.0, x])[0].device == x.device
