"""`lab check` on a small lab whose judge is a dozen lines: each rule is broken once, on purpose."""

import ast
import re
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.errors import JudgeError, UsageError
from grader.judge.setup.request import Request
from grader.labs.lab import Lab, load_lab
from grader.labs.results import Expected, Report, TaskResult, TestResult, Verdict
from grader.prove.answers.controls import BODIES, make_controls
from grader.prove.check import Judges, check_labs
from grader.prove.files import fails_line
from grader.prove.findings import CheckReport, Outcome, Proof

TOML = """
title = "Numbers"
summary = "Two functions."
given = ["common"]
imports = ["torch"]

[[tasks]]
id = "double"
title = "Double"
points = 60
functions = ["double"]
hint = "Add."

[[tasks]]
id = "halve"
title = "Halve"
points = 35
functions = ["Halver"]
hint = "Divide."

[[tasks]]
id = "pseudocode"
title = "Pseudocode"
points = 5
hint = "Write."
"""
STUB = '''"""Stub."""


def double(x: int) -> int:
    """Twice x."""
    raise NotImplementedError("double: double")


class Halver:
    """Halves."""

    def __init__(self, digits: int = 2) -> None:
        raise NotImplementedError("halve: Halver")

    def halve(self, x: float) -> float:
        """Half of x."""
        raise NotImplementedError("halve: halve")
'''
SOLUTION = '''"""Answer."""


def double(x: int) -> int:
    """Twice x."""
    return x + x


class Halver:
    """Halves."""

    def __init__(self, digits: int = 2) -> None:
        self.digits = digits

    def halve(self, x: float) -> float:
        """Half of x."""
        return round(x / 2, self.digits)
'''
WRONG = SOLUTION.replace('"""Answer."""', '"""Adds one.\n\nFails: double\n"""').replace(
    "x + x", "x + 1"
)
PROMPTS = "## double\n\n> Say it.\n\n## halve\n\n> Say it.\n"
FILES = {
    "labs/common.py": "",
    "labs/01_numbers/lab.toml": TOML,
    "labs/01_numbers/numbers.py": STUB,
    "labs/01_numbers/PSEUDOCODE.md": PROMPTS,
    "labs/01_numbers/README.md": "double, Halver",
    "labs/01_numbers/test_numbers.py": "",
    "grader/suites/test_01_numbers.py": "",
    "solutions/01_numbers/numbers.py": SOLUTION,
    "solutions/01_numbers/PSEUDOCODE.md": PROMPTS + "\nAn answer in words\n",
    "solutions/01_numbers/ANSWERS.md": "42",
    "solutions/01_numbers/variants/shift.py": SOLUTION.replace("x + x", "x << 1"),
    "solutions/01_numbers/wrong/adds_one.py": WRONG,
}
MANIFEST = (
    *(Expected(f"rules[{name}]", name, "rules", 0, True) for name in ("double", "halve")),
    Expected("test_double", "double", "hidden", gate=True),
    Expected("test_public", "double", "public"),
    Expected("test_halve", "halve", "hidden", gate=True),
    Expected("pseudocode[file]", "pseudocode", "pseudocode", 0, True),
)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return load_lab(tmp_path / "labs" / "01_numbers")


