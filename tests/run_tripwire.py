"""Measure the tripwire: how often it sees that a submission changes what of ours runs beside it.

``python tests/run_tripwire.py 50`` says what a look takes, then tries each attack in 50 workers of
its own, of 20 calls each, and says in how many it was seen. It needs no sandbox.
"""

import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from stand_ins.confined import LAB
from stand_ins.expectation import EXPLOITS

from grader.errors import StudentError, Tampered
from grader.judge.grade import worker_setting
from grader.prove.forking.forked import WorkerServer, fork_worker
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.sandbox.setting import Setting
from grader.sandbox.stage import staged

CALLS = 20
HONEST = "def scale(x, factor):\n    return x * factor\n"
# By hand, so that no version tells of it, and only while the function runs.
IN_A_CALL = """
import ctypes, sys, time
pack = sys.modules["grader.wire.codec"].Packer.pack
kept, another = pack.__code__, pack.__code__.replace(co_name="another")
word = ctypes.c_size_t.from_address(id(pack) + 48)

def scale(x, factor):
    word.value = id(another)
    time.sleep({seconds})
    word.value = id(kept)
    return x * factor
"""
# By the function's attribute: a version tells of it where the interpreter had given one.
CODE_IN_A_CALL = """
import sys
pack = sys.modules["grader.wire.codec"].Packer.pack
kept, another = pack.__code__, pack.__code__.replace(co_name="another")

def scale(x, factor):
    pack.__code__ = another
    try:
        return x * factor
    finally:
        pack.__code__ = kept
"""
# The same by hand from a thread, for a millisecond in fifty.
NOW_AND_THEN = (
    IN_A_CALL.partition("def scale")[0]
    + """
import threading

def often():
    while True:
        word.value = id(another)
        time.sleep(0.001)
        word.value = id(kept)
        time.sleep(0.05)

threading.Thread(target=often, daemon=True).start()

def scale(x, factor):
    time.sleep(0.005)
    return x * factor
"""
)


def attacks() -> dict[str, str]:
    """Return the submissions that are tried, by name."""
    files = sorted((EXPLOITS / "tamper").glob("own_*.py"))
    named = {file.stem: file.read_text() for file in files}
    for milliseconds in (1, 10, 100):
        source = IN_A_CALL.format(seconds=milliseconds / 1000)
        named[f"pointer for {milliseconds} ms of each call"] = source
    named["code for each call"] = CODE_IN_A_CALL
    return {"nothing": HONEST, **named, "pointer from a thread": NOW_AND_THEN}


def tried(home: WorkerServer, setting: Setting, source: str) -> int:
    """Return after how many calls an attack was seen; 0 on import, -1 never."""
    file = setting.stage / "submission" / "echo.py"
    file.write_text(source)
    worker = fork_worker(home.fileno(), setting)
    try:
        worker.wait_ready()
        talk = Conversation(worker, "cpu", Clock(60.0), "")
        done = 0
        try:
            talk.load(str(file))
            for _ in range(CALLS):
                done += 1
                talk.call(["function", "scale"], (torch.ones(2, 3), 2.0), {})
            talk.look()
        except (Tampered, StudentError) as error:
            return done if isinstance(error, Tampered) else -2
        return -1
    finally:
        worker.kill()


def costs(home: WorkerServer, setting: Setting) -> str:
    """Say what it takes to learn where things lie, and to look."""
    file = setting.stage / "submission" / "echo.py"
    file.write_text(HONEST)
    learnt: list[float] = []
    looks: list[float] = []
    for _ in range(5):
        worker = fork_worker(home.fileno(), setting)
        worker.wait_ready()
        talk = Conversation(worker, "cpu", Clock(60.0), "")
        started = time.perf_counter()
        talk.load(str(file))
        learnt.append(time.perf_counter() - started)
        for _ in range(20):
            started = time.perf_counter()
            talk.look()
            looks.append(time.perf_counter() - started)
        worker.kill()
    first, later = learnt[0] * 1e3, statistics.median(learnt[1:]) * 1e3
    look = statistics.median(looks) * 1e3
    return f"a look {look:.2f} ms, to begin {first:.0f} ms, for each worker more {later:.1f} ms"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; exit 1 if an honest submission was taken for an attack."""
    rounds = int([*(arguments or sys.argv[1:]), "20"][0])
    false = 0
    home = WorkerServer(LAB)
    with staged(LAB, {}, "none") as stage:
        (stage / "submission").mkdir()
        setting = worker_setting(LAB, Path(stage), {}, "cpu", "none")
        print(costs(home, setting))
        for name, source in attacks().items():
            seen = [tried(home, setting, source) for _ in range(rounds)]
            caught = sum(after >= 0 for after in seen)
            odd = f", {seen.count(-2)} raised" if -2 in seen else ""
            when = statistics.median(after for after in seen if after >= 0) if caught else "-"
            print(f"{name:36} seen in {caught} of {rounds}, after {when} calls{odd}", flush=True)
            false += caught if source == HONEST else 0
    home.close()
    return int(bool(false))


if __name__ == "__main__":
    sys.exit(main())
