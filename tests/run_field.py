"""``make field``: grade the ports of ``tests/field``, and show which test sees each of them.

With ``--write`` the tables of ``docs/field.md`` are written, for which all labs are graded. Exit
code 1 if a port keeps a task that it should lose.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.page import write_page
from grader.cli.terminal.progress import CheckProgress
from grader.labs.lab import Lab, all_labs, find_lab
from grader.labs.results import Report, Verdict
from grader.prove.answers.field import KINDS, field_bugs, told
from grader.prove.check import check_labs
from grader.prove.expected import RIGHT
from grader.prove.files import shown
from grader.text import visible

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "field.md"
AT_A_TIME = len(os.sched_getaffinity(0)) + 1
_TRACKER = re.compile(r"https://github\.com/[\w.-]+/([\w.-]+)/(?:issues|pull|discussions)/(\d+).*")


@dataclass(frozen=True, slots=True)
class Port:
    """One port of a public bug, and what came of it."""

    lab: str
    kind: str
    says: str  # what went wrong, in a sentence
    reports: tuple[str, ...]
    killed: bool = False  # it loses what it should
    hidden: str = ""  # the first hidden test that it fails
    public: bool = False  # a test that students have fails too


def ports(lab: Lab) -> list[Port]:
    """List the ports to a lab, ungraded."""
    found: list[Port] = []
    for file in field_bugs(lab):
        said = told(file)
        found.append(Port(lab.name, said["Kind"][0], said["text"][0], tuple(said["Report"])))
    return found


def graded(labs: Sequence[Lab], jobs: int) -> list[Port]:
    """Grade the ports of labs on what they should lose, whole: every test says what it sees.

    What public tests catch is asked of them alone: beside hidden ones a gate may skip them.
    """
    with CheckProgress(sys.stderr) as progress:
        options = {"jobs": jobs, "only": ["field/*"], "on_progress": progress.on_progress}
        report = check_labs(labs, brief=True, margins=True, **options)
        catches = check_labs(labs, public=True, **options).catches
    known = {
        (lab.name, shown(lab, file)): port
        for lab in labs
        for file, port in zip(field_bugs(lab), ports(lab), strict=True)
    }
    lives = {f.file for f in report.failed if f.rule.startswith("loses exactly what it should")}
    reports = {(lab, file): one for lab, file, one in report.wrong}
    caught = {(found.lab, found.file) for found in catches if found.first is not None}
    return [
        _seen(port, reports.get(key), key[1] not in lives, key in caught)
        for key, port in known.items()
    ]


def _seen(port: Port, report: Report | None, killed: bool, public: bool) -> Port:
    said = (port.lab, port.kind, port.says, port.reports)
    if report is None:
        return Port(*said)
    fine = (*RIGHT, Verdict.SKIPPED, Verdict.INFRA)
    failed = [test for test in report.tests if test.verdict not in fine]
    hidden = (test.id.partition("[")[0] for test in failed if test.suite == "hidden")
    return Port(*said, killed, next(hidden, ""), public)


def tables(found: Sequence[Port]) -> str:
    """Write the tables: one for each kind, then the counts of each lab."""
    parts: list[str] = []
    for kind, says in KINDS.items():
        own = [port for port in found if port.kind == kind]
        if own:
            rows = [_row(port) for port in own]
            parts.append(
                f"## {kind.capitalize()}\n\n{says[0].upper()}{says[1:]}.\n\n"
                "| lab | what went wrong | report | hidden test | public |\n"
                "| --- | --- | --- | --- | --- |\n" + "\n".join(rows)
            )
    return "\n\n".join([*parts, _counts(found)]) + "\n"


def _row(port: Port) -> str:
    links = ", ".join(f"[{name_of(address)}]({address})" for address in port.reports)
    seen = f"`{port.hidden}`" if port.hidden else "public ones alone" if port.public else "none"
    cells = (port.lab[:2], cell(port.says), links, seen if port.killed else "**none**")
    return f"| {' | '.join(cells)} | {'yes' if port.public else 'no'} |"


def cell(text: str) -> str:
    """Return a text as it stands in a table."""
    return visible(text).replace("|", "\\|")


def name_of(address: str) -> str:
    """Return the name of a report: repository and number where an address has them."""
    match = _TRACKER.fullmatch(address)
    return f"{match[1]} {match[2]}" if match else address.split("/")[2]


def _counts(found: Sequence[Port]) -> str:
    labs = sorted({port.lab for port in found})
    rows = [_count(lab, [port for port in found if port.lab == lab]) for lab in labs]
    head = "## Counts\n\n| lab | ports | killed | caught publicly |\n| --- | ---: | ---: | ---: |\n"
    return head + "\n".join([*rows, _count("all", found)])


def _count(name: str, own: Iterable[Port]) -> str:
    own = [*own]
    killed, public = (sum(x) for x in zip(*((p.killed, p.public) for p in own), strict=True))
    return f"| {name} | {len(own)} | {killed} | {public} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Grade, print the tables or write the page; 1 if anything lives."""
    parser = argparse.ArgumentParser(prog="make field", description=__doc__.partition("\n")[0])
    parser.add_argument("labs", nargs="*", metavar="LAB", help="all of them unless named")
    parser.add_argument("--write", action="store_true", help="write the tables of docs/field.md")
    parser.add_argument("--jobs", type=int, default=AT_A_TIME, help="gradings at a time")
    wanted = parser.parse_args(arguments)
    if wanted.write and wanted.labs:
        parser.error("the page has all labs: name none with --write")
    labs = [find_lab(text, ROOT) for text in wanted.labs] or all_labs(ROOT)
    found = graded([lab for lab in labs if field_bugs(lab)], wanted.jobs)
    if not found:
        parser.error("these labs have no ports")
    if wanted.write:
        write_page(str(PAGE), tables(found), "")
    else:
        print(tables(found))
    return int(any(not port.killed for port in found))


if __name__ == "__main__":
    sys.exit(main())
