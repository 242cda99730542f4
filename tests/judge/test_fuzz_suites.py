"""The suites hold too: whatever the solution's replies are turned into, no test fails as ours.

See ``liar`` and ``kinds``: the wire brings odd values through, and a test that stumbles over one
runs again with the model answer, which must pass it. Not tried are labs 8 and 14, whose ranks are
processes.
"""

import json
import os
import random
import re
import subprocess
import sys
from collections import Counter

import pytest
from stand_ins.expectation import HERE
from stand_ins.fuzzing import EXAMPLES

from grader.labs.lab import all_labs

ROOT = HERE.parent
LABS = [lab.number for lab in all_labs(ROOT) if lab.limits.ranks == 1]
SUITE = re.compile(r"/(suites|labs/\w+)/test_\w+\.py")
FEW = [2, 5]  # quick ones, with lent models and caches
ROUNDS = [
    (lab, random.randrange(1 << 30) if EXAMPLES else 1)
    for lab in (LABS if EXAMPLES else FEW)
    for _ in range(max(1, EXAMPLES // 1000))
]


def died_as_a_worker(stderr: str) -> bool:
    """Tell whether a process ended by a signal in the thread that stands in for the worker."""
    _, found, after = stderr.partition("Current thread")
    return bool(found) and "/worker/serve.py" in after.split("\n\n")[0]


def test_only_the_workers_thread_is_excused() -> None:
    code = """
import ctypes, sys, threading
exec(compile("def die(): ctypes.string_at(0)", sys.argv[1], "exec"))
thread = threading.Thread(target=die)
thread.start()
thread.join()
"""
    for file, excused in (
        ("grader/worker/serve.py", True),
        ("grader/proxy/values/values.py", False),
    ):
        command = [sys.executable, "-X", "faulthandler", "-c", code, file]
        done = subprocess.run(command, capture_output=True, text=True, check=False)

        assert done.returncode < 0
        assert died_as_a_worker(done.stderr) is excused


@pytest.mark.parametrize(("lab", "seed"), ROUNDS)
def test_no_reply_turns_a_test_into_infra(lab: int, seed: int) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "faulthandler",
            str(HERE / "stand_ins" / "liar.py"),
            str(lab),
            str(seed),
            "0.1",
        ],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{HERE}"},
        capture_output=True,
        text=True,
        check=False,
    )
    if died_as_a_worker(done.stderr):
        pytest.skip("a kernel read beyond what it was lied to about: a real worker dies alone")
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout)

    print(f"lab {lab}, seed {seed}: {result['changed']} replies changed, {result['verdicts']}")
    for place, count in Counter(result["stumbled"]).most_common(5):
        print(f"  a test ran again {count} times: {place}")
    assert result["infra"] == [], done.stderr[-4000:]
    assert result["changed"] > 5
    lines = [line for line in done.stderr.splitlines() if SUITE.search(line)]
    assert lines == []  # of a suite, on a stream that a student could see
