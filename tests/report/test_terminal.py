"""The report that a person reads at a terminal."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console
from stand_ins.sample_reports import GUIDE, HOSTILE, mixed, report_of, result

from grader.labs.results import Report, TestResult, Verdict
from grader.report.facts.next_step import Guide
from grader.report.facts.summary import is_stub
from grader.report.formats.terminal import make_console, render_terminal


def on_terminal(report: Report, guide: Guide | None = GUIDE, width: int = 100) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=True, markup=True, color_system="truecolor"
    )
    console.print(render_terminal(report, guide))
    return stream.getvalue()


def plain(report: Report, guide: Guide | None = GUIDE, width: int = 100) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", on_terminal(report, guide, width))


def test_terminal_has_one_line_per_task_and_one_next_step() -> None:
    lines = [line.strip() for line in plain(mixed()).splitlines()]

    assert "norm   Norm   ██████████  10 / 10  1 of 1" in lines
    assert "rope   Rope   ░░░░░░░░░░   0 / 20  0 of 1" in lines
    assert "speed  Speed  not graded   - / 70  1 not graded" in lines
    assert "10 of 30 points graded here (100 in all)" in lines
    assert "note: speed: 70 points not graded here: needs a GPU." in lines
    assert "rms_norm keeps the dtype" in lines
    assert "hint: make hint LAB=1 TASK=rope" in lines
    goal = "next: fix apply_rope (task rope) in labs/01_llama/llama.py, then make grade LAB=1"
    assert [line for line in lines if line.startswith("next:")] == [goal]


def test_a_full_bar_means_full_points() -> None:
    nearly = report_of(result("norm", Verdict.FAILED), score={"norm": 9.99})
    assert "█████████░  9.99 / 10" in plain(nearly)


def test_only_the_first_failure_of_a_task_is_explained() -> None:
    tests = [result("rope", Verdict.SKIPPED, "reason 0 has to pass first")]
    tests += [result("rope", Verdict.FAILED, f"reason {n}") for n in range(3)]

    text = plain(report_of(*tests))

    assert "reason 0" in text
    assert "reason 1" not in text
    assert "0 of 4; 1 not tried: reason 0 has to pass first" in text


def test_what_a_rule_says_of_several_tasks_is_said_once() -> None:
    tests = [
        TestResult(f"rules[{task}]", task, "rules", Verdict.FAILED, "line 3: import of x")
        for task in ("norm", "rope")
    ]

    text = plain(report_of(*tests))

    assert text.count("line 3: import of x") == 1
    assert "norm, rope · rules[norm] · failed" in text
    assert "hint: make hint" not in text
    assert "next: fix labs/01_llama/llama.py, then make grade LAB=1" in text


def test_markup_and_control_characters_are_drawn_not_obeyed() -> None:
    raw = on_terminal(mixed(HOSTILE, output=HOSTILE))

    assert "[red]forged[/red] :smile:" in raw
    rest = re.sub(r"\x1b\[[0-9;]*m|\n", "", raw)
    assert rest.isprintable()


def test_a_stub_is_welcomed_with_its_first_step() -> None:
    tests = [result(t, Verdict.ERROR, f"NotImplementedError: {t}") for t in ("norm", "rope")]
    tests += [result("speed", Verdict.SKIPPED, "norm has to pass first")]
    tests += [TestResult("rules", "norm", "rules", Verdict.PASSED)]  # an empty stub breaks none
    report = report_of(*tests)

    text = plain(report)

    assert is_stub(report)
    assert "that is where everyone starts" in text
    assert "1. read   labs/01_llama/README.md" in text
    assert "2. open   labs/01_llama/llama.py" in text
    assert "3. write  rms_norm (task norm) for 10 points" in text
    assert "Stuck? make hint LAB=1 TASK=norm" in text
    assert "NotImplementedError" not in text


def test_a_wrong_first_attempt_is_no_stub() -> None:
    report = report_of(
        result("norm", Verdict.FAILED, "eps stands under the root"),
        result("rope", Verdict.ERROR, "NotImplementedError: rope: apply_rope"),
    )

    text = plain(report)

    assert not is_stub(report)
    assert "eps stands under the root" in text
    assert "not started: rope" in text


def test_success_points_to_the_next_lab() -> None:
    tests = [result(task, Verdict.PASSED) for task in ("norm", "rope", "speed")]
    done = report_of(*tests, score={"norm": 10.0, "rope": 20.0, "speed": 70.0})

    assert "100 of 100 points" in plain(done)
    assert "go on with make grade LAB=2" in plain(done)
    assert "LAB=2" not in plain(done, guide=None)


def test_success_in_public_is_handed_in() -> None:
    tests = [result(task, Verdict.PASSED) for task in ("norm", "rope", "speed")]
    done = report_of(*tests, score={"norm": 10.0, "rope": 20.0, "speed": 70.0})
    public = replace(done, provenance={**done.provenance, "suite": "public"})

    assert "hand it in: make submit LAB=1; go on with make grade LAB=2" in plain(public)
    assert "make submit" not in plain(done)


def test_no_color_leaves_no_escape_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()

    make_console(stream).print(render_terminal(mixed(), GUIDE))

    assert "\x1b" not in stream.getvalue()
    assert "norm" in stream.getvalue()


def test_terminal_survives_a_very_narrow_window() -> None:
    assert "rope" in plain(mixed(HOSTILE), width=20)


@pytest.mark.parametrize(
    ("in_code", "failed", "place"),
    [
        (frozenset(), "test_a", "labs/01_llama/llama.cpp"),
        (frozenset({"rope"}), "test_a", "labs/01_llama/llama.py"),
        (frozenset({"rope"}), "build[rope]", "labs/01_llama/llama.cpp"),
    ],
)
def test_next_step_names_the_source_where_that_is_to_be_changed(
    in_code: frozenset[str], failed: str, place: str
) -> None:
    compiled = {"rope": "labs/01_llama/llama.cpp"}
    guide = replace(GUIDE, compiled=compiled, in_code=in_code)
    test = replace(result("rope", Verdict.FAILED, "it differs"), id=failed)

    text = plain(report_of(test, score={"norm": 10.0}), guide)

    assert re.search(rf"next: .* {re.escape(place)}, then make grade LAB=1", text)
