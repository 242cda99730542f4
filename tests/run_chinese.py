"""``make chinese``: grade wrong answers of labs, and list what English their Chinese reports have.

The answers are graded as ``lab check`` does, and each report is shown as ``lab grade --lang zh``
shows it at a terminal. Exits 1 if a line has English that is no code, name or value.
"""

import argparse
import io
import sys
from collections.abc import Sequence

from stand_ins.english import english_in

from grader import ROOT
from grader.labs.lab import Lab, find_lab
from grader.labs.results import Report
from grader.languages.language import Language, speaking
from grader.prove.check import check_labs
from grader.prove.findings import Proof
from grader.report.facts.next_step import guide_to
from grader.report.formats.terminal import make_console, render_terminal


def shown_in_chinese(lab: Lab, report: Report) -> str:
    """Return a report as one who reads Chinese has it at a terminal."""
    written = io.StringIO()
    with speaking(Language.CHINESE):
        make_console(written, plain=True).print(render_terminal(report, guide_to(lab)))
    return written.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the English of each report, with the line that has it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labs", nargs="+", metavar="LAB")
    parser.add_argument("--only", action="append", help="which answers; default wrong/*")
    parser.add_argument("--print", action="store_true", help="print the reports too")
    given = parser.parse_args(arguments)
    labs = [find_lab(name, ROOT) for name in given.labs]
    folders = {lab.name: lab for lab in labs}
    found = 0
    only = tuple(given.only or ("wrong/*",))
    proof = Proof(only=only, brief=True, anew=True, messages=True)
    report = check_labs(labs, proof)
    for name, file, graded in report.wrong:
        text = shown_in_chinese(folders[name], graded)
        if given.print:
            print(text)
        for line in text.splitlines():
            for run in english_in(line):
                print(f"{name} {file}: {run!r} in {line.strip()}")
                found += 1
    print(f"{len(report.wrong)} reports, {found} runs of English")
    return 1 if found or not report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
