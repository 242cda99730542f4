"""Bring the catalogues of messages up to date: what is new is empty, what is gone is left out.

``make messages`` runs this; an editor of .po files, or a hand, then fills in what is empty.
``--check`` writes nothing, and tells what the tests would.
"""

import argparse
import sys
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from stand_ins.messages import CATALOGUE, HIDDEN, PUBLIC, problems, wanted

from grader import ROOT

HEADERS = {
    CATALOGUE: "# The judge's messages in Simplified Chinese: what students are told.",
    PUBLIC: "# What public tests say in Simplified Chinese, beside the judge's messages.",
    HIDDEN: "# What hidden tests alone say in Simplified Chinese; no student's tree has it.",
}
PLACES = "# {told:say} stands for what is told there, translated in its turn."


def updated(catalogue: Path) -> bytes:
    """Return a catalogue with the messages of today, and where each is made."""
    header = f"{HEADERS[catalogue]}\n{PLACES}"
    with catalogue.open("rb") as file:
        old = read_po(file, locale="zh_Hans_CN")
    new = Catalog(locale="zh_Hans_CN", header_comment=header, fuzzy=False)
    for text, files in wanted(catalogue).items():
        known = old.get(text)
        new.add(text, known.string if known else "", [(name, 0) for name in files])
    written = BytesIO()
    write_po(written, new, width=100, include_lineno=False, omit_header=True)
    return f"{header}\n\n".encode() + written.getvalue()


def main() -> int:
    """Write the catalogues, and list what is wrong with them; 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    found: list[str] = []
    for catalogue in HEADERS:
        if not check:
            catalogue.write_bytes(updated(catalogue))
        found += [f"{catalogue.relative_to(ROOT)}: {problem}" for problem in problems(catalogue)]
    print("\n".join(found) or "the catalogues are complete")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
