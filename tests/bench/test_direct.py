"""The yardstick of the judge's cost: a lab's suites in one process, on our own solution."""

import re
import subprocess
import sys
from pathlib import Path

from stand_ins.expectation import COURSE

from bench.direct import DirectStudent
from grader.judge.plugin import plugin


def test_it_offers_the_plugin_what_a_student_does() -> None:
    asked = set(re.findall(r"_student\.(\w+_)\(", Path(plugin.__file__).read_text()))

    assert asked
    assert asked <= set(dir(DirectStudent))


def test_the_demo_lab_runs_in_one_process() -> None:
    root = COURSE.parent.parent
    boot = f"import sys; sys.path.insert(0, {str(root)!r}); from bench.judge import run_direct"
    call = f"run_direct({str(COURSE / 'labs' / '90_echo')!r})"
    line = [sys.executable, "-P", "-B", "-c", f"{boot}; {call}"]

    done = subprocess.run(line, cwd=COURSE, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stderr


def test_solution_passes_its_suite_without_a_worker() -> None:
    code = "from bench.judge import run_direct; run_direct('03_sampling')"
    root = COURSE.parent.parent

    line = [sys.executable, "-B", "-c", code]
    done = subprocess.run(line, cwd=root, capture_output=True, text=True, timeout=300)

    assert (done.returncode, done.stderr) == (0, "")
