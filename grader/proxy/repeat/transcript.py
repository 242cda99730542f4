"""All that one test asks of the submission, whole and in order, so that a script can ask it again.

``Calls`` keeps what a message needs; this keeps copies of everything that was passed. It is kept
for ``make repeat`` alone, of public tests.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from grader.errors import SubmissionFault
from grader.proxy.loans.loans import Loan, Refusal
from grader.proxy.loans.watched_arguments import Watched
from grader.proxy.values.values import Far, Hidden, Proxy
from grader.wire.codec import Record

# What changes nothing that a later request sees, and is no call of the submission.
READINGS = frozenset(
    {"own_objects", "load", "tuned", "places", "held", "trim", "kernels", "restore", "watched"}
)
TOGETHER = 0  # in place of a number: all that calls leave there belongs to one test of them
RANKS = "it runs ranks, which are processes of their own that talk to each other"
RACES = "it measures time, by the judge's clock"


@dataclass(slots=True, eq=False)
class Asked:
    """One request; ``lasts`` are the last arguments of one that stands for many calls."""

    header: dict[str, Any]
    value: Any
    lasts: list[Any] | None = None
    answer: Any = None
    fault: str = ""  # "ValueError: …"

    @property
    def target(self) -> list[Any]:
        """What is called; nothing for what is no call."""
        return self.header.get("target", [])

    @property
    def of(self) -> int | None:
        """The number of the object that the request is about."""
        match self.header:
            case {"target": ["object", int(number), _]} | {"object": int(number)}:
                return number
            case _:
                return None

    def takes(self) -> Iterator[int | Loan]:
        """Give the objects that it needs: those of the submission by number, lent ones as such."""
        if self.of is not None:
            yield self.of
        match self.header:
            case {"op": "keep" | "kept"}:
                yield TOGETHER
            case _:
                pass
        yield from objects_in([self.value, self.lasts])

    def makes(self) -> Iterator[int]:
        """Give the numbers of the objects that came back."""
        yield from (item for item in objects_in(self.answer) if isinstance(item, int))


@dataclass(slots=True, eq=False)
class Use:
    """One call of a lent object: what it was given, asked itself, and said or refused with."""

    name: str
    value: Any
    answer: Any = None
    refused: str = ""
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])  # behind it
    asked: list[Asked] = field(default_factory=list[Asked])


class Transcript:
    """What was asked in the test that runs; ``never`` says why it cannot be asked again."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin a test."""
        self.asked: list[Asked] = []
        self.uses: dict[Loan, list[Use]] = {}
        self.first: dict[Loan, dict[str, Any]] = {}  # attributes before any use
        self.folders: dict[str, Path] = {}  # of the test, by the path that the submission sees
        self.probes: dict[str, None] = {}
        self.never = ""
        self._working: list[Use] = []  # lent objects at work, each asked by what the last asked

    def note(self, header: dict[str, Any], value: Any, lasts: list[Any] | None = None) -> Asked:
        """Keep a request that is about to be made."""
        entry = Asked(header, self._copied(value), self._copied(lasts))
        match header["op"]:
            case "probe":
                self.probes.setdefault(header["name"])
            case "race" | "ring":
                self.never = RACES
            case op if op not in READINGS:
                (self._working[-1].asked if self._working else self.asked).append(entry)
            case _:
                pass
        return entry

    def failed(self, entry: Asked, fault: SubmissionFault) -> None:
        """Keep that a request ended in a fault."""
        entry.fault = str(fault).partition("\n")[0] or type(fault).__name__

    @contextmanager
    def using(self, lent: Loan, name: str, value: Any) -> Generator[Callable[[Any], None]]:
        """Keep what a lent object does in a call of its own; what is given takes its answer."""
        use = Use(name, self._copied(value))

        def keep(answer: Any) -> None:
            if isinstance(answer, Refusal):
                use.refused = f"{type(answer.error).__name__}: {answer}"
            else:
                use.answer = self._copied(answer)
            use.attributes = _attributes(lent)

        self._working.append(use)
        self.uses[lent].append(use)
        try:
            yield keep
        finally:
            self._working.pop()

    def _copied(self, value: Any) -> Any:
        """Return a value as it is now, whatever the test or the call does to it later."""
        if isinstance(value, Tensor):
            return copy.deepcopy(value.detach())
        if isinstance(value, Watched | Hidden):
            return self._copied(value.value)
        if isinstance(value, Far):
            return Far(self._copied(value.value), value.strides)
        if isinstance(value, torch.Generator):  # each call gets one that begins anew
            return torch.Generator().manual_seed(value.initial_seed())
        if isinstance(value, Record):
            return Record(value.name, {k: self._copied(v) for k, v in value.fields.items()})
        if isinstance(value, dict):
            return {k: self._copied(v) for k, v in cast(dict[Any, Any], value).items()}
        if isinstance(value, list | tuple):
            items = [self._copied(item) for item in cast(list[Any], value)]
            return tuple(items) if isinstance(value, tuple) else items
        if isinstance(value, Loan) and value not in self.uses:
            self.uses[value] = []
            self.first[value] = _attributes(value)
        return value


def _attributes(lent: Loan) -> dict[str, Any]:
    return {name: getattr(lent.target, name) for name in lent.attributes}


def objects_in(value: Any) -> Iterator[int | Loan]:
    """Give the objects of the submission in a value by their numbers, and the lent ones."""
    if isinstance(value, Proxy):
        yield value.number_
    elif isinstance(value, Loan):
        yield value
    elif isinstance(value, list | tuple):
        for item in cast(list[Any], value):
            yield from objects_in(item)
    elif isinstance(value, dict):
        for item in cast(dict[Any, Any], value).values():
            yield from objects_in(item)
    elif isinstance(value, Record):
        yield from objects_in(value.fields)
