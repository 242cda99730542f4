"""Rings and shared memory: what both sides see, and the layouts that cross between them."""

import json
import os

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.wire.memory import SharedMemory
from grader.wire.ring import ALIGNMENT, Layout, Spec, slots_of
from grader.worker.calls.harness import Harness

CPU = torch.device("cpu")
DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool]
specs = st.builds(Spec, st.sampled_from(DTYPES), st.lists(st.integers(1, 7), max_size=4).map(tuple))
layouts = st.builds(
    Layout,
    st.lists(specs, min_size=1, max_size=4).map(tuple),
    st.lists(specs, min_size=1, max_size=3).map(tuple),
    st.integers(1, 5),
)


@given(layouts)
def test_layout_survives_the_wire(layout: Layout) -> None:
    assert Layout.from_json(json.loads(json.dumps(layout.to_json()))) == layout


@given(layouts)
def test_no_tensor_of_a_ring_overlaps_another(layout: Layout) -> None:
    memory = torch.zeros(layout.size, dtype=torch.uint8)

    for slot in slots_of(layout, memory):
        for tensor in (*slot.inputs, *slot.outputs):
            # Every byte that belongs to a tensor is counted once, or it would be above 1.
            tensor.reshape(-1).view(torch.uint8).add_(1)

    used = sum(spec.bytes for spec in (*layout.inputs, *layout.outputs)) * layout.slots
    assert int((memory == 1).sum()) == used
    assert int((memory > 1).sum()) == 0


@given(layouts)
def test_tensors_have_the_alignment_of_an_allocation(layout: Layout) -> None:
    memory = torch.zeros(layout.size, dtype=torch.uint8)

    for slot in slots_of(layout, memory):
        for tensor in (*slot.inputs, *slot.outputs):
            assert (tensor.data_ptr() - memory.data_ptr()) % ALIGNMENT == 0


def test_both_ends_see_the_same_bytes() -> None:
    ours = SharedMemory.make(1000, CPU)
    theirs = SharedMemory(os.dup(ours.fd), ours.size, CPU)

    ours.bytes[17] = 4
    theirs.bytes[18] = 5

    assert theirs.bytes[17] == 4
    assert ours.bytes[18] == 5
    ours.close()
    theirs.close()


def test_memory_may_be_closed_twice() -> None:
    memory = SharedMemory.make(10, CPU)

    memory.close()
    memory.close()

    assert memory.bytes.numel() == 0


@pytest.fixture
def harness() -> Harness:
    layout = Layout((Spec(torch.float32, (3, 5)),), (Spec(torch.float32, (3,)),), 4)
    memory = SharedMemory.make(layout.size, CPU)
    for index, slot in enumerate(slots_of(layout, memory.bytes)):
        slot.inputs[0].fill_(index + 1.0)
        slot.outputs[0].fill_(-1.0)
    return Harness(memory, layout)


def outputs(harness: Harness) -> list[float]:
    return [float(slot.outputs[0][0]) for slot in harness._slots]


def test_harness_calls_once_for_each_slot_in_order(harness: Harness) -> None:
    seen: list[float] = []

    def total(x: torch.Tensor, *, factor: float) -> torch.Tensor:
        seen.append(float(x[0, 0]))
        return x.sum(-1) * factor

    harness.run(total, 3, {"factor": 2.0})

    assert seen == [1.0, 2.0, 3.0]
    assert outputs(harness) == [10.0, 20.0, 30.0, -1.0]


def test_null_function_leaves_the_inputs_unread(harness: Harness) -> None:
    harness.run(None, 2, {})

    assert outputs(harness) == [0.0, 0.0, -1.0, -1.0]


@pytest.mark.parametrize("result", [None, (), torch.zeros(4), (torch.zeros(3), torch.zeros(3))])
def test_result_that_does_not_fit_its_slot_is_refused(harness: Harness, result: object) -> None:
    with pytest.raises(ValueError, match="returned"):
        harness.run(lambda x: result, 1, {})


@pytest.mark.gpu
def test_cuda_memory_crosses_by_its_descriptor() -> None:
    cuda = torch.device("cuda")
    ours = SharedMemory.make(1 << 20, cuda)
    theirs = SharedMemory(os.dup(ours.fd), ours.size, cuda)

    ours.bytes.view(torch.bfloat16).fill_(1.5)

    assert ours.bytes.data_ptr() != theirs.bytes.data_ptr()
    assert bool((theirs.bytes.view(torch.bfloat16) == 1.5).all())
    ours.close()
    theirs.close()
