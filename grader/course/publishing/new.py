"""``lab new``: every file that a lab consists of, with a small example task to be replaced.

The example is honest work that ``lab check`` passes: a suite that wrong answers fail, an oracle, a
variant. What is to be written is seen by what is there.
"""

import contextlib
import keyword
import re
import sys
from pathlib import Path
from string import Template

from grader.errors import UsageError
from grader.labs.lab import lab_names

SKELETON = Path(__file__).with_name("skeleton")
# Where each file of the skeleton goes.
PLACES = {
    "handout.md.txt": "labs/$name/README.md",
    "lab.toml.txt": "labs/$name/lab.toml",
    "stub.py.txt": "labs/$name/$topic.py",
    "prompts.md.txt": "labs/$name/PSEUDOCODE.md",
    "public_tests.py.txt": "labs/$name/test_$topic.py",
    "suite.py.txt": "grader/suites/test_$name.py",
    "oracle.py.txt": "reference/$topic.py",
    "answer.py.txt": "solutions/$name/$topic.py",
    "answer_pseudocode.md.txt": "solutions/$name/PSEUDOCODE.md",
    "answers.md.txt": "solutions/$name/ANSWERS.md",
    "variant.py.txt": "solutions/$name/variants/by_a_product.py",
    "wrong_whole.py.txt": "solutions/$name/wrong/mean_of_all_rows.py",
    "wrong_in_place.py.txt": "solutions/$name/wrong/in_place.py",
}
# Of one that people grade.
MANUAL_PLACES = {
    "manual_handout.md.txt": "labs/$name/README.md",
    "manual_lab.toml.txt": "labs/$name/lab.toml",
    "manual_design.md.txt": "labs/$name/DESIGN.md",
}
_NAME = re.compile(r"(\d\d)_([a-z][a-z0-9]*(?:_[a-z0-9]+)*)")
_PACKAGES = frozenset({"torch", "triton", "numpy", "transformers", "safetensors", "pytest"})
_OURS = frozenset({"labs", "grader", "bench", "reference", "solutions", "tests"})


def write_lab(root: Path, name: str, *, manual: bool = False) -> list[Path]:
    """Write the files of a new lab and return them; if one is there already, none is written."""
    number, topic = _checked(root, name)
    words = {
        "name": name,
        "topic": topic,
        "NN": f"{number:02d}",
        "number": str(number),
        "title": topic.replace("_", " ").capitalize(),
    }
    texts = {
        root / Template(place).substitute(words): _filled(source, words)
        for source, place in (MANUAL_PLACES if manual else PLACES).items()
    }
    there = [str(path.relative_to(root)) for path in texts if path.exists()]
    if there:
        hint = "nothing was written: take another name, or move what is there"
        raise UsageError(f"{', '.join(there)} exists already", hint)
    written: list[Path] = []
    try:
        for path, text in texts.items():
            _write(path, text, written)
    except BaseException as error:
        _take_back(root, written)
        if isinstance(error, OSError):
            hint = "nothing of the lab is left behind"
            raise UsageError(f"cannot write the lab: {error.strerror}", hint) from None
        raise
    return written


def _checked(root: Path, name: str) -> tuple[int, str]:
    match = _NAME.fullmatch(name)
    if match is None:
        hint = "two digits, an underscore and a topic in lower case: 16_prefix_cache"
        raise UsageError(f"{name!r} is no name of a lab", hint)
    number, topic = int(match[1]), match[2]
    if number == 0:
        raise UsageError("labs are numbered from 01")
    for other in lab_names(root):
        if int(other[:2]) == number:
            taken = {int(item[:2]) for item in lab_names(root)}
            free = next((free for free in range(1, 100) if free not in taken), None)
            hint = f"{free:02d} is free" if free else "all numbers are taken"
            raise UsageError(f"lab {number} is there already: labs/{other}", hint)
    if keyword.iskeyword(topic) or topic in sys.stdlib_module_names | _PACKAGES | _OURS:
        hint = "its code file would hide that module: add a word"
        raise UsageError(f"{topic!r} is the name of a module or of a part of Python", hint)
    return number, topic


def _filled(source: str, words: dict[str, str]) -> str:
    return Template((SKELETON / source).read_text(encoding="utf-8")).substitute(words)


def _write(path: Path, text: str, written: list[Path]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8") as file:
        written.append(path)
        file.write(text)


def _take_back(root: Path, written: list[Path]) -> None:
    """Remove what was written, and the folders that it leaves empty."""
    for path in written:
        path.unlink(missing_ok=True)
    for path in written:
        for folder in path.relative_to(root).parents[:-1]:
            with contextlib.suppress(OSError):
                (root / folder).rmdir()
