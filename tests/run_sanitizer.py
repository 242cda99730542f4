"""Print what the sanitizer finds in each kernel of tests/kernels, and what it costs.

``run_sanitizer.py [right|answers|wrong]… [--json] [--beside PYTHON]``: the kernel, what is expected
and what was found, seconds of the plain launch and with the sanitizer, and how many times as long.
Then a table by kind; with ``--beside``, a Python that has triton-viz, the sanitizer of triton-viz
stands in it too. Exit code 1 where ours misses something or finds too much. With ``--json`` right
kernels run in three orders, and a line for each run says what came of it.
"""

import argparse
import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

import torch
from stand_ins.beside import Heard, hear
from stand_ins.kernel_cases import ORDERS, Case, Place, cases
from stand_ins.kernel_runs import found, judged, seconds, wrong
from triton.runtime.errors import InterpreterError

from grader.worker.kernels import interpreter

FOLDERS = ("right", "answers", "wrong")


@dataclass(frozen=True, slots=True)
class Row:
    """Whether a case is as expected, and its seconds; None where it may not run plainly."""

    right: bool
    plain: float | None
    under: float


def row(case: Case) -> Row:
    """Print the row of a case; one that Triton itself cannot interpret is not as expected."""
    try:
        places = judged(case)
        plain, under = seconds(case)
    except InterpreterError as error:
        print(f"{case.name:54} {_listed(case.expected):45} ended by {error}", flush=True)
        return Row(False, None, 0.0)
    right = places == case.expected
    texts = [_listed(case.expected), "as expected" if right else _listed(places)]
    costs = f"      - {under:7.3f}     -"
    if plain is not None:
        costs = f"{plain:7.3f} {under:7.3f} {under / plain:5.2f}"
    print(f"{case.name:54} {texts[0]:45} {texts[1]:12} {costs}", flush=True)
    return Row(right, plain, under)


def _listed(places: frozenset[Place]) -> str:
    ordered = sorted(places, key=lambda place: (place[1], place[0]))
    return ", ".join(f"{kind} {line}" for kind, line in ordered) or "nothing"


def as_json(case: Case) -> None:
    """Print what came of a case in each order that is asked for."""
    right = case.file.parent.name != "wrong"
    for order in ORDERS if right else (case.order,):
        if right:
            places, result = found(case, order)
            off = wrong(*result)
        else:
            places, off = judged(case), ""
        print(
            json.dumps({"name": case.name, "order": order, "found": sorted(places), "wrong": off})
        )


def by_folder(folder: str) -> dict[Case, Row]:
    """Print the rows of a folder and a line for all."""
    rows = {case: row(case) for case in cases(folder)}
    both = [(one.plain, one.under) for one in rows.values() if one.plain is not None]
    plain, under = (sum(column) for column in zip(*both, strict=True))
    dear = sum(two > 2 * one for one, two in both)
    print(
        f"{folder}: {sum(one.right for one in rows.values())} of {len(rows)} as expected; "
        f"{plain:.2f} s plain, {under:.2f} s with the sanitizer where both ran, "
        f"{under / plain:.2f} times; {dear} of {len(both)} take more than twice as long\n"
    )
    return rows


def by_kind(ours: dict[Case, Row], theirs: dict[str, Heard]) -> None:
    """Print how many kernels each sanitizer gets right, by what is wrong with them.

    Theirs has found a wrong kernel if it raised any alarm: it is asked for no kinds. "wrongly" are
    wrong kernels that it let pass, and right ones that it did not.
    """
    groups = Counter[tuple[str, str]]()
    for case, one in ours.items():
        for kind in {kind for kind, _ in case.expected} or {f"{case.file.parent.name}, silent"}:
            groups[kind, "kernels"] += 1
            groups[kind, "ours"] += one.right
            if heard := theirs.get(case.name):
                groups[kind, _verdict(case, heard)] += 1
    columns = ["kernels", "ours", *(("theirs", "gave up", "wrongly") if theirs else ())]
    print(f"{'':20} " + " ".join(f"{column:>8}" for column in columns))
    for kind in sorted({kind for kind, _ in groups}):
        print(f"{kind:20} " + " ".join(f"{groups[kind, column]:8}" for column in columns))


def _verdict(case: Case, heard: Heard) -> str:
    if heard.alarm:
        return "theirs" if case.expected else "wrongly"
    if heard.says:
        return "gave up"
    return "wrongly" if case.expected else "theirs"


def beside(ours: dict[Case, Row], theirs: dict[str, Heard]) -> None:
    """Print where theirs alarms wrongly, and the seconds of both."""
    pairs = [(case, one, theirs[case.name]) for case, one in ours.items() if case.name in theirs]
    false = [case.name for case, _, heard in pairs if heard.alarm and not case.expected]
    ended = [(one, heard) for _, one, heard in pairs if not heard.says]
    print(f"\ntheirs raises {len(false)} false alarms: {', '.join(false) or 'none'}")
    seconds_of_ours = sum(one.under for one, _ in ended)
    seconds_of_theirs = sum(heard.seconds for _, heard in ended)
    print(
        f"where theirs came to an end, {len(ended)} kernels: "
        f"{seconds_of_ours:.2f} s ours, {seconds_of_theirs:.2f} s theirs"
    )


def main(words: list[str]) -> int:
    """Print a table of each folder, then one by kind."""
    parser = argparse.ArgumentParser(description="what the sanitizer finds in tests/kernels")
    parser.add_argument("folders", nargs="*", choices=[[], *FOLDERS], metavar="FOLDER")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--beside", type=Path, metavar="PYTHON", help="one that has triton-viz")
    wanted = parser.parse_args(words)
    folders = wanted.folders or FOLDERS
    interpreter.prepare("cpu")
    torch.set_num_threads(1)
    if wanted.json:
        for folder in folders:
            for case in cases(folder):
                as_json(case)
        return 0
    ours = {case: one for folder in folders for case, one in by_folder(folder).items()}
    theirs = hear(wanted.beside, folders) if wanted.beside is not None else {}
    by_kind(ours, theirs)
    if theirs:
        beside(ours, theirs)
    return 0 if all(one.right for one in ours.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
