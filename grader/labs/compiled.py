"""What a compiler made of one launch of a kernel for one target, as data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from grader.labs.cards import CARDS

FIGURES = ("registers", "spills", "shared", "warps", "stages")
MOST = 1 << 31
ROOM = {card.name: card.block_shared for card in CARDS.values()}
MATRIX = ("mma.sync", "wgmma.mma_async", "tcgen05.mma", "mfma")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel for a target. ``error`` says why there is none; figures are then 0.

    ``missing`` says that nothing was compiled, since the file alone does not make the kernel.
    ``spills`` are bytes of a thread, ``shared`` bytes of a block, ``loads`` the number of global
    load instructions by the bytes that one of them brings to a thread, ``bulk`` whether there are
    copies by TMA, ``matrix`` what multiplies on tensor cores. ``variant`` tells specialisations
    of a kernel apart.
    """

    kernel: str
    line: int
    target: str
    error: str = ""
    variant: str = ""
    registers: int = 0
    spills: int = 0
    shared: int = 0
    warps: int = 1
    stages: int = 0
    loads: dict[int, int] = field(default_factory=dict[int, int])
    bulk: bool = False
    dot: bool = False
    matrix: tuple[str, ...] = ()
    missing: bool = False

    @classmethod
    def of(cls, kernel: str, target: str, told: object) -> "Compiled":
        """Take in what a worker tells; raises ValueError if it has not the form of ours."""
        if not isinstance(told, Mapping):
            raise ValueError(told)
        facts = cast(Mapping[str, Any], told)
        line = _whole(facts.get("line"))
        if "error" in facts:
            missing = facts.get("missing") is True
            return cls(kernel, line, target, error=str(facts["error"])[:200], missing=missing)
        loads, matrix = facts.get("loads") or {}, facts.get("matrix") or []
        if not isinstance(loads, dict) or not isinstance(matrix, list):
            raise ValueError(told)
        sizes = cast(dict[str, Any], loads)
        registers, spills, shared, warps, stages = (_whole(facts.get(name)) for name in FIGURES)
        return cls(
            *(kernel, line, target, "", str(facts.get("key", ""))[:64]),
            *(registers, spills, shared, warps, stages),
            loads={_whole(int(size)): _whole(count) for size, count in sorted(sizes.items())},
            bulk=facts.get("bulk") is True,
            dot=facts.get("dot") is True,
            matrix=tuple(name for name in MATRIX if name in matrix),
        )

    @property
    def excess(self) -> str:
        """Say what of it no card has room for, or return an empty string."""
        name, most = max(ROOM.items(), key=lambda item: item[1])
        if self.shared <= most:
            return ""
        needs = f"a block needs {self.shared >> 10} KiB of shared memory"
        return f"{needs}; the most that a card has is {most >> 10} KiB ({name})"

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value < MOST:
        raise ValueError(value)
    return value
