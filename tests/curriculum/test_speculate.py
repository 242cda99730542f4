"""``make speculate``: what it counts, what it compares with, and that it asks for a lab 10."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import torch
from stand_ins.model_answers import solution

from labs import speculate
from labs.assembly import Assembly
from labs.common import LlamaConfig, load_weights
from labs.pieces import Work
from labs.reader import Reader, load
from labs.speculate import NEEDED, Pair, Row, table

ROOT = Path(__file__).resolve().parents[2]
PROMPTS = [[5, 9, 301, 7], [17, 4, 250]]


LAB = solution(10)
CACHES = {5: Work(5, frozenset({"static", "growing"}), solution(5))}
CHECKPOINTS = ROOT / "labs" / "checkpoints"
TARGET, DRAFT = (load(CHECKPOINTS / name, CACHES) for name in ("target", "draft"))


def test_reader_answers_as_without_a_cache() -> None:
    cached, plain = Reader(TARGET, 9), Reader(load(CHECKPOINTS / "target", {}), 9)
    for reader in (cached, plain):
        reader.forward([5, 9, 301])
        reader.forward([7, 8])
        reader.rewind(2)

    got, want = cached.forward([11, 12]), plain.forward([11, 12])

    torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-3)
    assert got.shape[0] == 2
    assert cached.length == plain.length == 5
    assert cached.calls == plain.calls == 3


def test_twin_of_the_target_is_always_right() -> None:
    mean, rows = table(LAB, Pair(TARGET, TARGET, 0.0), PROMPTS, 12, 0.5, 3)

    assert mean == 1.0
    assert [row.target_calls for row in rows] == [2 * 6, 2 * 4, 2 * 3]
    assert [row.calls for row in rows] == pytest.approx([row.expected_calls for row in rows])


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_measured_calls_are_near_the_formula(temperature: float) -> None:
    mean, rows = table(LAB, Pair(TARGET, DRAFT, temperature), PROMPTS, 40, 0.15, 2)

    assert 0.3 < mean < 1.0
    for row in rows:
        assert row.tokens == 80
        assert row.calls == pytest.approx(row.expected_calls, abs=0.2)
        assert row.draft_calls <= (row.k + 1) * row.target_calls


def test_acceptance_is_what_p_and_q_share() -> None:
    prompt, text = [5, 9, 301], [7, 8, 11]
    p, q = (Reader(m, 9).forward(prompt + text)[2:5].softmax(-1) for m in (TARGET, DRAFT))

    got = Pair(TARGET, DRAFT, 1.0).acceptance(prompt, text)

    want = 1 - (p - q).abs().sum(-1) / 2  # one minus the total variation
    assert got == pytest.approx(want.tolist(), abs=1e-4)


def test_scripted_costs_make_the_speed_up() -> None:
    row = Row(
        k=3, tokens=90, target_calls=40, draft_calls=100, expected_calls=0, expected_speedup=0
    )

    assert row.calls == pytest.approx(4 / 9)
    assert row.speedup(0.0) == pytest.approx(2.25)
    assert row.speedup(0.2) == pytest.approx(1.5)


def with_lab_10(monkeypatch: pytest.MonkeyPatch, passed: frozenset[str]) -> None:
    works = CACHES | {10: Work(10, passed, LAB if passed else None)}
    monkeypatch.setattr(speculate, "work_on", works.__getitem__)


def test_table_and_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_lab_10(monkeypatch, NEEDED)
    file = tmp_path / "calls.svg"

    code = speculate.main(
        ["--texts", "1", "--max-new-tokens", "8", "--most", "2", "--svg", str(file)]
    )

    out = capsys.readouterr().out
    assert code == 0
    assert "1 texts of 8 tokens at temperature 0" in out
    rows = [line.split() for line in out.splitlines() if line.lstrip()[:1] in ("1", "2")]
    assert [row[0] for row in rows[-2:]] == ["1", "2"]
    circles = ET.parse(file).getroot().findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) == 2


def test_picture_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_lab_10(monkeypatch, NEEDED)
    small = ["--texts", "1", "--max-new-tokens", "4", "--most", "1"]

    assert speculate.main([*small, "--svg", str(tmp_path / "no" / "calls.svg")]) == 2

    out, err = capsys.readouterr()
    assert "formula" in out  # the table is not lost
    assert "error: the picture cannot be written" in err


@pytest.mark.parametrize("passed", [frozenset(), NEEDED - {"sample"}], ids=["nothing", "a part"])
def test_without_lab_10_it_says_so(
    passed: frozenset[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_lab_10(monkeypatch, passed)

    assert speculate.main([]) == 2

    err = capsys.readouterr().err
    assert "your lab 10" in err
    assert "sample" in err


def test_held_out_prompts_are_real_text() -> None:
    tokenizer = speculate.load_tokenizer(CHECKPOINTS / "target")

    prompts = speculate.held_out(tokenizer, 6)

    assert [len(prompt) for prompt in prompts] == [speculate.PROMPT] * 6
    assert len({tuple(prompt) for prompt in prompts}) == 6


def test_checkpoints_are_loaded_in_float32() -> None:
    folder = CHECKPOINTS / "draft"
    given = Assembly({}, LlamaConfig.from_pretrained(folder), load_weights(folder))

    assert load(folder, {}).num_layers == given.num_layers
    assert Reader(DRAFT, 3).forward([1, 2]).dtype == torch.float32
