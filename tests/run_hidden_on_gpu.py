"""Grade labs 06, 07 and 09 on a GPU with arguments that kernels alone see.

All right answers must keep every test of the tasks with kernels, and what ``hidden_on_gpu`` holds
must fail: ``python3 tests/run_hidden_on_gpu.py [NAME…]``, from the root, where a GPU is; a name is
such as ``06_layernorm variants/simple.py``.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from grader.errors import InferlabError
from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.labs.lab import load_lab
from grader.labs.results import Verdict

ROOT = Path(__file__).resolve().parent.parent
TASKS = {
    "06_layernorm": ("forward", "backward"),
    "07_flash_attention": ("triton", "varlen"),
    "09_quantization": ("kernel",),
}
AT_A_TIME = 10
WRONG = "wrong where your kernels alone can load the numbers"


def answers() -> Iterator[tuple[str, Path, bool]]:
    """Give each answer, model answers first: its lab, its file, and whether it is right."""
    folders = {lab: ROOT / "solutions" / lab for lab in TASKS}
    for lab, folder in folders.items():
        yield lab, folder / f"{lab[3:]}.py", True
    for file in sorted((ROOT / "tests" / "hidden_on_gpu").glob("*.py")):
        yield "06_layernorm", file, False
    for lab, folder in folders.items():
        for file in sorted((folder / "variants").glob("*.py")):
            yield lab, file, True


def verdict(lab: str, file: Path, right: bool) -> tuple[bool, str]:
    """Grade an answer; return whether it came out as it should, and a line."""
    tasks = TASKS[lab] if right else TASKS[lab][:1]
    name = name_of(lab, file)
    try:
        report = grade(Request(load_lab(ROOT / "labs" / lab), file, device="cuda", tasks=tasks))
    except InferlabError as error:
        return False, f"{name}: {error.message}"
    tests = [test for test in report.tests if test.task in tasks]
    bad = [test for test in tests if test.verdict not in (Verdict.PASSED, Verdict.NOT_GRADED)]
    if right:
        first = f": {bad[0].id}: {bad[0].message[-300:]}" if bad else ""
        return not bad, f"{name}: {len(tests) - len(bad)} of {len(tests)}{first}"
    caught = any(WRONG in test.message for test in bad)
    return caught, f"{name}: {'caught' if caught else 'earned it'}"


def name_of(lab: str, file: Path) -> str:
    """Return what an answer is called."""
    return f"{lab} {file.parent.name}/{file.name}"


def show(lab: str, file: Path, right: bool) -> bool:
    """Grade an answer, print its line, and return whether it came out as it should."""
    started = time.monotonic()
    good, line = verdict(lab, file, right)
    print("ok  " if good else "BAD ", f"{line} ({time.monotonic() - started:.0f} s)", flush=True)
    return good


def main(names: Sequence[str]) -> int:
    """Print a line for each answer, and return 0 if all came out as they should."""
    os.environ["INFERLAB_HIDE_ON_GPU"] = "1"
    chosen = [answer for answer in answers() if not names or name_of(*answer[:2]) in names]
    if not chosen:
        print(f"error: no answer is called {' or '.join(names)}", file=sys.stderr)
        return 2
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        found = [pool.submit(show, *answer) for answer in chosen]
        results = [item.result() for item in as_completed(found)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
