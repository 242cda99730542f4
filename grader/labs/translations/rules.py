"""What ``lab check`` holds of a lab's translations."""

from collections.abc import Iterator
from pathlib import Path

from grader.errors import LabError
from grader.labs.build import Build
from grader.labs.lab import Lab
from grader.labs.translations.files import Pair, translated
from grader.languages.curriculum import WORDS
from grader.languages.po import read_po

STAMP = "translate what has changed, then: lab translate --stamp"


def lacking(lab: Lab) -> str:
    """Say in a line what of a lab is in English only, "" if nothing is; that is no mistake."""
    pairs = translated(lab)
    names = [pair.english.name for pair in pairs if not pair.chinese.is_file()]
    names += [WORDS] if not (lab.folder / WORDS).is_file() else []
    which = "the lab is" if len(names) > len(pairs) else f"{', '.join(names)}:"
    return f"{which} in English only" if names else ""


def problems_of(lab: Lab) -> Iterator[tuple[Path, list[str]]]:
    """Go through the translations that are there, each with what is wrong with it."""
    for pair in translated(lab):
        if pair.chinese.is_file():
            yield pair.chinese, told(pair)
    words = lab.folder / WORDS
    if words.is_file():
        yield words, _of_words(lab, words)


def _of_words(lab: Lab, file: Path) -> list[str]:
    """Return what of a lab.toml is not translated, and what is translated and not in it."""
    known = read_po(file)
    texts = [lab.title, lab.summary, *(rule.reason for rule in lab.rules)]
    texts += [text for build in lab.builds for text in (*_reasons(build), build.install)]
    texts += [text for task in lab.tasks for text in (task.title, task.hint)]
    missing = [f"not translated: {text}" for text in dict.fromkeys(texts) if text not in known]
    return [*missing, *(f"not in lab.toml: {text}" for text in known if text not in texts)]


def _reasons(build: Build) -> Iterator[str]:
    return (rule.reason for rule in build.rules)


def told(pair: Pair) -> list[str]:
    """Return what is wrong with a translation, also that it cannot be read."""
    try:
        return list(map(str, pair.problems()))
    except LabError as error:
        return [error.message]
