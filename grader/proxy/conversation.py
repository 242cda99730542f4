"""The trusted end of one worker's wire: requests and nested callbacks."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol, cast

from torch import Tensor

from grader.errors import Mismatch, StudentCrashed, StudentError, StudentMemory, SubmissionFault
from grader.proxy.budget import Budget, too_much
from grader.proxy.calls import UNREAD, Call, Calls, public_names
from grader.proxy.clock import Clock
from grader.proxy.failed import Failed, failed
from grader.proxy.kinds import said
from grader.proxy.lent import MAX_REFUSAL, Loans, Refusal
from grader.proxy.raised import raised
from grader.proxy.sentry import MEANWHILE, SENTRY, Lookout
from grader.proxy.spent import CALLS, FIRST_CALLS, JUDGE, LOADING, Spent
from grader.proxy.values import Far, Hidden, Proxy, Values, assert_device
from grader.proxy.watchdog import Overtime
from grader.proxy.watching import Watched, Watching
from grader.sandbox.pace import PACE
from grader.wire.channel import Channel, Late, Misfit, TooMuch, WireError

MAX_NESTING = 12  # each call that waits may hold a message of its own
PROBE_SECONDS = 30.0  # starting a probe imports a lot, and to count takes a look at all objects
TIMED = {"race", "ring"}  # requests during which nobody looks
LOADS = {"landmarks", "load"}
GIVES = {"call", "kept", "each", "get"}  # requests that a value of the submission's is given for
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


class Conversation:
    """Requests to one worker. After a fault it is over: the worker is dead."""

    def __init__(
        self,
        worker: Process,
        device: str,
        clock: Clock,
        source: str,
        asked: set[str] | None = None,
        calls: Calls | None = None,
        spent: Spent | None = None,
    ) -> None:
        """``asked`` takes the public names of the submission that requests are about.

        ``calls`` takes the calls, but those out of objects that are lent; ``spent`` counts seconds.
        """
        self.worker = worker
        self.over = False
        self.failed: Failed | None = None  # the latest request that ended in a fault
        self._asked = set[str]() if asked is None else asked
        self._calls = calls
        self._spent = spent or Spent()
        self._called: set[str] = set()  # in this worker
        self._device = device
        self._clock = clock
        self._lines = source.splitlines()
        self._loans = Loans()
        self._budget = Budget()
        self._values = Values(self, self._loans, self._budget)
        self._maps = device == "cpu"
        self._watching = Watching(maps=False)  # what the innermost call is given
        self._depth = 0
        self._sequence = 0
        self._least = 0.0  # seconds that the outermost call may take at least
        self._deadline = 0.0  # of the outermost call
        self._lookout = Lookout(lambda: worker.channel.sender, self.end)
        self._probing = 0  # probes that run

    # -- requests ---------------------------------------------------------------------------

    def call(
        self,
        target: list[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        keep: int | None = None,
    ) -> Any:
        """Call a function or object of the submission; tensors must come back where they went.

        What it gives stays there under the number ``keep``, if there is one, until it is taken.
        """
        items = [*args, *kwargs.values()]
        items += [item.value for item in items if isinstance(item, Watched | Hidden | Far)]
        given = any(isinstance(item, Tensor) for item in items)
        outer, self._watching = self._watching, Watching(self._maps)
        noted = self.note(target, args, kwargs) if keep is None else None
        what = {"op": "call"} if keep is None else {"op": "keep", "number": keep}
        try:
            value = self.request({**what, "target": target}, (args, kwargs))
            if self._calls and noted and isinstance(value, Proxy):
                self._calls.returned(noted, value.number_, value.kind_)
        finally:
            watching, self._watching = self._watching, outer
            try:
                if watching.items and not self.over:
                    self._look_again(watching)
            finally:
                watching.close()
        if given:
            assert_device(value, self._device, str(target[-1]))
        return value

    def take(self, number: int, name: str) -> Any:
        """Return what a call has left there, of tensors on the device that it was given them on."""
        value = self.request({"op": "kept", "number": number})
        assert_device(value, self._device, name)
        return value

    def note(self, target: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        """Note a call that is about to be made, unless a lent object makes it."""
        return self._calls.note(target, args, kwargs) if self._calls and not self._depth else None

    def _look_again(self, watching: Watching) -> None:
        watching.look()
        items = watching.items
        storages = self.request({"op": "watched", "count": len(items)})
        known = isinstance(storages, list) and len(cast(list[Any], storages)) == len(items)
        if not known:
            raise self.end(StudentCrashed("the code broke the judge's protocol"))
        for item, storage in zip(items, cast(list[Any], storages), strict=True):
            item.after = storage

    def request(
        self,
        header: dict[str, Any],
        value: Any = None,
        *,
        fds: tuple[int, ...] = (),
        seconds: float = 0.0,
    ) -> Any:
        """Send a request, serve the callbacks that it causes, and return its value.

        ``fds`` are descriptors to hand over; ``seconds`` extends the deadline of a single call.
        """
        if self._depth:  # an object that is lent is at work, and this is no work of its own
            return self._budget.rest(lambda: self._request(header, value, fds, seconds))
        if self.over:
            return self._request(header, value, fds, seconds)
        answer = self._outermost(header, value, lambda: self._request(header, value, fds, seconds))
        return self._calls.found(header, answer) if self._calls else answer

    def series(
        self, header: dict[str, Any], value: Any, others: Sequence[tuple[dict[str, Any], Any]]
    ) -> list[Any]:
        """Make a request and others after it as one; return what came of each of the others.

        One is sent once the one before is answered: as many come back, whatever the worker does.
        """

        def ask() -> list[Any]:
            self._request(header, value, (), 0.0)
            return [self._request(*other, (), 0.0) for other in others]

        return self._outermost(header, value, ask)

    def _outermost(self, header: dict[str, Any], value: Any, ask: Callable[[], Any]) -> Any:
        """Ask a worker that waits for us; ``ask`` may make several requests."""
        timed = header["op"] in TIMED  # by the stopwatch, which says what it is doing
        share = 0 if timed else 1 if self._probing else MEANWHILE
        kind = nullcontext() if timed else self._spent.on(self._kind(header))
        told = self._calls if header["op"] not in LOADS else None
        came = UNREAD
        if told:  # already now: a test may meet what comes of another rank
            told.take(came, given=False)
        try:
            with kind, self._lookout.during(share):
                answer = ask()
            came = said(answer)
            return answer
        except SubmissionFault as fault:
            self.failed = failed(header, value, self._clock.seconds(self._least))
            came = said(fault)
            raise
        finally:
            if told:
                told.take(came, given=header["op"] in GIVES)

    def _kind(self, header: dict[str, Any]) -> str:
        """Say what the seconds of a request are spent on."""
        if header["op"] in LOADS:
            return LOADING
        names = {*public_names(header)} - self._called
        self._called |= names
        return FIRST_CALLS if names else CALLS

    def load(self, file: str, seconds: float = 0.0) -> None:
        """Learn where our objects lie in the worker, then let it load the submission.

        It may take the time of a call, or ``seconds`` where they are more.
        """
        channel = self.worker.channel
        # On a GPU libraries change more of what they hold; it is not proven there yet.
        if channel.knows_sender and self._device == "cpu":
            told = self.request({"op": "landmarks", "known": SENTRY.known()})
            self._lookout.begin(channel.sender, told)
        self.request({"op": "load", "file": file}, seconds=seconds)
        self.look()

    def look(self) -> None:
        """Raise Tampered if the submission has changed our objects; the worker waits."""
        if not self.over:
            self._lookout.look()

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
            result = self._loans.use(number, name, value)
            return {"op": "answer", "told": self._loans.told_with_an_answer(number)}, result
        except Refusal as refusal:
            kind = type(refusal.error).__name__
            return {"op": "refuse", "kind": kind, "message": str(refusal)[:MAX_REFUSAL]}, None

    def begin(self) -> None:
        """End every loan: what was lent in one test is out of reach in the next."""
        self.failed = None
        self._loans.clear()

    @contextmanager
    def probe(self, name: str, config: dict[str, Any]) -> Generator[list[Any], None, None]:
        """Run a probe around the calls inside; the list holds its reading afterwards."""
        reading: list[Any] = []
        message = {"op": "probe", "name": name, "config": config}
        self.request({**message, "action": "start"})
        self._probing += 1
        try:
            yield reading
        finally:
            self._probing -= 1
            if not self.over:
                reading.append(self.request({**message, "action": "stop"}))
