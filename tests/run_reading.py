"""``make reading``: what it takes to read each odd submission before any of it runs.

Everything under ``exploits/handed_in`` is built, collected, held against the rules and its words
read, as by ``lab grade``; what was converted from a notebook or refused ends there. Processor
seconds are this process's and those of all readers, whatever else the machine does meanwhile.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stand_ins import expectation
from stand_ins.attacks import BUILT, Attack, corpus

from grader.errors import InferlabError
from grader.labs.documents.submission import collect
from grader.labs.lab import Lab
from grader.reading import rules
from grader.reading.pseudocode import pseudocode

DESCRIPTION = "tell what it takes to read each odd submission before any of it runs"
MOST_SECONDS = 10.0  # of the processor, for any submission


@dataclass(frozen=True, slots=True)
class Taken:
    """What reading one submission took, and what came of it."""

    name: str
    processor: float
    wall: float
    came: str

    def __str__(self) -> str:
        return f"{self.name:38} {self.processor:9.2f} {self.wall:7.2f}  {self.came}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Read all, print a line for each, the slowest first; 1 if one took too long."""
    parser = argparse.ArgumentParser(prog="make reading", description=DESCRIPTION)
    parser.add_argument("names", nargs="*", default=["*"], metavar="NAME", help="such as 'slow_*'")
    names = parser.parse_args(arguments).names
    with tempfile.TemporaryDirectory(prefix="reading-") as folder:
        found = [
            read(attack, Path(folder) / str(number))
            for number, attack in enumerate(corpus([f"{BUILT}/{name}" for name in names]))
        ]
    found.sort(key=lambda taken: -taken.processor)
    print(f"{'submission':38} {'processor':>9} {'wall':>7}  what came of it")
    print(*found, sep="\n")
    late = [taken for taken in found if taken.processor > MOST_SECONDS]
    print(f"{len(found)} submissions, {len(late)} took more than {MOST_SECONDS:g} s")
    return 1 if late else 0


def read(attack: Attack, folder: Path) -> Taken:
    """Build a submission and read it."""
    lab = expectation.find(attack.wanted.lab)
    (folder / "in").mkdir(parents=True)
    source = attack.hand_in(lab, folder / "in")
    began, before = time.monotonic(), _processor()
    came = _came(lab, source, folder / "out")
    return Taken(attack.file.stem, _processor() - before, time.monotonic() - began, came)


def _came(lab: Lab, source: Path, into: Path) -> str:
    try:
        submission = collect(lab, source, into)
        results = [*rules.rule_results(lab, submission, rules.static_check(lab, submission))]
        results += pseudocode.grade_pseudocode(lab, submission).results
    except InferlabError as error:
        return f"refused: {error.message}"[:100]
    said = next((result.message for result in results if result.message), "read")
    return said.partition("\n")[0][:100]


def _processor() -> float:
    """Return the processor seconds of this process and of all that it has waited for."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    sys.exit(main())
