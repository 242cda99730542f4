"""What named cards can do: what a multiprocessor holds at a time, and how fast a whole card is.

``CARDS`` limits how much of a kernel fits. NVIDIA: CUDA C++ Programming Guide, table of compute
capabilities. AMD: CDNA 3 ISA, and the limits that LLVM's AMDGPU target has for gfx942.

``ROOFS`` are peaks that the makers publish, dense, at boost clocks, which no kernel reaches: A100
80 GB SXM (NVIDIA A100 datasheet), H100 SXM and H200 SXM (their datasheets, whose figures for tensor
cores are halved, being for sparse matrices), GeForce RTX 4090 (Ada GPU architecture whitepaper,
products summed in float32), MI300X (AMD's datasheet). Special functions come at 16 a cycle and
multiprocessor (CUDA C++ Programming Guide, arithmetic instructions, 8.0 to 9.0) or compute unit
(CDNA 3: a quarter of the rate of float32): that many, times multiprocessors, times the clock that
the peak of float32 is for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Card:
    """The limits of one streaming multiprocessor, or of one compute unit; memory in bytes."""

    name: str
    lanes: int  # of a warp
    warps: int
    blocks: int
    registers: int  # of 32 bits, of one of the four schedulers
    granule: int  # registers of a warp are taken in multiples of it
    shared: int
    block_shared: int  # the most that one block may have
    reserved: int = 0  # shared memory of a block that the card itself takes


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How many blocks of a kernel run at a time on a multiprocessor, and what limits them."""

    blocks: int
    warps: int
    limit: str


KIB = 1 << 10
CARDS = {
    "sm_80": Card("A100", 32, 64, 32, 16384, 256, 164 * KIB, 163 * KIB, KIB),
    "sm_90": Card("H100", 32, 64, 32, 16384, 256, 228 * KIB, 227 * KIB, KIB),
    "sm_100": Card("B200", 32, 64, 32, 16384, 256, 228 * KIB, 227 * KIB, KIB),
    "gfx942": Card("MI300X", 64, 32, 16, 512 * 64, 8 * 64, 64 * KIB, 64 * KIB),
}
SCHEDULERS = 4


def occupancy(card: Card, registers: int, shared: int, warps: int) -> Occupancy:
    """Return what fits: ``registers`` of a thread, ``shared`` bytes and ``warps`` of a block."""
    of_warp = -(-registers * card.lanes // card.granule) * card.granule
    fitting = card.registers // of_warp * SCHEDULERS if of_warp else card.warps
    room = card.shared // (shared + card.reserved) if shared else card.blocks
    limits = {
        "warps": card.warps // warps,
        "blocks": card.blocks,
        "registers": min(fitting, card.warps) // warps,
        "shared memory": room if shared <= card.block_shared else 0,
    }
    limit = min(limits, key=lambda name: limits[name])
    return Occupancy(limits[limit], limits[limit] * warps, limit)


@dataclass(frozen=True, slots=True)
class Roof:
    """The peaks of a card, each a second: bytes, FLOPs of float32 outside of tensor cores, others.

    Arithmetic on 16 bits outside of tensor cores counts at the rate of float32. ``matrix`` are
    FLOPs of tensor cores by what they multiply.
    """

    name: str
    bandwidth: float
    vector: float
    double: float
    special: float
    matrix: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds that each part of a card is busy at its peak; they may all work at once."""

    memory: float
    vector: float
    matrix: float
    special: float

    @property
    def least(self) -> float:
        """The seconds that a launch takes at least."""
        return max(self.memory, self.vector, self.matrix, self.special)

    @property
    def bound(self) -> str:
        """What takes them; "" where nothing is done."""
        parts = {
            "memory": self.memory,
            "float32 units": self.vector,
            "tensor cores": self.matrix,
            "special functions": self.special,
        }
        return max(parts, key=lambda name: parts[name]) if self.least else ""


TERA, GIGA = 1e12, 1e9
Matrix = Mapping[str, float]


def _hopper(name: str, bandwidth: float) -> Roof:
    matrix = {"tf32": 494.7, "bf16": 989.4, "fp16": 989.4, "fp8": 1978.9, "int8": 1978.9}
    return _roof(name, bandwidth, 66.9, 33.5, 4.18, {**matrix, "fp64": 66.9})


def _roof(
    name: str, gigabytes: float, vector: float, double: float, special: float, matrix: Matrix
) -> Roof:
    peaks = {kind: peak * TERA for kind, peak in matrix.items()}
    return Roof(name, gigabytes * GIGA, vector * TERA, double * TERA, special * TERA, peaks)


A100 = {"tf32": 156.0, "bf16": 312.0, "fp16": 312.0, "int8": 624.0, "fp64": 19.5}
ADA = {"tf32": 82.6, "bf16": 165.2, "fp16": 165.2, "fp8": 330.3, "int8": 660.6}
MI300X = {"tf32": 653.7, "bf16": 1307.4, "fp16": 1307.4, "fp8": 2614.9, "int8": 2614.9}
ROOFS = (
    _roof("A100", 2039, 19.5, 9.7, 2.44, A100),
    _hopper("H100", 3350),
    _hopper("H200", 4800),
    _roof("RTX 4090", 1008, 82.6, 1.29, 5.16, ADA),
    _roof("MI300X", 5300, 163.4, 81.7, 10.2, {**MI300X, "fp64": 163.4}),
)
# What is multiplied in several steps of another kind, and what a card without a kind does instead.
STEPS = {"tf32x3": ("tf32", 3), "bf16x3": ("bf16", 3), "bf16x6": ("bf16", 6)}
INSTEAD = {"fp8": "fp16"}


def times(
    roof: Roof, moved: int, flops: Mapping[str, int], dots: Mapping[str, int], special: int
) -> Times:
    """Return how long each part of a card is busy with bytes, FLOPs, products and functions.

    Products of a kind that no tensor core of the card has are done outside of them.
    """
    vector = sum(n / (roof.double if kind == "fp64" else roof.vector) for kind, n in flops.items())
    matrix = 0.0
    for kind, count in dots.items():
        kind, steps = STEPS.get(kind, (kind, 1))
        peak = roof.matrix.get(kind) or roof.matrix.get(INSTEAD.get(kind, ""))
        if peak:
            matrix += steps * count / peak
        else:
            vector += count / (roof.double if kind == "fp64" else roof.vector)
    return Times(moved / roof.bandwidth, vector, matrix, special / roof.special)
