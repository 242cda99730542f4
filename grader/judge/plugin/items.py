"""What there is to run of a lab: files, the order of its tasks, what each test is and asks for."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from grader.labs.lab import Lab
from grader.labs.results import Expected
from grader.labs.task import Task
from grader.labs.tiers import Rung


def task(
    task_id: str,
    *,
    contract: int = 0,
    weight: float = 1.0,
    gate: bool = False,
    tiers: str = "",
    needs: tuple[str, ...] = (),
) -> pytest.MarkDecorator:
    """Mark a test as part of a task; a ``gate`` must pass for the task to earn anything.

    ``contract`` is the number of the handout's contract that it tests, which is earned if all of
    its tests pass. ``tiers`` names a ladder of the task: the test runs once for each ``tier``,
    which splits its weight. ``needs`` names tasks of which no test may have failed: speed without
    right answers is worth nothing.
    """
    options = {"contract": contract, "weight": weight, "gate": gate, "tiers": tiers}
    return pytest.mark.task(task_id, needs=needs, **options)


def running_order(tasks: Sequence[Task]) -> list[str]:
    """Return the tasks' ids, those worth most first, but never before what they require.

    While the tests of a large task run, the workers of the others get warm.
    """
    order: list[str] = []
    # Speed comes last: it needs to know what is right.
    todo = sorted(tasks, key=lambda task: (bool(task.ladders), -task.points))
    while todo:
        ready = next(task for task in todo if set(task.requires) <= set(order))
        order.append(ready.id)
        todo.remove(ready)
    return order


def takes(item: pytest.Item, fixture: str) -> bool:
    """Tell whether a test asks for a fixture."""
    return fixture in getattr(item, "fixturenames", ())


def needs_of(item: pytest.Item) -> tuple[str, ...]:
    """Return the tasks of which no test may have failed."""
    marker = item.get_closest_marker("task")
    return tuple(marker.kwargs.get("needs", ())) if marker else ()


def expected_of(lab: Lab, item: pytest.Item) -> Expected:
    """Return the line of the manifest that a test is; without a mark its task is empty."""
    marker = item.get_closest_marker("task")
    task_id = marker.args[0] if marker else ""
    options = marker.kwargs if marker else {}
    suite = "hidden" if item.path == lab.hidden_suite else "public"
    name = item.nodeid.partition("::")[2]
    weight = options.get("weight", 1.0)
    rung = getattr(getattr(item, "callspec", None), "params", {}).get("tier")
    if isinstance(rung, Rung):
        weight *= rung.tier.share / 100
    elif any(task.id == task_id and task.ladders for task in lab.tasks):
        weight = 0.0  # to be right earns nothing for speed; it only lets the tiers count
    gate, contract = options.get("gate", False), options.get("contract", 0)
    return Expected(name, task_id, suite, weight, gate, contract)


def suite_files(lab: Lab, suite: str) -> list[Path]:
    """Return the files of a suite, "all", "public" or "speed"; no student's tree has a hidden one.

    What is timed stands in the hidden one: where that is missing, it is the sizes for students.
    """
    if suite == "speed":
        files = [lab.hidden_suite if lab.hidden_suite.is_file() else lab.speed_suite]
    else:
        files = [lab.public_suite, *([lab.hidden_suite] if suite == "all" else [])]
    return [file for file in files if file.is_file()]
