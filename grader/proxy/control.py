"""What a failed request comes to with an answer of ours, in a worker set up like the submission's.

It is asked for once the submission's processes are gone, with their memory and files, so that what
the answer of ours meets is this machine's. Nothing of the submission is loaded here.
"""

import contextlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from grader.errors import CannotGrade, SubmissionFault
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.conversation.failed import Failed, Place
from grader.proxy.racing import RING_SECONDS
from grader.proxy.ranks.groups import DEVICES, joining
from grader.proxy.ranks.ranks import RankSandbox
from grader.proxy.values.values import Far
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting
from grader.wire.memory import SharedMemory
from grader.wire.ring import Layout

PARTS = ("clocks", "files", "threads", "sums")
FIRST_SECONDS = 120.0  # for what imports and compiles
LEAST_SECONDS = 5.0  # for an answer that takes a thousandth of that
RACING = ("ring", "race")


class Control:
    """Answers of ours to what submissions of one grading have failed in."""

    def __init__(self, setting: Setting, take: Callable[[], WorkerProcess]) -> None:
        self._setting = setting
        self._take = take
        # In labs of groups a worker takes seconds to start: what forks the ranks of our answers is
        # kept, and each group of them is new.
        self._sandboxes: dict[str, RankSandbox] = {}  # by backend
        self._killers: list[threading.Thread] = []

    def trouble(self, place: Place) -> str:
        """Return what an answer of ours has met in the same place, or an empty string."""
        try:
            if place.size:
                self._ask_ranks(place)
            else:
                self._ask_worker(place)
        except CannotGrade as error:
            return error.message
        except (SubmissionFault, RuntimeError, OSError) as error:
            return f"an answer of ours, without the submission, has failed too: {error}"
        return ""

    def _parts(self, *, elsewhere: bool = False) -> list[str]:
        """Return what our answer is made of: what workers of this lab are promised, and no more.

        Else a submission could choose what fails here, and with it what is not graded. What failed
        ``elsewhere`` failed on the device: ours has one, too.
        """
        setting = self._setting
        parts = [*PARTS]
        if elsewhere:
            parts += ["elsewhere", "interpreted"] if setting.triton else ["elsewhere"]
        if setting.triton:
            parts.append("kernel")
        if any(name.startswith("torch._dynamo") for name in setting.preload):
            # Code for a CPU is nothing that a lab needs; its compiler is not promised there.
            parts.append("traced" if setting.device == "cpu" else "compiled")
        return parts

    # -- a worker ---------------------------------------------------------------------------

    def _ask_worker(self, place: Place) -> None:
        worker = self._take()
        try:
            talk = Conversation(worker, self._setting.device, Clock(FIRST_SECONDS), "")
            _prove(talk, self._parts(elsewhere=place.elsewhere))
            if place.failed is not None:
                _answer(talk, place.failed)
                if place.ring is not None and place.failed.header["op"] in RACING:
                    self._race(talk, place.ring, place.failed)
        finally:
            killer = threading.Thread(target=worker.kill)  # beside what follows
            killer.start()
            self._killers.append(killer)

    def _race(self, talk: Conversation, layout: Layout, failed: Failed) -> None:
        """Write and copy a ring of that layout, as a race does."""
        memory = SharedMemory.make(layout.size, torch.device(self._setting.device))
        try:
            ring = {"op": "ring", "size": memory.size, "layout": layout.to_json()}
            talk.request(ring, fds=(memory.fd,), seconds=RING_SECONDS)
            count = failed.header.get("count", layout.slots)
            race = {"op": "race", "function": None, "count": count, "options": {}}
            talk.request(race, seconds=_seconds(failed))
        finally:
            memory.close()

    # -- a group ----------------------------------------------------------------------------

    def _ask_ranks(self, place: Place) -> None:
        sandbox = self._sandbox(place.backend)
        ranks = [sandbox.fork(rank) for rank in range(place.size)]
        device, clock = DEVICES[place.backend], Clock(FIRST_SECONDS)
        talks = [Conversation(rank, device, clock, "") for rank in ranks]
        join = joining(self._setting, sandbox, place.backend, place.size)
        try:
            with ThreadPoolExecutor(place.size) as threads:
                with sandbox.allowing(place.size):
                    _each(threads, talks, lambda talk, r: talk.request({**join, "rank": r}))
                _each(threads, talks, lambda talk, _: _prove(talk, [*self._parts(), "collective"]))
                _each(threads, talks, lambda talk, r: _answer(talk, place.ranks[r]))
        except BaseException:
            self._sandboxes.pop(place.backend).kill()
            raise
        finally:
            for rank in ranks:
                rank.close()  # it ends then

    def _sandbox(self, backend: str) -> RankSandbox:
        sandbox = self._sandboxes.get(backend)
        if sandbox is None or sandbox.over:
            sandbox = RankSandbox(self._take(), (), DEVICES[backend])
            self._sandboxes[backend] = sandbox
        return sandbox

    def close(self) -> None:
        """End what is left of our answers."""
        for killer in self._killers:
            killer.join()
        for sandbox in self._sandboxes.values():
            with contextlib.suppress(OSError):
                sandbox.kill()
        self._sandboxes.clear()


Job = Callable[[Conversation, int], object]


def _each(threads: ThreadPoolExecutor, talks: Sequence[Conversation], job: Job) -> None:
    """Do something for each rank at once; raise what goes wrong on one."""
    for future in [threads.submit(job, talk, rank) for rank, talk in enumerate(talks)]:
        future.result()


def _prove(talk: Conversation, parts: list[str]) -> None:
    talk.request({"op": "control", "parts": parts}, [])


def _answer(talk: Conversation, failed: Failed | None) -> None:
    """Send the arguments of a request once more; what it was cut short by does not count."""
    if failed is None:
        return
    tensors = [*failed.tensors]
    told: Any = talk.request({"op": "control", "parts": []}, tensors, seconds=_seconds(failed))
    held = [tensor.value if isinstance(tensor, Far) else tensor for tensor in tensors]
    if told != [list(tensor.shape) for tensor in held]:
        raise RuntimeError("arguments have arrived as others")


def _seconds(failed: Failed) -> float:
    return max(failed.seconds, LEAST_SECONDS)