class Judge:
    """Grades the two functions by running them: good enough for submissions of ours."""

    def __init__(self, manifest: tuple[Expected, ...] = MANIFEST, **provenance: Any) -> None:
        self.manifest = manifest
        self.provenance = {"seconds": 1.0} | provenance
        self.graded: list[str] = []
        self.cut: set[str] = set()  # graded until each task has lost a point
        self.chosen: dict[str, set[str]] = {}  # graded on some tasks only
        self.whole: set[str] = set()  # seeds of wrong answers that were graded on all tasks
        self.alone: list[tuple[int, set[str]]] = []  # by seed: the only tests that were graded
        self.ungraded: tuple[str, ...] = ()
        self.asked = {"double": ["double"], "halve": ["Halver"]}

    def __call__(self, request: Request, *, on_event: Callable[[str, Any], None]) -> Report:
        lab, source, seed = request.lab, request.source, request.seed
        self.graded.append(f"{source.name} {seed} {request.device} {request.sandbox}")
        self.cut |= {source.name} if request.until_lost else set()
        self.chosen |= {source.name: set(request.tasks)} if request.tasks else {}
        self.alone += [(seed, set(request.tests))] * bool(request.tests)
        self.whole |= {str(seed)} if request.until_lost and not request.tasks else set()
        on_event("manifest", list(self.manifest))
        code = source / lab.code_name if source.is_dir() else source
        verdicts = {
            "double": self._try(code, lambda names: type(names["double"](7)) is int)
            and self._try(code, lambda names: names["double"](seed + 20) == 2 * seed + 40),
            "halve": self._try(code, lambda names: names["Halver"]().halve(3.0) == 1.5),
            "pseudocode": source.is_dir() and "words" in (source / "PSEUDOCODE.md").read_text(),
        }
        on_event("asked", self.asked)
        return self._report(lab, verdicts, source.is_dir())

    def _report(self, lab: Lab, right: dict[str, bool], folder: bool) -> Report:
        out = self.ungraded if folder else (*self.ungraded, "pseudocode")
        tests = tuple(
            TestResult(
                *(test.id, test.task, test.suite),
                Verdict.NOT_GRADED
                if test.task in out
                else Verdict.PASSED
                if right[test.task] or test.suite == "rules"
                else Verdict.FAILED,
                f"{test.task} is wrong",
            )
            for test in self.manifest
        )
        tasks = tuple(
            TaskResult(
                *(task.id, task.title, task.points),
                task.points * (right[task.id] and task.id not in out),
                task.id not in out,
            )
            for task in lab.tasks
        )
        return Report(1, "numbers", tasks, tests, dict(self.provenance))

    def _try(self, code: Path, test: Callable[[dict[str, Any]], bool]) -> bool:
        names: dict[str, Any] = {}
        try:
            exec(code.read_text(), names)
            return bool(test(names))
        except Exception:
            return False


def prove(lab: Lab, judge: Any = None, on_progress: Any = None, **asked: Any) -> CheckReport:
    judges = Judges(judge or Judge())
    return check_labs([lab], Proof(**asked), on_progress=on_progress, judges=judges)


def failures(report: CheckReport) -> list[str]:
    return [f"{item.file}: {item.rule}: {item.got}" for item in report.failed]


def edit(lab: Lab, name: str, old: str, new: str) -> None:
    file = lab.root / name
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_a_sound_lab_is_proven(lab: Lab) -> None:
    judge = Judge()

    report = prove(lab, judge, device="cpu", sandbox="none", seeds=3, wrong_seeds=2)

    assert failures(report) == []
    assert report.exit_code == 0
    assert sorted(judge.graded) == sorted(
        ["01_numbers 1 cpu none"] * 2
        + ["01_numbers 2 cpu none", "01_numbers 3 cpu none"]
        + [f"shift.py {seed} cpu none" for seed in (1, 2, 3)]
        + [f"adds_one.py {seed} cpu none" for seed in (1, 2)]
        + [f"{name}.py 1 cpu none" for name in BODIES]
    )


def test_a_wrong_answer_is_graded_until_each_task_has_lost(lab: Lab) -> None:
    judge = Judge()

    prove(lab, judge, device="cpu", sandbox="none", seeds=1, wrong_seeds=1)

    assert judge.cut == {"adds_one.py"}


def test_what_a_right_answer_has_proven_is_not_graded_again(lab: Lab) -> None:
    judge = Judge()

    report = prove(lab, judge)

    assert judge.chosen == {"adds_one.py": {"double", "pseudocode"}}
    assert failures(report) == []


CODE_FILE = "solutions/01_numbers/numbers.py"
VARIANT_FILE = "solutions/01_numbers/variants/shift.py"
WRONG_FILE = "solutions/01_numbers/wrong/adds_one.py"


