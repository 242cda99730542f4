"""One who reads Chinese only works through lab 01: every line that is printed is Chinese."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from stand_ins.english import english_in

from grader import ROOT
from grader.cli.app import main

LAB, ANSWER = ROOT / "labs" / "01_llama", ROOT / "solutions" / "01_llama"
STEPS = ROOT / "tests" / "reading" / "chinese" / "01_llama.md"


def chinese_prompts() -> str:
    """Return the prompts as a course in Chinese gives them."""
    return (LAB / "PSEUDOCODE.zh.md").read_text()


def half_done() -> str:
    """Return the Chinese stub with one function written, which is right for float32 alone."""
    stub = (LAB / "llama.zh.py").read_text()
    line = 'raise NotImplementedError("norm: rms_norm")'
    assert line in stub
    return stub.replace(line, "return x / (x * x).mean(-1, True).add(eps).sqrt() * weight")


@pytest.mark.parametrize(
    ("code", "prompts", "told"),
    [
        ((LAB / "llama.zh.py").read_text, chinese_prompts, "还什么都没写"),
        (half_done, chinese_prompts, "尚未开始"),
        ((ANSWER / "llama.py").read_text, STEPS.read_text, "100 / 100 分"),
    ],
    ids=["stub", "half done", "answer"],
)
def test_every_printed_line_is_chinese(
    code: Callable[[], str],
    prompts: Callable[[], str],
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # no line of the page is cut inside of a path
    (tmp_path / "llama.py").write_text(code())
    (tmp_path / "PSEUDOCODE.md").write_text(prompts())

    main(["grade", "1", "--from", str(tmp_path), "--suite", "public", "--lang", "zh"])

    printed = "".join(capsys.readouterr())
    assert told in printed
    assert [*english_in(printed)] == []
    lines = [line for line in printed.splitlines() if re.search(r"[A-Za-z]{2}", line)]
    # Prose has Chinese in each line; what has none is a name, a command or a value.
    assert [line for line in lines if not re.search(r"[一-鿿]|[=(/]|^  \w+：", line)] == []
