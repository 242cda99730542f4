"""What ``lab translate`` does: list what is not in step, or write what was translated."""

import sys
from collections.abc import Sequence

from grader.errors import LabError
from grader.labs.lab import Lab, find_lab, find_root
from grader.labs.translations.files import Pair, all_pairs, translated
from grader.labs.translations.rules import lacking, told
from grader.text import visible


def translate(names: Sequence[str], *, stamp: bool) -> int:
    """Look at the translations of labs, or of the whole repository; 1 if one is not in step."""
    root = find_root()
    labs = [find_lab(text, root) for text in names]
    pairs = _of(labs) if labs else [*all_pairs(root)]
    wrong = 0
    for pair in pairs:
        name = str(pair.chinese.relative_to(root))
        if stamp:
            _stamp(pair, name)
        wrong += _told(pair, name)
    for lab in labs:
        if missing := lacking(lab):
            print(f"labs/{lab.name}: {missing}")
    print(f"{len(pairs)} translated files, {wrong} of them not in step")
    return 1 if wrong else 0


def _of(labs: Sequence[Lab]) -> list[Pair]:
    return [pair for lab in labs for pair in translated(lab) if pair.chinese.is_file()]


def _stamp(pair: Pair, name: str) -> None:
    try:
        if pair.stamp():
            print(f"stamped {name}")
    except LabError as error:
        print(visible(f"not stamped: {error.line}"), file=sys.stderr)


def _told(pair: Pair, name: str) -> bool:
    """Print what is wrong with a translation; returns whether anything is."""
    found = told(pair)
    for problem in found:
        print(visible(f"{name}: {problem}"))
    return bool(found)
