"""Quantities as a person reads them: three digits, and a unit of their own size."""

from grader.report.facts.speed import significant

PREFIXES = ("", "k", "M", "G", "T", "P")
SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def amount(value: float, unit: str) -> str:
    """Return a number with a decimal prefix: 16.8 MB, 1.2 TFLOP/s, 3 k."""
    power = 0
    while abs(value) >= 999.5 and power < len(PREFIXES) - 1:
        value /= 1000
        power += 1
    text = significant(value)
    if "." not in text and power and value < 99.5:
        text = f"{value:.3g}"
    return f"{text} {PREFIXES[power]}{unit}".rstrip()


def duration(seconds: float) -> str:
    """Return a time: 3.2 µs, 41 ns; 0 as it is."""
    if not seconds:
        return "0"
    if seconds < 0.5e-11:
        return "< 0.01 ns"
    for size, unit in SECONDS:
        if seconds >= size * 0.9995 or unit == "ns":
            return f"{significant(seconds / size)} {unit}"
    raise AssertionError(seconds)
