"""Two git revisions grade the same answers alike: ``python tests/run_compare_reports.py OLD NEW``.

All right answers and some of the wrong ones, as they were at OLD, are graded by both, under one
seed and as students are graded. Reports must agree but for times, versions and what lies beside the
points: a difference that a second grading does not show was chance, and is told as such.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from grader.prove.answers.edits import built

ROOT = Path(__file__).resolve().parent.parent
SEED = 1
RATE = re.compile(r"[\d.?]+it/s")
"""What a progress bar says of its speed."""
DRAWN = re.compile(r"/(?:folder/tmp|tmp/inferlab-\d+-)\w{8}")
"""A folder of a test, or of a grading without a sandbox: each has another."""


def main() -> int:
    """Compare; return 0 if no report differs twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--wrong", type=int, default=100, help="how many wrong answers")
    parser.add_argument("--skip", type=int, default=0, help="how many answers to leave out first")
    parser.add_argument("--count", type=int, help="how many answers to compare")
    parser.add_argument("--jobs", type=int, default=1, help="how many answers at a time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="inferlab-compare-") as name:
        folder = Path(name)
        trees = [
            check_out(rev, folder / str(i)) for i, rev in enumerate((options.old, options.new))
        ]
        files = [*answers(options.old, options.wrong)]
        files = files[options.skip :][: options.count]
        differ = compare_all(trees, files, options.jobs)
    return 1 if differ else 0


class Comparison(NamedTuple):
    """What two revisions said of one answer."""

    file: str
    tests: int
    differs: bool
    """Whether the reports differ and did so again in a second grading."""
    lines: tuple[str, ...]
    """What the reports have not in common, chance or not."""


def compare_all(trees: Sequence[Path], files: Sequence[str], jobs: int) -> int:
    """Grade each file in both trees, print what differs, and return how many do."""
    done: list[Comparison] = []
    with ThreadPoolExecutor(jobs) as pool:
        for each in pool.map(partial(compared, trees), files):
            done.append(each)
            for line in each.lines:
                print(f"{'!' if each.differs else '~'} {each.file}: {line}", flush=True)
            print(f"{len(done)}/{len(files)} {each.file}", file=sys.stderr, flush=True)
    differ = sum(each.differs for each in done)
    chance = sum(bool(each.lines) for each in done) - differ
    print(
        f"{len(files)} answers, {sum(each.tests for each in done)} tests: {differ} reports differ,"
        f" {chance} differed once and not when they were graded again"
    )
    return differ


def compared(trees: Sequence[Path], file: str) -> Comparison:
    """Grade one answer in both trees, and once more if the reports differ."""
    with tempfile.TemporaryDirectory(prefix="inferlab-answer-") as name:
        folder = Path(name)
        source = whole(trees[0], file, folder)
        lab = file.split("/")[1]
        first, second = (graded(tree, lab, source, folder) for tree in trees)
        count = len(first["tests"])
        if first == second:
            return Comparison(file, count, False, ())
        again = [graded(tree, lab, source, folder) for tree in trees]
        lines = differences(*((first, second) if again[0] == again[1] else again))
        return Comparison(file, count, again[0] != again[1], tuple(lines))


def answers(revision: str, wrong: int) -> Iterator[str]:
    """Give the paths of all right answers, then of so many wrong ones, drawn from all labs."""
    listed = git("ls-tree", "-r", "--name-only", revision, "solutions").splitlines()
    code = [name for name in listed if name.endswith(".py")]
    yield from (name for name in code if "/wrong/" not in name)
    mistakes = [name for name in code if "/wrong/" in name]
    yield from random.Random(SEED).sample(mistakes, min(wrong, len(mistakes)))


def whole(tree: Path, file: str, folder: Path) -> Path:
    """Write the answer that a file stands for where neither tree looks, and return its path."""
    path = tree / file
    lab = tree.joinpath(*Path(file).parts[:2])
    text = built(path.read_text(), f"{lab.name[3:]}.py", lambda base: (lab / base).read_text())
    out = folder / "answer.py"
    out.write_text(text)
    return out


def graded(tree: Path, lab: str, source: Path, folder: Path) -> dict[str, Any]:
    """Grade an answer with a tree's own judge and return what counts of the report."""
    out = folder / "report.json"
    out.unlink(missing_ok=True)
    line = [sys.executable, "-m", "grader", "grade", lab, "--from", str(source)]
    line += ["--device", "cpu", "--seed", str(SEED), "--json", str(out)]
    done = subprocess.run(line, cwd=tree, capture_output=True, text=True, check=False)
    if not out.is_file():
        raise SystemExit(f"{tree.name} could not grade {lab}: {done.stderr[-500:]}")
    report = json.loads(out.read_text())
    numbers = {key: report[key] for key in ("schema", "lab", "topic", "score", "graded", "total")}
    tests = [{key: test[key] for key in test if key != "seconds"} for test in report["tests"]]
    for test in tests:
        test["output"] = DRAWN.sub("/folder/…", RATE.sub("", test["output"]))
        test["message"] = DRAWN.sub("/folder/…", test["message"])
    return {**numbers, "tasks": report["tasks"], "tests": tests}


def differences(first: dict[str, Any], second: dict[str, Any]) -> Iterator[str]:
    """Say in a line each what two reports have not in common."""
    for key in first:
        if key not in ("tests", "tasks") and first[key] != second[key]:
            yield f"{key} {first[key]} is {second[key]}"
    for kind in ("tasks", "tests"):
        ours, theirs = ({item["id"]: item for item in each[kind]} for each in (first, second))
        for name in dict.fromkeys((*ours, *theirs)):
            if ours.get(name) != theirs.get(name):
                yield f"{name}: {ours.get(name)} is {theirs.get(name)}"


def check_out(revision: str, into: Path) -> Path:
    """Write the files of a revision into a folder."""
    into.mkdir()
    archive = subprocess.Popen(["git", "archive", revision], cwd=ROOT, stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", str(into)], stdin=archive.stdout, check=True)
    if archive.wait() != 0:
        raise SystemExit(f"there is no revision {revision}")
    return into


def git(*arguments: str) -> str:
    """Return what a git command prints."""
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
