"""What students get of translations: in a Chinese course under the plain names, else to read.

In a Chinese course the English handout lies beside the Chinese one, as README.en.md. What is not
translated stays English. No student gets a file that says which English it translates.
"""

from collections.abc import Iterator, Mapping

from grader.labs.lab import QUESTIONS, Lab
from grader.labs.translations import pages, questions, stubs
from grader.labs.translations.files import PAGE, stubs_of, translation
from grader.languages.curriculum import WORDS

ENGLISH_HANDOUT = "README.en.md"


def translated_files(
    files: Mapping[str, bytes], lab: Lab, *, chinese: bool
) -> Iterator[tuple[str, bytes]]:
    """Yield paths and contents of a lab that a tree has besides, or in the place of, English."""
    folder = str(lab.folder.relative_to(lab.root))
    if f"{folder}/{WORDS}" in files:
        yield f"{folder}/{WORDS}", files[f"{folder}/{WORDS}"]
    asked = str(translation(lab.folder / QUESTIONS).relative_to(lab.root))
    if asked in files:  # both languages lie beside each other in any course
        yield asked, questions.told(files[asked].decode()).encode()
    handout = str(lab.handout.relative_to(lab.root))
    shown = [lab.handout]
    if chinese:
        shown += [] if lab.is_manual else [lab.pseudocode, *stubs_of(lab)]
    for english in shown:
        path = str(english.relative_to(lab.root))
        other = str(translation(english).relative_to(lab.root))
        if other not in files:
            continue
        content = _told(path, files[path].decode(), files[other].decode()).encode()
        yield (path if chinese else other), content
        if chinese and path == handout:
            yield f"{folder}/{ENGLISH_HANDOUT}", files[path]


def _told(path: str, english: str, chinese: str) -> str:
    return pages.told(english, chinese) if path.endswith(PAGE) else stubs.told(chinese)
