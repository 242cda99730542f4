"""What came of jobs on a GPU: a line each in a file, and a page of all that was run."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.page import BEGIN_ON, END, into_page

TITLE = "What was proven on GPUs"
NAMED = 12  # jobs that failed, in a section


@dataclass(frozen=True, slots=True)
class Entry:
    """One job that ended: ``code`` is 0 if it came out as it should; ``said`` the end of it."""

    job: str
    kind: str
    code: int
    seconds: float
    said: str


@dataclass(frozen=True, slots=True)
class Machine:
    """Where jobs ran; ``state`` is the commit."""

    card: str
    gpus: int
    cores: int
    driver: str
    python: str
    torch: str
    triton: str
    state: str
    date: str

    @property
    def name(self) -> str:
        """What its section of the page is called."""
        return f"{self.gpus} x {self.card}"


def remember(file: Path, machine: Machine, entry: Entry) -> None:
    """Add a line to the ledger."""
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps({"machine": asdict(machine), "entry": asdict(entry)}) + "\n")


def remembered(file: Path, machine: Machine) -> dict[str, Entry]:
    """Return the last entry of each job on such a machine, of the same state of the project."""
    found: dict[str, Entry] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        told = json.loads(line)
        there = Machine(**told["machine"])
        if (there.name, there.state) == (machine.name, machine.state):
            entry = Entry(**told["entry"])
            found[entry.job] = entry
    return found


def section(machine: Machine, entries: Iterable[Entry], all_kinds: Sequence[str]) -> str:
    """Return what a page says of a machine; ``all_kinds`` names the kind of every job there is."""
    by_kind: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_kind[entry.kind].append(entry)
    versions = f"torch {machine.torch}, triton {machine.triton}, Python {machine.python}"
    lines = [
        f"## {machine.name}",
        "",
        f"{machine.date}, commit {machine.state}, {machine.cores} cores, driver {machine.driver}, "
        f"{versions}.",
        "",
        "| what | jobs | passed | failed | not run | seconds |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind in dict.fromkeys(all_kinds):
        ended, there_are = by_kind[kind], all_kinds.count(kind)
        passed = sum(entry.code == 0 for entry in ended)
        seconds = sum(entry.seconds for entry in ended)
        numbers = (there_are, passed, len(ended) - passed, there_are - len(ended))
        lines.append(f"| {kind} | {' | '.join(map(str, numbers))} | {seconds:.0f} |")
    failed = [entry for found in by_kind.values() for entry in found if entry.code]
    lines += ["", *(f"- failed: `{entry.job}`" for entry in failed[:NAMED])]
    more = len(failed) - NAMED
    return "\n".join([*lines, f"- and {more} more"] if more > 0 else lines).rstrip() + "\n"


def into(page: str, machine: Machine, text: str) -> str:
    """Put the section of a machine into a page, in place of the one that it has of it."""
    mark = BEGIN_ON.format(machine.name)
    if page.strip() and mark not in page:
        page = f"{page.rstrip()}\n\n{mark}\n{END}\n"
    return into_page(page, text, TITLE, machine.name)
