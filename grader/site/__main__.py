"""``make docs``: build the site, check each link and anchor of it, and say where it lies."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from grader import ROOT
from grader.errors import InferlabError

SITE = ROOT / "build" / "site"


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the site; return 0 if all of it holds, 1 if not, 2 for wrong usage."""
    parser = argparse.ArgumentParser(prog="make docs", description=__doc__)
    parser.add_argument("--to", type=Path, default=SITE, metavar="FOLDER", help=f"else {SITE}")
    order = parser.parse_args(arguments)
    try:
        from grader.site.build import build_site  # which says so if its packages are missing

        found = build_site(ROOT, order.to)
    except InferlabError as error:
        print(f"error: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        return 2
    for line in found:
        print(f"error: {line}", file=sys.stderr)
    pages = len([*order.to.rglob("*.html")])
    print(f"{pages} pages: {order.to / 'index.html'}" if not found else f"{len(found)} errors")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
