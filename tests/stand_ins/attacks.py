"""The corpus of ``tests/exploits``: each file is one attack, ``category/name.py``.

The file is what is handed in; a file of ``handed_in/`` is ours instead: its ``build`` writes the
tree or the odd file that is handed in, beside or in place of a right answer.
"""

import fnmatch
import importlib.util
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stand_ins import expectation
from stand_ins.expectation import EXPLOITS, SPEED, Expectation

from grader.labs.lab import Lab

BUILT = "handed_in"
GPU = "gpu"
# What reaches for the machine itself is tried while a right submission is graded beside it; what
# is timed, or has the GPU, has the machine to itself but for that.
HURT = "hurt"
ALONE = frozenset({"clock", GPU})


@dataclass(frozen=True, slots=True)
class Attack:
    """One hostile submission and what must come of it."""

    file: Path
    wanted: Expectation

    @property
    def category(self) -> str:
        """The folder's name."""
        return self.file.parent.name

    @property
    def name(self) -> str:
        """``category/name``."""
        return f"{self.category}/{self.file.stem}"

    @property
    def needs_gpu(self) -> bool:
        """Whether only a GPU can show it: what is about a lab's speed."""
        speed = expectation.is_real(self.wanted.lab) and "speed" in self.wanted.verdicts
        return self.wanted.lab == SPEED or speed

    @property
    def is_small(self) -> bool:
        """Whether it is about the first task of its lab alone."""
        return len(self.wanted.verdicts) == 1

    @property
    def tasks(self) -> frozenset[str]:
        """Of a real lab the tasks that it is about; none stands for all."""
        return frozenset(self.wanted.verdicts if expectation.is_real(self.wanted.lab) else ())

    def hand_in(self, lab: Lab, folder: Path) -> Path:
        """Return what is to be graded; ``folder`` is new and empty."""
        if self.category != BUILT:
            return self.file
        spec = importlib.util.spec_from_file_location(f"built_{self.file.stem}", self.file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.build(folder, lab)


def corpus(patterns: Sequence[str] = ()) -> tuple[Attack, ...]:
    """Return the attacks whose names match one of the patterns; all without any."""
    files = sorted(EXPLOITS.glob("*/*.py"))
    found = (Attack(file, expectation.read(file)) for file in files)
    return tuple(a for a in found if not patterns or _matches(a.name, patterns))


def families(attacks: Sequence[Attack]) -> list[str]:
    """Return the family of each: those of a folder whose names begin with the same word, such as
    ``cheat/kernel``, and the folder for all whose word no other shares.
    """
    words = [attack.name.partition("_")[0] for attack in attacks]
    shared = Counter(words)
    pairs = zip(attacks, words, strict=True)
    return [word if shared[word] > 1 else attack.category for attack, word in pairs]


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
