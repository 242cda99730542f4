"""What a lab grades: its tasks, and the contracts that share the points of one."""

import re
from dataclasses import dataclass

from grader.errors import LabError
from grader.labs.tiers import Ladder, read_ladder, repeated
from grader.labs.toml import Table

_ID = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Contract:
    """One thing that a handout promises its reader, under the number that it has there."""

    number: int
    says: str
    weight: float = 1.0  # its share of the task's points, beside the others


@dataclass(frozen=True, slots=True)
class Task:
    """One graded part of a lab."""

    id: str
    title: str
    points: float
    hint: str
    functions: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    steps: int = 1
    names: tuple[str, ...] = ()
    example: str = ""  # a small call that launches its kernels, in Python with ``torch``
    order: tuple[str, ...] = ()  # of the pseudocode: first mentions come one after another
    ladders: tuple[Ladder, ...] = ()  # of a speed task, which runs on a GPU only
    contracts: tuple[Contract, ...] = ()

    def ladder(self, name: str) -> Ladder:
        """Return the tiers called ``name``; raises LabError if there are none."""
        for ladder in self.ladders:
            if ladder.name == name:
                return ladder
        raise LabError(f"the task {self.id} has no tiers called {name!r} in its lab.toml")


def read_task(table: Table) -> Task:
    """Read one ``[[tasks]]``."""
    task = Task(
        id=table.text("id"),
        title=table.text("title"),
        points=table.number("points"),
        hint=table.text("hint"),
        functions=table.texts("functions", ()),
        requires=table.texts("requires", ()),
        steps=table.whole("steps", 1),
        names=table.texts("names", ()),
        example=table.text("example", ""),
        order=table.texts("order", ()),
        ladders=tuple(read_ladder(ladder) for ladder in table.tables("tiers", ())),
        contracts=tuple(_contract(entry) for entry in table.tables("contracts", ())),
    )
    table.finish()
    if len(task.order) == 1:
        raise table.error("order", "needs two words or more")
    for name in repeated(task.ladders):
        raise table.error("tiers", f"the name {name!r} occurs twice")
    if _ID.fullmatch(task.id) is None:
        raise table.error("id", f"{task.id!r} is no lower-case identifier")
    return task


def _contract(table: Table) -> Contract:
    contract = Contract(
        number=table.whole("number"),
        says=table.text("says"),
        weight=table.number("weight", 1.0),
    )
    table.finish()
    return contract
