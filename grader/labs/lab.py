"""A lab as frozen data: ``lab.toml`` validated, every path derived from ``NN_topic``.

Nothing is looked up in a list: the folders under ``labs/`` are the labs.
"""

import itertools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader import ROOT
from grader.errors import LabError, UsageError
from grader.labs.build import Build, build_problems, read_build
from grader.labs.manual import manual_problems, read_files
from grader.labs.published import Earlier
from grader.labs.rule import Rule, read_rule
from grader.labs.task import Criterion, Task, read_criterion, read_task, task_problems
from grader.labs.toml import Table
from grader.text import visible_line

CARRIED = ROOT / "grader" / "start" / "tree"  # of an installed wheel: labs for ``lab start``
QUESTIONS, ANSWERED = "questions.toml", "QUESTIONS.md"  # what a lab asks, where it is answered
PSEUDOCODE = "pseudocode"  # the id of the task that PSEUDOCODE.md earns
MOST_PROCESSES = 1 << 20  # a quarter of what Linux can count
MOST_OUTPUT_KB = 1 << 14  # the judge keeps it in memory
MOST_READERS = 9
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
    rubric: tuple[Criterion, ...] = ()  # by which people read
    readers: int = 1  # who read each work by it
    files: tuple[str, ...] = ()  # that are handed in where people alone grade
    before: Earlier = Earlier()  # noqa: RUF009  # frozen
    builds: tuple[Build, ...] = ()  # what compilers make of a submission
    asks: bool = False  # questions, which are answered in a file of their own

    @property
    def is_manual(self) -> bool:
        """Whether people alone grade it: no test judges what is handed in."""
        return bool(self.files)

    @property
    def handed_in(self) -> tuple[str, ...]:
        """The names of the files that are handed in: all that a student writes."""
        return (*self.given_out, ANSWERED) if self.asks else self.given_out

    @property
    def given_out(self) -> tuple[str, ...]:
        """The names of what is handed in and given out to begin with."""
        return self.files or (self.code_name, *self.sources, self.pseudocode.name)

    @property
    def needed(self) -> tuple[str, ...]:
        """The names of the files that work is in: code, or all that people read."""
        return self.files or (self.code_name,)

    @property
    def code_name(self) -> str:
        """The file name of a submission's code."""
        return f"{self.topic}.py"

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of what a submission has for compilers, beside its code."""
        return tuple(dict.fromkeys(name for build in self.builds for name in build.sources))

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
    here, hint = Path.cwd(), "run this inside the course repository"
    places = (ROOT, here, *here.parents)
    if CARRIED.is_dir():  # beside an installed package lie packages of others
        places, hint = places[1:], "lab start 1 lays the first one out here; lab start lists them"
    for folder in places:
        if (folder / "labs").is_dir():
            return folder
    raise UsageError("no labs/ folder here or above", hint)


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
        rules=tuple(read_rule(table) for table in top.tables("rules", ())),
        tasks=tuple(read_task(table) for table in top.tables("tasks")),
        rubric=tuple(read_criterion(table) for table in top.tables("rubric", ())),
        readers=top.whole("readers", 1, MOST_READERS),
        files=read_files(top),
        builds=tuple(read_build(table, match[2]) for table in top.tables("build", ())),
        asks=(folder / QUESTIONS).is_file(),
    )
    top.finish()
    for problem in _problems(lab, top.data):
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


def _problems(lab: Lab, data: dict[str, Any]) -> Iterator[str]:
    yield from task_problems(lab.tasks, lab.rubric, "" if lab.is_manual else PSEUDOCODE)
    yield from build_problems(lab.builds, {task.id: task.builds for task in lab.tasks})
    if lab.is_manual:
        if lab.hidden_suite.is_file():
            yield f"grading: {lab.hidden_suite.name} is there, and no test grades a manual lab"
        known = {"is_tested": lab.public_suite.is_file(), "has_code": lab.code_name in lab.files}
        yield from manual_problems(lab.tasks, data, **known)
