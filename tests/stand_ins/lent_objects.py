"""The objects that the suites lend, taken out of the tests that lend them, and a use of each."""

import contextlib
import importlib
import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from stand_ins.borrower import Odd, Uses

from grader.errors import StudentCrashed, SubmissionFault
from grader.judge.plugin.draw import Draw
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.loans.loans import Loan
from grader.proxy.loans.watchdog import Overtime
from grader.sandbox.pace import PACE
from grader.wire.codec import Packer
from grader.wire.errors import Misfit, WireError

SECONDS = 1.0  # of a use
TIMES = 10  # that what one test lends is used


def suite(name: str) -> Any:
    """Import a suite; who collects no tests knows no marks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pytest.PytestUnknownMarkWarning)
        return importlib.import_module(f"grader.suites.test_{name}")


batching, sampling = suite("02_batching"), suite("03_sampling")
rope, kv_cache = suite("04_rope"), suite("05_kv_cache")
speculative = suite("10_speculative")


class Taken(Exception):
    """The test has called the submission: all that it lends is there."""


class Taker:
    """In the place of a student: keeps what it is lent."""

    def __init__(self) -> None:
        self.taken: list[Loan] = []

    def lend(
        self, target: Any, methods: Any = ("__call__",), attributes: Any = (), **how: bool
    ) -> Loan:
        lent = Loan(target, tuple(methods), tuple(attributes), True, how.get("steady", False))
        self.taken.append(lent)
        return lent

    def __getattr__(self, name: str) -> Any:
        def called(*_: Any, **__: Any) -> Any:
            raise Taken(name)

        return called


def desk(taker: Any, draw: Draw) -> None:
    made = kv_cache.Desk(taker, draw, 5)
    made._methods = ("update", "rewind")
    made._make()
    made.run(4)


def filters(taker: Any, _: Draw) -> None:
    for each in (sampling.roll, sampling.reverse, sampling.only_best):
        taker.lend(sampling.Filter(each))


def attention(taker: Any, draw: Draw) -> None:
    asked = rope.question(draw)
    asked.ask(taker, rope.Told(asked.update))


# What tests do up to the call of the submission.
TESTS: list[Callable[[Any, Draw], Any]] = [
    lambda taker, draw: batching.run(taker, batching.batch_of(draw, [1, 3, 2], [2, None]), 4),
    lambda taker, draw: sampling.search(
        taker, sampling.puzzle_of(draw, num_beams=2, max_new_tokens=3)
    ),
    filters,
    attention,
    desk,
    lambda taker, _: kv_cache.lent_history(taker, lambda: kv_cache.Spread(lambda x: x)),
    lambda taker, draw: speculative.tell(taker, speculative.story(draw, "fair", 5), 2, 5),
]


def objects(test: Callable[[Any, Draw], Any], seed: int) -> list[Loan]:
    """Return what a test lends, fresh."""
    taker = Taker()
    with contextlib.suppress(Taken):
        test(taker, Draw(seed, "a test"))
    return taker.taken


class Mute:
    """A worker that takes every answer and says nothing more."""

    def __init__(self) -> None:
        self.channel: Any = self

    def send(self, header: dict[str, Any], *_: Any) -> None:
        json.dumps(header, allow_nan=False)

    def receive(self, *_: Any) -> Any:
        raise WireError("it says nothing")

    def fault(self) -> SubmissionFault:
        return StudentCrashed("the worker is gone")

    def kill(self) -> None:
        pass


def use(lent: Loan, name: str, value: Any) -> str:
    """Use an object as a worker would ask for it; return how that ended.

    What would be a failure of the judge's own is raised.
    """
    worker: Any = Mute()
    talk = Conversation(worker, "cpu", Clock(SECONDS), "")
    number = talk._loans.lend(lent, 1)
    talk._depth, talk._deadline = 1, PACE.now() + SECONDS
    talk._budget.begin()
    packer = Packer(lambda item: _special(packer, item))
    try:
        tree = packer.pack(value)
    except Misfit:
        return "cannot be sent"
    question = {"object": number, "name": name, "value": tree}
    started = time.monotonic()
    try:
        talk._answer(question, [part.clone() for part in packer.buffers])
    except (SubmissionFault, WireError, Overtime) as fault:
        return type(fault).__name__
    finally:
        assert time.monotonic() - started < 20 * SECONDS
    return "answered"


def misuse(uses: Uses, seed: int) -> list[str]:
    """Use the objects of a test in ways that are made up, one after another."""
    lent = objects(uses.random.choice(TESTS), seed)
    ended: list[str] = []
    for _ in range(TIMES):
        each = uses.random.choice(lent)
        name = uses.random.choice([*each.methods, *each.attributes])
        ended.append(use(each, name, None if name in each.attributes else uses.arguments()))
    return ended


def _special(packer: Packer, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return packer.tensor(value, whole=False)
    if isinstance(value, Odd):
        return {"h": [1, "Odd", ["__call__", "update", "forward"]]}
    raise Misfit(type(value).__name__)
