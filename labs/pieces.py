"""Which pieces of the labs are yours: those whose public tests pass, by the judge's word.

Your files are imported as they are, without a sandbox: this is for running your own code.
"""

import hashlib
import importlib.util
import json
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

LABS = Path(__file__).resolve().parent
MEMORY = LABS.parent / ".inferlab" / "pieces.json"  # what the judge said about which files


@dataclass(frozen=True, slots=True)
class Work:
    """Your work on one lab; ``passed`` are the tasks of which every public test passes.

    ``why`` says of the others what keeps them out.
    """

    number: int
    passed: frozenset[str]
    module: ModuleType | None
    why: Mapping[str, str] = field(default_factory=dict[str, str])

    def piece(self, task: str) -> ModuleType | None:
        """Return your module if the task is done, else None."""
        return self.module if task in self.passed else None

    def left_out(self, task: str) -> str:
        """Say why a task of yours is not used; "" if there is nothing of yours."""
        return self.why.get(task, "")


class Broken(Exception):
    """A piece of yours did what it must not, or raised its ``__cause__``."""

    def __init__(self, piece: str, number: int, what: str) -> None:
        super().__init__(f"your {piece} (lab {number:02}): {what}")
        self.number = number


@contextmanager
def blamed(piece: str, number: int) -> Iterator[None]:
    """Turn what code of yours raises into ``Broken``, with the last line of it that ran."""
    try:
        yield
    except Broken:
        raise
    except Exception as error:
        text = str(error).strip() or "no message"
        said = f"{type(error).__name__}: {text.splitlines()[0]}"
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if f"{number:02}_" in Path(frame.filename).parent.name]
        place = f", line {own[-1].lineno} of {Path(own[-1].filename).name}" if own else ""
        raise Broken(piece, number, said + place) from error


def work_on(number: int) -> Work:
    """Ask the judge about a lab; one that is not there, or cannot be graded, has no pieces."""
    folder = next(LABS.glob(f"{number:02}_*"), None)
    if folder is None:
        return Work(number, frozenset(), None)
    file = folder / f"{folder.name[3:]}.py"
    why = _remembered(file, folder / f"test_{folder.name[3:]}.py", number)
    passed = frozenset(task for task, reason in why.items() if not reason)
    left_out = {task: reason for task, reason in why.items() if reason}
    return Work(number, passed, load(file, number) if passed else None, left_out)


def _remembered(file: Path, tests: Path, number: int) -> dict[str, str]:
    """Return by task what is wrong, "" if all passes; the judge is asked once for each state."""
    try:
        state = hashlib.sha256(file.read_bytes() + tests.read_bytes()).hexdigest()
    except OSError:
        return {}
    memory = _memory()
    if state not in memory:
        print(f"the judge tries your lab {number:02} …", file=sys.stderr, flush=True)
        why = _ask_the_judge(number)
        if why is None:
            return {}
        memory[state] = why
        MEMORY.parent.mkdir(exist_ok=True)
        MEMORY.write_text(json.dumps(memory, indent=1) + "\n", encoding="utf-8")
    return memory[state]


def _memory() -> dict[str, dict[str, str]]:
    try:
        known = dict(json.loads(MEMORY.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}
    return {state: why for state, why in known.items() if isinstance(why, dict)}


def _ask_the_judge(number: int) -> dict[str, str] | None:
    command = [sys.executable, "-m", "grader", "grade", str(number)]
    options = ["--suite", "public", "--device", "cpu", "--json", "-"]
    done = subprocess.run(
        [*command, *options], cwd=LABS.parent, capture_output=True, text=True, check=False
    )
    try:
        report: dict[str, Any] = json.loads(done.stdout)
        return {task["id"]: _reason(task, report["tests"]) for task in report["tasks"]}
    except (ValueError, KeyError):
        print(f"lab {number:02} could not be graded: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None


def _reason(task: dict[str, Any], tests: list[dict[str, Any]]) -> str:
    """Say what keeps a task from being used; "" if every public test of it passes."""
    if not task["graded"]:
        return "not graded here"
    if task["score"] >= task["points"] > 0:
        return ""
    own = [test for test in tests if test["task"] == task["id"]]
    failed = [test for test in own if test["verdict"] not in ("passed", "not_graded", "infra")]
    unwritten = [test for test in failed if "NotImplementedError" in test["message"]]
    if len(unwritten) == len(failed):
        return "not written yet"
    first = next(test["id"] for test in failed if test not in unwritten)
    return f"{len(failed)} of {len(own)} public tests fail, first {first}"


def load(file: Path, number: int) -> ModuleType:
    """Import a file of yours as it is, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"lab_{number:02}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and Triton look their source up by it
    spec.loader.exec_module(module)
    return module
