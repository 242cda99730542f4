"""Which files have a translation beside them, and what is wrong with each."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.errors import LabError
from grader.labs.lab import QUESTIONS, Lab
from grader.labs.translations import pages, questions, sources, stubs
from grader.labs.translations.pages import Problem

CHINESE = "zh"
PYTHON, PAGE, ASKED = ".py", ".md", ".toml"
_SKIPPED = frozenset({"build", "site", "node_modules"})


@dataclass(frozen=True, slots=True)
class Pair:
    """A file and its translation, ``topic.py`` and ``topic.zh.py``; either may be missing."""

    english: Path
    chinese: Path

    def problems(self) -> list[Problem]:
        """Return what is wrong with the translation; raises ``LabError`` if one cannot be read."""
        if not self.english.is_file():
            return [Problem("", f"translates {self.english.name}, which is not there")]
        return self._kind.problems(_read(self.english), _read(self.chinese))

    def stamp(self) -> bool:
        """Write into the translation what it translates; returns whether that has changed it."""
        before = _read(self.chinese)
        try:
            after = self._kind.stamped(_read(self.english), before)
        except ValueError as error:
            raise LabError(
                f"{self.chinese}: {error}", "a translation has the sections of its English"
            ) from None
        if after != before:
            self.chinese.write_text(after, encoding="utf-8")
        return after != before

    @property
    def _kind(self):
        kinds = {PYTHON: stubs, PAGE: pages, ASKED: questions}
        return kinds.get(self.english.suffix, sources)


def translation(english: Path) -> Path:
    """Return where the Chinese of a file stands, there or not."""
    return english.with_suffix(f".{CHINESE}{english.suffix}")


def is_translation(name: str) -> bool:
    """Tell by its name whether a file translates another."""
    return Path(name).suffixes[-2:-1] == [f".{CHINESE}"]


def translated(lab: Lab) -> tuple[Pair, ...]:
    """Return what of a lab is to be read in both languages: handout, prompts, stub, questions."""
    files = [lab.handout] if lab.is_manual else [lab.handout, lab.pseudocode, *stubs_of(lab)]
    asked = lab.folder / QUESTIONS
    files += [asked] if asked.is_file() else []
    return tuple(Pair(file, translation(file)) for file in files)


def stubs_of(lab: Lab) -> list[Path]:
    """Return the files of code that a student begins with."""
    return [lab.stub, *(lab.folder / name for name in lab.sources)]


def all_pairs(root: Path) -> Iterator[Pair]:
    """Find every translation of a repository by its name, in order."""
    for pattern in (f"*.{CHINESE}.{kind}" for kind in ("md", "py", "cpp", "cu", "toml")):
        for chinese in sorted(root.rglob(pattern)):
            folders = chinese.relative_to(root).parts[:-1]
            if not any(name.startswith(".") or name in _SKIPPED for name in folders):
                name = chinese.name.removesuffix(f".{CHINESE}{chinese.suffix}")
                yield Pair(chinese.with_name(name + chinese.suffix), chinese)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"{file} cannot be read: {error}") from None
