"""A group of ranks as tests see it: each call runs on all its ranks at once.

A call ends when every rank has answered. If one fails, or the deadline passes, the others are asked
where they are and the sandbox is killed: a fault is reported once, with where the others were.
"""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from grader.errors import Mismatch, StudentTimeout, SubmissionFault
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.conversation.failed import Failed
from grader.proxy.instruments.instruments import raises
from grader.proxy.instruments.readings import UNCOUNTED, Sent
from grader.proxy.loans.loans import Loan
from grader.proxy.ranks.hangs import explain
from grader.proxy.ranks.network import Network
from grader.proxy.ranks.peer import ATTRIBUTES, METHODS
from grader.proxy.ranks.ranks import RankProcess, RankSandbox
from grader.proxy.values.values import Proxy
from grader.sandbox.pace import PACE

GRACE_SECONDS = 1.0  # for the other ranks, once one has failed


class PerRank(tuple[Any, ...]):
    """A value for each rank: an argument that differs between ranks, or what they returned."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One rank: its number in the world, its conversation and its process."""

    rank: int
    talk: Conversation
    process: RankProcess


class GroupProxy:
    """An object on each rank. Calls, methods and attributes give a result for each rank."""

    def __init__(self, group: "Group", parts: Sequence[Proxy]) -> None:
        self._group = group
        self.parts_ = tuple(parts)
        self.kind_ = parts[0].kind_

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._group.each(list(self.parts_), args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.parts_[0].methods_:
            return lambda *args, **kwargs: self._group.each(
                # What one rank calls a method may be none on another: its worker says so.
                [lambda *a, p=part, **k: p.invoke_(name, a, k) for part in self.parts_],
                args,
                kwargs,
            )
        return self._group.run([lambda p=part: getattr(p, name) for part in self.parts_])


class Group:
    """Ranks of one process group; each public name of the submission is a callable attribute.

    Arguments go to every rank alike, but those in ``PerRank``; results come back as ``PerRank``,
    objects as ``GroupProxy``. ``process_group`` is what the submission takes as its ``group``.
    """

    def __init__(
        self,
        members: Sequence[Member],
        sandbox: RankSandbox,
        lines: Sequence[str],
    ) -> None:
        self.size = len(members)
        self.process_group: GroupProxy | None = None  # the default one
        self._members = tuple(members)
        self._sandbox = sandbox
        self._lines = lines
        self._failed: dict[int, SubmissionFault] = {}  # of the last call, by place in the group
        self._threads = ThreadPoolExecutor(self.size)

    @property
    def over(self) -> bool:
        """Whether a rank has been given up, and the sandbox with it."""
        return self._sandbox.over or any(member.talk.over for member in self._members)

    # -- calls ------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self._call(["function", name], args, kwargs)

    def backward(
        self,
        module: Any,
        inputs: Any,
        upstream: Any,
        *,
        needs: bool = True,
        twice: bool = False,
    ) -> Any:
        """Return for each rank (outputs, gradients of the inputs, gradients of the parameters).

        ``inputs`` is a tuple of tensors; ``upstream`` has the form of the outputs; the parameters'
        are a dict by name. With ``needs`` False the inputs require no gradient. With ``twice`` the
        inputs go forward, then two times them, then backward both: gradients are added up.
        """
        return self._call(["backward", "backward"], (module, inputs, upstream, needs, twice), {})

    def among(self, network: Network, name: str, *args: Any) -> PerRank:
        """Call a function on every rank, with the rank's end of a network before its arguments."""

        def call(member: Member) -> Callable[..., Any]:
            peer = Loan(network.peer(member.rank), METHODS, ATTRIBUTES, keep=False, steady=True)

            def attended(*own: Any) -> Any:
                with network.attended(member.rank):
                    return member.talk.call(["function", name], (peer, *own), {})

            return attended

        return self.each([call(member) for member in self._members], args, {})

    def _call(self, target: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        calls = [
            lambda *a, talk=member.talk, **k: talk.call(target, a, k) for member in self._members
        ]
        return self.each(calls, args, kwargs)

    def each(
        self, calls: Sequence[Callable[..., Any]], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Make a call on each rank, with the rank's own part of the arguments."""
        return self.run(
            [
                lambda r=rank, call=call: call(*_part(args, r), **_part(kwargs, r))
                for rank, call in enumerate(calls)
            ]
        )

    def _ask(self, header: dict[str, Any]) -> PerRank:
        """Make a request of ours on each rank; an object in place of an answer stays one."""
        jobs = [lambda talk=member.talk: talk.request(dict(header)) for member in self._members]
        return PerRank(self._answers(jobs))

    def run(self, jobs: Sequence[Callable[[], Any]]) -> Any:
        """Run a job for each rank at once; return their results or raise what went wrong."""
        values = self._answers(jobs)
        if all(isinstance(value, Proxy) for value in values):
            return GroupProxy(self, values)
        return PerRank(values)

    def _answers(self, jobs: Sequence[Callable[[], Any]]) -> list[Any]:
        futures = [self._threads.submit(job) for job in jobs]
        try:
            _wait_kindly(wait(futures, return_when=FIRST_EXCEPTION).not_done)
            self._settle(futures)
        except BaseException:
            if self.over or not all(future.done() for future in futures):
                self.end()
                wait(futures)
            raise
        return [future.result() for future in futures]

    def _settle(self, futures: Sequence[Future[Any]]) -> None:
        """Raise what explains the failures best, if there are any."""
        errors = {
            place: error
            for place, future in enumerate(futures)
            if future.done() and (error := future.exception())
        }
        for error in errors.values():
            if not isinstance(error, SubmissionFault):
                raise error
        self._failed = cast(dict[int, SubmissionFault], errors)
        if errors:
            stuck = {
                member.rank: member.process.look()
                for place, member in enumerate(self._members)
                if isinstance(errors.get(place), StudentTimeout) or not futures[place].done()
            }
            returned = [
                m.rank for p, m in enumerate(self._members) if p not in errors and futures[p].done()
            ]
            limit = self.end() if stuck or self.over else None
            faults = {self._members[p].rank: fault for p, fault in self._failed.items()}
            raise limit or explain(faults, stuck, returned, self._lines)

    def end(self) -> SubmissionFault | None:
        """Kill the sandbox with all its ranks; return the limit that they broke, if any."""
        for member in self._members:
            member.talk.over = True
        return self._sandbox.kill()

    # -- for whoever makes groups -------------------------------------------------------------

    def load_(self, file: str, seconds: float = 0.0) -> None:
        """Load the submission on every rank, as ``Conversation.load`` does."""
        self._answers(
            [lambda talk=member.talk: talk.load(file, seconds) for member in self._members]
        )

    def inspect_(self) -> None:
        """Look at what of ours runs beside each rank, as ``Conversation.look`` does."""
        for member in self._members:
            member.talk.look()

    @property
    def failed_(self) -> tuple[Failed | None, ...]:
        """The request of each rank that ended in a fault in this test."""
        return tuple(member.talk.failed for member in self._members)

    def begin_(self) -> None:
        """Begin a test with each rank, as ``Conversation.begin`` does."""
        for member in self._members:
            member.talk.begin()

    def close_(self) -> None:
        """Let the threads go."""
        self._threads.shutdown(wait=False)

    # -- for the tests ------------------------------------------------------------------------

    def subgroup(self, *ranks: int) -> "Group":
        """Return a group of some ranks of this one, in rising order; all ranks help to make it."""
        made = self._ask({"op": "subgroup", "ranks": [self._members[r].rank for r in ranks]})
        parts: list[Proxy] = []
        for rank in ranks:
            if not isinstance(made[rank], Proxy):
                raise Mismatch("the code broke torch.distributed.new_group")
            parts.append(made[rank])
        members = [self._members[rank] for rank in ranks]
        inner = Group(members, self._sandbox, self._lines)
        inner.process_group = GroupProxy(inner, parts)
        return inner

    @contextmanager
    def raises(self, kind: type[Exception], naming: str = "") -> Generator[None, None, None]:
        """Expect every rank to raise ``kind``, with ``naming`` as a word of the message."""
        with raises(kind, naming):
            yield
        if len(self._failed) < self.size:
            quiet = [m.rank for p, m in enumerate(self._members) if p not in self._failed]
            raise Mismatch(f"expected a {kind.__name__} on every rank; rank {quiet[0]} raised none")

    @contextmanager
    def collectives(self) -> Generator[Sent, None, None]:
        """Note the collectives that each rank begins in the calls inside: kind and bytes."""
        self._ask({"op": "collectives"})  # those before are forgotten
        sent = Sent()
        yield sent
        sent.take(self._ask({"op": "collectives"}))

    def held_bytes(self) -> PerRank:
        """Return how many bytes of tensors each rank holds."""
        held = self._ask({"op": "held"})
        if not all(type(count) is int and count >= 0 for count in held):
            raise Mismatch(UNCOUNTED)
        return held


def _wait_kindly(waiting: set[Future[Any]]) -> None:
    """Wait for the other ranks; what the machine takes from them meanwhile is given to them."""
    end = PACE.now() + GRACE_SECONDS
    while waiting and (left := end - PACE.now()) > 0:
        waiting = wait(waiting, timeout=left).not_done


def _part(value: Any, rank: int) -> Any:
    """Return a rank's own part of an argument."""
    match value:
        case PerRank():
            return value[rank]
        case GroupProxy():
            return value.parts_[rank]
        case tuple() | list():
            return type(value)(_part(item, rank) for item in cast(list[Any], value))
        case dict():
            return {key: _part(item, rank) for key, item in cast(dict[str, Any], value).items()}
        case _:
            return value
