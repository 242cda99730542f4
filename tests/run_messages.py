"""Bring the catalogue of messages up to date: what is new is empty, what is gone is left out.

``make messages`` runs this; an editor of .po files, or a hand, then fills in what is empty.
``--check`` writes nothing, and tells what the tests would.
"""

import argparse
import sys
from io import BytesIO

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from stand_ins.messages import CATALOGUE, all_messages, problems

HEADER = """\
# The judge's messages in Simplified Chinese: what students are told.
# {told:say} stands for what is told there, translated in its turn."""


def updated() -> bytes:
    """Return the catalogue with the messages of today, and where each is made."""
    with CATALOGUE.open("rb") as file:
        old = read_po(file, locale="zh_Hans_CN")
    new = Catalog(locale="zh_Hans_CN", header_comment=HEADER, fuzzy=False)
    for text, files in all_messages().items():
        known = old.get(text)
        new.add(text, known.string if known else "", [(name, 0) for name in files])
    written = BytesIO()
    write_po(written, new, width=100, include_lineno=False, omit_header=True)
    return f"{HEADER}\n\n".encode() + written.getvalue()


def main() -> int:
    """Write the catalogue, and list what is wrong with it; 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        CATALOGUE.write_bytes(updated())
    found = problems()
    print("\n".join(found) or "the catalogue is complete")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
