"""Groups of ranks: what they send beside a conversation, and what they answer out of step."""

import json
import random
import socket
import threading
import time
from types import ModuleType
from typing import Any

import pytest
import torch
from hypothesis import event, given
from hypothesis import strategies as st
from stand_ins.fuzzing import fuzz
from stand_ins.liar import Lies, LyingWorker
from stand_ins.threaded import SOURCE, Thread

from grader.errors import StudentTimeout, SubmissionFault
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.ranks.group import Group, GroupProxy, Member
from grader.proxy.ranks.hangs import explain
from grader.proxy.ranks.ranks import MAX_ANSWER, RankProcess, Whereabouts, read_whereabouts
from grader.wire.channel import Channel

LINES = SOURCE.splitlines()
WORLD = 2

# -- the watch ------------------------------------------------------------------------------------

numbers = st.integers(-5, 99) | st.sampled_from([1 << 63, -(10**40), 10**4200])
words = st.sampled_from(["all_reduce", "", "\ud800", "\0\n\x1b[2J", "x" * 9000])
odd = st.none() | st.booleans() | numbers | st.floats() | words
frames = st.lists(st.tuples(numbers | odd, words | odd).map(list) | odd, max_size=60)
sayings = st.fixed_dictionaries(
    {"frames": frames | odd, "last": st.tuples(words | odd, numbers | odd).map(list) | odd},
    optional={"begun": numbers | odd},
)


@given(st.binary(max_size=200) | sayings.map(lambda said: json.dumps(said).encode()))
@fuzz(200)
def test_whatever_a_watch_says_a_fault_is_told(data: bytes) -> None:
    place = read_whereabouts(data)
    fault = explain({0: StudentTimeout("late")}, {0: place, 1: Whereabouts()}, [1], LINES)

    event("nowhere" if place == Whereabouts() else "somewhere")
    assert type(fault) is StudentTimeout
    assert len(str(fault)) < 10_000


@pytest.mark.parametrize("data", [b"", b"\n", b"x" * (2 * MAX_ANSWER), b"[" * MAX_ANSWER, b"{}"])
@pytest.mark.parametrize("ending", ["closed", "silent"])
def test_watch_that_says_anything_is_heard_for_a_moment(
    monkeypatch: pytest.MonkeyPatch, data: bytes, ending: str
) -> None:
    monkeypatch.setattr("grader.proxy.ranks.ranks.ANSWER_SECONDS", 0.2)
    ours, theirs = socket.socketpair()
    rank = RankProcess(None, 1, None, ours)  # type: ignore[arg-type]

    def say() -> None:
        theirs.sendall(data)
        if ending == "closed":
            theirs.close()

    speaker = threading.Thread(target=say)
    speaker.start()
    started = time.monotonic()
    assert rank.look() == Whereabouts()
    assert time.monotonic() - started < 5
    ours.close()
    speaker.join()
    theirs.close()


# -- a group whose ranks lie ---------------------------------------------------------------------


class Rank(LyingWorker):
    """A rank that is a thread; it answers the requests that only ranks get."""

    def perform(self, header: dict[str, Any], buffers: list[torch.Tensor]) -> Any:
        match header["op"]:
            case "collectives":
                return [["all_reduce", 8]]
            case "held":
                return 64
            case "subgroup":
                return object()
            case _:
                return super().perform(header, buffers)


class Sandbox:
    """What a group needs of its sandbox."""

    def __init__(self) -> None:
        self.over = False
        self.workers: list[Thread] = []

    def kill(self) -> None:
        self.over = True
        for worker in self.workers:
            worker.kill()


class Watched:
    """A rank's process, of which only the whereabouts are asked."""

    def look(self) -> Whereabouts:
        return Whereabouts(((3, "f"),), ("all_reduce", 3), 1)


def start_rank(lies: Lies) -> Thread:
    def serve(sock: socket.socket, arenas: tuple[int, int]) -> None:
        rank = Rank(Channel(sock, *arenas, takes_fds=True), "cpu")
        rank.lies, rank.told_names = lies, True
        rank.module = ModuleType("submission")
        exec(compile(SOURCE, "echo.py", "exec"), vars(rank.module))
        rank.serve()

    return Thread(serve)


def named(made: GroupProxy, method: str) -> bool:
    """Tell whether the first rank's object has a method, as its worker says."""
    return method in made.parts_[0].methods_


def use(group: Group) -> list[str]:
    """Use what a group offers; return how each step ended."""

    def watched() -> Any:
        with group.collectives() as sent:
            group.same(torch.ones(3))
        return sent.per_rank

    def box() -> Any:
        made = group.Box(4)  # on every rank, or on some
        return made.get() if isinstance(made, GroupProxy) and named(made, "get") else made

    steps = [
        lambda: group.same(torch.arange(30_000.0)),
        lambda: group.echo([1, (2, None)], x=torch.ones(2, 3)),
        lambda: group.bad(),
        box,
        watched,
        group.held_bytes,
        lambda: group.subgroup(0, 1).size,
    ]
    ended: list[str] = []
    for step in steps:
        try:
            step()
            ended.append("value")
        except SubmissionFault as fault:
            ended.append(type(fault).__name__)
    return ended


@given(st.integers(0, 1 << 30), st.sampled_from([0.0, 0.1, 0.5]))
@fuzz(25)
def test_group_of_liars_raises_faults_only(seed: int, rate: float) -> None:
    sandbox = Sandbox()
    sandbox.workers = [start_rank(Lies(random.Random(seed + n), rate)) for n in range(WORLD)]
    members = [
        Member(rank, Conversation(worker, "cpu", Clock(5), SOURCE), Watched())  # type: ignore
        for rank, worker in enumerate(sandbox.workers)
    ]
    group = Group(members, sandbox, LINES)  # type: ignore[arg-type]
    started = time.monotonic()
    try:
        ended = use(group)
    finally:
        for worker in sandbox.workers:
            worker.join()
        group.close_()
    assert time.monotonic() - started < 60
    assert rate or ended == ["value"] * 2 + ["StudentError"] + ["value"] * 4
    for how in ended:
        event(how)