def test_a_variant_proves_as_much_as_the_solution(lab: Lab) -> None:
    for name in (VARIANT_FILE, WRONG_FILE):
        edit(lab, name, "round(x / 2", "round(x * 0.5")
    judge = Judge()

    prove(lab, judge)

    assert judge.chosen == {"adds_one.py": {"double", "pseudocode"}}


HALVES = "round(x / 2"
FUNCTIONS = 'functions = ["Halver"]'
REQUIRES = f'{FUNCTIONS}\nrequires = ["double"]'
UNPROVEN: dict[str, tuple[list[str], str, str, dict[str, Any]]] = {
    "other code": ([WRONG_FILE], HALVES, "round(x * 0.5", {}),
    "no right answer passed": ([CODE_FILE, VARIANT_FILE, WRONG_FILE], HALVES, "round(x / 3", {}),
    "it requires what is lost": (["labs/01_numbers/lab.toml"], FUNCTIONS, REQUIRES, {}),
    "no right answer was graded": ([], "", "", {"only": ["wrong/*"]}),
    "all is asked for": ([], "", "", {"whole": True}),
}


@pytest.mark.parametrize(("files", "old", "new", "options"), UNPROVEN.values(), ids=UNPROVEN)
def test_what_is_not_proven_is_graded(
    lab: Lab, files: list[str], old: str, new: str, options: dict[str, Any]
) -> None:
    for file in files:
        edit(lab, file, old, new)
    judge = Judge()

    prove(load_lab(lab.folder), judge, **options)

    graded = [name for name in judge.graded if name.startswith("adds_one.py")]
    assert graded == ["adds_one.py 1 auto auto"]
    assert judge.whole == {"1"}


FELL = {"hidden test_double", "public test_public"}


def test_later_seeds_grade_the_tests_that_fell_alone(lab: Lab) -> None:
    judge = Judge()

    report = prove(lab, judge, wrong_seeds=3)

    assert sorted(judge.alone) == [(2, FELL), (3, FELL)]
    assert judge.chosen == {"adds_one.py": {"double"}}
    assert failures(report) == []


def test_what_stands_where_it_fell_is_graded_by_all_tests(lab: Lab) -> None:
    """It adds one under the first seed alone: under others it loses nothing."""
    edit(lab, WRONG_FILE, "x + 1", "x + x + (x == 21)")
    judge = Judge()

    report = prove(lab, judge, wrong_seeds=2)

    tries = [name for name in judge.graded if name.startswith("adds_one.py 2")]
    assert (len(tries), len(judge.alone)) == (2, 1)
    assert len(failures(report)) == 1


def test_margins_need_all_tests_under_each_seed(lab: Lab) -> None:
    judge = Judge()

    prove(lab, judge, wrong_seeds=2, margins=True)

    assert judge.alone == []


def test_brief_check_grades_of_a_wrong_answer_what_it_should_lose(lab: Lab) -> None:
    judge = Judge()

    prove(lab, judge, device="cpu", sandbox="none", brief=True)

    assert judge.chosen == {"adds_one.py": {"double"}}


