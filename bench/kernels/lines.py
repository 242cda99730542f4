"""From seconds to lines of the table: rates, shares of a copy, ratios to the baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.kernels.case import COPY, Case
from bench.kernels.rounds import speedup, summarize


@dataclass(frozen=True, slots=True)
class Line:
    """One peer on one case; ``problem`` says why it has no numbers."""

    kernel: str
    case: str
    peer: str
    problem: str = ""
    us: float | None = None  # a call, the median over the rounds
    spread: float | None = None  # width of the middle half of the rounds, as a share of it
    rate: float | None = None
    unit: str = ""  # of the rate
    of_copy: float | None = None  # share of the bandwidth of the copy in the same run
    ratio: float | None = None  # times as fast as the baseline
    baseline: str = ""  # the peer of ratio 1


def lines_of(
    case: Case, times: Mapping[str, Sequence[float]], problems: Mapping[str, str]
) -> list[Line]:
    """One line per peer, in the order of the case; ``times`` are seconds a call, by round."""
    return [_line(case, peer.name, times, problems.get(peer.name, "")) for peer in case.peers]


def _line(case: Case, name: str, times: Mapping[str, Sequence[float]], problem: str) -> Line:
    if problem or name not in times:
        return Line(case.kernel, case.name, name, problem or "not measured")
    summary = summarize(times[name])
    work, unit = (case.flops / 1e12, "TFLOP/s") if case.flops else (case.bytes / 1e9, "GB/s")
    baseline = times.get(case.baseline)
    copy = times.get(COPY)
    return Line(
        kernel=case.kernel,
        case=case.name,
        peer=name,
        us=summary.median * 1e6,
        spread=summary.spread,
        rate=work / summary.median,
        unit=unit,
        of_copy=speedup(times[name], copy) if copy else None,
        ratio=speedup(times[name], baseline) if baseline else None,
        baseline=case.baseline,
    )
