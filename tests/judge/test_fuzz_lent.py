"""What is lent holds too: however a submission uses an object of ours, no test fails as ours.

See ``borrower``: every use that the wire can bring, of any name with any arguments, in the middle
of the suites' own tests; and ``lent_objects``: of an object alone, a thousand times as many.
"""

import json
import os
import random
import re
import subprocess
import sys

import pytest
import torch
from hypothesis import event, given
from hypothesis import strategies as st
from stand_ins.borrower import LENDING, Uses
from stand_ins.expectation import HERE
from stand_ins.fuzzing import EXAMPLES, fuzz
from stand_ins.lent_objects import TESTS, misuse, objects

from grader.labs.lab import all_labs

ROOT = HERE.parent
USES = 30  # of one call, at most
FEW = [2]
MEBI = 1400  # of the judge and the worker, which are one process here
ROUNDS = [
    (lab, random.randrange(1 << 30) if EXAMPLES else 1)
    for _ in range(max(1, EXAMPLES // 500))
    for lab in (LENDING if EXAMPLES else FEW)
]


@pytest.mark.parametrize(("lab", "seed"), ROUNDS)
def test_no_use_of_what_is_lent_turns_a_test_into_infra(lab: int, seed: int) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "stand_ins" / "borrower.py"), str(lab), str(seed), str(USES)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{HERE}"},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout)

    print(f"lab {lab}, seed {seed}: {result['made']}, {result['verdicts']}, {result['mebi']} MiB")
    assert result["infra"] == [], done.stderr[-4000:]
    assert result["made"]["uses"] > 5
    assert result["made"]["ended"] > 0
    assert result["mebi"] < MEBI


def test_every_lab_that_lends_is_tried() -> None:
    lending = {
        lab.number
        for lab in all_labs(ROOT)
        for suite in (lab.hidden_suite, lab.public_suite)
        if re.search(r"student\.(lend|graphs)\(", suite.read_text("utf-8"))
    }

    assert lending == LENDING.keys()


# An end that comes too late may be raised in a finalizer first, where it is lost.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@given(st.integers(0, 2**40))
@fuzz(100)
def test_no_use_of_an_object_is_a_failure_of_ours(seed: int) -> None:
    torch.manual_seed(seed)

    for ended in misuse(Uses(random.Random(seed), 1), seed):
        event(ended)


def test_objects_that_are_tried_are_those_that_the_suites_lend() -> None:
    lent = [objects(test, 1) for test in TESTS]

    assert all(lent)
    names = {name for each in lent for one in each for name in (*one.methods, *one.attributes)}
    assert names == {"__call__", "update", "rewind", "forward", "length", "num_layers"}
