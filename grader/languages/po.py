"""Read a catalogue as Babel and other editors write it (``.po``), with the standard library alone.

The judge runs uninstalled: there is neither Babel nor a step that would compile a ``.mo``. Read are
entries without plural and context, which ours all are; what is fuzzy or empty does not count.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

_LINE = re.compile(r'(?:(msgid|msgstr) )?(".*")')


def read_po(file: Path) -> dict[str, str]:
    """Return the translations of a catalogue by what they translate; {} where there is none."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        return {}
    return {source: target for source, target in map(_entry, _blocks(text)) if source and target}


def _blocks(text: str) -> Iterator[list[str]]:
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.split("\n") if not line.startswith("#~")]
        if not any(line.startswith("#,") and "fuzzy" in line for line in lines):
            yield [line for line in lines if not line.startswith("#")]


def _entry(lines: list[str]) -> tuple[str, str]:
    parts = {"msgid": "", "msgstr": ""}
    key = "msgid"
    for line in lines:
        if found := _LINE.fullmatch(line.strip()):
            key = found[1] or key
            parts[key] += ast.literal_eval(found[2])
    return parts["msgid"], parts["msgstr"]