BROKEN = {
    "unfinished stub": (
        "labs/01_numbers/numbers.py",
        'NotImplementedError("double: double")',
        'NotImplementedError("double")',
        "labs/01_numbers/numbers.py: stub raises, naming the task: line 4: double does not",
    ),
    "stub that answers": (
        "labs/01_numbers/numbers.py",
        'raise NotImplementedError("halve: halve")',
        "return x / 2",
        "labs/01_numbers/numbers.py: stub raises, naming the task: line 15: halve does not",
    ),
    "stub without a function": (
        "labs/01_numbers/numbers.py",
        "def double(",
        "def treble(",
        "labs/01_numbers/numbers.py: stub raises, naming the task: double is missing",
    ),
    "stub that does not import": (
        "labs/01_numbers/numbers.py",
        '"""Stub."""\n',
        '"""Stub."""\n\nimport no_such_module\n',
        "labs/01_numbers/numbers.py: stub imports: ModuleNotFoundError: No module named "
        "'no_such_module'",
    ),
    "stub that is no Python": (
        "labs/01_numbers/numbers.py",
        "class Halver:",
        "class Halver",
        "labs/01_numbers/numbers.py: stub can be read: is no Python: expected ':'",
    ),
    "badly formatted": (
        "solutions/01_numbers/numbers.py",
        "return x + x",
        "return x+x",
        "solutions/01_numbers/numbers.py: is formatted: ruff format would change it",
    ),
    "another default": (
        "solutions/01_numbers/variants/shift.py",
        "digits: int = 2",
        "digits: int = 3",
        "solutions/01_numbers/variants/shift.py: signatures are the stub's: "
        "Halver.__init__(self, digits=3), not Halver.__init__(self, digits=2)",
    ),
    "another name": (
        "solutions/01_numbers/wrong/adds_one.py",
        "def halve(self, x: float)",
        "def halve(self, y: float)",
        "solutions/01_numbers/wrong/adds_one.py: signatures are the stub's: "
        "Halver.halve(self, y), not Halver.halve(self, x)",
    ),
    "wrong solution": (
        "solutions/01_numbers/numbers.py",
        "return x + x",
        "return x + 1",
        "solutions/01_numbers/numbers.py: earns everything (seed 1): "
        "40 of 100 points, 2 tests did not pass",
    ),
    "no pseudocode": (
        "solutions/01_numbers/PSEUDOCODE.md",
        "words",
        "…",
        "solutions/01_numbers/numbers.py: earns everything (seed 2): "
        "95 of 100 points, 1 tests did not pass",
    ),
    "variant right under one seed only": (
        "solutions/01_numbers/variants/shift.py",
        "x << 1",
        "x << 1 if x < 22 else 0",
        "solutions/01_numbers/variants/shift.py: earns everything (seed 2): "
        "35 of 95 points, 2 tests did not pass",
    ),
    "wrong answer that is right": (
        "solutions/01_numbers/wrong/adds_one.py",
        "x + 1",
        "2 * x",
        "solutions/01_numbers/wrong/adds_one.py: loses exactly what it should (seed 1): "
        "loses nothing",
    ),
    "wrong answer that loses more": (
        "solutions/01_numbers/wrong/adds_one.py",
        "round(x / 2",
        "round(x / 3",
        "solutions/01_numbers/wrong/adds_one.py: loses exactly what it should (seed 1): "
        "loses double, halve",
    ),
    "no Fails line": (
        "solutions/01_numbers/wrong/adds_one.py",
        "Fails: double",
        "It fails double.",
        "solutions/01_numbers/wrong/adds_one.py: docstring says what fails: "
        "the docstring's last line is not `Fails: task, task`",
    ),
    "unknown task": (
        "solutions/01_numbers/wrong/adds_one.py",
        "Fails: double",
        "Fails: double, treble",
        "solutions/01_numbers/wrong/adds_one.py: docstring says what fails: "
        "`Fails:` names no task of the lab: treble",
    ),
    "handout": (
        "labs/01_numbers/README.md",
        "Halver",
        "halver",
        "labs/01_numbers/README.md: handout names every function in a page or two: "
        "does not name Halver",
    ),
    "long handout": (
        "labs/01_numbers/README.md",
        "double",
        "double\n" * 201,
        "labs/01_numbers/README.md: handout names every function in a page or two: "
        "has 202 lines beside its contracts, more than 200",
    ),
    "no prompt": (
        "labs/01_numbers/PSEUDOCODE.md",
        "## halve",
        "## half",
        "labs/01_numbers/PSEUDOCODE.md: every task has a pseudocode prompt: no prompt for halve",
    ),
    "answered prompt": (
        "labs/01_numbers/PSEUDOCODE.md",
        "## halve",
        "Add it to itself.\n\n## halve",
        "labs/01_numbers/PSEUDOCODE.md: every task has a pseudocode prompt: "
        "double is answered already",
    ),
}


