"""A program on hostile input ends at its limits, and says which one it was."""

import os
import sys
import time
from pathlib import Path

import pytest

from grader.limited import TOLD, Limits, Resource, open_stream, run

USUAL = Limits(seconds=30.0, output=1 << 20)
ENV = {"PATH": os.environ["PATH"]}


def test_what_ends_by_itself_gives_its_output_and_its_status() -> None:
    code = "import sys; sys.stdout.write(sys.stdin.read().upper()); sys.exit(3)"

    ended = run([sys.executable, "-c", code], USUAL, stdin=b"text" * 50_000, env=ENV)

    assert (ended.status, ended.output, ended.over) == (3, b"TEXT" * 50_000, None)


@pytest.mark.parametrize(
    ("code", "limits", "over", "told"),
    [
        ("import time; time.sleep(60)", Limits(0.5, 10), Resource.TIME, "longer than 0.5 s"),
        ("while True: print('x' * 999)", Limits(30, 9999), Resource.OUTPUT, "more than 9 KiB"),
        ("while True: pass", Limits(60, 10, cpu_seconds=1), Resource.CPU, "more than 1 s of proc"),
        ("b'x' * (1 << 30)", Limits(30, 10, memory=256 << 20), Resource.MEMORY, "256 MiB of mem"),
        (
            "import os; os.write(1, b'x'); open('/tmp/x%d' % os.getpid(), 'wb').write(b'x' * 9999)",
            Limits(30, 10, file=4096),
            None,  # Python ignores the signal and raises
            "",
        ),
    ],
    ids=["time", "output", "cpu", "memory", "file"],
)
def test_the_limit_that_was_met_is_named(
    code: str, limits: Limits, over: Resource | None, told: str
) -> None:
    ended = run([sys.executable, "-c", code], limits, env=ENV)

    assert ended.over is over
    assert ended.status != 0
    assert over is None or told in limits.told(over)


def test_a_limit_holds_for_children_too() -> None:
    greedy = "b'x' * (1 << 30)"
    code = f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', {greedy!r}]))"

    ended = run([sys.executable, "-c", code], Limits(30, 10, memory=256 << 20), env=ENV)

    assert ended.over is Resource.MEMORY


def test_of_what_is_told_the_beginning_and_the_end_are_kept() -> None:
    code = "import sys; sys.stderr.write('first' + 'x' * (1 << 22) + 'last')"

    ended = run([sys.executable, "-c", code], USUAL, env=ENV)

    assert ended.told.startswith(b"first")
    assert ended.told.endswith(b"last")
    assert len(ended.told) == 2 * TOLD


def test_input_that_nobody_reads_is_no_fault() -> None:
    ended = run([sys.executable, "-c", "print('done')"], USUAL, stdin=b"x" * (8 << 20), env=ENV)

    assert (ended.status, ended.output) == (0, b"done\n")


def test_who_reads_no_more_ends_the_program(tmp_path: Path) -> None:
    code = "import os\nprint(os.getpid(), flush=True)\nwhile True: print('x' * 99)"
    stream = open_stream([sys.executable, "-c", code], Limits(60, 1 << 30), env=ENV)
    pid = int(next(stream).split()[0])

    stream.close()

    began = time.monotonic()
    while Path(f"/proc/{pid}").exists() and time.monotonic() - began < 10:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()


def test_a_program_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        run(["no-such-program"], USUAL, env=ENV)


class Stopped:
    """A clock that stands still, and whom it looked at."""

    def __init__(self) -> None:
        self.watched: list[int] = []
        self.forgotten: list[int] = []

    def now(self) -> float:
        return 0.0

    def watch(self, pid: int) -> None:
        self.watched.append(pid)

    def forget(self, pid: int) -> None:
        self.forgotten.append(pid)


def test_time_that_others_took_is_not_the_program_s() -> None:
    clock = Stopped()

    ended = run(
        ["sleep", "0.5"], Limits(seconds=0.1, output=100), env=dict(os.environ), clock=clock
    )

    assert (ended.status, ended.over) == (0, None)
    assert clock.watched == clock.forgotten != []
