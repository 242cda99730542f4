"""What a measured race says: is it believable, how near to the roof, what bounds the kernel."""

import statistics
from dataclasses import dataclass
from typing import Any

from grader.labs.tiers import Rung
from grader.timing.race import Race
from grader.timing.roofline import Roofline
from grader.timing.trial import Timing

# The GPU's cache can hold back a part of the traffic until the clock has stopped: only below this
# share of the physical floor does it explain nothing any more.
BELIEVABLE = 0.8
DISTURBED = 0.1  # the baseline's slowdown beside the submission that a person should hear of
# Said to whoever grades, a student on their own machine too: it blames nobody.
UNTIL_LOOKED_AT = "the tier counts as missed until your instructor has looked, who decides"
NEAR_THE_ROOF = 0.6  # share of the roof from which on it is what bounds the kernel


@dataclass(frozen=True, slots=True)
class Outcome:
    """A race that has been measured."""

    timing: Timing
    suspicious: str  # what is not plausible about it, or ""


def judged(race: Race, timing: Timing, roofline: Roofline) -> Outcome:
    """Hold a measurement against what is physically possible."""
    floor = roofline.floor(race.bytes, race.flops)
    seconds = statistics.median(timing.student)
    if seconds >= BELIEVABLE * floor:
        return Outcome(timing, "")
    needs = "compute" if race.flops / roofline.matmul > race.bytes / roofline.bandwidth else "move"
    return Outcome(
        timing,
        f"the measurement of {race.function} at {race.case} is not plausible:"
        f" {seconds * 1e6:.0f} us a call, where this GPU takes {floor * 1e6:.0f} us to {needs}"
        " the least that a call must",
    )


def describe(race: Race, rung: Rung, outcome: Outcome, roofline: Roofline) -> dict[str, Any]:
    """Return the entry of a race in the report's ``extras["speed"]``."""
    timing, ratio = outcome.timing, outcome.timing.ratio
    own, base = statistics.median(timing.student), statistics.median(timing.baseline)
    computes = race.flops / roofline.matmul > race.bytes / roofline.bandwidth
    work = race.flops / 1e12 if computes else race.bytes / 1e9
    roof = roofline.matmul / 1e12 if computes else roofline.bandwidth / 1e9
    share = work / own / roof
    notes: list[str] = []
    if timing.disturbance > DISTURBED:
        notes.append(
            f"the baseline was {timing.disturbance:.0%} slower beside the submission than alone;"
            " it counts as fast as alone"
        )
    return {
        "task": rung.task,
        "group": rung.ladder.name,
        "case": race.case,
        "function": race.function,
        "size": race.size,
        "axis": race.axis,
        "unit": "TFLOP/s" if computes else "GB/s",
        "ratio": round(ratio.median, 3),
        "low": round(ratio.low, 3),
        "high": round(ratio.high, 3),
        "tiers": {f"{step:g}": ratio.reaches(step) for step in rung.ladder.ratios},
        "blocks": len(timing.student),
        "student_us": round(own * 1e6, 1),
        "baseline_us": round(base * 1e6, 1),
        "baseline_events_us": round(timing.events * 1e6, 1),
        "null_us": round(timing.null * 1e6, 1),
        "rate": round(work / own, 1),
        "baseline_rate": round(work / base, 1),
        "roofline": round(roof, 1),
        "share": round(share, 3),
        "bound": bound(share, computes),
        "suspicious": outcome.suspicious,
        "notes": notes,
    }


def bound(share: float, computes: bool) -> str:
    """Say in words what bounds a kernel that reaches this share of its roof."""
    roof = "a matmul computes" if computes else "a copy moves"
    kind = "arithmetic" if computes else "memory bandwidth"
    if share >= NEAR_THE_ROOF:
        return f"{kind}, at {share:.0%} of what {roof} on this GPU"
    less = "idle tensor cores" if computes else "bytes moved twice, too few loads in flight"
    return f"not {kind} yet, at {share:.0%} of what {roof}: look for {less}, or launches"
