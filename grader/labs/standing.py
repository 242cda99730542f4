"""The last grading of each lab, kept under ``.inferlab/`` of the course repository.

A grading of the public tests alone is kept apart: its points do not compare with the lab's.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from grader.labs.lab import Lab

FOLDER = ".inferlab"
ELSEWHERE = "elsewhere"  # what was graded from another place than the lab's own folder


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a student stands in one lab; ``score`` is None before a first grading."""

    lab: Lab
    score: float | None = None
    graded: float = 0.0
    started: str = ""
    partial: bool = False

    @property
    def done(self) -> bool:
        """True if every point that could be graded was earned, or is for people to give."""
        if self.lab.is_manual:
            return self.score is not None and not self.partial
        return self.score is not None and not self.partial and self.score >= self.graded > 0


def last_file(lab: Lab, suite: str = "all") -> Path:
    """Where the report of the last grading is kept."""
    return lab.root / FOLDER / ("last" if suite == "all" else suite) / f"{lab.name}.json"


def standing(lab: Lab) -> Standing:
    """Read the last grading; a missing or damaged file counts as none."""
    try:
        data = json.loads(last_file(lab).read_bytes())
        return _standing(lab, cast(dict[str, Any], data))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return Standing(lab)


def _standing(lab: Lab, data: dict[str, Any]) -> Standing:
    score, graded = float(data["score"]), float(data["graded"])
    if not (math.isfinite(score) and math.isfinite(graded)):
        raise ValueError("points must be finite")
    started = str(dict(data["provenance"]).get("started", ""))
    return Standing(lab, score, graded, started, data.get("partial") is not False)


def next_to_do(standings: Iterable[Standing]) -> Standing | None:
    """The first lab with points left to earn; None if there is none."""
    return next((standing for standing in standings if not standing.done), None)
