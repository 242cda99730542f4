"""The given tape of lab 11 behaves as a CUDA graph does."""

import pytest
import torch
from torch import Tensor

from labs.tape import Tape, make_graph_for


def test_a_replay_repeats_operators_on_the_same_memory():
    x, memory = torch.tensor([1.0, 2.0]), torch.zeros(3)
    factor = 2.0
    graph = Tape()
    with graph.capture():
        y = (x * factor).view(2, 1).sum(1)
        memory[1] = y.sum()
    factor = 50.0  # what the capture has seen stays

    graph.replay()
    first = y.clone(), memory.clone()
    x.copy_(torch.tensor([10.0, 20.0]))
    graph.replay()

    assert first[0].tolist() == [2.0, 4.0]
    assert first[1].tolist() == [0.0, 6.0, 0.0]
    assert (y.tolist(), memory.tolist()) == ([20.0, 40.0], [0.0, 60.0, 0.0])
    assert graph.replays == 2


def test_a_capture_writes_nothing_that_was_there():
    memory, index = torch.zeros(4), torch.tensor([2])
    graph = Tape()
    with graph.capture():
        memory.index_put_((index,), torch.ones(1))
        memory += 1
        y = memory * 1
        own = torch.empty(1, dtype=torch.int64)
        own.copy_(index)
        picked = memory[own]

    assert memory.tolist() == [0.0] * 4
    assert torch.isnan(torch.cat((y, picked))).all()
    graph.replay()
    assert memory.tolist() == y.tolist() == [1.0, 1.0, 2.0, 1.0]
    assert picked.tolist() == [2.0]


@pytest.mark.parametrize(
    "look",
    [
        lambda x: x.sum().item(),
        lambda x: bool(x[0] > 1),
        lambda x: x.nonzero(),
        lambda x: x[x > 1],
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        lambda x: torch.equal(x, x + 1),
    ],
)
def test_what_reads_values_is_refused(look):
    graph, x = Tape(), torch.ones(3)

    with pytest.raises(RuntimeError, match="reads values"), graph.capture():
        look(x)
    with pytest.raises(RuntimeError, match="nothing was captured"):
        graph.replay()


def test_a_graph_is_captured_once():
    graph, x = Tape(), torch.ones(3)
    with graph.capture():
        x * 2

    with pytest.raises(RuntimeError, match="captured once"), graph.capture():
        pass


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.split(x.view(2, 3) * 2, [1, 2], dim=1)[1].contiguous(),
        lambda x: torch.where(x > 2, x, x.neg()).view(3, 2).mT.reshape(6).softmax(0),
        lambda x: torch.add(x, 1, out=torch.empty(6)).unsqueeze_(0).cumsum(1),
        lambda x: x.topk(3).values + x.sort(descending=True).indices[:3],
        lambda x: torch.stack(x.unbind()).clamp(min=2).masked_fill(x < 3, -1.0),
    ],
)
def test_operators_of_many_kinds(function):
    x: Tensor = torch.arange(6.0)
    graph = Tape()
    with graph.capture():
        y = function(x)
    for shift in (0.0, 3.0, -1.5):
        x.copy_(torch.arange(6.0).flip(0) + shift)
        graph.replay()
        assert torch.equal(y, function(x))


def test_make_graph_for_a_cpu():
    assert make_graph_for("cpu") is Tape
