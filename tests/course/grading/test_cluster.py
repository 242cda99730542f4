"""The same gradings on a Ray cluster, of which a node is lost while it grades."""

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason='needs the extra "course"')
from stand_ins.ray_nodes import RAY_IS_MISSING, cluster

if RAY_IS_MISSING:
    pytest.skip('needs the extra "cluster"', allow_module_level=True)

from stand_ins.demo_class import DEMO, LAB, DemoClass
from stand_ins.isolation import require_sandbox
from stand_ins.programs import Programs

from grader.course.database.store import Store

RIGHT = (DEMO / "solutions" / LAB / "echo.py").read_text()
BEGUN = (DEMO / "labs" / LAB / "echo.py").read_text() + "\n\n# to be done\n"


def test_lost_node_costs_no_result(tmp_path: Path, programs: Programs) -> None:
    require_sandbox()
    work = {f"s{i}": RIGHT if i % 2 else BEGUN for i in range(5)}
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
