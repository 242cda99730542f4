"""A lab as frozen data: ``lab.toml`` validated, every path derived from ``NN_topic``.

Nothing is looked up in a list: the folders under ``labs/`` are the labs.
"""

import itertools
import math
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader import ROOT
from grader.errors import LabError, UsageError
from grader.labs.task import Task, read_task
from grader.labs.toml import Table
from grader.text import visible_line

PSEUDOCODE = "pseudocode"  # the id of the task that PSEUDOCODE.md earns
MOST_PROCESSES = 1 << 20  # a quarter of what Linux can count
MOST_OUTPUT_KB = 1 << 14  # the judge keeps it in memory
MOST_RANKS = 16  # one process for each rank of each size: 136
_FOLDER = re.compile(r"(\d{2})_([a-z][a-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one worker may use. Sizes in MiB (``_mb``) and KiB (``_kb``), times in seconds."""

    call_seconds: float = 20.0
    test_seconds: float = 60.0
    total_seconds: float = 600.0
    memory_mb: int = 4096
    processes: int = 64
    open_files: int = 256
    file_mb: int = 64
    output_kb: int = 64
    ranks: int = 1  # of the largest group that the suites spawn; 1: they spawn none


@dataclass(frozen=True, slots=True)
class Rule:
    """What a lab forbids: names and operators, or all of a package but the members in ``only``."""

    reason: str
    forbid: tuple[str, ...] = ()  # dotted names; each covers what lies below it
    aten: tuple[str, ...] = ()  # patterns of operator names
    package: str = ""
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lab:
    """One lab of the curriculum; ``root`` is the repository that holds it."""

    number: int
    name: str  # "01_llama"
    topic: str  # "llama"
    root: Path
    folder: Path
    title: str
    summary: str
    given: tuple[str, ...]
    checkpoints: tuple[str, ...]
    imports: tuple[str, ...]
    limits: Limits
    rules: tuple[Rule, ...]
    tasks: tuple[Task, ...]
    preload: tuple[str, ...] = ()  # modules that a worker imports before it is ready
    reads: tuple[str, ...] = ()  # methods by which tests only look: a failure is not told of them

    @property
    def code_name(self) -> str:
        """The file name of a submission's code."""
        return f"{self.topic}.py"

    @property
    def stub(self) -> Path:
        """The file that the student edits."""
        return self.folder / self.code_name

    @property
    def pseudocode(self) -> Path:
        """The prompts that the student answers."""
        return self.folder / "PSEUDOCODE.md"

    @property
    def handout(self) -> Path:
        """The text of the lab."""
        return self.folder / "README.md"

    @property
    def public_suite(self) -> Path:
        """The tests that the student sees."""
        return self.folder / f"test_{self.topic}.py"

    @property
    def hidden_suite(self) -> Path:
        """The instructor's tests; absent in a student's tree."""
        return self.root / "grader" / "suites" / f"test_{self.name}.py"

    @property
    def speed_suite(self) -> Path:
        """The sizes that are timed, for students: tests of speed alone; not every lab has them."""
        return self.root / "labs" / "speed" / f"{self.topic}.py"

    @property
    def baseline(self) -> Path:
        """What speed is compared with, under the names of the submission; not every lab has one.

        It lies beside the hidden suite where students may not see it.
        """
        public = self.speed_suite.with_name(f"baseline_{self.topic}.py")
        hidden = self.hidden_suite.with_name(f"baseline_{self.name}.py")
        return public if public.is_file() else hidden

    @property
    def solutions(self) -> Path:
        """Model answer, variants and wrong answers; absent in a student's tree."""
        return self.root / "solutions" / self.name

    @property
    def field(self) -> Path:
        """Mistakes that engines of the world have had; absent in a student's tree."""
        return self.root / "tests" / "field" / self.name

    @property
    def given_files(self) -> tuple[Path, ...]:
        """The files of ``labs/`` that a submission may import."""
        return tuple(self.root / "labs" / f"{name}.py" for name in self.given)

    @property
    def checkpoint_folders(self) -> tuple[Path, ...]:
        """The model folders in view of a worker."""
        return tuple(self.root / "labs" / "checkpoints" / name for name in self.checkpoints)

    def task(self, task_id: str) -> Task:
        """Look up a task; an unknown id raises ``UsageError`` that lists the known ones."""
        for task in self.tasks:
            if task.id == task_id:
                return task
        known = ", ".join(task.id for task in self.tasks)
        raise UsageError(f"lab {self.number} has no task {task_id!r}", f"its tasks: {known}")


def find_root() -> Path:
    """Find the repository: where this package lies, else the working directory or above it."""
    # The package comes first: in a student's clone the judge's own labs decide, not the clone's.
    here = Path.cwd()
    for folder in (ROOT, here, *here.parents):
        if (folder / "labs").is_dir():
            return folder
    raise UsageError("no labs/ folder here or above", "run this inside the course repository")


def lab_names(root: Path) -> tuple[str, ...]:
    """List the folders ``NN_topic`` under ``root/labs``, in order; two with one number raise."""
    try:
        entries = sorted(path.name for path in (root / "labs").iterdir() if path.is_dir())
    except OSError as error:
        raise UsageError(f"cannot list {root / 'labs'}: {error.strerror}") from None
    names = tuple(name for name in entries if _FOLDER.fullmatch(name))
    for first, second in itertools.pairwise(names):
        if first[:2] == second[:2]:
            raise LabError(f"labs/{first} and labs/{second} have the same number")
    return names


def all_labs(root: Path) -> tuple[Lab, ...]:
    """Load every lab, in order."""
    return tuple(load_lab(root / "labs" / name) for name in lab_names(root))


def find_lab(text: str, root: Path) -> Lab:
    """Load the lab meant by ``6``, ``06`` or ``06_layernorm``."""
    names = lab_names(root)
    wanted = text.strip().rstrip("/")
    if wanted.isascii() and wanted.isdigit():
        found = [name for name in names if int(name[:2]) == int(wanted[:9])]
    else:
        found = [name for name in names if name == wanted]
    if not found:
        known = ", ".join(names) or "none"
        raise UsageError(f"there is no lab {text!r}", f"labs: {known}")
    return load_lab(root / "labs" / found[0])


def load_lab(folder: Path) -> Lab:
    """Read and validate ``folder/lab.toml``; a mistake raises ``LabError`` with file and key."""
    match = _FOLDER.fullmatch(folder.name)
    if match is None:
        raise LabError(f"{folder} is not named NN_topic", "two digits, an underscore and a topic")
    file = folder / "lab.toml"
    top = Table(f"labs/{folder.name}/lab.toml", "", _read(file))
    limits = top.table("limits")
    lab = Lab(
        number=int(match[1]),
        name=folder.name,
        topic=match[2],
        root=folder.parent.parent,
        folder=folder,
        title=top.text("title"),
        summary=top.text("summary"),
        given=top.texts("given", ()),
        checkpoints=top.texts("checkpoints", ()),
        imports=top.texts("imports", ()),
        preload=top.texts("preload", ()),
        reads=top.texts("reads", ()),
        limits=_limits(limits),
        rules=tuple(_rule(table) for table in top.tables("rules", ())),
        tasks=tuple(read_task(table) for table in top.tables("tasks")),
    )
    top.finish()
    for problem in _problems(lab):
        raise LabError(f"{top.file}: {problem}")
    return lab


def _read(file: Path) -> dict[str, Any]:
    shown = f"labs/{file.parent.name}/lab.toml"
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LabError(f"{shown} is missing", "every lab folder needs one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"{shown} cannot be read: {error}") from None
    except RecursionError:
        raise LabError(f"{shown} is nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError is one; a number of thousands of digits another
        raise LabError(visible_line(f"{shown} is not valid TOML: {error}")) from None


def _limits(table: Table) -> Limits:
    default = Limits()
    limits = Limits(
        call_seconds=table.number("call_seconds", default.call_seconds),
        test_seconds=table.number("test_seconds", default.test_seconds),
        total_seconds=table.number("total_seconds", default.total_seconds),
        memory_mb=table.whole("memory_mb", default.memory_mb),
        processes=table.whole("processes", default.processes, MOST_PROCESSES),
        open_files=table.whole("open_files", default.open_files),
        file_mb=table.whole("file_mb", default.file_mb),
        output_kb=table.whole("output_kb", default.output_kb, MOST_OUTPUT_KB),
        ranks=table.whole("ranks", default.ranks, MOST_RANKS),
    )
    table.finish()
    return limits


def _rule(table: Table) -> Rule:
    rule = Rule(
        reason=table.text("reason"),
        forbid=table.texts("forbid", ()),
        aten=table.texts("aten", ()),
        package=table.text("package", ""),
        only=table.texts("only", ()),
    )
    table.finish()
    if rule.package and (rule.forbid or rule.aten):
        raise table.error("package", "cannot stand beside forbid or aten: write two rules")
    if not (rule.package or rule.forbid or rule.aten):
        raise table.error("forbid", "is missing (or aten, or package with only)")
    if rule.only and not rule.package:
        raise table.error("only", "needs package")
    return rule


def _problems(lab: Lab) -> Iterator[str]:
    ids = [task.id for task in lab.tasks]
    for task_id in ids:
        if ids.count(task_id) > 1:
            yield f"tasks.id: {task_id!r} occurs twice"
    if PSEUDOCODE not in ids:
        yield f"tasks: no task with id {PSEUDOCODE!r}"
    numbers = [contract.number for task in lab.tasks for contract in task.contracts]
    for place, number in enumerate(numbers, 1):
        if number != place:
            yield f"tasks.contracts.number: {number} stands where {place} should: count from 1"
            break
    total = sum(task.points for task in lab.tasks)
    if not math.isclose(total, 100.0):
        yield f"tasks.points: they add up to {total:g}, not 100"
    before: set[str] = set()
    for task in lab.tasks:
        # In order, so that what a task requires cannot lead back to it.
        for required in task.requires:
            if required not in before:
                yield f"tasks.requires: {task.id!r} requires {required!r}, which is no earlier task"
        before.add(task.id)
