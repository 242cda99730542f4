"""What a session is told on its standard input: a run of the suites, and what it needs for it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from grader.judge.setup.request import Request
from grader.labs.lab import PSEUDOCODE, Lab, load_lab
from grader.labs.results import Expected
from grader.sandbox.setting import Setting

CHOSEN = ("tasks", "tests", "repeats")  # of a run, by name


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a lab's suites: what was asked for, and what has been settled since."""

    lab: Lab
    seed: int
    device: str = "cpu"
    suite: str = "all"
    tasks: frozenset[str] = frozenset()  # none: all
    tests: frozenset[str] = frozenset()  # suites and ids; none: all
    until_lost: bool = False
    compiles: bool = False
    meters: bool = False
    repeats: frozenset[str] = frozenset()  # ids or functions of public tests
    repeats_into: str = ""  # a folder
    closed: Mapping[str, str] = field(default_factory=dict[str, str])  # tasks, by a rule's test
    # Tasks that this machine cannot grade, and why.
    ungraded: Mapping[str, str] = field(default_factory=dict[str, str])
    # Suites and ids of tests in which a session has ended, twice, and why.
    fatal: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(
        cls,
        request: Request,
        device: str,
        seed: int,
        closed: Mapping[str, str],
        ungraded: Mapping[str, str],
    ) -> Self:
        """Return the run that a request comes to."""
        return cls(
            lab=request.lab,
            seed=seed,
            device=device,
            suite=request.suite,
            tasks=frozenset(request.tasks),
            tests=frozenset(request.tests),
            until_lost=request.until_lost,
            compiles=request.compiles,
            meters=request.meters,
            repeats=frozenset(request.repeats),
            repeats_into=request.repeats_into,
            closed=closed,
            ungraded=ungraded,
        )

    def chooses(self, test: Expected) -> bool:
        """Tell whether a test of the suites is one of this run."""
        return (not self.tasks or test.task in self.tasks) and (
            not self.tests or test.place in self.tests
        )

    @property
    def open_tasks(self) -> frozenset[str]:
        """The tasks whose tests may ask for a worker."""
        chosen = self.tasks or {task.id for task in self.lab.tasks}
        return frozenset(chosen) - {*self.closed, *self.ungraded} - {PSEUDOCODE}

    def to_json(self) -> dict[str, Any]:
        """Return the run as JSON has it; the lab is its folder."""
        told = {item.name: getattr(self, item.name) for item in fields(self)}
        chosen = {name: sorted(told[name]) for name in CHOSEN}
        return told | chosen | {"lab": str(self.lab.folder)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Rebuild a run in another process of ours, with the lab as it is there."""
        lab = load_lab(Path(data["lab"]))
        changed: dict[str, Any] = {name: frozenset(data[name]) for name in CHOSEN}
        changed["lab"] = lab
        return cls(**data | changed)


@dataclass(frozen=True, slots=True)
class Configuration:
    """All that a session needs: its run, what workers get, the code, its own control group."""

    run: Run
    setting: Setting
    source: str
    group: str = ""  # a folder; none: it is not limited

    def encode(self) -> bytes:
        """Return the bytes that a session reads."""
        told = {
            "run": self.run.to_json(),
            "setting": asdict(self.setting),
            "source": self.source,
            "group": self.group,
        }
        return json.dumps(told, default=str).encode()

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Rebuild it from what was read."""
        run, setting = Run.from_json(data["run"]), Setting.from_json(data["setting"])
        return cls(run, setting, data["source"], data["group"])
