"""What is remembered of a proof: whatever can change an answer lets it be graded again.

Each input is changed in turn, in a small course whose judge is a dozen lines; the last test asks a
whole copy of the judge by its command line.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import test_check
from stand_ins.expectation import COURSE
from stand_ins.import_graph import ROOT
from stand_ins.sample_reports import hostile_everywhere, mixed

from grader.errors import JudgeError
from grader.files import json_bytes
from grader.judge.setup.request import Request
from grader.labs.documents.submission import collect
from grader.labs.lab import Lab, load_lab
from grader.labs.results import ContractResult, Report, State, Verdict
from grader.prove.check import Judges, check_labs
from grader.prove.expected import Role
from grader.prove.findings import CheckReport
from grader.prove.remembered import entries, key
from grader.prove.remembered.entries import Remembered, Told
from grader.prove.remembered.key import Keys, machine
from grader.prove.runner import Runner
from grader.prove.trials import Trial

MACHINE = machine()
ALL = ("stub", "solution", "variants/*", "wrong/*", "controls/*")
AROUND = (
    *("docs/README.md", "README.md", "tests/prove/test_all.py", "bench/judge.py"),
    *("labs/02_others/others.py", "labs/02_others/lab.toml", "labs/plots/numbers.py"),
    *("solutions/02_others/others.py", "solutions/01_numbers/ANSWERS.md"),
    *("grader/suites/test_02_others.py", "grader/suites/baseline_02_others.py"),
    *("grader/report/formats/html.py", "grader/cli/app.py", "grader/course/config.py"),
    *("grader/notebook/build.py", "grader/trace/page.py", "grader/__main__.py"),
    *("grader/judge/__pycache__/session.pyc", "grader/__pycache__/text.pyc", "labs/.swap"),
)
WITHIN = (
    *("labs/common.py", "labs/01_numbers/lab.toml", "labs/01_numbers/test_numbers.py"),
    *("labs/01_numbers/PSEUDOCODE.md", "labs/01_numbers/README.md", "labs/01_numbers/data.json"),
    *("labs/checkpoints/target/model.safetensors", "labs/checkpoints/heldout.txt"),
    *("grader/suites/test_01_numbers.py", "grader/suites/baseline_01_numbers.py"),
    *("labs/speed/numbers.py", "solutions/01_numbers/numbers.py"),
    *("reference/numbers.py", "reference/engine/engine.py"),
    *("grader/judge/session.py", "grader/judge/plugin/plugin.py", "grader/proxy/values/compare.py"),
    *("grader/worker/serve.py", "grader/worker/calls/harness.py", "grader/wire/codec.py"),
    *("grader/labs/results.py", "grader/reading/rules.py", "grader/sandbox/pool.py"),
    *("grader/prove/forking/forked.py", "grader/suite.py", "grader/environment.py"),
)


class Judge(test_check.Judge):
    """Says of what its report is, as the judge does; ``odd`` makes another of it."""

    def __init__(self, odd: Callable[[Report], Report] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._odd = odd or (lambda report: report)

    def __call__(self, request: Request, *, on_event: Callable[[str, Any], None]) -> Report:
        report = super().__call__(request, on_event=on_event)
        with tempfile.TemporaryDirectory() as folder:
            handed_in = collect(request.lab, request.source, Path(folder))
        of = {"submission_sha256": handed_in.sha256, "seed": request.seed}
        return self._odd(replace(report, provenance=report.provenance | of))


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    for name in (*WITHIN, *AROUND):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("# as it was\n")
    for name, text in test_check.FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return load_lab(tmp_path / "labs" / "01_numbers")


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key, "machine", lambda: MACHINE)


def prove(
    lab: Lab,
    judge: Judge | None = None,
    *,
    anew: bool = False,
    judges: Judges | None = None,
    **options: Any,
) -> CheckReport:
    """Prove a lab by what its root has remembered; of the judge it has what lies below the root."""
    lab = load_lab(lab.folder)
    asked: dict[str, Any] = {"seeds": 1, "only": ALL, "device": "cpu", "sandbox": "none"}
    remembered = Remembered(lab.root, Keys([lab], lab.root), anew=anew)
    judges = judges or Judges(judge or Judge())
    return check_labs([lab], judges=judges, remembered=remembered, **asked | options)


def graded(lab: Lab, **options: Any) -> list[str]:
    """Prove a lab, and return the files that were graded for it."""
    judge = Judge()
    report = prove(lab, judge, **options)
    assert report.gradings - report.recalled == len(judge.graded)
    return sorted(line.partition(" ")[0] for line in judge.graded)


def change(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as writing:
        writing.write("\n# changed\n")


def kept(lab: Lab) -> list[Path]:
    return sorted((lab.root / ".inferlab" / "remembered").glob("*"))


# What is graded again


def test_what_nothing_has_changed_is_not_graded_again(lab: Lab) -> None:
    first = prove(lab)
    again = prove(lab)

    assert (first.recalled, again.recalled) == (0, again.gradings)
    assert again.gradings == len(kept(lab))
    assert again.findings == first.findings
    assert again.losses == first.losses
    assert [report.to_json() for *_, report in again.wrong] == [
        report.to_json() for *_, report in first.wrong
    ]


@pytest.mark.parametrize("name", WITHIN)
def test_whatever_a_grading_can_depend_on_lets_it_be_graded_again(lab: Lab, name: str) -> None:
    everything = graded(lab)

    change(lab.root / name)

    assert graded(lab) == everything
    assert graded(lab) == []


@pytest.mark.parametrize("name", AROUND)
def test_what_no_grading_depends_on_changes_nothing(lab: Lab, name: str) -> None:
    graded(lab)

    change(lab.root / name)

    assert graded(lab) == []


def test_a_file_that_comes_or_goes_counts(lab: Lab) -> None:
    everything, new = graded(lab), lab.root / "grader" / "worker" / "new.py"

    new.write_text("")
    assert graded(lab) == everything
    (lab.root / "reference" / "numbers.py").unlink()
    assert graded(lab) == everything


@pytest.mark.parametrize("name", ["variants/shift.py", "wrong/adds_one.py"])
def test_an_answer_that_changes_is_graded_alone(lab: Lab, name: str) -> None:
    graded(lab)

    change(lab.solutions / name)

    assert graded(lab) == [name.partition("/")[2]]


def test_a_stub_that_changes_is_graded_with_all_that_lie_beside_it(lab: Lab) -> None:
    everything = graded(lab)

    change(lab.stub)

    assert graded(lab) == everything


def test_another_seed_is_graded(lab: Lab) -> None:
    graded(lab)

    assert graded(lab, seeds=2) == ["01_numbers", "shift.py"]
    assert graded(lab, wrong_seeds=2) == ["adds_one.py"]


def test_other_tasks_are_graded(lab: Lab) -> None:
    graded(lab)

    assert graded(lab, brief=True) == ["adds_one.py"]
    assert graded(lab, whole=True) == ["adds_one.py"]
    assert graded(lab, brief=True) == graded(lab, whole=True) == graded(lab) == []


# What is never remembered


def with_verdict(verdict: Verdict) -> Callable[[Report], Report]:
    """Let what failed have come about by chance."""

    def odd(report: Report) -> Report:
        failed = Verdict.FAILED
        tests = [replace(t, verdict=verdict) if t.verdict is failed else t for t in report.tests]
        return replace(report, tests=tuple(tests))

    return odd


def provenance(**told: object) -> Callable[[Report], Report]:
    return lambda report: replace(report, provenance=report.provenance | told)


ODD: dict[str, Callable[[Report], Report]] = {
    **{str(verdict): with_verdict(verdict) for verdict in entries._BY_CHANCE},
    "cut off": lambda report: replace(report, partial=True),
    "another seed": provenance(seed=7),
    "another submission": provenance(submission_sha256="0" * 64),
    "no points": lambda report: replace(
        report, tasks=tuple(replace(task, score=task.points / 2) for task in report.tasks)
    ),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("anew", [False, True], ids=["at first", "anew"])
def test_what_may_come_otherwise_is_not_remembered(
    lab: Lab, odd: Callable[[Report], Report], anew: bool
) -> None:
    if anew:  # what was told before is not told any more
        prove(lab, only=["wrong/*"])

    prove(lab, Judge(odd), anew=anew, only=["wrong/*"])

    assert kept(lab) == []
    assert graded(lab, only=["wrong/*"]) == ["adds_one.py"]


def test_a_grading_that_breaks_is_not_remembered(lab: Lab) -> None:
    def broken(report: Report) -> Report:
        raise JudgeError("the judge broke")

    prove(lab, Judge(broken))

    assert kept(lab) == []


def test_what_is_written_to_while_it_is_graded_is_not_remembered(lab: Lab) -> None:
    def written(report: Report) -> Report:
        file = lab.root / "reference" / "numbers.py"
        text = file.read_bytes()
        file.write_text("X = 1\n")
        file.write_bytes(text)
        return report

    prove(lab, Judge(written))

    assert kept(lab) == []


def test_what_differs_both_ways_is_graded_again(lab: Lab) -> None:
    whole, quick = Judge(), Judge(manifest=test_check.MANIFEST[1:])
    options: dict[str, Any] = {"only": ["solution"], "sample_date": "2026-11-23"}

    def proven() -> CheckReport:
        return prove(lab, judges=Judges(whole, lambda _: quick), **options)

    assert [item.rule for item in proven().failed] == ["is graded alike both ways (seed 1)"]
    assert kept(lab) == []
    quick.manifest = test_check.MANIFEST
    assert (proven().failed, proven().recalled) == ((), 2)


@pytest.mark.parametrize("option", ["margins", "public"])
def test_what_is_measured_is_measured_each_time(lab: Lab, option: str) -> None:
    options = {option: True, "only": ["wrong/*"]}

    assert graded(lab, **options) == graded(lab, **options) == ["adds_one.py"]
    assert kept(lab) == []


# Expectations


def test_a_line_of_what_fails_that_changes_is_found(lab: Lab) -> None:
    file = lab.solutions / "wrong" / "half_more.py"
    file.write_text(test_check.EDIT)
    options: dict[str, Any] = {"whole": True, "only": ["wrong/half*"]}
    assert graded(lab, **options) == ["half_more.py"]
    file.write_text(test_check.EDIT.replace("Fails: halve", "Fails: double"))

    assert [item.got for item in prove(lab, **options).failed] == ["loses halve"]


def test_what_is_expected_is_held_against_what_is_remembered(lab: Lab) -> None:
    file, judge = lab.solutions / "wrong" / "adds_one.py", Judge()
    remembered = Remembered(lab.root, Keys([lab], lab.root))
    run = Runner(Judges(judge), "cpu", "none", brief=False, crowd=1.0, remembered=remembered)
    trial = Trial(
        lab, Role.WRONG, "wrong/adds_one.py", "adds_one.py", file, 1, frozenset(["double"])
    )
    other = replace(trial, fails=frozenset(["halve"]))

    assert [run(trial).recalled, run(trial).recalled] == [False, True]
    assert not run(other).recalled  # a failure is told of a grading that was made now
    assert len(judge.graded) == 2
    assert kept(lab) == []


def test_a_grading_can_be_asked_for_anew(lab: Lab) -> None:
    everything = graded(lab)

    assert graded(lab, anew=True) == everything
    assert graded(lab) == []


# Entries


def test_an_entry_says_all_that_was_told() -> None:
    state = ContractResult(3, "rope", "keeps the dtype", State.BROKEN, 20.0, 0.0)
    report = replace(mixed(), contracts=(state,), extras={"code": {"logical_lines": 7}})
    told = Told(report, "", test_check.MANIFEST, {"rope": ["apply_rope"]}, (), 1.5)

    assert entries.decoded(entries.encoded(report, told)) == told
    hostile = hostile_everywhere()
    again = entries.decoded(entries.encoded(hostile, told)).report
    assert again is not None
    assert json_bytes(again.to_json()) == json_bytes(hostile.to_json())


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def flip(file: Path) -> None:
    entry = bytearray(file.read_bytes())
    entry[len(entry) // 2] ^= 1
    file.write_bytes(entry)


def swap(file: Path) -> None:
    other = next(other for other in file.parent.iterdir() if other != file)
    file.write_bytes(other.read_bytes())


def seal(file: Path) -> None:
    body = b"no entry of ours"
    file.write_bytes(entries._seal(key.Key(file.name, "", 1), body) + body)


DAMAGE = (cut, flip, swap, seal, lambda file: file.write_bytes(b""))


@pytest.mark.parametrize("damage", DAMAGE, ids=["cut", "flipped", "another's", "sealed", "empty"])
def test_a_damaged_entry_is_none_and_is_replaced(lab: Lab, damage: Callable[[Path], None]) -> None:
    graded(lab)
    file = kept(lab)[3]
    sound = file.read_bytes()

    damage(file)

    assert len(graded(lab)) == 1
    assert graded(lab) == []
    assert len(file.read_bytes()) == len(sound)


def test_a_tree_that_cannot_be_written_to_is_proven_all_the_same(lab: Lab) -> None:
    (lab.root / ".inferlab").write_text("no folder")

    assert graded(lab) == graded(lab)
    assert prove(lab).failed == ()


def test_what_is_not_used_is_dropped(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    graded(lab)
    for place, file in enumerate(kept(lab)):
        os.utime(file, (1e9 + place, 1e9 + place))
    graded(lab, only=["solution", "stub"])  # which uses two
    remembered = Remembered(lab.root)

    remembered.prune()
    assert len(kept(lab)) == 2
    monkeypatch.setattr(entries, "MOST_ENTRIES", 1)
    remembered.prune()
    assert len(kept(lab)) == 1


# The command


def test_the_command_proves_what_a_change_has_touched(tmp_path: Path) -> None:
    for name in ("grader", "reference"):
        made = shutil.ignore_patterns("__pycache__", "test_*", "baseline_*")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=made)
    shutil.copytree(COURSE, tmp_path, dirs_exist_ok=True)
    files = {
        name: next(tmp_path.glob(f"grader/**/{name}")) for name in ("compare.py", "terminal.py")
    }

    first = told_by_check(tmp_path)
    change(files["terminal.py"])
    change(tmp_path / "docs" / "README.md")
    change(tmp_path / "grader" / "suites" / "test_91_softmax.py")
    second = told_by_check(tmp_path)
    change(files["compare.py"])

    assert (first, second) == ("2 gradings, 0 remembered", "2 gradings, 2 remembered")
    assert told_by_check(tmp_path) == first


def told_by_check(root: Path) -> str:
    command = [sys.executable, "-m", "grader", "check", "90", "--device", "cpu", "--seeds", "1"]
    patterns = ["--only", "stub", "--only", "solution"]
    done = subprocess.run([*command, *patterns], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return re.findall("^.*remembered$", done.stdout, re.MULTILINE)[-1]
