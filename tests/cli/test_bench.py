"""`lab bench lab`: launches are counted without a GPU, races are shown where there is one.

No machine of ours has a GPU while these run: a report of our making stands in for the grading.
"""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stand_ins.sample_reports import measured, result, speed_entry

from grader import ROOT
from grader.__main__ import main
from grader.judge.setup.request import Request
from grader.labs.results import Report, Verdict

SCRIPT = """
import torch
import triton
import triton.language as tl


@triton.jit
def _double(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, 2.0 * tl.load(x + at))


_double[(1,)](torch.ones(64), torch.empty(64), BLOCK=64)
print("printed by the script")
"""
TIERS = {"0.5": True, "0.9": True, "1.2": False}
Grade = Callable[..., Report]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(SCRIPT)
    return file


# Without a GPU


def test_a_script_is_counted_and_drawn(
    script: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    svg, html = tmp_path / "a.svg", tmp_path / "a.html"

    words = ["--file", str(script), "--svg", str(svg), "--html", str(html)]
    code = main(["bench", "lab", "6", *words])

    told = capfd.readouterr().out
    assert code == 0
    assert "1 _double, line 8: launched once" in told
    assert "64 FLOP (fp32); 0.125 FLOP for each byte that must move" in told
    assert svg.read_text().startswith("<svg")
    assert "_double" in html.read_text()


def test_json_stands_alone_on_the_screen(script: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "lab", "6", "--file", str(script), "--json"]) == 0

    out, err = capfd.readouterr()
    (launch,) = json.loads(out)["launches"]
    assert (launch["kernel"], launch["loaded"], launch["stored"]) == ("_double", 256, 256)
    assert launch["cards"]["H100"]["bound"] == "memory"
    assert "printed by the script" in err


def test_what_a_script_launched_before_it_broke_is_counted(
    script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script.write_text(SCRIPT + "\nraise ValueError('mine')\n")

    assert main(["bench", "lab", "6", "--file", str(script)]) == 1

    out, err = capfd.readouterr()
    assert "_double" in out
    assert "ValueError: mine" in err
    assert "the script ended with code 1: later launches are not here" in err


def test_a_right_answer_has_each_kernel_with_its_autotuner(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = ROOT / "solutions" / "06_layernorm" / "variants" / "autotuned.py"

    words = ["--from", str(answer), "--device", "cpu", "--task", "forward", "--json"]
    assert main(["bench", "lab", "6", *words]) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["launches"]
    assert not any(launch["partial"] for launch in told["launches"])
    assert any("num_warps=" in config for k in told["autotuned"] for config in k["configs"])


def test_a_stub_launches_nothing_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--from", str(ROOT / "labs" / "06_layernorm"), "--device", "cpu"]
    assert main(["bench", "lab", "6", *words, "--task", "forward"]) == 1

    out, err = capsys.readouterr()
    assert out == ""
    assert "no kernel was launched: nothing to count" in err
    assert "NotImplementedError" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["1"], "lab 01_llama has no kernels"),
        (["6", "--task", "none"], "none"),
        (["6", "--svg", "/no/such/folder/a.svg"], "cannot write"),
        (["6", "--file", "/no/such/script.py"], "is no file"),
        (["6", "--device", "cuda"], "no NVIDIA GPU"),
    ],
)
def test_what_cannot_be_done_is_a_usage_error(
    words: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("grader.sandbox.confinement.gpu.count", lambda: 0)

    assert main(["bench", "lab", *words]) == 2

    assert said in capsys.readouterr().err


# On a GPU


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Let a report stand in for what a GPU measures; what was asked for is kept."""
    module = importlib.import_module("grader.judge.grade")
    seen: dict[str, Any] = {}

    def grade(request: Request, *, on_event: Any) -> Report:
        seen["request"] = request
        kernel = {"kernel": "_rows", "line": 9, "keys": ["N"], "configs": ["num_warps=4"]}
        on_event("tuned", kernel)
        return seen["report"]

    seen["report"] = measured(
        speed_entry("32768 x 4096", tiers=TIERS),
        speed_entry("8192 x 8192", "backward", function="layer_norm_backward", ratio=0.7),
    )
    monkeypatch.setattr(module, "grade", grade)
    monkeypatch.setattr(module, "choose_device", lambda wanted: "cuda")
    return seen


def test_races_are_shown_with_their_steps_and_without_points(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "lab", "6"]) == 0

    told = capsys.readouterr().out
    row = next(line for line in told.splitlines() if line.startswith("forward, 32768"))
    assert "1.31" in row
    assert "0.5 yes, 0.9 yes, 1.2 no" in told.replace("\n", " ")
    assert "Example GPU 80" in told
    assert "_rows, line 9: the autotuner chooses among 1" in told
    assert "point" not in told
    request = asked["request"]
    assert (request.device, request.suite, request.tasks) == ("cuda", "speed", ["speed"])
    assert request.meters


def test_a_task_shows_the_races_of_its_functions(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "lab", "6", "--task", "backward"]) == 0

    told = capsys.readouterr().out
    assert "backward, 8192 x 8192" in told
    assert "32768" not in told


def test_why_a_race_was_not_timed_is_told_and_a_missed_step_is_no_trouble(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    missed = "layer_norm_forward at 32768 x 4096 is 0.8 times as fast as the baseline"
    wrong = "layer_norm_backward is wrong at 8192 x 8192: 7 of 9 elements are off"
    tests = (
        result("speed", Verdict.FAILED, missed),
        result("speed", Verdict.FAILED, wrong),
        result("speed", Verdict.SKIPPED, "not tried: it has to pass first"),
    )
    report = measured(speed_entry("32768 x 4096", tiers=TIERS))
    asked["report"] = Report(6, "layernorm", report.tasks, tests, extras=report.extras)

    assert main(["bench", "lab", "6"]) == 0

    told = " ".join(capsys.readouterr().out.split())
    assert f"not timed: test_speed[3-7]: {wrong}" in told
    assert missed not in told
    assert "not tried" not in told


def test_nothing_timed_is_told_by_the_exit_code(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    asked["report"] = Report(6, "layernorm", (), (result("speed", Verdict.INFRA, "GPU is busy"),))

    assert main(["bench", "lab", "6"]) == 1

    assert "not timed: test_speed[3-7]: GPU is busy" in capsys.readouterr().out


def test_each_group_of_races_has_a_picture_and_the_page_has_all(
    asked: dict[str, Any], tmp_path: Path
) -> None:
    svg, html = tmp_path / "a.svg", tmp_path / "a.html"

    assert main(["bench", "lab", "6", "--svg", str(svg), "--html", str(html)]) == 0

    assert {file.name for file in tmp_path.glob("*.svg")} == {"a.svg", "a-2.svg"}
    page = html.read_text()
    assert "0.5 yes, 0.9 yes, 1.2 no" in page
    assert "Example GPU 80" in page


def test_json_of_races_is_that_of_a_report(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "lab", "6", "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert (told["device"], told["speed"][0]["tiers"]) == ("cuda", TIERS)
    assert told["gpu"]["name"] == "Example GPU 80"
    assert told["autotuned"][0]["kernel"] == "_rows"
