"""What compilers have made for a submission, as files: out of one of its workers, into the next.

So nothing is compiled twice in a grading, and a race begins where the test of its size has ended.
Whatever lies in them is the submission's own: to the judge it is bytes.
"""

import contextlib
import os
from collections.abc import Collection
from pathlib import Path

import torch
from torch import Tensor

CACHES = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")  # what names the folder of each
MOST_BYTES = 64 << 20  # taken at a time: what is left comes the next time
UNFINISHED = (".", "tmp.", "lock")  # how names of files begin that are being written


def collect(known: Collection[str] = ()) -> tuple[list[str], list[int], Tensor]:
    """Return what the caches hold and the judge does not have yet: up to ``MOST_BYTES`` of it.

    Names of files, the bytes of each, and uint8 of all of them together.
    """
    names: list[str] = []
    parts: list[bytes] = []
    left = MOST_BYTES
    for name, path in _files():
        if name not in known and path.stat().st_size <= left:
            names.append(name)
            parts.append(path.read_bytes())
            left -= len(parts[-1])
    data = b"".join(parts)
    buffer = torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0)
    return names, [len(part) for part in parts], buffer.to(torch.uint8)


def restore(names: list[str], sizes: list[int], data: Tensor) -> None:
    """Lay files into the caches, as ``collect`` returned them.

    What is there stays: a library that is loaded would lose what its loader has written into it.
    """
    with contextlib.suppress(OSError, ValueError, LookupError):  # then it is compiled again
        for name, content in zip(names, data.cpu().split(sizes), strict=True):
            cache, _, rest = name.partition("/")
            path = Path(os.environ[CACHES[int(cache)]], rest)
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.numpy().tobytes())


def _files() -> list[tuple[str, Path]]:
    """Return each file that is finished, with its name: which cache, and where in it."""
    found: list[tuple[str, Path]] = []
    for number, variable in enumerate(CACHES):
        place = Path(os.environ.get(variable, "/nonexistent"))
        for path in sorted(place.rglob("*")):
            parts = path.relative_to(place).parts
            if path.is_file() and not any(part.startswith(UNFINISHED) for part in parts):
                found.append((f"{number}/{'/'.join(parts)}", path))
    return found
