"""A class whose answers have few origins: right answers of ours, each dressed up by who copied it.

Every copy has other names, comments and an order of its own, and some code that is its owner's; the
same seed makes the same class.
"""

import ast
import itertools
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.database.records import Frozen
from grader.labs.lab import Lab

from .classroom import after

_NAME = re.compile(r"\b[a-z]{3,}_[a-z_]+\b")
_OWN = """

def {name}(values, limit={number}):
    total = {number}
    for place, value in enumerate(values):
        if value {sign} limit and place % {step}:
            total += value * place - {number}
        else:
            total -= limit // ({step} + place)
    return [total, *sorted(values)[: {step}]]
"""


@dataclass(frozen=True, slots=True)
class CopiedClass:
    """What was handed in, and by student the origin of it."""

    frozen: Sequence[Frozen]
    origins: Mapping[str, str]


def copied_class(lab: Lab, folder: Path, origins: Mapping[str, str], count: int) -> CopiedClass:
    """Write so many answers below ``folder``, each a copy of one of some origins, by their code."""
    dice = random.Random(f"{lab.name} {count}")
    names = sorted(origins)
    made: dict[str, str] = {}
    for number in range(count):
        student = f"s{number:03}"
        made[student] = names[number % len(names)]
        place = folder / student
        place.mkdir(parents=True)
        (place / lab.code_name).write_text(dressed(origins[made[student]], dice))
    handed_in = [
        Frozen(student, lab.name, "c0ffee", after(-1), after(1), student, "") for student in made
    ]
    return CopiedClass(handed_in, made)


def dressed(code: str, dice: random.Random) -> str:
    """Return a copy with other names, comments and order, and with something of its own."""
    blocks = _blocks(code)
    head, rest = blocks[0], blocks[1:]
    dice.shuffle(rest)
    own = [_own(dice) for _ in range(dice.randrange(4))]
    for block in own:
        rest.insert(dice.randrange(len(rest) + 1), block)
    text = "\n\n".join([head, *rest]) + "\n"
    for name in sorted(set(_NAME.findall(text))):
        if dice.random() < 0.7:
            text = re.sub(rf"\b{name}\b", f"my_{name[::-1].strip('_')}", text)
    lines = [_commented(line, dice) for line in text.splitlines()]
    return "\n".join(lines) + "\n"


def _own(dice: random.Random) -> str:
    values = {"number": dice.randrange(2, 99), "sign": dice.choice("<>"), "step": dice.randrange(9)}
    return _OWN.format(name=f"helper_{dice.randrange(10**6)}", **values)


def _blocks(code: str) -> list[str]:
    """What comes before the first definition, and each definition with what follows it."""
    lines = code.splitlines()
    nodes = ast.parse(code).body
    defined = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    starts = [
        min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1 for node in defined
    ]
    edges = [0, *starts, len(lines)]
    return ["\n".join(lines[a:b]) for a, b in itertools.pairwise(edges)]


def _commented(line: str, dice: random.Random) -> str:
    bare = re.sub(r"  # .*$", "", line)
    return f"{bare}  # step {dice.randrange(99)}" if bare.endswith((")", "]")) else bare
