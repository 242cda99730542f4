"""The yardstick of ``make bench``: a suite on a solution, in one process."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_solution_passes_its_suite_without_a_worker() -> None:
    code = "from grader.bench import run_direct; run_direct('03_sampling')"
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300
    )

    assert (done.returncode, done.stderr) == (0, "")
