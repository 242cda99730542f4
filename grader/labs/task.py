"""What a lab grades: its tasks, and the contracts that share the points of one."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
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
    builds: tuple[str, ...] = ()  # libraries that its workers load before the code
    alone: bool = False  # these are loaded alone: none of the code runs

    def ladder(self, name: str) -> Ladder:
        """Return the tiers called ``name``; raises LabError if there are none."""
        for ladder in self.ladders:
            if ladder.name == name:
                return ladder
        raise LabError(f"the task {self.id} has no tiers called {name!r} in its lab.toml")


@dataclass(frozen=True, slots=True)
class Criterion:
    """What people look for when they read a task's answer, and what it earns."""

    id: str
    title: str
    points: float
    text: str  # what earns them
    task: str = "pseudocode"
    prompt: str = ""  # the heading in PSEUDOCODE.md that it reads; "": all of the file


def read_criterion(table: Table) -> Criterion:
    """Read one ``[[rubric]]``."""
    found = Criterion(
        id=table.text("id"),
        title=table.text("title"),
        points=table.number("points"),
        text=table.text("text"),
        task=table.text("task", "pseudocode"),
        prompt=table.text("prompt", ""),
    )
    table.finish()
    if _ID.fullmatch(found.id) is None:
        raise table.error("id", f"{found.id!r} is no lower-case identifier")
    return found


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
        builds=table.texts("builds", ()),
        alone=table.flag("alone"),
    )
    table.finish()
    if task.alone and not task.builds:
        raise table.error("alone", "needs builds")
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


def rubric_problems(rubric: Sequence[Criterion], tasks: Mapping[str, float]) -> Iterator[str]:
    """Say what is wrong with a rubric, beside the points of the tasks."""
    ids = [each.id for each in rubric]
    for name in dict.fromkeys(each for each in ids if ids.count(each) > 1):
        yield f"rubric.id: {name!r} occurs twice"
    for task in dict.fromkeys(each.task for each in rubric):
        if task not in tasks:
            yield f"rubric.task: there is no task {task!r}"
            continue
        total = sum(each.points for each in rubric if each.task == task)
        if not math.isclose(total, tasks[task]):
            yield f"rubric.points: those of {task!r} add up to {total:g}, not {tasks[task]:g}"


def task_problems(tasks: Sequence[Task], rubric: Sequence[Criterion], needed: str) -> Iterator[str]:
    """Say what is wrong with a lab's tasks and its rubric; one of the tasks is ``needed``."""
    ids = [task.id for task in tasks]
    for task_id in ids:
        if ids.count(task_id) > 1:
            yield f"tasks.id: {task_id!r} occurs twice"
    if needed and needed not in ids:
        yield f"tasks: no task with id {needed!r}"
    numbers = [contract.number for task in tasks for contract in task.contracts]
    for place, number in enumerate(numbers, 1):
        if number != place:
            yield f"tasks.contracts.number: {number} stands where {place} should: count from 1"
            break
    yield from rubric_problems(rubric, {task.id: task.points for task in tasks})
    total = sum(task.points for task in tasks)
    if not math.isclose(total, 100.0):
        yield f"tasks.points: they add up to {total:g}, not 100"
    before: set[str] = set()
    for task in tasks:
        # In order, so that what a task requires cannot lead back to it.
        for required in task.requires:
            if required not in before:
                yield f"tasks.requires: {task.id!r} requires {required!r}, which is no earlier task"
        before.add(task.id)
