"""What Triton has compiled for a submission, as files: out of one of its workers, into the next.

So a race begins where the test of its size has ended, and nothing is compiled while it has the GPU
alone. Whatever lies in them is the submission's own: to the judge it is bytes.
"""

import os
from pathlib import Path

import torch
from torch import Tensor

MOST_BYTES = 64 << 20


def collect() -> tuple[list[str], list[int], Tensor]:
    """Return what Triton's cache holds, or nothing if that is more than ``MOST_BYTES``.

    Names of files, the bytes of each, and uint8 of all of them together.
    """
    place = _place()
    found = {path: path.read_bytes() for path in sorted(place.glob("*/*")) if path.is_file()}
    data = b"".join(found.values())
    if not data or len(data) > MOST_BYTES:
        return [], [], torch.empty(0, dtype=torch.uint8)
    names = [str(path.relative_to(place)) for path in found]
    sizes = [len(content) for content in found.values()]
    return names, sizes, torch.frombuffer(bytearray(data), dtype=torch.uint8)


def restore(names: list[str], sizes: list[int], data: Tensor) -> None:
    """Lay files into Triton's cache, as ``collect`` returned them.

    What is there stays: a library that is loaded would lose what its loader has written into it.
    """
    for name, content in zip(names, data.cpu().split(sizes), strict=True):
        path = _place() / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.numpy().tobytes())


def _place() -> Path:
    return Path(os.environ["TRITON_CACHE_DIR"])
