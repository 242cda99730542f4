"""Tensors that lie gigabytes apart: what an offset in int32 makes of an address is nobody's."""

from pathlib import Path

import pytest
import torch

from grader.worker.calls import sparse

FAR = 1 << 29


def mapping_of(address: int) -> str:
    """Return the line of the mapping that holds an address."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if start <= address < end:
            return line
    return ""


@pytest.mark.parametrize("dtype", [torch.int8, torch.bfloat16, torch.float32], ids=str)
def test_what_wraps_around_points_to_no_other_tensor(dtype: torch.dtype) -> None:
    values = torch.arange(10).reshape(5, 2).to(dtype)

    several = [sparse.apart(values, [FAR, 1]) for _ in range(3)]

    taken = [(x.data_ptr(), x[-1, -1].data_ptr()) for x in several]
    for x in several:
        assert torch.equal(x, values)
        assert x.storage_offset() == 0
        wrapped = x.data_ptr() + (4 * FAR - 2**32) * dtype.itemsize
        assert mapping_of(wrapped) == mapping_of(x.data_ptr())
        assert not any(first <= wrapped <= last for first, last in taken)
