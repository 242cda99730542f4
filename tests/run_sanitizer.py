"""Print what the sanitizer finds in each kernel of tests/kernels, and what it costs.

``run_sanitizer.py [right|wrong]``: the kernel, what is expected, what was found, seconds of the
plain launch and with the sanitizer. Exit code 1 where something is missed or found too much.
"""

import sys
from typing import Any

from stand_ins.kernel_cases import Case, Place, cases, found, seconds

SAFE = {"write-write", "read-write", "masked", "too large"}  # others may end the process, or never


def row(case: Case) -> tuple[bool, float, float]:
    """Print the row of a case; return whether it is as expected, and its seconds."""
    places, _ = found(case)
    safe = {kind for kind, _ in case.expected} <= SAFE
    plain = seconds(case.run) if safe else float("nan")
    under = seconds(lambda: found(case))
    right = places == case.expected
    shown = f"{plain:8.3f} {under:8.3f} {under / plain:6.2f}"
    print(f"{case.name:48} {_listed(case.expected):44} {_listed(places):44} {shown}"
          f"{'' if right else '  DIFFERS'}", flush=True)
    return right, plain if safe else 0.0, under if safe else 0.0


def _listed(places: frozenset[Place]) -> str:
    return ", ".join(f"{kind} {line}" for kind, line in sorted(places, key=lambda p: (p[1], p[0]))) or "-"


def main(folders: list[str]) -> Any:
    """Print a table of each folder."""
    every = True
    for folder in folders or ["right", "wrong"]:
        rows = [row(case) for case in cases(folder)]
        plain, under = sum(r[1] for r in rows), sum(r[2] for r in rows)
        right = sum(r[0] for r in rows)
        every &= right == len(rows)
        print(f"{folder}: {right} of {len(rows)} as expected, "
              f"{plain:.2f} s plain, {under:.2f} s with the sanitizer, {under / plain:.2f} times\n")
    return 0 if every else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
