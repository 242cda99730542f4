"""What the sanitizer of triton-viz says of the kernels of ``kernel_cases``."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parent.parent
RUNNER = TESTS / "stand_ins" / "viz_runs.py"


@dataclass(frozen=True, slots=True)
class Heard:
    """What it said of one case."""

    name: str
    alarm: bool
    says: str  # why it gave up before the end, if it did
    seconds: float


def hear(python: Path, folders: Sequence[str]) -> dict[str, Heard]:
    """Run triton-viz in its Python; nothing, and a sentence, where it has none."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    environment.pop("TRITON_INTERPRET", None)  # its command wants none
    asked = "import triton_viz.wrapper, triton, numpy; print(triton.__version__, numpy.__version__)"
    there = subprocess.run(
        [python, "-c", asked], env=environment, capture_output=True, text=True, check=False
    )
    if there.returncode:
        print(f"{python} cannot import triton-viz: its column is left out", file=sys.stderr)
        return {}
    print("triton-viz beside ours, with triton {} and numpy {}".format(*there.stdout.split()))
    done = subprocess.run(
        [python, RUNNER, *folders], env=environment, capture_output=True, text=True, check=True
    )
    heard = [Heard(**json.loads(line)) for line in done.stdout.splitlines()]
    return {one.name: one for one in heard}
