"""What is compared: the answers of students, and those that others wrote.

The corpus are our own answers and folders that an instructor names: earlier years, public
solutions. An answer of the corpus says where it comes from, and never counts as a student.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.config import Course
from grader.course.database.records import Frozen
from grader.errors import UsageError
from grader.labs.lab import Lab
from grader.labs.translations.files import is_translation
from grader.text import visible_line

LONGEST = 256 << 10  # bytes of an answer that are compared
MOST_OF_CORPUS = 2000  # files of one folder
CORPUS_TEXT = 32 << 20  # characters of the whole corpus
MOST_SEEN = 200_000  # entries of a folder that are looked at for them
SHOWN_KEY = 16  # of an answer, in addresses
_DECLARED = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_PLAIN = {"utf-8", "utf8", "u8", "ascii", "us-ascii", "latin-1", "iso-8859-1"}
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Answer:
    """A file to compare; ``name`` is a student's id, or what an answer of the corpus is called."""

    name: str
    is_student: bool
    file: Path


@dataclass(frozen=True, slots=True)
class Read:
    """An answer with its text; ``told`` is what a person should know of it."""

    answer: Answer
    key: str  # of who wrote what: another one as soon as either differs
    text: str
    told: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Gathered:
    """Answers that can be compared, and why others cannot, as "s17: no llama.py"."""

    answers: Sequence[Read]
    left_out: Sequence[str]


def gather(
    lab: Lab, frozen: Iterable[Frozen], folder: Path, corpus: Sequence[Path] = ()
) -> Gathered:
    """Read the answers of students, then of the corpus; one that is there twice is read once.

    A relative path of what was collected starts at ``folder``. Raises UsageError if a folder of the
    corpus is not there.
    """
    found: list[Read] = []
    left_out: list[str] = []
    for item in frozen:
        # A remark may stand beside what was collected; without a path there is nothing.
        file = code_file(lab, folder / item.path) if item.path else None
        if file is None:
            left_out.append(f"{item.student}: {item.problem or f'no {lab.code_name}'}")
        else:
            _take(found, left_out, Answer(item.student, True, file))
    _take_others(found, left_out, [*model_answers(lab)])
    for place in corpus:
        answers = corpus_answers(lab, place)
        more = len(answers) - MOST_OF_CORPUS
        if more > 0:
            left_out.append(f"{place.name}: {more} of its answers, beyond {MOST_OF_CORPUS}")
        _take_others(found, left_out, answers[:MOST_OF_CORPUS])
    return Gathered(found, left_out)


def folders_of(course: Course, more: Sequence[Path] = ()) -> list[Path]:
    """Return the folders of a course's corpus and those beside it, each once."""
    places = [*course.corpus, *(path.expanduser().absolute() for path in more)]
    return list(dict.fromkeys(Path(os.path.normpath(place)) for place in places))


def code_file(lab: Lab, folder: Path) -> Path | None:
    """The answer's code in a folder that was collected; None if there is none."""
    for inner in (Path(lab.name), Path("labs", lab.name), Path()):
        file = folder / inner / lab.code_name
        if file.is_file() and not file.is_symlink():
            return file
    return None


def model_answers(lab: Lab) -> list[Answer]:
    """The solution and its variants."""
    files = [lab.solutions / lab.code_name, *sorted((lab.solutions / "variants").glob("*.py"))]
    shown = {file: str(file.relative_to(lab.solutions.parent)) for file in files if file.is_file()}
    return [Answer(name, False, file) for file, name in shown.items()]


def corpus_answers(lab: Lab, folder: Path) -> list[Answer]:
    """List what a folder has of a lab: its code file at any depth, and Python below its name."""
    if not folder.is_dir():
        told = f"there is no folder {visible_line(str(folder))} to compare with"
        raise UsageError(told, "--corpus and corpus in course.toml name folders of answers")
    files = (file for file in _files(folder) if _is_of(lab, file.relative_to(folder)))
    return [Answer(f"{folder.name}/{file.relative_to(folder)}", False, file) for file in files]


def read_answer(answer: Answer) -> Read | str:
    """Read an answer; a text says why it cannot be compared."""
    try:
        with open(answer.file, "rb", opener=_open_plain) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return f"{answer.file.name} is no plain file"
            data = stream.read(LONGEST + 1)
    except OSError as error:
        return f"{answer.file.name} cannot be read: {error.strerror}"
    if len(data) > LONGEST:
        return f"{answer.file.name} is larger than {LONGEST >> 10} KiB"
    text = data.decode("utf-8", "replace")
    return Read(answer, key_of(answer.name, data), text, _odd(data))


def key_of(name: str, data: bytes) -> str:
    """Return what tells who wrote what, and is another as soon as either differs."""
    own = hashlib.sha256(data).digest()
    return hashlib.sha256(name.encode("utf-8", "surrogatepass") + b"\0" + own).hexdigest()[:32]


def published(lab: Lab) -> list[str]:
    """Return all code of a lab that students have: nobody wrote it."""
    files = (lab.stub, *lab.given_files, lab.public_suite, lab.speed_suite)
    texts = [file.read_text(encoding="utf-8") for file in files if file.is_file()]
    handout = lab.handout.read_text(encoding="utf-8") if lab.handout.is_file() else ""
    return [*texts, "\n".join(_BLOCK.findall(handout))]


def _take(found: list[Read], left_out: list[str], answer: Answer) -> None:
    read = read_answer(answer)
    if isinstance(read, str):
        left_out.append(f"{answer.name}: {read}")
    else:
        found.append(read)


def _take_others(found: list[Read], left_out: list[str], answers: Iterable[Answer]) -> None:
    """Add answers of the corpus that are not in it yet."""
    texts = {read.text for read in found if not read.answer.is_student}
    for answer in answers:
        if sum(map(len, texts)) > CORPUS_TEXT:
            left_out.append(f"{answer.name}: the corpus is larger than {CORPUS_TEXT >> 20} MiB")
            continue
        own: list[Read] = []
        _take(own, left_out, answer)
        found += (read for read in own if read.text not in texts)
        texts |= {read.text for read in own}


def _files(folder: Path) -> Iterator[Path]:
    """Yield the Python files below a folder, in order; no link is followed."""
    seen = 0
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        seen += len(names) + len(folders)
        if seen > MOST_SEEN:
            told = f"{visible_line(str(folder))} has more than {MOST_SEEN} entries"
            raise UsageError(told, "name the folder that holds the answers")
        files = (Path(path, name) for name in sorted(names) if name.endswith(".py"))
        yield from (file for file in files if not file.is_symlink())


def _is_of(lab: Lab, inner: Path) -> bool:
    # Nor is a stub in another language an answer that somebody wrote.
    is_given = inner.name.startswith("test_") or is_translation(inner.name)
    return inner.name == lab.code_name or (lab.name in inner.parts[:-1] and not is_given)


def _open_plain(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _odd(data: bytes) -> list[str]:
    """What of a file's bytes may hide what it does from who compares it as UTF-8."""
    found: list[str] = []
    if b"\0" in data:
        found.append("has bytes of zero, as UTF-16 has: read as UTF-8 all the same")
    for line in data.split(b"\n", 2)[:2]:
        match = _DECLARED.match(line)
        if match and match[1].decode().lower().replace("_", "-") not in _PLAIN:
            found.append(f"declares the encoding {match[1].decode()}: read as UTF-8 all the same")
    return found
