"""What comes back as it was given out is nothing handed in: one answer for all who take work.

Line ends, blanks at the ends of lines, blank lines at the end of a file and a byte order mark are
no work: editors and git write them by themselves.
"""

import codecs
import hashlib
from collections.abc import Mapping
from pathlib import Path

from grader.labs.documents.notebook import pseudocode_title
from grader.labs.lab import ANSWERED, Lab
from grader.labs.published import published
from grader.labs.translations.files import translation
from grader.labs.translations.stubs import told
from grader.questions.page import is_answered


def is_untouched(lab: Lab, code: bytes) -> bool:
    """True for the stub as it was given out, now or by an earlier publication."""
    return _is_a_stub(lab, lab.code_name, code)


def _is_a_stub(lab: Lab, name: str, code: bytes) -> bool:
    given = is_as_given(lab.folder / name, code) or _is_translated(lab.folder / name, code)
    return given or (name, digest(code)) in lab.before.files


def _is_translated(stub: Path, code: bytes) -> bool:
    """True for the stub as a course in the other language gave it out."""
    try:
        text = translation(stub).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return _lines(told(text).encode()) == _lines(code)


def is_as_given(stub: Path, content: bytes) -> bool:
    """True for a file as it was given out."""
    try:
        return _lines(stub.read_bytes()) == _lines(content)
    except OSError:
        return False


def holds_nothing(lab: Lab, files: Mapping[str, bytes]) -> bool:
    """True for files of a lab, by name, in which nothing is a student's own.

    Of a lab that is judged these are untouched stubs, with a pseudocode, if any, that answers no
    prompt: an answer is a line that does not stand in the prompts as they were given out. Answers
    to questions are work, too.
    """
    if lab.is_manual:
        return not touched(lab, files)
    code = [name for name in (lab.code_name, *lab.sources) if name in files]
    text = files.get(lab.pseudocode.name)
    untouched = all(_is_a_stub(lab, name, files[name]) for name in code)
    page = files.get(ANSWERED, b"")
    untouched = untouched and not (page and is_answered(page))
    return bool(code) and untouched and (text is None or not _is_answered(lab, text))


def touched(lab: Lab, files: Mapping[str, bytes]) -> list[str]:
    """Return the names of the files that are not as they were given out.

    In a student's tree, whose files are the student's, ``lab publish`` has left what tells it.
    """
    given = published(lab.root).given.get(lab.name, {})
    before = lab.before.files
    return [
        name
        for name, text in files.items()
        if not _is_given(lab, name, text, given) and (name, digest(text)) not in before
    ]


def _is_given(lab: Lab, name: str, text: bytes, given: Mapping[str, str]) -> bool:
    return digest(text) == given[name] if name in given else is_as_given(lab.folder / name, text)


def digest(content: bytes) -> str:
    """Return what two files have alike that differ by no work."""
    return hashlib.sha256(b"\n".join(_lines(content))).hexdigest()


def _lines(content: bytes) -> list[bytes]:
    lines = [line.rstrip() for line in content.removeprefix(codecs.BOM_UTF8).splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _is_answered(lab: Lab, text: bytes) -> bool:
    asked = (lab.pseudocode, translation(lab.pseudocode))
    lines = {line for prompts in asked for line in own_lines(_given(prompts))}
    given = {b"", pseudocode_title(lab).encode(), *lines}
    return any(line not in given | lab.before.prompts for line in own_lines(text))


def own_lines(content: bytes) -> list[bytes]:
    """Return lines without the white space around them."""
    return [line.strip() for line in _lines(content)]


def _given(prompts: Path) -> bytes:
    try:
        return prompts.read_bytes()
    except OSError:
        return b""  # a lab that asks for none
