"""Grade submissions on groups of ranks, right and wrong: each says what it is and expects.

Hostile ones are in ``tests/exploits/ranks``; ``tests/prove/test_forked.py`` grades the same files
the quick way, all of them each day.
"""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import torch
from stand_ins import expectation
from stand_ins.isolation import require_sandbox

from grader.errors import StudentCrashed, StudentError, StudentTimeout, SubmissionFault
from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.judge.setup.start import ForkServer, Starter
from grader.labs.results import Report, Verdict
from grader.proxy.ranks import group, ranks
from grader.proxy.ranks.hangs import explain
from grader.proxy.ranks.ranks import RankSandbox, Whereabouts, read_whereabouts
from grader.worker.operators.collectives import kind_of, most_bytes

LAB = expectation.find("92_ranks")
OWN = StudentError("ValueError", "odd", ("ValueError",))
LOST = StudentError("RuntimeError", "Connection closed by peer [127.0.0.1]:4242")
CRASHED, LATE = StudentCrashed("it died"), StudentTimeout("too late")
FILES = {file.stem: file for file in sorted(expectation.RANKS.glob("*.py"))}


class Parent:
    """What forks ranks, as far as its memory goes: each group takes what it is told to."""

    def __init__(self) -> None:
        self.taken, self.limit = 0, 0

    def used(self) -> int:
        return self.taken

    def allow(self, more: int) -> None:
        self.limit += more


def allowed(device: str, *groups: tuple[int, int]) -> list[int]:
    """Return the limits after groups have joined: of each its size, and MiB that a rank takes."""
    sandbox = RankSandbox.__new__(RankSandbox)
    sandbox.parent, sandbox._device, sandbox._idle = Parent(), device, 0
    limits: list[int] = []
    for size, each in groups:
        with sandbox.allowing(size):
            assert device == "cpu" or sandbox.parent.limit >= size * ranks.JOINING
            sandbox.parent.taken += size * each << 20
        limits.append(sandbox.parent.limit >> 20)
    return limits


def test_what_ranks_take_on_a_gpu_before_they_work_is_not_the_submissions() -> None:
    spare = ranks.SPARE >> 20

    assert allowed("cuda", (1, 400)) == [600 + spare]
    assert allowed("cuda", (2, 400), (4, 500)) == [
        2 * (600 + spare),
        2 * (600 + spare) + 4 * (750 + spare),
    ]
    assert allowed("cpu", (2, 400)) == [0]


def test_submission_that_takes_memory_while_others_join_gains_no_more_than_twice() -> None:
    spare = ranks.SPARE >> 20

    assert allowed("cuda", (1, 100), (1, 9000)) == [150 + spare, 150 + 300 + 2 * spare]


@pytest.fixture(scope="module")
def gradings(
    request: pytest.FixtureRequest, sessions: ForkServer
) -> Iterator[dict[str, Future[Report]]]:
    require_sandbox()
    asked = [getattr(item, "callspec", None) for item in request.session.items]
    names = [spec.params["name"] for spec in asked if spec and spec.params.get("name") in FILES]
    with ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(graded, name, sessions) for name in sorted(names)}


def graded(name: str, start: Starter) -> Report:
    return grade(Request(LAB, FILES[name], "cpu", 3, "required"), start=start)


@pytest.mark.in_turn
@pytest.mark.parametrize("name", FILES)
def test_submission_gets_what_it_earns(name: str, gradings: dict[str, Future[Report]]) -> None:
    report = gradings[name].result()

    odd = expectation.problems(report, expectation.read(FILES[name]))
    assert not odd, "\n".join((*odd, expectation.failures(report)))
    assert Verdict.INFRA not in {test.verdict for test in report.tests}


@pytest.mark.parametrize(
    ("faults", "wanted"),
    [
        ({0: LOST, 1: CRASHED, 2: LOST}, "rank 1: it died"),
        ({0: LOST, 2: OWN}, "rank 2: ValueError: odd"),
        ({0: LATE, 2: OWN}, "rank 2: ValueError: odd"),
        ({0: LATE, 1: LOST}, "too late"),
        ({0: OWN, 1: OWN}, "ranks 0, 1: ValueError: odd"),
    ],
)
def test_cause_is_told_before_its_consequences(
    faults: dict[int, SubmissionFault], wanted: str
) -> None:
    assert str(explain(faults, {}, [], [])) == wanted


def test_places_of_the_others_are_told() -> None:
    places = {
        1: Whereabouts(((2, "step"),), ("all_reduce", 2), 3),
        2: Whereabouts(((1, "run"), (3, "step")), ("broadcast", 2), 1),
        3: Whereabouts((), ("send", 2), 1),
        4: Whereabouts(),
    }

    fault = explain({0: OWN}, places, [5, 6], ["a()", "  b()", "c()"])

    assert str(fault).splitlines()[1:] == [
        "  rank 1 waits in all_reduce (collective 3 of its own) at line 2 in step: b()",
        "  rank 2 is at line 3 in step: c()",
        "  rank 3 waits in send (collective 1 of its own) at line 2: b()",
        "  rank 4 waits, and not in a line of the code",
        "  ranks 5, 6 returned",
    ]
    assert isinstance(fault, StudentError)
    assert fault.bases == ("ValueError",)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"{}",
        b"[" * 100_000,
        b'{"frames": [[1, 2]], "last": 3, "begun": 1}',
        b'{"frames": "x", "last": null, "begun": 1}',
        b'{"frames": [], "last": [1, 2], "begun": "many"}',
    ],
)
def test_watch_may_say_anything(said: bytes) -> None:
    place = read_whereabouts(said)

    assert (place.frames, place.last) == ((), None)


@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        ("c10d.allreduce_.default", "all_reduce"),
        ("c10d._allgather_base_.default", "all_gather"),
        ("c10d.allgather_into_tensor_coalesced_.default", "all_gather"),
        ("c10d._reduce_scatter_base_.default", "reduce_scatter"),
        ("c10d.reduce_.default", "reduce"),
        ("c10d.alltoall_base_.default", "all_to_all"),
        ("c10d.recv_any_source_.default", "recv"),
        ("c10d.monitored_barrier_.default", "barrier"),
        ("_c10d_functional.all_reduce.default", "all_reduce"),
        ("_c10d_functional.all_gather_into_tensor.default", "all_gather"),
        ("_c10d_functional_autograd.all_to_all_single.default", "all_to_all"),
        ("_c10d_functional.wait_tensor.default", ""),
        ("aten.add.Tensor", ""),
    ],
)
def test_every_way_to_a_collective_has_its_kind(operator: str, kind: str) -> None:
    assert kind_of(operator) == kind


def test_bytes_are_those_of_the_full_tensor() -> None:
    part, parts = torch.zeros(3), [[torch.zeros(3), torch.zeros(3)]]

    assert most_bytes((parts, [part], None, 7)) == 24


def test_ranks_that_the_machine_holds_up_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seconds of the machine's, and none of the ranks', pass before the second one answers."""
    begun = time.monotonic()
    held_up = SimpleNamespace(now=lambda: begun + max(0.0, time.monotonic() - begun - 2.0))
    monkeypatch.setattr(group, "PACE", held_up)
    monkeypatch.setattr(group, "GRACE_SECONDS", 0.2)

    with ThreadPoolExecutor(2) as threads:
        slow, stuck = threads.submit(time.sleep, 1.5), threads.submit(time.sleep, 4.0)
        group._wait_kindly({slow})
        assert slow.done()
        group._wait_kindly({stuck})
        assert not stuck.done()
