"""Print how much CI leaves to other days: one in so many, 3 where a machine is fast as most are.

A machine that is twice as slow proves half as much, in the same time. What is timed is what
gradings do most: start an interpreter that loads torch, on all cores at once, so that a core that
others use too is as slow as it is.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

USUAL_SECONDS = 1.2  # to load torch, where a share of one in three takes CI 35 minutes
USUAL, LEAST, ROUNDS = 3, 12, 3


def load(python: str) -> float:
    """Return the seconds of the fastest of some starts; the first may have to read from disk."""
    return min(start(python) for _ in range(ROUNDS))


def start(python: str) -> float:
    begun = time.perf_counter()
    subprocess.run([python, "-c", "import torch"], check=True)
    return time.perf_counter() - begun


def main() -> None:
    """Load torch on all cores at once; the slowest of them decides."""
    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        seconds = max(pool.map(load, [sys.executable] * cores))
    share = min(max(round(USUAL * seconds / USUAL_SECONDS), USUAL), LEAST)
    print(f"loading torch takes {seconds:.1f} s: one in {share} has its turn", file=sys.stderr)
    print(share)


if __name__ == "__main__":
    main()
