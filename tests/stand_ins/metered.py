"""Metered launches of our own making, for what is shown of them."""

from dataclasses import replace

from grader.labs.metered import Metered, Traffic
from grader.report.launches.rooflines import Gauged

# A softmax of 1,000 rows of 1,000 float32 that reads each row twice.
SOFTMAX = Metered(
    *("_softmax", 12, (1000, 1, 1), 3, 8_000_000, 4_000_000, 0),
    (
        Traffic("x", 8_000_000, 0, 0, 4_000_000, 0),
        Traffic("out", 0, 4_000_000, 0, 0, 4_000_000),
    ),
    {"fp32": 2_000_000},
    special={"exp": 1_000_000, "div": 1_000_000},
)
# A product of 4096 x 4096 bfloat16.
SIZE = 2 * 4096 * 4096
MATMUL = Metered(
    *("_matmul", 40, (32, 32, 1), 1, 64 * SIZE, SIZE, 0),
    (Traffic("a", 64 * SIZE, 0, 0, 2 * SIZE, 0), Traffic("c", 0, SIZE, 0, 0, SIZE)),
    dots={"bf16": 2 * 4096**3},
)
COPY = replace(SOFTMAX, kernel="_copy", line=3, flops={}, special={})


def gauged(metered: Metered, launch: str = "float32[1000, 1000]") -> Gauged:
    return Gauged(metered, launch)
