"""``make serve``, and ``make chat`` by labs 11 and 12: what is told, and what ends them."""

import io
import sys
from types import ModuleType
from typing import Any

import pytest
import torch
from stand_ins.model_answers import solution

from labs import chat, serve, typed, ways
from labs.pieces import LABS, Work

TASKS = {
    11: {"cache", "step", "prefill", "graphs"},
    12: {"blocks", "sharing", "torch", "triton", "scheduler"},
}
SHORT = ("--max-new-tokens", "4")


@pytest.fixture(autouse=True)
def _eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "BACKEND", "eager")  # inductor takes a minute
    monkeypatch.setenv("MODEL", str(LABS / "checkpoints" / "draft"))  # the smaller one
    monkeypatch.setenv("TRITON_INTERPRET", "1")  # so that it is taken back after the test
    torch.compiler.reset()


class Student:
    """Puts works in the place of the user's, and notes which labs are asked for."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.works = {n: Work(n, frozenset(tasks), solution(n)) for n, tasks in TASKS.items()}

    def work_on(self, number: int) -> Work:
        self.numbers.append(number)
        return self.works.get(number, Work(number, frozenset(), None))

    def spoil(self, number: int, name: str, wrong: Any) -> None:
        """Give a lab a wrong piece, which passes its public tests all the same."""
        module = ModuleType(f"lab_{number}")
        module.__dict__.update(solution(number).__dict__ | {name: wrong})
        self.works[number] = Work(number, frozenset(TASKS[number]), module)


@pytest.fixture
def student(monkeypatch: pytest.MonkeyPatch) -> Student:
    made = Student()
    monkeypatch.setattr(chat, "work_on", made.work_on)
    monkeypatch.setattr(serve, "work_on", made.work_on)
    return made


# --- make serve ------------------------------------------------------------------------------


def test_four_texts_are_served_by_all_ways(
    student: Student, capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve.main([*SHORT, "--compile"]) == 0

    out = capsys.readouterr().out
    assert [f"text {number}\n  import os\n" in out for number in (1, 2, 3, 4)] == [True] * 4
    assert "16 tokens in 16 steps" in out
    given, blocks, graphs, compiled = out.split("\n\n")[-4:]
    assert given.startswith("the given code: one text after another")
    assert blocks.startswith("blocks (lab 12)\n")
    assert "scheduler        yours, lab 12" in blocks
    assert "24 tokens of prompts shared" in blocks
    assert "graphs          yours, lab 11" in graphs
    assert "compiled step   yours, lab 11" in compiled
    for way in (blocks, graphs, compiled):
        assert "  text 4  ▓███\n" in way
        assert "16 tokens in 4 steps" in way
        assert "times the given code's" in way
        assert way.rstrip().endswith("all texts are the given code's")
    assert student.numbers == [1, 3, 4, 11, 12]


def test_rows_and_blocks_are_the_users(
    student: Student, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = ["def main(", "import os"]

    assert serve.main([*prompts, "--max-new-tokens", "13", "--rows", "2", "--blocks", "4"]) == 0
    together = capsys.readouterr().out
    assert serve.main([*prompts, "--max-new-tokens", "13", "--rows", "1"]) == 0
    after = capsys.readouterr().out

    assert "1 times a text had to go" in together
    assert "4 of 4 blocks of 8 tokens in use" in together
    assert "text 2  ·············▓" in after


def test_what_is_not_written_is_left_out(
    student: Student, capsys: pytest.CaptureFixture[str]
) -> None:
    why = {"torch": "not written yet"}
    student.works = {12: Work(12, frozenset(), None, why)}

    assert serve.main(["def main(", *SHORT]) == 0

    out = capsys.readouterr().out
    assert "  left out: this needs your lab 12, task torch; torch: not written yet" in out
    assert "  left out: this needs your lab 11, tasks cache and graphs" in out


def test_piece_that_breaks_is_named_and_the_next_way_follows(
    student: Student, capsys: pytest.CaptureFixture[str]
) -> None:
    def write_kv(*tensors: torch.Tensor) -> None:
        raise RuntimeError("a mistake\nwith details")

    student.spoil(12, "write_kv", write_kv)

    assert serve.main(["def main(", *SHORT]) == 1

    out = capsys.readouterr().out
    assert "  error: your write_kv (lab 12): RuntimeError: a mistake\n" in out
    assert "  hint: make grade LAB=12\n" in out
    assert "graphs          yours, lab 11" in out


def test_text_that_parts_from_the_given_codes_is_told(
    student: Student, capsys: pytest.CaptureFixture[str]
) -> None:
    student.spoil(12, "paged_attention_torch", lambda q, *_: torch.zeros_like(q))

    assert serve.main(["def main(", *SHORT]) == 1

    assert "  text 1 parts from the given code's at new token 0: yours goes on" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x", "--blocks", "1", "--max-new-tokens", "20"], "--blocks 1 do not hold a text, which"),
        (["x", "--max-new-tokens", "2000"], "is longer than the model's 1024"),
        (["x", "--model", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_served_is_said(
    arguments: list[str],
    message: str,
    student: Student,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert serve.main(arguments) == 2
    assert message in capsys.readouterr().err


# --- make chat -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "piece", "numbers"),
    [
        ("--paged", "cache in blocks  yours, lab 12", [1, 2, 3, 4, 5, 12]),
        ("--compile", "compiled step   yours, lab 11", [1, 2, 3, 4, 5, 11, 12]),
    ],
)
def test_every_line_is_written_by_the_last_labs(
    option: str,
    piece: str,
    numbers: list[int],
    student: Student,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = "def main(\nimport os\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    assert chat.main(["--max-new-tokens", "6", "--given"]) == 0
    expected = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))

    assert chat.main(["--max-new-tokens", "6", option]) == 0

    out, err = capsys.readouterr()
    assert out == expected
    assert err.count(piece) == err.count("in float32") == 2
    assert err.count("scheduler") == 2
    assert err.count("the given code, without a cache: prefill") == 2
    assert err.count("compiling the step, which") == (option == "--compile")
    assert student.numbers == numbers


def test_piece_that_breaks_ends_the_chat(
    student: Student, capsys: pytest.CaptureFixture[str]
) -> None:
    student.spoil(12, "Scheduler", lambda *sizes: 3)

    assert chat.main(["def main(", "--paged", *SHORT]) == 1

    err = capsys.readouterr().err
    assert "error: your scheduler (lab 12): AttributeError: 'int' object has no" in err
    assert "hint: make grade LAB=12" in err


@pytest.mark.parametrize(
    ("option", "needed"),
    [("--paged", "lab 12, task torch"), ("--compile", "lab 11, tasks cache and step")],
)
def test_missing_lab_is_named(option: str, needed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert chat.main(["x", "--given", option]) == 2
    assert f"error: this needs your {needed}\n" in capsys.readouterr().err


# --- what is typed ---------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "\n\n"])
@pytest.mark.parametrize("engine", [[], ["--engine"]])
def test_empty_stdin_says_what_to_type(
    text: str,
    engine: list[str],
    student: Student,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))

    assert chat.main(engine) == 2

    err = capsys.readouterr().err
    assert "error: nothing was typed\nhint: type how a line of Python begins" in err
    assert student.numbers == []  # before the judge is asked


def test_terminal_is_told_again_at_an_empty_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = io.StringIO("\ndef f(\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)

    assert [*typed.prompts(None)] == ["def f("]

    assert capsys.readouterr().err.count("; Ctrl-D ends\n") == 2


def test_prompt_of_the_command_line_is_the_only_one() -> None:
    assert [*typed.prompts("x = ")] == ["x = "]
