"""From rates to lines of the table: medians, spreads, shares of the roof, ratios."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bench.kernels.rounds import summarize


@dataclass(frozen=True, slots=True)
class Line:
    """One peer on one case; ``problem`` says why it has no numbers."""

    case: str
    peer: str
    problem: str = ""
    rate: float | None = None  # tokens/s of all sequences, the median over the rounds
    spread: float | None = None  # width of the middle half of the rounds, as a share of it
    roof: float | None = None  # tokens/s that the bandwidth of a copy allows
    ratio: float | None = None  # to the baseline, the median of the rounds' own ratios
    ratio_spread: float | None = None
    baseline: str = ""  # the peer of ratio 1
    note: str = ""
    copied: float | None = None  # bytes per second that its roof takes, read and written

    @property
    def share(self) -> float | None:
        """Of the roof."""
        return self.rate / self.roof if self.rate and self.roof else None


def lines_of(
    case: str,
    peers: Sequence[str],
    rates: Mapping[str, Sequence[float]],  # by round
    roofs: Mapping[str, float],
    problems: Mapping[str, str],
    baseline: str,
    notes: Mapping[str, str],
) -> list[Line]:
    """One line per peer, in their order."""
    return [
        _line(case, peer, rates[peer], rates.get(baseline), roofs, baseline, notes)
        if peer in rates
        else Line(case, peer, problems.get(peer, "") or "not measured")
        for peer in peers
    ]


def with_copies(lines: Sequence[Line], copied: float) -> list[Line]:
    """The lines of a case, with the bandwidth that their roofs take."""
    return [replace(line, copied=copied) for line in lines]


def _line(
    case: str,
    peer: str,
    rates: Sequence[float],
    base: Sequence[float] | None,
    roofs: Mapping[str, float],
    baseline: str,
    notes: Mapping[str, str],
) -> Line:
    own = summarize(rates)
    ratio = summarize([x / y for x, y in zip(rates, base, strict=True)]) if base else None
    return Line(
        case,
        peer,
        rate=own.median,
        spread=own.spread,
        roof=roofs.get(peer),
        ratio=ratio.median if ratio else None,
        ratio_spread=ratio.spread if ratio else None,
        baseline=baseline if base else "",
        note=notes.get(peer, ""),
    )
