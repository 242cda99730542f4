"""The trusted end of one worker's wire: what tests and the judge ask for."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, cast

from grader.errors import StudentCrashed, SubmissionFault
from grader.proxy.conversation.calls import UNREAD, Call, Calls, public_names
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.exchange import Exchange, Process
from grader.proxy.conversation.failed import Failed, failed
from grader.proxy.conversation.spent import CALLS, FIRST_CALLS, LOADING, Spent
from grader.proxy.conversation.spot_checks import MEANWHILE, SPOT_CHECKS
from grader.proxy.loans.watched_arguments import WatchedArguments
from grader.proxy.values.kinds import said
from grader.proxy.values.values import Elsewhere, assert_device, holds_tensors

TIMED = {"race", "ring"}  # requests during which nobody looks
LOADS = {"own_objects", "library", "load"}
GIVES = {"call", "kept", "each", "get"}  # requests that a value of the submission's is given for


class Conversation(Exchange):
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
        super().__init__(worker, clock, source, set() if asked is None else asked, spent or Spent())
        self.failed: Failed | None = None  # the latest request that ended in a fault
        self._calls = calls
        self._transcript = calls.whole if calls else None
        self._called: set[str] = set()  # in this worker
        self._device = device
        self._maps = device == "cpu"
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
        given = holds_tensors([*args, *kwargs.values()])
        outer, self._watching = self._watching, WatchedArguments(self._maps)
        noted = self.note(target, args, kwargs) if keep is None else None
        what = {"op": "call"} if keep is None else {"op": "keep", "number": keep}
        try:
            value = self.request({**what, "target": target}, (args, kwargs))
            if self._calls and noted:
                self._calls.gave(noted, value)
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

    def take(self, number: int, name: str, *, given: bool) -> Any:
        """Return what a call has left there, on the device of the tensors that it was given."""
        value = self.request({"op": "kept", "number": number})
        if given:
            assert_device(value, self._device, name)
        return value

    def note(self, target: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        """Note a call that is about to be made, unless a lent object makes it."""
        return self._calls.note(target, args, kwargs) if self._calls and not self._depth else None

    def _look_again(self, watching: WatchedArguments) -> None:
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
            with self._noted(header, value) as keep:
                return keep(self._budget.rest(lambda: self._request(header, value, fds, seconds)))
        if self.over:
            return self._request(header, value, fds, seconds)
        with self._noted(header, value) as keep:
            answer = keep(
                self._outermost(header, value, lambda: self._request(header, value, fds, seconds))
            )
        return self._calls.found(header, answer) if self._calls else answer

    @contextmanager
    def _noted(
        self, header: dict[str, Any], value: Any, lasts: list[Any] | None = None
    ) -> Generator[Callable[[Any], Any], None, None]:
        """Keep a request whole, where that is asked for; what is given takes its answer."""
        if self._transcript is None:
            yield lambda answer: answer
            return
        entry = self._transcript.note(header, value, lasts)

        def keep(answer: Any) -> Any:
            entry.answer = answer
            return answer

        try:
            yield keep
        except SubmissionFault as fault:
            self._transcript.failed(entry, fault)
            raise

    def series(
        self, header: dict[str, Any], value: Any, others: Sequence[tuple[dict[str, Any], Any]]
    ) -> list[Any]:
        """Make a request and others after it as one; return what came of each of the others.

        One is sent once the one before is answered: as many come back, whatever the worker does.
        """

        def ask() -> list[Any]:
            self._request(header, value, (), 0.0)
            return [self._request(*other, (), 0.0) for other in others]

        with self._noted(header, value, [last for _, last in others]) as keep:
            return keep(self._outermost(header, value, ask))

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

    def load(
        self, file: str, seconds: float = 0.0, libraries: Sequence[str] = (), *, alone: bool = False
    ) -> None:
        """Learn where our objects lie in the worker, then let it load libraries and the submission.

        Each may take the time of a call, or ``seconds`` where they are more. With ``alone`` no code
        is loaded but the libraries.
        """
        channel = self.worker.channel
        # On a GPU libraries change more of what they hold; it is not proven there yet.
        if channel.knows_sender and self._device == "cpu":
            told = self.request({"op": "own_objects", "known": SPOT_CHECKS.known()})
            self._lookout.begin(channel.sender, told)
        for library in libraries:
            self.request({"op": "library", "file": library}, seconds=seconds)
        if not alone:
            self.request({"op": "load", "file": file}, seconds=seconds)
        self.look()

    def look(self) -> None:
        """Raise Tampered if the submission has changed our objects; the worker waits."""
        if not self.over:
            self._lookout.look()

    def begin(self) -> None:
        """End every loan: what was lent in one test is out of reach in the next."""
        self.failed = None
        self._loans.clear()

    @contextmanager
    def hiding(self, elsewhere: Elsewhere) -> Generator[None, None, None]:
        """Hide arguments elsewhere in the calls inside, and fetch results from there."""
        self._values.elsewhere = elsewhere
        try:
            yield
        finally:
            self._values.elsewhere = None

    @contextmanager
    def probe(
        self, name: str, config: dict[str, Any], *, fds: tuple[int, ...] = ()
    ) -> Generator[list[Any], None, None]:
        """Run a probe around the calls inside; the list holds its reading afterwards."""
        reading: list[Any] = []
        message = {"op": "probe", "name": name, "config": config}
        self.request({**message, "action": "start"}, fds=fds)
        self._probing += 1
        try:
            yield reading
        finally:
            self._probing -= 1
            if not self.over:
                reading.append(self.request({**message, "action": "stop"}))
