"""What can be read in a compiled kernel: registers, spills, shared memory, loads, tensor cores."""

import io
import re
from collections import Counter
from typing import Any

PTX_LOAD = re.compile(r"\bld\.global[\w:.]*?(?:\.v(?P<many>\d))?\.[bfsu](?P<bits>\d+)\b")
PTX_COPY = re.compile(r"\bcp\.async\.c[ag]\.shared\.global\S* [^,]+,[^,]+, *(?P<bytes>\w+)")
PTX_TENSOR = re.compile(r"\b(wgmma\.mma_async|tcgen05\.mma|mma\.sync)")
PTX_BULK = "cp.async.bulk"
AMD_LOAD = re.compile(
    r"\b(?:global|buffer|flat)_load_(?P<kind>dwordx[234]|dword|[us]?short|[us]byte)"
)
AMD_BYTES = {"dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16}
DOT = re.compile(r"\btt\.dot(?:_scaled)?\b")


def from_ptx(compiled: Any, log: io.StringIO) -> dict[str, Any]:
    """Return the figures of a kernel for an NVIDIA GPU; ``log`` is what ``ptxas -v`` said."""
    text, said = compiled.asm["ptx"], log.getvalue()
    loads = Counter(
        int(found["bits"]) // 8 * int(found["many"] or 1) for found in PTX_LOAD.finditer(text)
    )
    loads.update(int(found["bytes"], 0) for found in PTX_COPY.finditer(text))
    return {
        "registers": _number(r"Used (\d+) registers", said),
        "spills": _number(r"(\d+) bytes spill stores", said),
        "loads": {str(size): count for size, count in loads.items()},
        "bulk": PTX_BULK in text,
        "matrix": sorted(set(PTX_TENSOR.findall(text))),
        **_of_all(compiled, 32),
    }


def from_amdgcn(compiled: Any) -> dict[str, Any]:
    """Return the figures of a kernel for an AMD GPU; spills are in bytes of a lane."""
    text = compiled.asm["amdgcn"]
    loads = Counter(
        AMD_BYTES.get(found["kind"], 1 if "byte" in found["kind"] else 2)
        for found in AMD_LOAD.finditer(text)
    )
    return {
        "registers": _number(r"\.vgpr_count: +(\d+)", text),
        "spills": 4 * _number(r"\.vgpr_spill_count: +(\d+)", text),
        "loads": {str(size): count for size, count in loads.items()},
        "bulk": False,
        "matrix": ["mfma"] if "v_mfma" in text else [],
        **_of_all(compiled, 64),
    }


def _of_all(compiled: Any, lanes: int) -> dict[str, Any]:
    metadata = compiled.metadata
    return {
        "shared": int(metadata.shared),
        "warps": int(metadata.num_warps),
        "stages": int(metadata.num_stages),
        "lanes": lanes,
        "dot": bool(DOT.search(compiled.asm["ttir"])),
    }


def _number(pattern: str, text: str) -> int:
    """Return the largest number that a pattern finds; functions that are called are told too."""
    return max(map(int, re.findall(pattern, text)), default=0)
