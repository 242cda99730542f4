"""A copy of the demo course with a fresh canary in every place that a submission must not see."""

import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from stand_ins.expectation import COURSE, DEMO

from grader.labs.lab import Lab, load_lab

SECRET = "canary-5d1f0c7ae2b94836"  # stands in the demo course's suite and solution
VARIABLE = "INFERLAB_SECRET"


@dataclass(frozen=True, slots=True)
class Planted:
    """The copy; ``canaries`` are the secrets by the place where they stand."""

    root: Path
    canaries: dict[str, str]
    seed: int  # of every grading; its digits are a secret too

    def lab(self, name: str, *, small: bool = False) -> Lab:
        """Load a lab of the copy; ``small`` is the demo lab with its first task alone."""
        return load_lab(self.root / ("small" if small else "whole") / "labs" / name)


def plant(folder: Path) -> Planted:
    """Copy the demo course, twice, and plant canaries."""
    places = ("suite", "solution", "oracle", "expected values", "environment")
    canaries = {place: f"canary-{secrets.token_hex(8)}" for place in places}
    seed = (1 << 30) + secrets.randbits(30)
    planted = Planted(folder, canaries, seed)
    for copy in ("whole", "small"):
        root = Path(shutil.copytree(COURSE, folder / copy))
        _replace(root / "grader" / "suites" / f"test_{DEMO}.py", canaries["suite"])
        _replace(root / "solutions" / DEMO / "echo.py", canaries["solution"])
        (root / "reference").mkdir()
        oracle = f'"""The oracle."""\n\nSECRET = "{canaries["oracle"]}"\n'
        (root / "reference" / "echo.py").write_text(oracle)
        if copy == "small":
            keep_first_task(root)
        # In the judge's memory during the whole grading, as numbers of a tensor and as text.
        with (root / "grader" / "suites" / f"test_{DEMO}.py").open("a") as suite:
            suite.write(f'\nEXPECTED = torch.tensor(list(b"{canaries["expected values"]}"))\n')
            suite.write('ORACLE = __import__("pathlib").Path(__file__).parents[2] / "reference"\n')
            suite.write('ORACLE = (ORACLE / "echo.py").read_text()\n')
    return planted


def _replace(file: Path, canary: str) -> None:
    text = file.read_text()
    assert SECRET in text, f"{file} has no secret"
    file.write_text(text.replace(SECRET, canary))


def keep_first_task(root: Path) -> None:
    """Leave the demo lab its first task: it takes one worker, not three."""
    toml, suite = root / "labs" / DEMO / "lab.toml", root / "grader" / "suites" / f"test_{DEMO}.py"
    before, scale, _, _, pseudocode = toml.read_text().split("[[tasks]]")
    scale = scale.replace("points = 45", "points = 95")
    toml.write_text("[[tasks]]".join((before, scale, pseudocode)))
    suite.write_text(suite.read_text().partition("def filled(")[0])
