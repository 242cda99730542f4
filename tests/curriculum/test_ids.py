"""The ids of tests, which draw their inputs, are the same in every process."""

import json
import os
import subprocess
import sys

from stand_ins.expectation import HERE

ROOT = HERE.parent
COLLECT = """
import json, sys
import pytest
from pathlib import Path
from grader.judge.setup.configuration import Run
from grader.judge.plugin.plugin import JudgePlugin
from grader.judge.session import arguments
from grader.labs.lab import all_labs

out, sys.stdout = sys.stdout, sys.stderr
found = {}
for lab in all_labs(Path(sys.argv[1])):
    def emit(event, data, name=lab.name):
        if event == "manifest":
            found[name] = [f"{test.suite} {test.id}" for test in data]
    plugin = JudgePlugin(Run(lab, seed=1), None, emit)
    pytest.main([*arguments(lab, "all"), "--collect-only"], plugins=[plugin])
json.dump(found, out)
"""


def ids(hash_seed: int) -> dict[str, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", COLLECT, str(ROOT)],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_ids_and_their_order_do_not_hang_on_the_hashes_of_strings() -> None:
    """Of a set the order is another in each process: no id may show one."""
    one, other = ids(1), ids(2)

    assert len(one) >= 10
    assert all(one.values())
    assert one == other
