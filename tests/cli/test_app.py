"""The command line: exit codes, what goes to which stream, and one clear line per mistake."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import grader.prove.check
import grader.prove.remembered.entries
from grader.cli import app, commands
from grader.errors import CannotGrade
from grader.judge.setup.request import Request
from grader.labs.lab import find_lab
from grader.labs.results import Expected, Report, TaskResult, TestResult, Verdict
from grader.prove.findings import CheckReport, Finding, Outcome
from grader.prove.remembered.key import Keys

ROOT = Path(__file__).resolve().parents[2]
LAB_TOML = """
title = "A Llama from scratch"
summary = "Write one."
[[tasks]]
id = "norm"
title = "RMSNorm"
points = 95
functions = ["rms_norm"]
hint = "Divide by the [root] mean square."
[[tasks]]
id = "pseudocode"
title = "Pseudocode"
points = 5
hint = "One step a line."
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course repository of its own, with two labs."""
    for name in ("01_llama", "02_batching"):
        folder = tmp_path / "course" / "labs" / name
        folder.mkdir(parents=True)
        (folder / "lab.toml").write_text(LAB_TOML)
        (folder / f"{name[3:]}.py").write_text("")
    monkeypatch.setattr(commands, "find_root", lambda: tmp_path / "course")
    monkeypatch.setattr(app, "find_root", lambda: tmp_path / "course")
    monkeypatch.chdir(tmp_path / "course")
    return tmp_path / "course"


def graded(score: float = 95.0, verdict: Verdict = Verdict.PASSED, **rest: Any) -> Report:
    tests = (TestResult("test_a", "norm", "hidden", verdict, "values differ"),)
    task = TaskResult("norm", "RMSNorm", 95.0, score, True)
    provenance = {"sandbox": "bwrap", "started": "2026-03-01T10:00:00+00:00"}
    return Report(1, "llama", (task,), tests, provenance, **rest)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], list[dict[str, Any]]]:
    """Put a judge in place that answers at once; returns the calls that it got."""

    def install(answer: Any) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []

        def grade(request: Request, **options: Any) -> Report:
            calls.append({"request": request, **options})
            options["on_event"]("manifest", [Expected("test_a", "norm", "hidden")])
            options["on_event"]("begin", Expected("test_a", "norm", "hidden"))
            if isinstance(answer, BaseException):
                options["partial_file"].write_text("{}")
                raise answer
            for test in answer.tests:
                options["on_event"]("test", test)
            return answer

        module = ModuleType("grader.judge.grade")
        module.grade = grade  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "grader.judge.grade", module)
        return calls

    return install


def run(*arguments: str) -> int:
    return app.main(list(arguments))


def complaint(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines on standard error, which must be one error and at most one hint, in this order."""
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if not line.startswith("grading ")]
    assert out == ""
    assert [line.split(":")[0] for line in lines] in (["error"], ["error", "hint"])
    return lines


# Grading


def test_options_reach_the_judge(tree: Path, judge: Any) -> None:
    calls = judge(graded())

    code = run("grade", "1", "--from", "x y", "--device", "cpu", "--seed", "7", "--sandbox", "none")

    assert code == 0
    (call,) = calls
    assert call.pop("on_event")
    assert call == {
        "request": Request(find_lab("1", tree), Path("x y"), "cpu", 7, "none"),
        "partial_file": tree / ".inferlab" / "elsewhere" / "01_llama.json",
    }


def test_one_task_alone_is_reported_and_not_kept(
    tree: Path, judge: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = judge(graded())

    assert run("grade", "1", "--task", "norm") == 0

    assert (calls[0]["request"].tasks, calls[0]["partial_file"]) == (("norm",), None)
    assert "norm" in capsys.readouterr().out
    assert not (tree / ".inferlab" / "last" / "01_llama.json").exists()


def test_task_that_the_lab_does_not_have_is_a_usage_error(tree: Path, judge: Any) -> None:
    calls = judge(graded())

    assert run("grade", "1", "--task", "nrm") == 2
    assert calls == []


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (graded(), 0),
        (graded(0.0, Verdict.FAILED), 1),
        (graded(0.0, Verdict.INFRA), 3),
        (graded(partial=True), 3),
    ],
)
def test_the_exit_code_is_the_verdict(tree: Path, judge: Any, report: Report, code: int) -> None:
    judge(report)
    assert run("grade", "01_llama") == code


