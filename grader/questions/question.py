"""A question of a lab as frozen data, as its author wrote it: nothing is drawn yet."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

CHINESE_FILE = "questions.zh.toml"
TOLERANCE = 0.01  # relative, of a number
PLACE = re.compile(r"\{\{|\}\}|\{([a-z_][a-z0-9_]*)\}")  # {name}, and braces that stay: {{ and }}

Drawn = int | float | str  # one value of a draw


class Kind(StrEnum):
    """How a question is answered."""

    NUMBER = "number"
    CHOICE = "choice"  # one of the options
    CHOICES = "choices"  # any number of them
    ORDER = "order"  # all of them, in their right order
    SHAPE = "shape"  # whole numbers, such as (2, 8, 1, 513)
    FORMULA = "formula"  # one expression of given names
    PROGRAM = "program"  # one short function

    @property
    def has_options(self) -> bool:
        """Whether it is answered by letters of options."""
        return self in (Kind.CHOICE, Kind.CHOICES, Kind.ORDER)


@dataclass(frozen=True, slots=True)
class Question:
    """One question; which of the fields count depends on its kind."""

    id: str
    kind: Kind
    asks: str  # with a place {name} for each of the draws
    draws: Mapping[str, tuple[Drawn, ...]] = field(default_factory=dict[str, tuple[Drawn, ...]])
    options: tuple[str, ...] = ()  # as the author has them; a student sees them in another order
    unit: str = ""
    tolerance: float = TOLERANCE
    names: tuple[str, ...] = ()  # of a formula
    signature: str = ""  # of a program, as in "blocks_needed(lengths, block_size)"

    @property
    def function(self) -> str:
        """The name of the function that a program defines."""
        return self.signature.partition("(")[0].strip()

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of a program's arguments."""
        inside = self.signature.partition("(")[2].rpartition(")")[0]
        return tuple(name.strip() for name in inside.split(",") if name.strip())


def places(text: str) -> set[str]:
    """Return the names in a text that draws fill in."""
    return {found[1] for found in PLACE.finditer(text) if found[1]}
