"""``lab repeat``: a public test's calls as a script, which does alone what the test has seen."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from stand_ins.expectation import COURSE, DEMO
from stand_ins.programs import Programs

from grader import ROOT
from grader.cli.repeating import repeat
from grader.cli.repeating.repeat import Wish
from grader.errors import UsageError
from grader.judge.setup.start import ForkServer, Starter

Write = Callable[[str, str], None]
MORE = '''

@task("scale")
def test_strides_and_kinds(student, draw):
    """Views, other dtypes, arguments by name, a generator and errors on the way."""
    wide = draw.normal(4, 6, 3, dtype=torch.bfloat16)
    with student.raises(ValueError):
        student.scale(wide, factor=math.inf)
    got = student.scale(wide.transpose(0, 2)[1:], factor=0.5)
    assert_equal(got, torch.zeros(2, 6, 4, dtype=torch.bfloat16), "scale")


@task("scale")
def test_beside_others(student):
    """What other calls did to other objects is not told."""
    student.scale(torch.ones(40), 3.0)
    assert_equal(student.together("scale", (torch.ones(1), 2.0), (torch.ones(1), 4.0)), [], "both")
'''


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of one lab with the answer to it, whose public tests are the hidden ones, too."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(COURSE / "labs", tmp_path / "labs", ignore=ignored)
    lab = tmp_path / "labs" / DEMO
    suite = (COURSE / "grader" / "suites" / f"test_{DEMO}.py").read_text()
    (lab / "test_echo.py").write_text(suite + MORE)
    shutil.copy(COURSE / "solutions" / DEMO / "echo.py", lab)
    monkeypatch.setattr(repeat, "find_root", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write(course: Path) -> Write:
    """Changes a line of the answer."""

    def change(old: str, new: str) -> None:
        file = course / "labs" / DEMO / "echo.py"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    return change


@pytest.fixture
def start(sessions: ForkServer) -> Starter:
    """Starts sessions quickly."""
    return sessions


def asked(
    start: Starter, test: str | None, seed: int | None = 3, source: Path | None = None
) -> int:
    return repeat.repeat(Wish("90", test, source, "cpu", seed), start=start)


def script(course: Path, name: str) -> Path:
    return course / ".inferlab" / "repeat" / DEMO / f"{name}.py"


def ran(programs: Programs, file: Path) -> "subprocess.CompletedProcess[str]":
    """Run a script as itself; what it imports of ours is this tree's."""
    begin = f"import runpy, sys; sys.path.append({str(ROOT)!r})"
    return programs.run(f"{begin}; runpy.run_path({str(file)!r})", file.parent)


