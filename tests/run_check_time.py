"""Measure ``%check`` in a kernel beside ``make grade`` of the same task: ``make check-time``.

Both grade the model answer of lab 01's first task, one after the other, several times.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stand_ins.filled import copied
from stand_ins.kernel import kernel_in

from grader import ROOT
from grader.labs.lab import find_lab

LAB, TASK = "1", "norm"
ROUNDS = 5
MOST = 1.2  # times what make grade takes


def main() -> int:
    """Print the medians; 1 if the notebook's is more than it may be."""
    with tempfile.TemporaryDirectory(prefix="inferlab-time-") as name:
        lab = find_lab(LAB, copied(ROOT, Path(name)))
        answer = ROOT / "solutions" / lab.name / lab.code_name
        lab.stub.write_bytes(answer.read_bytes())
        make = ["make", "-f", str(ROOT / "Makefile"), "grade", f"LAB={LAB}", f"TASK={TASK}"]
        env = {**os.environ, "PYTHONPATH": str(lab.root)}
        terminal: list[float] = []
        notebook: list[float] = []
        with kernel_in(lab) as kernel:
            for _ in range(ROUNDS):
                begun = time.monotonic()
                command = [*make, f"PYTHON={sys.executable}"]
                done = subprocess.run(
                    command, cwd=lab.root, env=env, capture_output=True, check=True
                )
                terminal.append(time.monotonic() - begun)
                assert b"10 of 10 points" in done.stdout, done.stdout
                begun = time.monotonic()
                shown = kernel.run(f"%check {TASK}").html
                notebook.append(time.monotonic() - begun)
                assert "10 of 10 points" in shown, shown
    one, other = statistics.median(terminal), statistics.median(notebook)
    # Of pairs, one after the other: a machine that others use is slow for both.
    ratio = statistics.median(b / a for a, b in zip(terminal, notebook, strict=True))
    told = f"make grade {one:.2f} s, %check {other:.2f} s, {ratio:.2f} times"
    print(f"{told} (medians of {ROUNDS})")
    return int(ratio > MOST)


if __name__ == "__main__":
    sys.exit(main())
