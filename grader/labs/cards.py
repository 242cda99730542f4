"""What a multiprocessor of named cards holds, and how much of a kernel fits onto one at a time."""

from dataclasses import dataclass


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
# NVIDIA: CUDA C++ Programming Guide, table of compute capabilities. AMD: CDNA 3 ISA, and the limits
# that LLVM's AMDGPU target has for gfx942.
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
