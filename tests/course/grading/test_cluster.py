"""The same gradings on a Ray cluster, of which a node is lost while it grades."""

import importlib.util
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason='needs the extra "course"')
if importlib.util.find_spec("ray") is None:  # imported here it would be by every process of tests
    pytest.skip('needs the extra "cluster"', allow_module_level=True)

from stand_ins.demo_class import DEMO, HERE, LAB, DemoClass
from stand_ins.isolation import require_sandbox
from stand_ins.programs import Programs

from grader.course.database.store import Store

RIGHT = (DEMO / "solutions" / LAB / "echo.py").read_text()
STUB = (DEMO / "labs" / LAB / "echo.py").read_text()


class Nodes:
    """A cluster in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._tell, self._hear = process.stdin, process.stdout
        self.address = self._line()

    def _line(self) -> str:
        for line in self._hear:
            if line.startswith("killed") or line.strip().rpartition(":")[2].isdigit():
                return line.strip()
        raise AssertionError("the cluster ended")

    def kill(self) -> None:
        """Kill a worker node and everything that runs on it."""
        self._tell.write("kill\n")
        self._tell.flush()
        assert self._line() == "killed"


TRIES = 3  # Ray waits a fixed time for its own processes, and a busy machine may need longer


def started(nodes: int) -> "subprocess.Popen[str]":
    program = [sys.executable, str(HERE / "stand_ins" / "ray_cluster.py"), str(nodes)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(program, text=True, **pipes)  # type: ignore[call-overload]


def first_that_lives(nodes: int) -> "tuple[subprocess.Popen[str], Nodes]":
    for _ in range(TRIES):
        process = started(nodes)
        with suppress(AssertionError):
            return process, Nodes(process)
        process.communicate()
    raise AssertionError(f"no cluster came up in {TRIES} tries")


@contextmanager
def cluster(nodes: int) -> Iterator[Nodes]:
    process, running = first_that_lives(nodes)
    with process:
        try:
            yield running
        finally:
            process.stdin.close()
            process.wait(timeout=60)


def test_lost_node_costs_no_result(tmp_path: Path, programs: Programs) -> None:
    require_sandbox()
    work = {f"s{i}": RIGHT if i % 2 else STUB for i in range(5)}
    demo = DemoClass(tmp_path, programs, work)
    assert demo.run("collect", LAB)[0] == 0

    with cluster(2) as nodes:
        order = ("grade-all", LAB, "--engine", "ray", "--device", "cpu", "--retries", "0")
        with demo.start(*order, RAY_ADDRESS=nodes.address) as process:
            assert process.stderr is not None
            first = process.stderr.readline()
            nodes.kill()  # two more are being graded now
            out, err = process.communicate(timeout=240)

    assert process.returncode == 0, err
    assert "1/5" in first
    assert "5 graded" in out
    with Store.open(demo.database) as store:
        attempts = store.attempts(LAB)
    assert Counter(attempt.student for attempt in attempts) == Counter(list(work))
    assert {attempt.student: attempt.points for attempt in attempts} == {
        student: 95 if code == RIGHT else 0 for student, code in work.items()
    }
    assert {attempt.report["provenance"]["engine"] for attempt in attempts} == {"ray"}  # type: ignore[index]


def test_no_cluster_is_one_line(tmp_path: Path, programs: Programs) -> None:
    demo = DemoClass(tmp_path, programs, {"ada": RIGHT})
    assert demo.run("collect", LAB)[0] == 0
    order = ("grade-all", LAB, "--engine", "ray", "--device", "cpu")

    code, _, err = demo.run(*order, RAY_ADDRESS="127.0.0.1:1")

    assert code == 2
    assert "error: no Ray cluster answers at 127.0.0.1:1" in err
    assert "hint: ray start --head, or name one in RAY_ADDRESS" in err
    assert "Traceback" not in err
