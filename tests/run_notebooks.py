"""Prove the notebooks of all labs: ``make notebooks``.

Each is built as a student gets it and graded: 0 points. Then the model answers are written into
its cells, and beside it what compilers read, all cells are executed by nbclient in a fresh kernel,
without an error, and what the notebook holds, handed in alone, is what ``%grade`` gave all points
that this machine can grade.

``--brief`` checks the first task alone by its cell: ``%grade`` runs the tests of all once more.
``--share 3`` proves every third lab, each of them once in three days.
"""

import argparse
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from stand_ins.filled import answer_parts, copied, fill

from grader import ROOT
from grader.labs.documents.submission import PSEUDOCODE_NAME, files_of_notebook, fingerprint
from grader.labs.lab import Lab, all_labs, find_lab
from grader.notebook.files import notebook_file
from grader.notebook.handout import prompts
from grader.prove.expected import RIGHT
from grader.readers import Budget

CELL_SECONDS = 1200


@dataclass(frozen=True, slots=True)
class Proof:
    """What came of one lab's notebook; it is in order if there are no problems."""

    lab: Lab
    problems: tuple[str, ...]
    cells: int
    points: str
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove some labs, or all; 1 if something does not hold."""
    parser = argparse.ArgumentParser(prog="make notebooks", description=__doc__.partition("\n")[0])
    parser.add_argument("labs", nargs="*", metavar="LAB")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--brief", action="store_true", help="%%check the first task alone")
    parser.add_argument("--share", type=int, default=1, metavar="N", help="every Nth lab of a day")
    order = parser.parse_args(arguments)
    labs = [find_lab(text, ROOT) for text in order.labs] or all_labs(ROOT)
    today = datetime.now(UTC).toordinal()
    labs = [lab for lab in labs if (lab.number + today) % order.share == 0]
    started = time.monotonic()
    with ThreadPoolExecutor(order.jobs) as pool:
        proving = functools.partial(prove, brief=order.brief)
        proofs = [_shown(proof) for proof in pool.map(proving, labs)]
    bad = sum(bool(proof.problems) for proof in proofs)
    print(f"{len(proofs)} notebooks, {bad} not in order; {time.monotonic() - started:.0f} s")
    return int(bad > 0)


def _shown(proof: Proof) -> Proof:
    told = f"{proof.cells} cells, {proof.points}, {proof.seconds:.0f} s"
    print(f"{proof.lab.name:20} {'NOT in order' if proof.problems else 'in order'}: {told}")
    for problem in proof.problems:
        print(f"  ! {problem}")
    return proof


def prove(lab: Lab, *, brief: bool = False) -> Proof:
    """Build, grade, fill, execute and compare one lab's notebook, in a copy of the tree."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="inferlab-notebook-") as name:
        there = find_lab(lab.name, copied(lab.root, Path(name)))
        problems = [*_unfilled(there)]
        if not notebook_file(there).is_file():
            return Proof(lab, (*problems,), 0, "", time.monotonic() - started)
        notebook = nbformat.read(notebook_file(there), as_version=4)
        left = fill(notebook, answer_parts(lab))
        problems += [f"there is no cell for {part}" for part in left]
        if brief:
            checks = [cell for cell in notebook.cells if cell.source.startswith("%check")]
            for cell in checks[1:]:
                cell.source = ""
        nbformat.write(notebook, notebook_file(there))  # %grade reads the answers as saved
        for name in lab.sources:  # these have no cells
            shutil.copy(lab.solutions / name, there.folder / name)
        problems += [*_executed(there, notebook)]
        found, points = _compared(there)
        cells = len(notebook.cells)
    seconds = time.monotonic() - started
    return Proof(lab, (*problems, *found), cells, points, seconds)


def _run(lab: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "grader", *arguments]
    return subprocess.run(
        command, cwd=lab.root, env=_environment(lab), capture_output=True, text=True, check=False
    )


def _environment(lab: Lab) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(lab.root), "NO_COLOR": "1"}


def _unfilled(lab: Lab) -> Iterator[str]:
    """Build the notebook, and hand it in as it is."""
    done = _run(lab, "notebook", str(lab.number), "--no-open")
    if done.returncode:
        yield f"it was not built: {done.stderr}"
    done = _run(lab, "grade", str(lab.number), "--from", str(notebook_file(lab)), "--json", "-")
    report = _loaded(done.stdout)
    if report.get("score") != 0 or done.returncode != 1 or report["provenance"].get("notebook"):
        yield f"unfilled it gets {report.get('score')} points: {done.stderr.strip()}"


def _executed(lab: Lab, notebook: Any) -> Iterator[str]:
    """Execute all cells in the folder of the lab, and look at what they say."""
    client = nbclient.NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(lab.folder)}},
    )
    try:
        client.execute(env=_environment(lab))
    except nbclient.exceptions.CellExecutionError as error:
        yield f"a cell raised: {str(error)[-1500:]}"
    nbformat.write(notebook, notebook_file(lab))
    for number, cell in enumerate(notebook.cells, 1):
        for output in cell.get("outputs", ()):
            text = output.get("text", "")
            told = "error: " in text and cell.source != "%submit"
            if output.output_type == "error" or told:
                yield f"cell {number}: {output.get('evalue') or text.strip()}"
        if cell.source.startswith("%check"):
            shown = [output.get("data", {}) for output in cell.get("outputs", ())]
            htmls = [data.get("text/html", "") for data in shown]
            if not any("✓ passed ·" in html or ">not graded ·" in html for html in htmls):
                plain = "\n".join(data.get("text/plain", "") for data in shown)
                yield f"cell {number}, {cell.source}: {plain[:900]}"


def _compared(lab: Lab) -> tuple[list[str], str]:
    """Hold what the notebook stands for against what the kernel's ``%grade`` graded."""
    file = lab.root / ".inferlab" / "last" / f"{lab.name}.json"
    report = _loaded(file.read_text("utf-8") if file.is_file() else "")
    files, notes, _ = files_of_notebook(
        lab, notebook_file(lab).read_bytes(), None, "the notebook", Budget()
    )
    found = [f"it says: {note}" for note in notes]
    beside = [lab.folder / name for name in lab.sources]
    graded_files = {file.name: file.read_bytes() for file in (lab.stub, lab.pseudocode, *beside)}
    if fingerprint(graded_files) != report["provenance"].get("submission_sha256"):
        found.append("%grade did not grade the files as they are")
    if _essence(lab, files) != _essence(lab, graded_files):
        found.append("handed in alone it is not what %grade graded")
    score, graded = report.get("score"), report.get("graded")
    if not graded or score != graded:
        lost = [test for test in report.get("tests", ()) if test["verdict"] not in RIGHT]
        found += [f"{test['id']}: {test['message'][:300]}" for test in lost[:3]]
        found.append(f"filled it gets {score} of {graded} points")
    return found, f"{score} of {graded} points"


def _essence(lab: Lab, files: dict[str, bytes]) -> tuple[bytes, dict[str, str]]:
    """Return the code, and the answers of PSEUDOCODE.md without what stands above them."""
    return files[lab.code_name], prompts(files.get(PSEUDOCODE_NAME, b"").decode())


def _loaded(text: str) -> dict[str, Any]:
    try:
        return json.loads(text)
    except ValueError:
        return {"provenance": {}}


if __name__ == "__main__":
    sys.exit(main())