@pytest.mark.parametrize(("name", "old", "new", "found"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_found_and_named(
    lab: Lab, name: str, old: str, new: str, found: str
) -> None:
    edit(lab, name, old, new)

    report = prove(lab)

    assert any(line.startswith(found) for line in failures(report)), failures(report)
    assert report.exit_code == 1


EDIT = '''"""Halves in float.

Fails: halve
"""

LINES = {
    "Halver.halve": r"""
-         return round(x / 2, self.digits)
+         return x / 2 + 1
""",
}
'''


def test_an_edit_is_graded_whole_under_its_own_name(lab: Lab) -> None:
    (lab.solutions / "wrong" / "half_more.py").write_text(EDIT)
    judge = Judge()

    report = prove(lab, judge, seeds=1)

    assert failures(report) == []
    assert judge.chosen["half_more.py"] == {"halve", "pseudocode"}  # double is as proven as ever
    assert "half_more.py 1 auto auto" in judge.graded
    rules = [f.rule for f in report.findings if f.file.endswith("wrong/half_more.py")]
    assert sorted(rules) == [
        "docstring says what fails",
        "is a wrong answer of its own",
        "loses exactly what it should (seed 1)",
        "signatures are the stub's",
    ]


NO_EDITS = {
    "stale": ("x / 2, self", "x / 3, self", "line 8: is not found in Halver.halve"),
    "no name": ("Halver.halve", "Halver.half", "line 7: the right answer defines no Halver.half"),
    "no base": ("Fails", "From: number.py\nFails", "line 3: there is no right answer number.py"),
    "no change": ("x / 2 + 1", "round(x / 2, self.digits)", "line 8: changes nothing"),
    "no change that counts": (
        "x / 2 + 1",
        "(round(x / 2, self.digits))",
        "line 6: comes to the same as solutions/01_numbers/numbers.py",
    ),
    "another right answer": (
        EDIT[EDIT.index("LINES") :],
        "def double(x: int) -> int:\n    return x << 1\n",
        "line 7: comes to the same as solutions/01_numbers/variants/shift.py",
    ),
    "another wrong answer": (
        EDIT[EDIT.index("LINES") :],
        "def double(x: int) -> int:\n    return x + 1\n",
        "line 7: comes to the same as solutions/01_numbers/wrong/adds_one.py",
    ),
    "no Python": ("x / 2 + 1", "x / 2 +", "line 8: gives no Python: invalid syntax"),
}


@pytest.mark.parametrize(("old", "new", "problem"), NO_EDITS.values(), ids=NO_EDITS)
def test_an_edit_that_is_none_is_found_by_its_line(
    lab: Lab, old: str, new: str, problem: str
) -> None:
    text = EDIT.replace(old, new)
    if "LINES" not in text:
        text = text.replace("Fails", "From: numbers.py\nFails")
    (lab.solutions / "wrong" / "half_more.py").write_text(text)

    found = [line for line in failures(prove(lab, seeds=1)) if "of its own" in line]

    name = "solutions/01_numbers/wrong/half_more.py"
    assert found == [f"{name}: is a wrong answer of its own: half_more.py, {problem}"]


def test_a_missing_and_a_stray_file_are_named(lab: Lab) -> None:
    (lab.solutions / "ANSWERS.md").unlink()
    (lab.root / "labs" / "common.py").unlink()
    (lab.folder / "notes.txt").write_text("")
    (lab.solutions / "wrong" / "old.bak").write_text("")
    (lab.solutions / "__pycache__").mkdir()

    assert failures(prove(lab)) == [
        "labs/01_numbers: files are complete: missing: labs/common.py, "
        "solutions/01_numbers/ANSWERS.md",
        "labs/01_numbers: no stray files: stray: labs/01_numbers/notes.txt, "
        "solutions/01_numbers/wrong/old.bak",
    ]


def test_a_lab_without_solutions_is_incomplete_but_does_not_stop_the_check(lab: Lab) -> None:
    shutil.rmtree(lab.solutions)

    found = failures(prove(lab))

    assert len(found) == 1
    assert "solutions/01_numbers/wrong/*.py" in found[0]


def test_points_that_a_stub_earns_are_found(lab: Lab) -> None:
    unfinished = 'raise NotImplementedError("double: double")'
    edit(lab, "labs/01_numbers/numbers.py", unfinished, "return x * 2")

    found = failures(prove(lab))

    assert "labs/01_numbers/numbers.py: stub earns 0: 60 points" in found
    assert (
        "labs/01_numbers/numbers.py: no test passes on the stub: test_double, test_public" in found
    )


def test_a_control_that_earns_points_is_found(lab: Lab) -> None:
    class Blind(Judge):
        def _try(self, code: Path, test: Callable[[dict[str, Any]], bool]) -> bool:
            return "an empty list" in code.read_text() or super()._try(code, test)

    report = prove(lab, Blind(), only=["controls/*"])

    assert failures(report) == [
        "control empty: negative control earns nothing: earns double 60, halve 35"
    ]
    assert report.failed[0].details == (
        "  test_double passed",
        "  test_public passed",
        "  test_halve passed",
    )


def test_a_failed_finding_tells_file_expectation_result_and_messages(lab: Lab) -> None:
    edit(lab, "solutions/01_numbers/wrong/adds_one.py", "round(x / 2", "round(x / 3")

    (finding,) = prove(lab, only=["wrong/adds*"]).failed

    assert finding.lines() == [
        "solutions/01_numbers/wrong/adds_one.py: loses exactly what it should (seed 1): failed",
        "  expected: loses double",
        "  got: loses double, halve",
        "  hidden test_halve (halve): failed",
        "    halve is wrong",
    ]


def test_a_task_without_a_gate_is_found(lab: Lab) -> None:
    manifest = tuple(test for test in MANIFEST if test.id not in ("test_halve", "test_public"))

    found = failures(prove(lab, Judge(manifest), only=["solution"]))

    assert "grader/suites/test_01_numbers.py: every task has a gate: none for halve" in found
    assert "labs/01_numbers/test_numbers.py: there are public tests: none" in found


def test_what_the_machine_cannot_grade_is_not_held_against_anyone(lab: Lab) -> None:
    judge = Judge()
    judge.ungraded = ("double",)

    report = prove(lab, judge)

    assert failures(report) == []
    unchecked = [item for item in report.findings if item.outcome is Outcome.NOT_CHECKED]
    assert [(item.file, item.got) for item in unchecked] == [
        ("solutions/01_numbers/numbers.py", "not on this machine: double"),
        ("solutions/01_numbers/wrong/adds_one.py", "this machine cannot grade double"),
    ]


@pytest.mark.parametrize(("ranks", "device"), [(4, "cuda"), (4, "cpu"), (1, "cuda")])
def test_what_needs_more_gpus_is_not_held_against_the_suite(
    lab: Lab, ranks: int, device: str
) -> None:
    edit(lab, "solutions/01_numbers/wrong/adds_one.py", "x + 1", "2 * x")  # double is right
    edit(
        lab, "labs/01_numbers/lab.toml", 'summary = "Two', f'limits.ranks = {ranks}\nsummary = "Two'
    )

    class Few(Judge):
        def _report(self, lab: Lab, right: dict[str, bool], folder: bool) -> Report:
            report = super()._report(lab, right, folder)
            wide = TestResult("test_of_four", "double", "hidden", Verdict.NOT_GRADED)
            return replace(report, tests=(*report.tests, wide))

    judge = Few(device=device)
    report = prove(load_lab(lab.folder), judge, only=["wrong/*"])

    if (ranks, device) == (4, "cuda"):
        assert [(item.outcome, item.got) for item in report.findings] == [
            (Outcome.NOT_CHECKED, "this machine has too few GPUs for some tests of double")
        ]
    else:
        assert [item.got for item in report.failed] == ["loses nothing"]


@pytest.mark.parametrize(
    ("seconds", "cores", "jobs", "limit"),
    [
        *[(31.0, 2, 1, "at most 30 s"), (31.0, 8, 4, "at most 30 s"), (31.0, 2, 3, "")],
        *[(91.0, 2, 3, "at most 90 s"), (61.0, 1, 1, "at most 60 s"), (30.0, 2, 1, "")],
    ],
)
def test_a_solution_that_is_slow_for_its_share_of_the_cores_is_a_warning(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, seconds: float, cores: int, jobs: int, limit: str
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(cores))

    report = prove(lab, Judge(seconds=seconds), only=["solution"], seeds=1, jobs=jobs)

    assert report.exit_code == 0
    warnings = [item for item in report.findings if item.outcome is Outcome.WARNING]
    told = [(item.expected, item.got) for item in warnings]
    assert told == ([(limit, f"{seconds:.0f} s under seed 1")] if limit else [])


def test_a_variant_need_not_be_fast(lab: Lab) -> None:
    tiers = '[[tasks.tiers]]\nname = "all"\nsteps = [{ ratio = 1.0, share = 100 }]\n'
    edit(lab, "labs/01_numbers/lab.toml", 'hint = "Add."\n', f'hint = "Add."\n{tiers}')

    class Slow(Judge):
        def __call__(self, request: Request, **options: Any) -> Report:
            report = super().__call__(request, **options)
            tasks = tuple(replace(t, score=24.0) if t.id == "double" else t for t in report.tasks)
            tests = tuple(
                replace(t, verdict=Verdict.FAILED) if t.task == "double" else t
                for t in report.tests
            )
            return replace(report, tasks=tasks, tests=tests)

    report = prove(load_lab(lab.folder), Slow(), only=["solution", "variants/*"], seeds=1)

    assert [item.file for item in report.failed] == ["solutions/01_numbers/numbers.py"]
    warnings = [item for item in report.findings if item.outcome is Outcome.WARNING]
    assert [(item.rule, item.expected, item.got) for item in warnings] == [
        ("reaches every tier of double (seed 1)", "60 points", "24 points")
    ]


def test_a_broken_judge_is_no_proof(lab: Lab) -> None:
    class Broken(Judge):
        def _report(self, lab: Lab, right: dict[str, bool], folder: bool) -> Report:
            report = super()._report(lab, right, folder)
            tests = (TestResult("test_double", "double", "hidden", Verdict.INFRA, "oops"),)
            return Report(1, "numbers", report.tasks, tests, report.provenance)

    report = prove(lab, Broken(), only=["wrong/*", "controls/none"])

    assert failures(report) == [
        "solutions/01_numbers/wrong/adds_one.py: the judge stays whole: 1 tests broke in the judge",
        "control none: the judge stays whole: 1 tests broke in the judge",
    ]
    assert report.failed[0].details[1] == "    oops"


def test_one_grading_that_cannot_be_made_does_not_stop_the_others(lab: Lab) -> None:
    class Failing(Judge):
        def __call__(self, request: Request, **options: Any) -> Report:
            if request.source.name == "shift.py":
                raise JudgeError("the suite could not be run", "look above")
            return super().__call__(request, **options)

    report = prove(lab, Failing(), seeds=1)

    assert failures(report) == [
        "solutions/01_numbers/variants/shift.py: can be graded: "
        "the suite could not be run (look above)"
    ]


def test_the_order_does_not_depend_on_what_ends_first(lab: Lab) -> None:
    first = threading.Event()

    class Late(Judge):
        def __call__(self, request: Request, **options: Any) -> Report:
            if request.source == lab.folder:
                first.wait(10)
            try:
                return super().__call__(request, **options)
            finally:
                first.set()

    usual, late = prove(lab, jobs=1), prove(lab, Late(), jobs=4)

    assert usual == late


def test_progress_counts_every_grading(lab: Lab) -> None:
    heard: list[tuple[int, int, str]] = []

    prove(lab, only=["wrong/*", "stub"], on_progress=lambda *event: heard.append(event), jobs=1)

    assert heard == [(1, 2, "01_numbers stub"), (2, 2, "01_numbers wrong/adds_one.py")]


def test_progress_says_at_once_what_does_not_hold(lab: Lab) -> None:
    edit(lab, "solutions/01_numbers/wrong/adds_one.py", "round(x / 2", "round(x / 3")
    heard: list[str] = []

    prove(lab, only=["wrong/*"], on_progress=lambda *event: heard.append(event[2]))

    assert heard == ["01_numbers wrong/adds_one.py · failed: loses double, halve"]


@pytest.mark.parametrize(
    ("pattern", "graded"),
    [
        ("stub", ["01_numbers 1"]),
        ("solution", ["01_numbers 1", "01_numbers 2"]),
        ("wrong/adds*", ["adds_one.py 1"]),
        ("controls/nan", ["nan.py 1"]),
    ],
)
def test_only_selects_what_is_graded(lab: Lab, pattern: str, graded: list[str]) -> None:
    judge = Judge()

    report = prove(lab, judge, only=[pattern])

    assert sorted(item.removesuffix(" auto auto") for item in judge.graded) == graded
    assert failures(report) == []


@pytest.mark.parametrize("other", ["solution", ""])
def test_a_pattern_that_matches_nothing_is_a_mistake(lab: Lab, other: str) -> None:
    judge = Judge()

    with pytest.raises(UsageError, match="--only wrong/adds_two matches nothing"):
        prove(lab, judge, only=("wrong/adds_two", *([other] if other else [])))

    assert judge.graded == []


def test_a_file_may_be_named_without_its_ending(lab: Lab) -> None:
    named, whole = Judge(), Judge()

    prove(lab, named, only=("variants/shift",))
    prove(lab, whole, only=("variants/shift.py",))

    assert named.graded == whole.graded != []


def test_the_fails_line_is_read_with_its_tasks(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text('"""Wrong.\n\nMore words.\n\nFails: double,  halve\n"""\n')

    assert fails_line(lab, file) == (frozenset({"double", "halve"}), "")


def controls() -> dict[str, dict[str, Any]]:
    stub = (
        "import torch\n"
        "def norm(x, weight, eps=1): raise NotImplementedError\n"
        "def _private(x): pass\n"
        "class Model(torch.nn.Module):\n"
        " def __init__(self, config): pass\n"
        " def forward(self, tokens): pass\n"
        " @classmethod\n def from_float(cls, linear): pass\n"
        " @property\n def length(self): pass\n"
        " @staticmethod\n def shape(rows): pass\n"
    )
    made: dict[str, dict[str, Any]] = {}
    for name, source in make_controls(stub).items():
        made[name] = {}
        exec(compile(source, name, "exec"), made[name])
    return made


def test_controls_take_any_call_and_give_their_answer() -> None:
    import torch

    made = controls()
    x = torch.ones(2, 5)

    assert made["none"]["norm"](x, weight=x) is None
    assert (made["zero"]["norm"](), made["empty"]["norm"](x)) == (0, [])
    assert made["text"]["norm"]() == "text"
    assert made["first"]["norm"](x, 1) is x
    assert made["zeros"]["norm"](1, weight=x).tolist() == torch.zeros(2, 5).tolist()
    assert made["nan"]["norm"](x).isnan().all()
    assert list(made["generator"]["norm"](1, 2)) == [1, 2]
    with pytest.raises(ValueError, match=r"config.*eps.*tokens.*weight"):
        made["raises"]["norm"](x)


@pytest.mark.parametrize("name", ["none", "zero", "empty", "text"])
def test_classes_of_a_control_answer_like_its_functions(name: str) -> None:
    names = controls()[name]
    answer = names["norm"]()

    model = names["Model"](1, 2, c=3)

    assert model(4) == model.forward(4) == model.length == model.shape(1) == answer
    assert model.anything == answer
    assert type(names["Model"].from_float(1)) is names["Model"]
    with pytest.raises(AttributeError):
        model._private  # noqa: B018


def test_no_two_controls_are_the_same() -> None:
    sources = make_controls(STUB)

    assert sorted(sources) == sorted(BODIES)
    assert len({re.sub(r'""".*?"""', "", source) for source in sources.values()}) == len(sources)
    assert all(ast.parse(source) for source in sources.values())
