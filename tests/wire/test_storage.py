"""Storages of this process: which of them count as held."""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from grader.wire.storage import held_bytes

CPU = torch.device("cpu")


def test_held_bytes_counts_each_storage_on_the_device_once() -> None:
    before = held_bytes(CPU)
    kept = torch.ones(1000)
    views = [kept[:10], kept.view(10, 100)]

    assert held_bytes(CPU) - before == kept.nbytes
    del kept, views
    assert held_bytes(CPU) == before


def test_held_bytes_passes_over_tensors_without_memory() -> None:
    before = held_bytes(CPU)
    fake = FakeTensorMode().from_tensor(torch.ones(1000))
    meta = torch.ones(1000, device="meta")

    assert fake.device == CPU
    assert meta.device != CPU
    assert held_bytes(CPU) == before