def test_calls_that_led_to_the_last_are_made_again(
    course: Path,
    write: Write,
    start: Starter,
    programs: Programs,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("self._rows.append(row.clone())", "self._rows.insert(0, row.clone())")

    code = asked(start, "test_rows_come_back")

    told = capsys.readouterr().out
    text = script(course, "test_rows_come_back").read_text()
    assert code == 0
    assert "test_rows_come_back: failed" in told
    assert "make python LAB=90 FILE=.inferlab/repeat/90_echo/test_rows_come_back.py" in told
    assert "# rows returns what was appended, in order." in text.replace("#     ", "# ")
    assert "store = echo.Store(common.EchoConfig(width=4, capacity=5))\n" in text
    assert text.count("store.append(x[") == 3
    assert text.endswith("result = store.rows()\nprint(result)\n")
    done = ran(programs, script(course, "test_rows_come_back"))
    assert (done.returncode, done.stdout.count("[")) == (0, 4)


def test_error_is_raised_where_a_debugger_sees_it(
    course: Path, write: Write, start: Starter, programs: Programs
) -> None:
    write("return torch.stack(self._rows)", "return self._rows[9]")

    asked(start, "test_rows_come_back")

    done = ran(programs, script(course, "test_rows_come_back"))
    assert "IndexError" in done.stderr
    assert 'labs/90_echo/echo.py", line' in done.stderr


def test_strides_dtypes_and_names_are_the_tests(
    course: Path, start: Starter, programs: Programs
) -> None:
    asked(start, "test_strides_and_kinds")

    file = script(course, "test_strides_and_kinds")
    text = file.read_text()
    assert "bfloat16[2, 6, 4] with strides [1, 3, 18]" in text
    assert "result = echo.scale(x[" in text
    assert "factor=0.5)" in text
    file.write_text(f"{text}print(result.dtype, *x[-1].stride())\n")
    assert "torch.bfloat16 1 3 18" in ran(programs, file).stdout


def test_calls_that_are_made_together_are_all_told(
    course: Path, start: Starter, programs: Programs
) -> None:
    asked(start, "test_beside_others")

    text = script(course, "test_beside_others").read_text()
    assert "x = " not in text  # nor the call on 40 ones
    assert "kept0 = echo.scale(torch.tensor([1.0]), 2.0)\n" in text
    assert "tensor([4.])" in ran(programs, script(course, "test_beside_others")).stdout


def test_object_of_the_test_does_what_it_did(
    course: Path, start: Starter, programs: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    """It keeps a row in the store of the code, looks at the store, and answers."""
    asked(start, "test_follows_the_model[5]")

    assert "test_follows_the_model[5]: passed" in capsys.readouterr().out
    file = script(course, "test_follows_the_model_5")
    assert "kwargs['store'].append(torch.tensor([0.0, 0.0, 0.0" in file.read_text()
    done = ran(programs, file)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.strip("[]\n").split(",")) == 5


def test_other_questions_than_before_are_not_answered(
    course: Path, write: Write, start: Starter, programs: Programs
) -> None:
    asked(start, "test_follows_the_model[5]")
    write("torch.tensor([tokens])", "torch.tensor([tokens[1:]])")

    done = ran(programs, script(course, "test_follows_the_model_5"))

    assert "asks script for something else than when this script was written" in done.stderr


def test_name_of_a_function_means_the_first_case_that_fails(
    write: Write, start: Starter, capsys: pytest.CaptureFixture[str]
) -> None:
    write("for _ in range(steps):", "for _ in range(min(steps, 2)):")

    asked(start, "test_follows_the_model")

    assert "test_follows_the_model[5]: failed" in capsys.readouterr().out


@pytest.mark.usefixtures("course")
def test_wrong_name_lists_the_right_ones(
    start: Starter, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match="no public test test_rows") as raised:
        asked(start, "test_rows")

    assert raised.value.hint == "perhaps test_rows_come_back"
    assert "  test_values  (2 cases)\n" in capsys.readouterr().out


@pytest.mark.usefixtures("course")
def test_without_a_name_nothing_is_run() -> None:
    with pytest.raises(UsageError, match="which test"):
        repeat.repeat(Wish("90", None, None, "cpu", None))


def test_what_the_rules_forbid_is_told_instead(
    write: Write, start: Starter, capsys: pytest.CaptureFixture[str]
) -> None:
    write("(x.float() * factor)", "torch.mul(x.float(), factor)")

    assert asked(start, "test_view_is_left_alone") == 1
    assert "the judge does not run it. line " in capsys.readouterr().out


def test_file_of_any_name_is_called_itself(
    course: Path, start: Starter, programs: Programs
) -> None:
    own = course / "my-answer.py"
    shutil.copy(course / "labs" / DEMO / "echo.py", own)

    asked(start, "test_rows_come_back", source=own)
    own.write_text(f"{own.read_text()}\nprint('mine')\n")

    assert ran(programs, script(course, "test_rows_come_back")).stdout.startswith("mine\n")


def test_script_needs_no_path_of_its_callers(course: Path, start: Starter) -> None:
    asked(start, "test_values")
    shutil.copytree(ROOT / "grader", course / "grader", ignore=shutil.ignore_patterns("suites"))

    file = script(course, "test_values_2_3_5")
    done = subprocess.run(
        [sys.executable, file], cwd="/", capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
