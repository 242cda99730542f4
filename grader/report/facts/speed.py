"""What every form of a report says of the measured speed: words and numbers, no layout.

A grading without a GPU has no ``extras["speed"]`` and no ``extras["gpu"]``; nothing is shown then.
"""

from collections.abc import Mapping

from grader.labs.results import Report
from grader.languages.language import say, word
from grader.report.facts.measured import SpeedCase, number_of, speed_cases, table_of, text_of
from grader.report.facts.notices import Level, Notice

MICROSECOND = "µs"
HEAD = (
    *(word("case"), "ratio to the baseline", word("rate"), "of roofline", word("yours")),
    *(word("baseline"), "bound by"),
)
SHORT_HEAD = (word("case"), word("ratio"), word("rate"), word("roof"), "bound by")
RATIO_MEANS = (
    "Ratio: the baseline's time over yours, above 1 is faster; in brackets the 95 % interval. "
    "Roofline: what this GPU reaches when it only copies or only multiplies."
)


def row(case: SpeedCase) -> tuple[str, ...]:
    """The cells below ``HEAD``."""
    return (
        case.name,
        _ratio(case),
        with_unit(case.rate, case.unit),
        _share(case),
        with_unit(case.student_us, MICROSECOND),
        with_unit(case.baseline_us, MICROSECOND),
        say(case.bound) or "-",
    )


def short_row(case: SpeedCase) -> tuple[str, ...]:
    """The cells below ``SHORT_HEAD``, to fit 80 columns: only the name of what bounds the case."""
    name, ratio, rate, share, *_, bound = row(case)
    ratio = say("not plausible") if case.suspicious else ratio.replace(" to ", "-")
    return name, ratio, rate, share, bound.partition(",")[0]


def _ratio(case: SpeedCase) -> str:
    if case.ratio is None:
        return "-"
    shown = f"{case.ratio:.2f}"
    if case.low is not None and case.high is not None:
        shown += f" ({case.low:.2f} to {case.high:.2f})"
    return say(f"{shown}, not plausible: counts as missed") if case.suspicious else shown


def _share(case: SpeedCase) -> str:
    return "-" if case.share is None else f"{100 * case.share:.0f} %"


def with_unit(value: float | None, unit: str) -> str:
    """A measured value, to the three digits that measuring is good for."""
    return "-" if value is None else f"{significant(value)} {unit}".strip()


def significant(value: float) -> str:
    """Three digits, and never an exponent before the decimal point: 3550, 151, 0.84."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def suspicions(report: Report) -> tuple[Notice, ...]:
    """One warning per case that was faster than the hardware allows; it blames nobody."""
    return tuple(
        Notice(
            Level.WARNING,
            say(f"{case.name}, its tiers count as missed: {case.suspicious.rstrip('. ')}."),
            say("where points count, your instructor looks at it and decides"),
        )
        for case in speed_cases(report)
        if case.suspicious
    )


def speed_notes(report: Report) -> tuple[str, ...]:
    """What was noticed while measuring, each remark once with the cases that it is about."""
    names: dict[str, list[str]] = {}
    for case in speed_cases(report):
        for note in dict.fromkeys(case.notes):
            names.setdefault(note, []).append(case.name)
    return tuple(f"{'; '.join(names[note])}: {say(note)}" for note in names)


def gpu_line(report: Report) -> str:
    """The GPU and its state in one line; empty if the report names none."""
    gpu = table_of(report.extras.get("gpu"))
    if not gpu:
        return ""
    known = {key: number_of(value) for key, value in gpu.items()}
    parts = [
        text_of(gpu.get("name")) or say("unnamed GPU"),
        _fact("driver {}", text_of(gpu.get("driver"))),
        _fact("copies {} GB/s", _digits(known.get("bandwidth_gbs"))),
        _fact("multiplies {} TFLOP/s", _digits(known.get("matmul_tflops"))),
        _clock(known),
        _fact("{} °C", _digits(known.get("temperature_c"))),
        _fact("{} W", _digits(known.get("power_w"))),
        _fact(word("{} GB free"), _digits(known.get("free_gb"))),
        _others(known.get("others")),
    ]
    return " · ".join(part for part in parts if part)


def _clock(known: Mapping[str, float | None]) -> str:
    now, most = _digits(known.get("sm_clock_mhz")), _digits(known.get("sm_clock_max_mhz"))
    return say(f"{now} of {most} MHz") if now and most else _fact("{} MHz", now)


def _others(count: float | None) -> str:
    if not count:
        return ""
    if count == 1:
        return say("shared with 1 other process")
    return say(f"shared with {count:.0f} other processes")


def _fact(form: str, value: str) -> str:
    return say(form.format(value)) if value else ""


def _digits(value: float | None) -> str:
    return "" if value is None else significant(value)
