"""What is compiled ahead lies in a graded worker; nothing else comes of those that run ahead."""

import fcntl
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from stand_ins.expectation import HERE
from stand_ins.isolation import require_sandbox

from grader import locks

LAB = HERE / "demo" / "labs" / "90_echo"
TASKS = 15  # tests of that lab
# A session as on a GPU, but that its workers have none: their files go through it all the same.
SESSION = """
import dataclasses, json, os, sys
from pathlib import Path
from grader.judge.plugin import ahead
from grader.judge import session
from grader.judge.setup.configuration import Configuration, Run
from grader.judge.grade import freeze, worker_setting
from grader.labs.lab import load_lab
from grader.readers import Budget
from grader.sandbox.stage import staged

os.sched_getaffinity = lambda pid: range(int(sys.argv[3]) + ahead.SPARED)
{patch}

def emit(event, data):
    if event in ("test", "spent"):
        print(json.dumps([event, data], default=dataclasses.asdict), flush=True)

lab = load_lab(Path(sys.argv[1]))
with staged(lab, {{}}, "bwrap") as stage:
    submission = freeze(lab, Path(sys.argv[2]), stage / "submission", Budget())
    setting = worker_setting(lab, stage, {{}}, "cpu", "bwrap")
    setting = dataclasses.replace(setting, triton=bool(int(sys.argv[4])))
    code = submission.code.decode()
    session.run(Configuration(Run(lab, seed=5, device="cuda"), setting, code), emit, None)
"""
# "Compiles" once for each function, and says so; what it was called with is in the file.
COMPILING = """
import os
from pathlib import Path
import torch

def compiled(name, x):
    place = Path(os.environ["TRITON_CACHE_DIR"], name, "kernel")
    if place.exists():
        same = place.read_bytes() == x.contiguous().float().numpy().tobytes()
        print("found, for the same numbers" if same else "found")
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(x.contiguous().float().numpy().tobytes())
        print("compiled")
"""


def graded(
    folder: Path, code: str, ahead: int = 2, patch: str = "", *, triton: bool = True
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """Return the results of a session that compiles ahead, and what its seconds went to."""
    require_sandbox()
    file = folder / "echo.py"
    file.write_text(code)
    options = [str(LAB), str(file), str(ahead), str(int(triton))]
    done = subprocess.run(
        [sys.executable, "-c", SESSION.format(patch=patch), *options],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    spent = [data for event, data in told if event == "spent"]
    return [data for event, data in told if event == "test"], spent[0]


def answer(before: str, scale: str) -> str:
    """Return the model answer with something in front, and a first line for ``scale``."""
    text = (HERE / "demo" / "solutions" / "90_echo" / "echo.py").read_text()
    return f"{before}\n{first_line(text, 'scale', scale)}"


def first_line(text: str, function: str, line: str) -> str:
    """Put a line in front of what a function does."""
    head, mark, rest = text.partition(f"def {function}(")
    signature, end, body = rest.partition(":\n")
    return f"{head}{mark}{signature}{end}    {line}\n{body}"


# Who is forked begins at once, the session two seconds later: else it is first as often as not.
WAIT = """
def wait(judging):
    def judging_later(*rest, races=True):
        found = judging(*rest, races=races)
        if races:
            expect = ahead.Ahead.expect
            ahead.Ahead.expect = lambda *rest: (__import__("time").sleep(2), expect(*rest))
        return found
    return judging_later
"""


def outputs(results: list[dict[str, Any]]) -> list[str]:
    return [line for result in results for line in result["output"].splitlines()]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Without any that run ahead, what is compiled still goes from worker to worker."""
    folder = tmp_path_factory.mktemp("plain")
    code = answer(COMPILING, "compiled('scale', x)")
    code = first_line(code, "generate", "compiled('scale', torch.zeros(2))")
    return graded(folder, code, ahead=0)[0]


def test_a_worker_compiles_what_no_other_has(plain: list[dict[str, Any]]) -> None:
    """Each task has a worker of its own."""
    assert {r["task"] for r in plain if r["output"]} == {"scale", "loop"}
    assert outputs(plain).count("compiled") == 1
    assert {result["verdict"] for result in plain} == {"passed"}
    assert len(plain) == TASKS


def test_graded_workers_find_what_was_compiled_ahead_for_other_numbers(
    plain: list[dict[str, Any]], tmp_path: Path
) -> None:
    slow = "session._judging = wait(session._judging)"
    results, spent = graded(
        tmp_path, answer(COMPILING, "compiled('scale', x)"), patch=f"{WAIT}\n{slow}"
    )

    assert {*outputs(results)} == {"found"}
    assert [(r["id"], r["verdict"]) for r in results] == [(r["id"], r["verdict"]) for r in plain]
    assert "waiting for what is compiled ahead" in spent


def test_nothing_is_compiled_ahead_where_nothing_is_compiled(tmp_path: Path) -> None:
    results, spent = graded(tmp_path, answer(COMPILING, "compiled('scale', x)"), triton=False)

    assert outputs(results).count("compiled") == 1
    assert "waiting for what is compiled ahead" not in spent


def test_those_that_run_ahead_may_fail(plain: list[dict[str, Any]], tmp_path: Path) -> None:
    code = answer(COMPILING, "compiled('scale', x)")

    results, _ = graded(tmp_path, code, patch="session._forerun = lambda *rest: 1 / 0")

    assert outputs(results).count("compiled") == 1
    assert [(r["id"], r["verdict"]) for r in results] == [(r["id"], r["verdict"]) for r in plain]


def test_what_hangs_holds_up_its_own_test_for_a_while(tmp_path: Path) -> None:
    code = answer("import time", "time.sleep(60) if x.shape == (3, 13) else None")
    patch = "ahead.PATIENCE_SECONDS = ahead.LAST_SECONDS = 0.5"

    results, _ = graded(tmp_path, code, patch=patch)

    verdicts = {result["id"]: result["verdict"] for result in results}
    hung = {name for name, verdict in verdicts.items() if verdict == "timeout"}
    assert hung == {"test_dtype_is_kept[float16]", "test_dtype_is_kept[bfloat16]"}, verdicts
    assert {*verdicts.values()} == {"timeout", "passed"}


def test_wrong_answer_gains_nothing_by_what_it_leaves_in_the_cache(tmp_path: Path) -> None:
    code = answer(COMPILING, "compiled('scale', x)").replace("float() * factor", "float() + factor")
    assert "() + factor" in code

    results, _ = graded(tmp_path, code)

    assert {r["verdict"] for r in results if r["task"] == "scale"} <= {"failed", "skipped"}


def test_a_machine_has_so_many_seats_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr(locks, "lock_folder", lambda: Path(folder))
        first, second, third = (locks.take_one("seat", 2) for _ in range(3))
        assert first is not None
        assert second is not None
        assert third is None
        os.close(first)
        again = locks.take_one("seat", 2)
        assert again is not None
        fcntl.flock(again, fcntl.LOCK_UN)
        os.close(again)
        os.close(second)
