"""What only instructors may see, line by line, and what of it is public on purpose.

Lines of hidden suites, answers (right and wrong) and oracles are known by their text without
spaces, comment marks and quotes, and functions also by their shape; of wrong answers that are
edits, those of the whole answer. Public on purpose is:

- the stub, but for the bodies of the functions that a task names, the prompts of PSEUDOCODE.md, the
  contracts of lab.toml, and what questions.toml asks;
- of suites, what the public tests, or the sizes that students time (``labs/speed``), hold too, but
  for the heads of tests;
- given code, in answers of labs that are not given it (a Llama gives the first lab away);
- the lines of ``harmless.txt`` beside this file, each looked at by a person.

Short lines and imports tell nothing.
"""

import ast
import functools
import re
import string
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.course.publishing.shapes import Shape, shapes
from grader.errors import LabError
from grader.labs.lab import QUESTIONS
from grader.labs.translations.files import translation
from grader.prove.answers.edits import built
from grader.reading.syntax import Function

Files = Mapping[str, bytes]  # by path in the tree

HARMLESS = Path(__file__).with_name("harmless.txt")
TELLING = 20  # characters, spaces not counted, from which on a line may give something away
INSTRUCTORS = ("solutions/", "reference/", "grader/suites/")
ANSWERS = "ANSWERS.md"
CATALOGUE = ".po"
_LAB = re.compile(r"(?:^|/)(?:test_|baseline_)?(\d\d_[a-z0-9_]+)(?:\.py$|/)")
_WRONG = re.compile(r"(solutions/\d\d_(\w+)/)wrong/\w+\.py")
_IMPORT = re.compile(
    r"\W*(?:from\s+\S+\s+import\b|import\s+\S|include\s*[<\"]|using\s+[\w:]+;$)"  # Python, C++
)
_NUMBERED = re.compile(r"^\W*\d+\W+")
_MARKS = string.punctuation.replace("_", "") + "“”…•"
_COMMENT = re.compile(r"\s#\s.*$")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line stands."""

    file: str
    line: int

    @property
    def lab(self) -> str:
        """The lab that the file belongs to; "" for an oracle."""
        found = None if self.file.startswith("reference/") else _LAB.search(self.file)
        return found[1] if found else ""

    @property
    def in_suite(self) -> bool:
        """True for a hidden suite."""
        return self.file.startswith("grader/suites/")


Hidden = Mapping[str, tuple[Place, ...]]  # a line as ``essence`` gives it, and all its places


@dataclass(slots=True)
class Public:
    """Lines that published trees show on purpose."""

    everywhere: set[str] = field(default_factory=set[str])
    tests: set[str] = field(default_factory=set[str])
    given: dict[str, set[str]] = field(default_factory=dict[str, set[str]])  # line -> labs

    def allows(self, line: str, places: tuple[Place, ...]) -> bool:
        """True if a hidden line is no secret."""
        if line in self.everywhere:
            return True
        if line in self.tests and all(place.in_suite for place in places):
            return True
        labs = self.given.get(line)
        return labs is not None and all(place.lab not in labs for place in places)


def is_hidden(path: str) -> bool:
    """True if only instructors may see the file, whatever is in it."""
    return path.startswith(INSTRUCTORS) or path.rpartition("/")[2] == ANSWERS


def essence(line: str) -> str:
    """Return what of a line survives quoting, commenting out, numbering and indenting."""
    return "".join(_NUMBERED.sub("", line).split()).strip(_MARKS)


@functools.lru_cache(maxsize=1 << 16)
def telling(line: str) -> frozenset[str]:
    """Return the forms in which a line is looked for; none if it tells nothing."""
    if len(line) < TELLING or _IMPORT.match(line):
        return frozenset()
    forms = {essence(line)}
    if "#" in line:
        forms.add(essence(_COMMENT.sub("", line)))
    return frozenset(form for form in forms if len(form) >= TELLING)


def lines_of(content: bytes) -> Iterator[tuple[int, str]]:
    """Number the lines of a file."""
    yield from enumerate(content.decode("utf-8", "replace").splitlines(), 1)


def hidden_lines(files: Files) -> Hidden:
    """Index the telling lines of all files that are hidden, but for the harmless ones."""
    found: dict[str, list[Place]] = {}
    known: dict[bytes, str] = {}  # wrong answers share most of their functions
    for path in sorted(filter(is_hidden, files)):
        if path.endswith(CATALOGUE):
            continue  # its English are lines of suites, its Chinese may be that of a public one
        for number, line in lines_of(files[path]):
            for form in telling(line) - harmless():
                found.setdefault(form, []).append(Place(path, number))
        for shape in shapes(whole(files, path), known) if path.endswith(".py") else ():
            found.setdefault(shape.digest, []).append(Place(path, shape.line))
    return {form: tuple(places) for form, places in found.items()}


def whole(files: Files, path: str) -> bytes:
    """Return a hidden file; of an edit the answer that it builds.

    Lines of that answer stand in the edit, where marks before them do not count, or in its base;
    functions may stand in neither.
    """
    match = _WRONG.fullmatch(path)
    if match is None:
        return files[path]
    folder, topic = match.groups()
    try:
        text = files[path].decode()
        return built(text, f"{topic}.py", lambda name: files[folder + name].decode()).encode()
    except (LabError, UnicodeError):
        return files[path]  # lab check says why; what can be read of it is known all the same


@functools.cache
def harmless() -> frozenset[str]:
    """Read the lines that a person has found to give nothing away."""
    return frozenset(_forms(HARMLESS.read_text(encoding="utf-8").splitlines()))


def public_lines(source: Files, trees: Iterable[Files]) -> Public:
    """Collect what is no secret: the stubs of all labs of the source, and what trees give too."""
    public = Public()
    for files in (source, *trees):
        for path, content in files.items():
            folder, _, name = path.rpartition("/")
            if name == "lab.toml" and folder.startswith("labs/"):
                lab = _toml(content)
                _add_lab(public, files, folder, lab)
                if files is not source:
                    _add_given(public, files, folder.removeprefix("labs/"), lab)
    return public


def _add_lab(public: Public, files: Files, folder: str, lab: dict[str, Any]) -> None:
    topic = folder.removeprefix("labs/")[3:]
    tasks = [task for task in lab.get("tasks", ()) if isinstance(task, dict)]
    functions = {str(item) for task in tasks for item in task.get("functions", ())}
    stub = files.get(f"{folder}/{topic}.py", b"")
    cut = _bodies(stub, functions)
    public.everywhere |= _forms(line for number, line in lines_of(stub) if number not in cut)
    public.everywhere |= {shape.digest for shape in _shapes(stub) if shape.last not in cut}
    public.everywhere |= _forms(_prompts(files.get(f"{folder}/PSEUDOCODE.md", b"")))
    public.everywhere |= _forms(_contracts(tasks))
    for name in (QUESTIONS, translation(Path(QUESTIONS)).name):  # options stand in answers, too
        asked = files.get(f"{folder}/{name}", b"")
        public.everywhere |= _forms(line for _, line in lines_of(asked))
    for name in lab.get("files", ()):  # what people read is given out whole
        given = files.get(f"{folder}/{name}", b"")
        public.everywhere |= _forms(line for _, line in lines_of(given))
    for path in (f"{folder}/test_{topic}.py", f"labs/speed/{topic}.py"):
        tests = files.get(path, b"")
        lines = (line for _, line in lines_of(tests))
        public.tests |= _forms(line for line in lines if not line.lstrip().startswith("def test_"))
        public.tests |= {
            item.digest for item in _shapes(tests) if not item.name.startswith("test_")
        }


def _add_given(public: Public, files: Files, name: str, lab: dict[str, Any]) -> None:
    for module in lab.get("given", ()):
        content = files.get(f"labs/{module}.py", b"")
        forms = _forms(line for _, line in lines_of(content))
        for form in forms | {shape.digest for shape in _shapes(content)}:
            public.given.setdefault(form, set()).add(name)


@functools.lru_cache(maxsize=256)
def _shapes(content: bytes) -> tuple[Shape, ...]:
    """Keep the shapes of what trees and the source have alike: few files differ."""
    return tuple(shapes(content))


def _toml(content: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode())
    except ValueError:
        return {}  # an old tree may hold anything; nothing is allowed for it then


def _forms(lines: Iterable[str]) -> set[str]:
    return {form for line in lines for form in telling(line)}


def _contracts(tasks: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Give what the handout promises in numbered lines; a test's first line may say the same."""
    for task in tasks:
        for contract in task.get("contracts", ()):
            yield str(contract.get("says", ""))


def _bodies(stub: bytes, functions: set[str]) -> set[int]:
    """Return the lines that stand in a student's functions below the docstring."""
    try:
        tree = ast.parse(stub)
    except (SyntaxError, ValueError):
        return set(range(1, stub.count(b"\n") + 2))  # nothing in it is known to be the stub's own
    cut: set[int] = set()
    names = {name.partition(".")[0] for name in functions}
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef) and node.name in names:
            inner = [node] if isinstance(node, Function) else node.body
            for function in inner:
                if isinstance(function, Function):
                    cut |= _body_lines(function)
    return cut


def _body_lines(function: Function) -> set[int]:
    has_docstring = ast.get_docstring(function, clean=False) is not None
    body = function.body[1:] if has_docstring else function.body
    return set(range(body[0].lineno, (function.end_lineno or 0) + 1)) if body else set()


def _prompts(text: bytes) -> Iterator[str]:
    """Give the lines of PSEUDOCODE.md that are no answers."""
    answers = False
    for _, line in lines_of(text):
        answers = answers or line.startswith("## ")
        if not answers or line.startswith((">", "#")):
            yield line