def test_the_report_is_on_stdout_and_the_rest_on_stderr(
    tree: Path, judge: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    judge(graded(0.0, Verdict.FAILED))

    run("grade", "1")

    out, err = capsys.readouterr()
    assert "make hint LAB=1 TASK=norm" in out
    assert "labs/01_llama/llama.py" in out
    # No terminal: nothing is drawn.
    assert err == "grading 01_llama …\n  norm: 0 of 1 tests passed\n"
    assert "\x1b" not in out


def test_json_on_stdout_stands_alone(
    tree: Path, judge: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    judge(graded())

    run("grade", "1", "--json", "-")

    out, err = capsys.readouterr()
    assert json.loads(out)["score"] == 95.0
    assert err.splitlines()[-1] == "lab 01_llama: 95 of 95 points"


def test_every_form_is_written(tree: Path, judge: Any) -> None:
    judge(graded())
    forms = ("json", "html", "markdown", "junit", "gradescope")

    code = run("grade", "1", *(part for form in forms for part in (f"--{form}", f"{form}.out")))

    assert code == 0
    heads = {form: (tree / f"{form}.out").read_text()[:20] for form in forms}
    assert heads["html"].startswith("<!doctype html>")
    assert heads["markdown"].startswith("# Lab 01")
    assert heads["junit"].startswith("<?xml")
    assert heads["json"].startswith("{")
    assert heads["gradescope"].startswith('{\n  "score": 95.0')


def test_an_interruption_leaves_the_partial_report(
    tree: Path, judge: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    judge(KeyboardInterrupt())

    assert run("grade", "1") == 130

    assert ".inferlab/last/01_llama.json" in capsys.readouterr().err
    assert (tree / ".inferlab" / "last" / "01_llama.json").exists()


def test_what_this_machine_cannot_do_exits_with_3(
    tree: Path, judge: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    judge(CannotGrade("no sandbox", "install\none"))

    assert run("grade", "1", "--sandbox", "required") == 3
    assert complaint(capsys) == ["error: no sandbox", r"hint: install\none"]


def test_a_fault_of_ours_is_one_line_and_a_saved_traceback(
    tree: Path, judge: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    judge(ZeroDivisionError("ours\nand more"))

    assert run("grade", "1") == 3

    error, hint = complaint(capsys)
    assert error == r"error: the judge broke (ZeroDivisionError: ours\nand more)"
    saved = Path(hint.removeprefix("hint: traceback in "))
    assert saved.parent == tree / ".inferlab"
    assert "ZeroDivisionError" in saved.read_text()


def test_public_results_are_kept_apart(tree: Path, judge: Any) -> None:
    calls = judge(graded())
    run("grade", "1", "--suite", "public")
    assert calls[0]["partial_file"] == tree / ".inferlab" / "public" / "01_llama.json"


def test_a_tree_that_cannot_be_written_is_graded_all_the_same(
    tree: Path, judge: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / ".inferlab").write_text("a file in the way")
    calls = judge(graded())

    assert run("grade", "1") == 0

    assert calls[0]["partial_file"] is None
    assert "note: results are not kept" in capsys.readouterr().err


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["grade"], "LAB"),
        (["grade", "77"], "there is no lab '77'"),
        (["grade", "../01_llama"], "there is no lab"),
        (["grade", "1", "--device", "tpu"], "'tpu'"),
        (["grade", "1", "--seed", "-1"], "--seed"),
        (["grade", "1", "--seed", "one"], "--seed"),
        (["grade", "1", "--sandbox", "maybe"], "'maybe'"),
        (["grade", "1", "--nonsense"], "--nonsense"),
        (["grade", "1", "--json", "/nonexistent/x.json"], "cannot write /nonexistent/x.json"),
        (["grade", "1", "--html", "."], "cannot write .: it is a folder"),
        (["grade", "1", "--html", "a", "--json", "a"], "both write to a"),
        (["grade", "1", "--json", "a\x1b[2J/b"], r"a\x1b[2J/b"),
        (["hint", "1", "sorting"], "no task 'sorting'"),
        (["nonsense"], "nonsense"),
    ],
)
def test_a_mistake_is_one_clear_line(
    tree: Path, judge: Any, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    calls = judge(graded())

    code = run(*arguments)

    assert code == 2
    assert says in complaint(capsys)[0]
    assert calls == []  # found before the grading


def test_an_unreadable_lab_toml_names_the_file(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "labs" / "01_llama" / "lab.toml").write_bytes(b"title = \xff")
    assert run("grade", "1") == 2
    assert "labs/01_llama/lab.toml" in complaint(capsys)[0]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--from", "nowhere"], "nowhere does not exist"),
        (["--from", "a\x1b[2Jb"], r"a\x1b[2Jb does not exist"),
        (["--from", "empty"], "empty has no llama.py"),
        (["--from", "labs/01_llama/lab.toml/x"], "does not exist"),
        (["--from", "notes.ipynb"], "notes.ipynb names no nbformat, so it is no notebook"),
        (["--from", "fifo.py"], "fifo.py"),
    ],
)
def test_a_submission_that_is_none_is_one_clear_line(
    tree: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    (tree / "empty").mkdir()
    (tree / "notes.ipynb").write_text("{}")
    os.mkfifo(tree / "fifo.py")

    code = run("grade", "1", "--sandbox", "none", "--device", "cpu", *arguments)

    assert code == 2
    assert says in complaint(capsys)[0]


def test_an_impossible_device_is_one_clear_line(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter(()))  # no GPU in sight
    assert run("grade", "1", "--device", "cuda") == 2
    assert "GPU" in complaint(capsys)[0]


# hint, status, watch


def test_a_hint_is_printed_as_it_is_written(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("hint", "1", "norm") == 0
    assert capsys.readouterr().out == "Divide by the [root] mean square.\n"


def test_without_a_task_the_tasks_are_listed(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("hint", "1") == 0

    out = capsys.readouterr().out
    assert "95 points" in out
    assert "rms_norm" in out
    assert out.endswith("a hint: make hint LAB=1 TASK=norm\n")


def test_status_knows_the_last_grading_and_the_next_lab(
    tree: Path, judge: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    judge(graded())
    run("grade", "1")
    capsys.readouterr()

    assert run("status") == 0

    first, second, _, goal = (line.strip() for line in capsys.readouterr().out.splitlines())
    assert "95 of 95" in first
    assert "2026-03-01" in first
    assert second.endswith("not graded yet")
    assert goal == "next: make grade LAB=2"


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"score": NaN}', b"\xff", b"[" * 100_000])
def test_status_reads_a_damaged_file_as_none(
    tree: Path, capsys: pytest.CaptureFixture[str], damage: bytes
) -> None:
    (tree / ".inferlab" / "last").mkdir(parents=True)
    (tree / ".inferlab" / "last" / "01_llama.json").write_bytes(damage)

    assert run("status") == 0
    assert "next: make grade LAB=1" in capsys.readouterr().out


def test_another_file_is_no_standing_of_the_lab(
    tree: Path, judge: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    judge(graded())
    other = tree / "other.py"
    other.write_text("x = 1")

    run("grade", "1", "--from", str(other))
    run("status")

    assert "not graded yet" in capsys.readouterr().out.splitlines()[-4]
    assert (tree / ".inferlab" / "elsewhere" / "01_llama.json").exists()


def test_watch_grades_public_tests_at_each_save(
    tree: Path, judge: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = judge(graded())
    watched: list[Path] = []

    def saves(files: tuple[Path, ...]) -> Iterator[tuple[Path, ...]]:
        watched.extend(files)
        yield files[:1]
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "saves", saves)

    assert run("watch", "1") == 0
    assert [call["request"].suite for call in calls] == ["public", "public"]
    assert capsys.readouterr().out.endswith("  since the last save: nothing changed\n")
    assert [str(path) for path in watched] == [
        "labs/01_llama/llama.py",
        "labs/01_llama/PSEUDOCODE.md",
    ]


# check


def proof(tree: Path, monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> list[dict[str, Any]]:
    """Put these findings in place of a proof that takes minutes; returns the calls."""
    calls: list[dict[str, Any]] = []

    def check_labs(labs: Any, **options: Any) -> CheckReport:
        calls.append({"labs": [lab.name for lab in labs], **options})
        options["on_progress"](1, 2, "01_llama stub")
        return CheckReport(findings, gradings=5, recalled=3)

    for name in ("01_llama", "02_batching"):
        (tree / "solutions" / name).mkdir(parents=True)
    monkeypatch.setattr(grader.prove.check, "check_labs", check_labs)
    return calls


def test_check_prints_what_does_not_hold(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = Finding("01_llama", "stub earns nothing", "labs/01_llama/llama.py", Outcome.OK)
    bad = Finding("01_llama", "loses rope", "wrong/x.py", Outcome.FAILED, "rope", "\x1b[2J", ("d",))
    calls = proof(tree, monkeypatch, good, bad)

    assert run("check", "1", "--jobs", "3", "--seeds", "1", "--only", "stub") == 1

    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "wrong/x.py: loses rope: failed",
        "  expected: rope",
        r"  got: \x1b[2J",
        "d",
        "01_llama: 1 ok, 1 failed",
        "5 gradings, 3 remembered",
    ]
    assert err == "[1/2] 01_llama stub\n"
    (call,) = calls
    assert (call["labs"], call["jobs"], call["seeds"]) == (["01_llama"], 3, 1)
    assert call["only"] == ("stub",)


@pytest.mark.parametrize(
    ("options", "date"), [((), ""), (("--sample-date", "2026-11-23"), "2026-11-23")]
)
def test_check_takes_the_sample_of_a_day(
    tree: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], date: str
) -> None:
    calls = proof(tree, monkeypatch, Finding("01_llama", "a rule", "a file", Outcome.OK))

    assert run("check", *options) == 0

    assert calls[0]["sample_date"] == date
    assert calls[0]["share"] == 1
    assert run("check", "--share", "3", *options) == 0
    assert calls[1]["share"] == 3
    assert run("check", "--sample-date", "yesterday") == 2


@pytest.mark.parametrize("anew", [False, True])
def test_check_remembers_unless_it_is_to_grade_anew(
    tree: Path, monkeypatch: pytest.MonkeyPatch, anew: bool
) -> None:
    class Remembered(grader.prove.remembered.entries.Remembered):
        def __init__(self, root: Path, keys: Keys, *, anew: bool) -> None:
            super().__init__(root, keys, anew=anew)
            self.told = root, anew

    monkeypatch.setattr(grader.prove.remembered.entries, "Remembered", Remembered)
    calls = proof(tree, monkeypatch, Finding("01_llama", "a rule", "a file", Outcome.OK))

    assert run("check", *["--anew"] * anew) == 0

    assert calls[0]["remembered"].told == (tree, anew)


def test_no_command_line_of_a_grading_leads_the_quick_way(tree: Path, judge: Any) -> None:
    calls = judge(graded())

    for level in ("auto", "required", "none"):
        assert run("grade", "1", "--sandbox", level, "--device", "cpu", "--seed", "1") == 0

    assert {name for call in calls for name in call} & {"start", "read"} == set()


def test_check_without_a_lab_checks_all(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = proof(tree, monkeypatch, Finding("01_llama", "a rule", "a file", Outcome.OK))
    assert run("check") == 0
    assert calls[0]["labs"] == ["01_llama", "02_batching"]


def test_check_that_checks_nothing_is_a_mistake(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof(tree, monkeypatch)
    assert run("check", "--only", "nonsense") == 2


def test_check_needs_the_solutions(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "1") == 2
    assert "no solutions" in complaint(capsys)[0]


# The program


def test_no_arguments_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    out = capsys.readouterr().out
    for command in ("grade", "check", "hint", "watch", "status", "doctor", "bench"):
        assert f"  {command} " in out


def test_the_program_starts_without_torch() -> None:
    code = (
        "import sys; from grader.cli.app import main; assert main(['--help']) == 0; "
        "heavy = {'torch', 'transformers', 'triton', 'numpy', 'pytest'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def test_a_missing_package_is_named_without_a_traceback() -> None:
    code = "import sys; sys.modules['typer'] = None; from grader.__main__ import main; exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert done.returncode == 3
    assert done.stderr.startswith("error: the Python package typer is not installed\nhint: ")


def test_compiling_a_lab_without_kernels_is_a_usage_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert app.main(["compile", "1"]) == 2

    assert "has no kernels" in capsys.readouterr().err
