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
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

import torch
from stand_ins.beside import Heard, hear
from stand_ins.kernel_cases import ORDERS, Case, Place, cases
from stand_ins.kernel_runs import found, judged, seconds, wrong

from grader.worker import interpreter

FOLDERS = ("right", "answers", "wrong")


def row(case: Case) -> tuple[bool, float, float]:
    """Print the row of a case; return whether it is as expected, and its seconds."""
    places = judged(case)
    right = places == case.expected
    plain, under = seconds(case)
    texts = [_listed(case.expected), "as expected" if right else _listed(places)]
    costs = f"      - {under:7.3f}     -"
    if plain is not None:
        costs = f"{plain:7.3f} {under:7.3f} {under / plain:5.2f}"
    print(f"{case.name:54} {texts[0]:45} {texts[1]:12} {costs}", flush=True)
    return right, plain or 0.0, 0.0 if plain is None else under


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


def by_folder(folder: str) -> dict[Case, bool]:
    """Print the rows of a folder and a line for all; return which are as expected."""
    rows = {case: row(case) for case in cases(folder)}
    plain, under = (sum(one[place] for one in rows.values()) for place in (1, 2))
    right = sum(one[0] for one in rows.values())
    dear = sum(one[2] > 2 * one[1] for one in rows.values())
    print(
        f"{folder}: {right} of {len(rows)} as expected; where both ran, {plain:.2f} s plain, "
        f"{under:.2f} s with the sanitizer, {under / plain:.2f} times; more than 2 times: {dear}\n"
    )
    return {case: one[0] for case, one in rows.items()}


def by_kind(ours: dict[Case, bool], theirs: dict[str, Heard]) -> None:
    """Print how many kernels each sanitizer gets right, by what is wrong with them.

    Theirs has found a wrong kernel if it raised any alarm: it is asked for no kinds.
    """
    groups = Counter[tuple[str, str]]()
    for case, right in ours.items():
        kinds = {kind for kind, _ in case.expected} or {f"{case.file.parent.name}: no alarm"}
        for kind in kinds:
            groups[kind, "all"] += 1
            groups[kind, "ours"] += right
            if heard := theirs.get(case.name):
                silent = not heard.alarm and not heard.says
                groups[kind, "theirs"] += heard.alarm if case.expected else silent
                groups[kind, "gave up"] += not heard.alarm and bool(heard.says)
    print(f"{'':20} {'kernels':>8} {'ours':>8}" + f" {'theirs':>8} {'gave up':>8}" * bool(theirs))
    for kind in sorted({kind for kind, _ in groups}):
        columns = ("all", "ours", *(("theirs", "gave up") if theirs else ()))
        print(f"{kind:20} " + " ".join(f"{groups[kind, column]:8}" for column in columns))
    if theirs:
        false = [name for name, heard in theirs.items() if heard.alarm and _is_right(name, ours)]
        taken = sum(heard.seconds for heard in theirs.values())
        print(f"\ntheirs: false alarms {', '.join(false) or 'none'}; {taken:.1f} s in all")


def _is_right(name: str, ours: dict[Case, bool]) -> bool:
    return any(case.name == name and not case.expected for case in ours)


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
    ours = {case: right for folder in folders for case, right in by_folder(folder).items()}
    theirs: dict[str, Heard] = {}
    if wanted.beside is not None:
        theirs = hear(wanted.beside, folders)
    by_kind(ours, theirs)
    return 0 if all(ours.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
