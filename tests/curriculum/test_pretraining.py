"""The training of the checkpoints: the split of the text, the measures, and one tiny run."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import typer
from torch import Tensor
from typer.testing import CliRunner

from reference.models import pretrain
from reference.models.corpus import (
    BOS,
    EOS,
    EXCERPT_FILE_BYTES,
    Part,
    Source,
    encode,
    excerpt,
    part_of,
    read_library,
    train_tokenizer,
)
from reference.models.measure import CONTEXT, bigram_nats, score, windows


class Bigrams:
    """A model whose logits depend on the last token alone."""

    def __init__(self, table: Tensor) -> None:
        self.table = table  # [V, V]

    def __call__(self, tokens: Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=self.table[tokens])


def write_library(root: Path, count: int) -> Path:
    """Write ``count`` small modules, so many that every part gets some."""
    for i in range(count):
        body = "".join(f"def step_{i}_{j}(value):\n    return value + {j}\n\n" for j in range(20))
        (root / f"module_{i}.py").write_text(body)
    return root


def test_library_is_split_by_name_and_skips_what_is_no_library(tmp_path: Path) -> None:
    write_library(tmp_path, 300)
    for skipped in ("site-packages/a.py", "encodings/b.py", "test/bad_c.py"):
        (tmp_path / skipped).parent.mkdir()
        (tmp_path / skipped).write_text("x = 1\n")
    (tmp_path / "latin.py").write_bytes(b"# caf\xe9\n")
    (tmp_path / "empty.py").write_text("")

    parts = read_library(tmp_path)

    assert sum(len(sources) for sources in parts.values()) == 300
    assert all(part_of(s.name) is part for part, sources in parts.items() for s in sources)
    assert 260 < len(parts[Part.TRAIN]) < 295
    assert parts[Part.VALIDATION]
    assert parts[Part.HELDOUT]


def test_a_folder_without_sources_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=tmp_path.name):
        read_library(tmp_path)


def test_excerpt_encodes_to_the_tokens_of_training() -> None:
    sources = [Source(f"{i}.py", f"value = {i} * 'naïve'\n" * (i + 1)) for i in range(7)]
    large = Source("large.py", "x" * (EXCERPT_FILE_BYTES + 1))
    tokenizer = train_tokenizer(sources)

    text = excerpt([large, *sources])
    chosen = [Source("", part) for part in text.split(EOS + BOS)]

    assert sorted(s.text for s in chosen) == sorted(s.text for s in sources)
    assert tokenizer.encode(text).ids == encode(tokenizer, chosen).tolist()[:-1]


def test_windows_score_every_token_but_the_first_once() -> None:
    tokens = torch.arange(2 * CONTEXT + 9)

    parts = windows(tokens)

    assert torch.equal(torch.cat([inputs[0] for inputs, _ in parts]), tokens[:-1])
    assert torch.equal(torch.cat([nexts[0] for _, nexts in parts]), tokens[1:])


def test_score_of_known_models() -> None:
    uniform = torch.zeros(3, 3)
    leaning = torch.tensor([0.5, 0.25, 0.25]).log().repeat(3, 1)
    tokens = torch.tensor([2, 0, 1, 0])

    tally = score(Bigrams(leaning), Bigrams(uniform), tokens)

    assert tally.positions == 3
    assert tally.target_nats == pytest.approx(4 * math.log(2))  # 1/2 * 1/4 * 1/2
    assert tally.draft_nats == pytest.approx(3 * math.log(3))
    assert tally.overlap == pytest.approx(3 * (1 / 3 + 1 / 4 + 1 / 4))
    assert tally.agreements == 3  # both argmaxes are token 0


def test_bigram_baseline_by_hand() -> None:
    train, tokens = torch.tensor([0, 1, 0, 1, 0, 2]), torch.tensor([0, 1])

    # Behind 0: token 1 twice, 2 once, so two kinds; unigram of 1 with one added is 3 / 9.
    expected = (2 + 2 * 3 / 9) / (3 + 2)

    assert bigram_nats(train, tokens, vocab=3) == pytest.approx(-math.log(expected))


def test_bigram_baseline_is_a_distribution() -> None:
    train = torch.randint(11, (400,), generator=torch.Generator().manual_seed(3))

    total = sum(math.exp(-bigram_nats(train, torch.tensor([4, b]), 13)) for b in range(13))

    assert total == pytest.approx(1.0)


def test_one_tiny_run_writes_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library, out = tmp_path / "library", tmp_path / "out"
    library.mkdir()
    write_library(library, 300)
    monkeypatch.setattr("reference.models.measure.CONTINUED_TOKENS", 2)
    monkeypatch.setattr("reference.models.measure.SAMPLE_PROMPTS", ())
    app = typer.Typer()
    app.command()(pretrain.main)
    arguments = "--steps 1 --draft-steps 1 --batch 1 --device cpu --report-every 1".split()

    result = CliRunner().invoke(app, [*arguments, "--out", str(out), "--library", str(library)])

    assert result.exit_code == 0, result.output
    assert "target 1/1" in result.output
    figures = json.loads((out / "figures.json").read_text())
    vocab = json.loads((out / "target" / "config.json").read_text())["vocab_size"]
    assert figures["perplexity"]["uniform"] == vocab
    assert figures["perplexity"]["target"] < 2 * vocab  # barely trained, yet a distribution
    assert (out / "draft" / "model.safetensors").is_file()
