"""The sources of a Python standard library as training text, split by file name.

A file's part depends on its name alone, so that a held-out file of one Python version never
becomes a training file of another.
"""

import hashlib
import sysconfig
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor

BOS, EOS = "<|bos|>", "<|eos|>"  # around each file; ids 0 and 1
VOCAB_SIZE = 2048
EXCERPT_BYTES = 190_000  # of held-out text that travels with the checkpoints
EXCERPT_FILE_BYTES = 20_000  # the largest file in it, for variety

# Installed packages are no standard library; the rest are tables, long prose and generated files.
_SKIPPED = {"site-packages", "dist-packages", "encodings", "pydoc_data", "__pycache__"}
_SKIPPED_PREFIXES = ("_sysconfigdata", "bad_", "badsyntax_")


class Part(StrEnum):
    """What a file is for."""

    TRAIN = "train"
    VALIDATION = "validation"  # chooses which checkpoint is kept
    HELDOUT = "heldout"  # measures it


@dataclass(frozen=True, slots=True)
class Source:
    """One file; ``name`` is its path below the library's folder, with forward slashes."""

    name: str
    text: str


def part_of(name: str) -> Part:
    """Return the part of a file: about 94 % training, 2 % validation, 4 % held out."""
    bucket = _digest(name) % 50
    if bucket < 2:
        return Part.HELDOUT
    return Part.VALIDATION if bucket == 2 else Part.TRAIN


def read_library(root: Path | None = None) -> dict[Part, list[Source]]:
    """Read all ``.py`` files of a standard library, by default the running Python's, by name."""
    root = root or Path(sysconfig.get_paths()["stdlib"])
    parts: dict[Part, list[Source]] = {part: [] for part in Part}
    for file in sorted(root.rglob("*.py")):
        relative = file.relative_to(root)
        if _SKIPPED & set(relative.parts) or relative.name.startswith(_SKIPPED_PREFIXES):
            continue
        try:
            text = file.read_bytes().decode()
        except UnicodeDecodeError:
            continue  # a handful of tests of other encodings
        if text.strip():
            parts[part_of(relative.as_posix())].append(Source(relative.as_posix(), text))
    if not parts[Part.TRAIN]:
        raise FileNotFoundError(f"no Python sources under {root}")
    return parts


def excerpt(heldout: list[Source]) -> str:
    """Join held-out files in the order of their digests, BOS and EOS between them as in training.

    Encoding the whole text gives the tokens: the marks in it become their ids.
    """
    chosen: list[str] = []
    size = 0
    for source in sorted(heldout, key=lambda source: _digest(source.name)):
        length = len(source.text.encode())
        if length <= EXCERPT_FILE_BYTES and size + length <= EXCERPT_BYTES:
            chosen.append(source.text)
            size += length
    return f"{EOS}{BOS}".join(chosen)


def train_tokenizer(train: list[Source]) -> Tokenizer:
    """Train a byte-level BPE whose encoding begins with BOS."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=[BOS, EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((source.text for source in train), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", special_tokens=[(BOS, tokenizer.token_to_id(BOS))]
    )
    return tokenizer


def encode(tokenizer: Tokenizer, sources: list[Source]) -> Tensor:  # int64 [N]
    """Return BOS, the tokens and EOS of each file, one after the other."""
    end = [tokenizer.get_vocab()[EOS]]
    ids: list[int] = []
    for encoding in tokenizer.encode_batch([source.text for source in sources]):
        ids += encoding.ids + end
    return torch.tensor(ids)


def _digest(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
