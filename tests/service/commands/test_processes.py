"""Workers by name: what can be known of a process of this machine."""

import subprocess
import sys

from grader.service.adapters.processes import has_ended, worker_name

SAYS = "from grader.service.adapters.processes import *; print(worker_name('cpu'), flush=True)"


def test_a_worker_has_ended_when_its_process_has() -> None:
    own = worker_name("cpu")
    with subprocess.Popen(
        [sys.executable, "-c", f"{SAYS}; input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        other = process.stdout.readline().strip()
        before = has_ended(other)
        process.kill()
        process.stdout.read()
        while process.poll() is None:
            pass

    assert not before
    assert has_ended(other)
    assert not has_ended(own)


def test_of_other_machines_and_odd_names_nothing_is_known() -> None:
    name, _, mark = worker_name("cpu").rpartition("@")
    boot, space, number, start = mark.split(".")

    assert has_ended(f"{name}@{boot}.{space}.{number}.{int(start) + 1}")
    assert not has_ended(f"{name}@other.{space}.{number}.{start}1")
    assert not has_ended(f"{name}@{boot}.1.{number}.{start}1")
    for odd in ("", "node-1-cpu-0a", "@", "@...", f"@{boot}.{space}.x.1"):
        assert not has_ended(odd)


def test_names_are_each_workers_own() -> None:
    assert worker_name("cpu") != worker_name("cpu")
