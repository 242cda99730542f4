"""The exchange of messages that one request is, with the questions that come in between."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Protocol

from torch import Tensor

from grader.errors import Mismatch, StudentCrashed, StudentError, StudentMemory, SubmissionFault
from grader.proxy.conversation.calls import public_names
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.raised import raised
from grader.proxy.conversation.spent import JUDGE, Spent
from grader.proxy.conversation.spot_checks import Lookout
from grader.proxy.loans.budget import Budget, too_much
from grader.proxy.loans.loans import MAX_REFUSAL, Loans, Refusal
from grader.proxy.loans.watchdog import Overtime
from grader.proxy.loans.watched_arguments import WatchedArguments
from grader.proxy.repeat.transcript import Transcript
from grader.proxy.values.values import Values
from grader.sandbox.pace import PACE
from grader.wire.channel import Channel
from grader.wire.errors import Late, Misfit, TooMuch, WireError

MAX_NESTING = 12  # each call that waits may hold a message of its own
PROBE_SECONDS = 30.0  # starting a probe imports a lot, and to count takes a look at all objects
OURS = {"probe", "held", "kernels", "restore"}  # requests whose time is not the submission's
AT_WORK = ": a lent object was still at work on what it was given"
MISFIT = "what a lent object has to answer fits no message, for what it was given"


class Process(Protocol):
    """What runs the submission at the other end of a conversation."""

    channel: Channel

    def fault(self) -> SubmissionFault:
        """Say why it is gone."""
        ...

    def kill(self) -> None:
        """End it."""
        ...


class Exchange(ABC):
    """What crosses to one worker and back. After a fault it is over: the worker is dead."""

    def __init__(
        self, worker: Process, clock: Clock, source: str, asked: set[str], spent: Spent
    ) -> None:
        self.worker = worker
        self.over = False
        self._asked = asked
        self._spent = spent
        self._clock = clock
        self._lines = source.splitlines()
        self._loans = Loans()
        self._budget = Budget()
        self._values = Values(self, self._loans, self._budget)
        self._watching = WatchedArguments(maps=False)  # what the innermost call is given
        self._depth = 0
        self._sequence = 0
        self._least = 0.0  # seconds that the outermost call may take at least
        self._deadline = 0.0  # of the outermost call
        self._transcript: Transcript | None = None  # of the test, where it is to be kept whole
        self._lookout = Lookout(lambda: worker.channel.sender, self.end)

    @abstractmethod
    def call(self, target: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function or object of the submission."""

    @abstractmethod
    def request(self, header: dict[str, Any]) -> Any:
        """Send a request and return its value."""

    def _request(
        self, header: dict[str, Any], value: Any, fds: tuple[int, ...], seconds: float
    ) -> Any:
        self._asked.update(public_names(header))
        if self.over:
            raise StudentCrashed("the code was stopped earlier in this test")
        if self._depth == 0:
            self._least = PROBE_SECONDS if header["op"] in OURS else seconds
            self._deadline = self._clock.deadline(self._least)
            self._budget.begin()
        self._depth += 1
        self._sequence += 1
        number = self._sequence
        try:
            if self._depth > MAX_NESTING:
                raise self.end(
                    StudentCrashed("calls between the code and the test nest too deeply")
                )
            return self._exchange({**header, "id": number}, value, number, fds)
        except Late:
            raise self.end(self._clock.late(header, self._least)) from None
        except Overtime:
            raise self.end(self._clock.late(header, self._least, AT_WORK)) from None
        except MemoryError:  # a lent object is at work in another thread
            raise self.end(too_much()) from None
        except TooMuch as error:
            raise self.end(StudentMemory(str(error))) from None
        except WireError:
            raise self.end(self.worker.fault()) from None
        except StudentError:
            raise
        except BaseException:
            # Whatever interrupted us, the worker still waits for an answer: it is of no more use.
            self.end(None)
            raise
        finally:
            self._depth -= 1
            self._loans.end_deeper(self._depth)

    def end(self, fault: SubmissionFault | None) -> SubmissionFault:
        """Kill the worker and return the fault."""
        self.over = True
        self._lookout.close()
        self.worker.kill()
        return fault or StudentCrashed("the code was stopped")

    def _exchange(
        self, header: dict[str, Any], value: Any, number: int, fds: tuple[int, ...]
    ) -> Any:
        channel = self.worker.channel
        packer = self._values.packer(self._depth, self._watching)
        header = {**header, "value": packer.pack(value)}
        if shared := self._watching.make():
            header["mapped"] = self._watching.size
        channel.send(header, packer.buffers, self._deadline, (*fds, *shared))
        while True:
            if PACE.now() > self._deadline:  # a flood of messages never blocks
                raise Late
            reply, buffers = channel.receive(self._deadline)
            op = reply.get("op")
            if op == "ask":
                self._answer(reply, buffers)
            elif reply.get("id") != number or type(reply["id"]) is not int:
                raise WireError("an answer to no question")
            elif op == "value":
                return self._values.unpack(reply.get("value"), buffers)
            elif op == "error":
                fault = raised(reply, self._lines)
                raise self.end(fault) if isinstance(fault, StudentMemory) else fault
            else:
                raise WireError("an unknown message")

    # -- callbacks --------------------------------------------------------------------------

    def _answer(self, message: dict[str, Any], buffers: list[Tensor]) -> None:
        """Serve one use of an object of ours, if the submission was given it."""
        number, name = message.get("object"), message.get("name")
        if type(number) is not int or not isinstance(name, str):
            raise WireError("a malformed question")
        tree = message.get("value")
        try:
            self._budget.count(buffers)
            with self._spent.on(JUDGE):
                answer, result = self._budget.work(
                    self._deadline, lambda: self._use(number, name, tree, buffers)
                )
            packer = self._values.packer(self._depth, self._watching)
            answer["value"] = packer.pack(result)
            self._budget.check_objects(len(self._loans))
            self.worker.channel.send(answer, packer.buffers, self._deadline)
        except Misfit:
            self.end(None)
            raise Mismatch(MISFIT) from None
        except (WireError, Late):
            raise
        except BaseException:
            # The worker waits for an answer that will not come: it is of no more use.
            self.end(None)
            raise

    def _use(
        self, number: int, name: str, tree: Any, buffers: list[Tensor]
    ) -> tuple[dict[str, Any], Any]:
        """Let an object of ours do what it is asked for; return the head of the answer, and it."""
        value = self._values.unpack_argument(tree, buffers)
        try:
            with self._kept(number, name, value) as keep:
                result = self._loans.use(number, name, value)
                keep(result)
            return {"op": "answer", "told": self._loans.told_with_an_answer(number)}, result
        except Refusal as refusal:
            kind = type(refusal.error).__name__
            return {"op": "refuse", "kind": kind, "message": str(refusal)[:MAX_REFUSAL]}, None

    @contextmanager
    def _kept(self, number: int, name: str, value: Any) -> Generator[Callable[[Any], None]]:
        """Keep a call of a lent object whole, where that is asked for."""
        lent = self._loans.lent(number)
        if self._transcript is None or lent is None or value is None:
            yield lambda _: None
            return
        with self._transcript.using(lent, name, value) as keep:
            try:
                yield keep
            except Refusal as refusal:
                keep(refusal)
                raise
