"""Reports for the tests of every form: a plain one, and one with hostile text everywhere."""

from typing import Any

from grader.labs.results import Report, TaskResult, TestResult, Verdict
from grader.report.facts.next_step import Guide

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> [red]forged[/red] :smile: "
    "\x1b[2J\x1b]0;title\x07 \x00 \u202egnp.exe \u2066 \u200b \ud800 \udfff \ufffe \x85 \u2028"
    "\n```\n</pre></details><h1>100 of 100 points</h1>\n]]> & &lt; --> *bold* | @everyone"
    "\r\n\x9b31m"
)
GUIDE = Guide(
    title="A Llama from scratch",
    stub="labs/01_llama/llama.py",
    pseudocode="labs/01_llama/PSEUDOCODE.md",
    handout="labs/01_llama/README.md",
    functions={"norm": ("rms_norm",), "rope": ("apply_rope",)},
    next_lab=2,
)
GPU: dict[str, Any] = {
    "name": "Example GPU 80", "driver": "580.95", "sm_clock_mhz": 1755, "sm_clock_max_mhz": 1980,
    "memory_clock_mhz": 2619, "temperature_c": 41, "power_w": 303.5, "others": 0,
    "bandwidth_gbs": 4250.0, "matmul_tflops": 790.0, "free_gb": 78.2,
}  # fmt: skip


def result(task: str, verdict: Verdict, message: str = "", output: str = "") -> TestResult:
    return TestResult(f"test_{task}[3-7]", task, "hidden", verdict, message, 0.25, output)


def report_of(*tests: TestResult, score: dict[str, float] | None = None, **rest: object) -> Report:
    """A report with the tasks norm, rope and speed (10, 20 and 70 points)."""
    earned = score or {}
    points = {"norm": 10.0, "rope": 20.0, "speed": 70.0}
    ungraded = {test.task for test in tests if not test.verdict.counts}
    tasks = tuple(
        TaskResult(task, task.title(), points[task], earned.get(task, 0.0), task not in ungraded)
        for task in points
    )
    rest.setdefault("provenance", {"sandbox": "bwrap", "started": "2026-03-01T10:00:00+01:00"})
    return Report(1, "llama", tasks, tests, **rest)  # type: ignore[arg-type]


def mixed(message: str = "rms_norm keeps the dtype", output: str = "") -> Report:
    return report_of(
        result("norm", Verdict.PASSED),
        result("rope", Verdict.FAILED, message, output),
        result("speed", Verdict.NOT_GRADED, "needs a GPU"),
        score={"norm": 10.0},
    )


def hostile_everywhere() -> Report:
    """Student text in every field that could ever carry some, identifiers included."""
    tests = (
        TestResult(HOSTILE, HOSTILE, HOSTILE, Verdict.FAILED, HOSTILE, 0.1, HOSTILE),
        TestResult("big", HOSTILE, "public", Verdict.ERROR, "x" * 1_000_000, 0.1, "y" * 1_000_000),
    )
    figures = [{"title": HOSTILE, "svg": f"<svg>{HOSTILE}</svg>"}, {"title": 3}, "nonsense"]
    return Report(
        lab=1,
        topic=HOSTILE,
        tasks=(TaskResult(HOSTILE, HOSTILE, 100.0, 0.0, True),),
        tests=tests,
        provenance={"sandbox": HOSTILE, "started": HOSTILE, HOSTILE: HOSTILE, "nan": float("nan")},
        extras={"figures": figures, "ratio": float("inf"), "nested": {HOSTILE: [HOSTILE, {1, 2}]}},
    )


def speed_entry(case: str, group: str = "forward", **rest: Any) -> dict[str, Any]:
    """One entry of ``extras["speed"]``, as a grading on a GPU makes it."""
    entry = {
        "task": "speed", "group": group, "case": case, "function": "layer_norm_forward",
        "size": 268.4, "axis": "MB", "unit": "GB/s",
        "ratio": 1.31, "low": 1.29, "high": 1.33, "blocks": 8,
        "student_us": 151.2, "baseline_us": 198.1, "null_us": 101.0,
        "rate": 3550.0, "baseline_rate": 2710.0, "roofline": 4250.0, "share": 0.835,
        "bound": "memory bandwidth, at 84 % of what this GPU copies",
        "suspicious": "", "notes": [],
    }  # fmt: skip
    return entry | rest


def measured(*entries: dict[str, Any], gpu: dict[str, Any] | None = GPU) -> Report:
    """A report of a grading on a GPU, with these measured cases."""
    tests = (result("norm", Verdict.PASSED), result("speed", Verdict.PASSED))
    extras = {"speed": list(entries)} | ({"gpu": gpu} if gpu is not None else {})
    return report_of(*tests, score={"norm": 10.0, "speed": 70.0}, extras=extras)
