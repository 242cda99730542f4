"""What speed earns: ratios to a baseline and the share of the points that each brings."""

from collections.abc import Iterator
from dataclasses import dataclass

from grader.labs.toml import Table


@dataclass(frozen=True, slots=True)
class Tier:
    """A ratio to reach, and the per cent of a case's points that this step adds."""

    ratio: float
    share: float


@dataclass(frozen=True, slots=True)
class Ladder:
    """The tiers of one group of cases, lowest ratio first; the shares add up to 100."""

    name: str
    tiers: tuple[Tier, ...]

    @property
    def ratios(self) -> tuple[float, ...]:
        """The ratios to reach."""
        return tuple(tier.ratio for tier in self.tiers)


@dataclass(frozen=True, slots=True)
class Rung:
    """One tier as the parameter of a test."""

    task: str
    ladder: Ladder
    tier: Tier

    def __str__(self) -> str:
        return f"x{self.tier.ratio:g}"


def read_ladder(table: Table) -> Ladder:
    """Read one ``[[tasks.tiers]]``: its steps give ratio and cumulative share."""
    name = table.text("name")
    steps = [(step, step.number("ratio"), step.number("share")) for step in table.tables("steps")]
    table.finish()
    tiers: list[Tier] = []
    reached = 0.0
    for step, ratio, share in steps:
        step.finish()
        if tiers and ratio <= tiers[-1].ratio:
            raise step.error("ratio", "must be larger than that of the step before")
        if share <= reached:
            raise step.error("share", "must be larger than that of the step before")
        tiers.append(Tier(ratio, share - reached))
        reached = share
    if reached != 100:
        raise table.error("steps", f"the last share must be 100, not {reached:g}")
    return Ladder(name, tuple(tiers))


def repeated(ladders: tuple[Ladder, ...]) -> Iterator[str]:
    """Name each ladder that occurs twice."""
    names = [ladder.name for ladder in ladders]
    return (name for name in dict.fromkeys(names) if names.count(name) > 1)
