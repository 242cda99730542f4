"""``python -m labs.perplexity``: what it prints, what it measures, and what it refuses."""

from pathlib import Path

import pytest
import torch

from labs import perplexity
from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.llama import Llama
from reference import llama
from reference import quantization as oracle

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = ROOT / "solutions" / "09_quantization" / "quantization.py"
TARGET = ROOT / "labs" / "checkpoints" / "target"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of 48 tokens."""
    monkeypatch.setattr(perplexity, "CONTEXT", 48)


@pytest.mark.usefixtures("short")
def test_it_is_the_perplexity_of_the_windows_that_were_asked_for() -> None:
    config = LlamaConfig.from_pretrained(TARGET)
    weights = {name: w.float() for name, w in load_weights(TARGET).items()}
    text = (ROOT / "labs" / "checkpoints" / "heldout.txt").read_text(encoding="utf-8")
    tokens = torch.tensor(load_tokenizer(TARGET).encode(text[:4000]))

    got = perplexity.perplexity(Llama(config, weights), tokens, 3)

    windows = torch.stack([tokens[at : at + 49] for at in (0, 48, 96)])
    want = oracle.perplexity(lambda ids: llama.logits(config, weights, ids), windows)
    assert got == pytest.approx(want, rel=1e-4)


@pytest.mark.usefixtures("short")
def test_the_table_has_a_row_for_each_number_of_bits(capsys: pytest.CaptureFixture[str]) -> None:
    assert perplexity.main(["--from", str(SOLUTION), "--windows", "4"]) == 0

    _, *rows = capsys.readouterr().out.splitlines()
    cells = [[cell.strip() for cell in row.rsplit(maxsplit=3)] for row in rows]
    assert [(row[0], row[1]) for row in cells] == [
        ("bf16", "16.00"),
        ("int8", "8.00"),
        ("int4, group 32", "5.25"),
        ("int4, group 64", "4.62"),
    ]
    values = [float(row[2]) for row in cells]
    assert len(set(values)) == 4
    assert all(value == pytest.approx(values[0], rel=0.2) for value in values)
    assert cells[0][3] == "+0.00%"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--from", "nowhere.py"], "error: no Python file at nowhere.py"),
        (["--from", str(SOLUTION), "--model", "nowhere"], "error: no checkpoint folder"),
        (
            ["--windows", "1", "--from", str(ROOT / "labs" / "09_quantization/quantization.py")],
            "error: not written yet: model: quantize_model\nhint: the table needs",
        ),
    ],
)
def test_what_is_missing_is_named_in_a_line(
    options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert perplexity.main(options) == 2
    assert capsys.readouterr().err.startswith(told)


def test_no_windows_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        perplexity.main(["--windows", "0"])

    assert "--windows must be 1 or more" in capsys.readouterr().err
