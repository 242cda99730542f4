"""Which language is spoken now, and to say something in it."""

import functools
import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum

from grader import ROOT
from grader.languages.catalogue import Catalogue
from grader.languages.curriculum import words_of
from grader.languages.po import read_po

VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")  # the first that is set decides, as POSIX has it
# Of the judge, of public tests, of hidden ones, which no student's tree has: the first decides.
CATALOGUES = ("grader/languages/zh.po", "grader/languages/zh_tests.po", "grader/suites/zh.po")
_ACCEPTED = re.compile(r"\s*([a-zA-Z]+|\*)[-\w]*\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?))?\s*")


class Language(StrEnum):
    """A language that readers have."""

    ENGLISH = "en"
    CHINESE = "zh"


_CURRENT: ContextVar[Language] = ContextVar("language", default=Language.ENGLISH)


def say(text: str) -> str:
    """Return a text of ours, one line, in the language of the reader."""
    return text if spoken() is Language.ENGLISH else _catalogue().say(text)


def say_each(text: str) -> str:
    """Return sentences of ours that "; " parts, each in the language of the reader."""
    return text if spoken() is Language.ENGLISH else _catalogue().say_each(text)


def said(message: str) -> str:
    """Return the message of a test in the language of the reader, line by line."""
    return message if spoken() is Language.ENGLISH else _catalogue().said(message)


def word(text: str) -> str:
    """Mark a text that is said later; returns it as it is."""
    return text


def labelled(label: str, text: str) -> str:
    """Return a label of ours with what it stands before: "hint: …", as the language writes it."""
    return f"{label}: {text}" if spoken() is Language.ENGLISH else f"{say(label)}：{text}"


def spoken() -> Language:
    """Return the language of the reader."""
    return _CURRENT.get()


def speak(language: Language) -> None:
    """Go on in a language."""
    _CURRENT.set(language)


@contextmanager
def speaking(language: Language) -> Generator[None]:
    """Speak a language inside."""
    token = _CURRENT.set(language)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def of_locale(environment: Mapping[str, str] = os.environ) -> Language:
    """Return the language that an environment asks for; English unless that is Chinese."""
    value = next((environment[name] for name in VARIABLES if environment.get(name)), "")
    return Language.CHINESE if re.match(r"zh(?![a-z])", value) else Language.ENGLISH


def of_header(accepted: str, default: Language = Language.ENGLISH) -> Language:
    """Return the language that a browser likes best of ours (``Accept-Language``)."""
    best, found = 0.0, default
    for part in accepted[:1000].split(","):
        match = _ACCEPTED.fullmatch(part)
        if match is None or match[1].lower() not in (*Language, "*"):
            continue
        liked = float(match[2] or 1)
        if liked > best:
            best = liked
            found = default if match[1] == "*" else Language(match[1].lower())
    return found


@functools.cache
def _catalogue() -> Catalogue:
    """The judge's own messages, and what labs and their tests say, of this tree."""
    pairs: dict[str, str] = {}
    for found in (*(read_po(ROOT / name) for name in CATALOGUES), words_of(ROOT)):
        for source, target in found.items():
            pairs.setdefault(source, target)
    return Catalogue(pairs)
