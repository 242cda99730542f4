"""Train the two checkpoints of the labs, target and draft, on Python's standard library.

    python -m reference.models.pretrain --out labs/checkpoints  # minutes on one GPU
    python -m reference.models.pretrain --eval-only             # measure what is there, on a CPU

The target learns from the text; the draft also learns from the target's probabilities, since a
draft is worth what it agrees (distillation: Hinton et al. 2015; of drafts: Zhou et al. 2023).
"""

import json
import shutil
import sysconfig
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import torch
import typer
from tokenizers import Tokenizer
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from reference.models.corpus import (
    BOS,
    EOS,
    VOCAB_SIZE,
    Part,
    encode,
    excerpt,
    read_library,
    train_tokenizer,
)
from reference.models.measure import CONTEXT, load_model, measure, show
from reference.models.training import Recipe, train

# Width, feed-forward width, layers, query heads, key/value heads; head width is 32 in both.
SHAPES = {"target": (256, 704, 8, 8, 2), "draft": (160, 480, 2, 5, 1)}


def new_model(name: str, seed: int) -> nn.Module:
    """Return a model of the named shape with random weights."""
    width, inner, layers, heads, groups = SHAPES[name]
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCAB_SIZE,
            hidden_size=width,
            intermediate_size=inner,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=groups,
            head_dim=32,
            max_position_embeddings=CONTEXT,
            rms_norm_eps=1e-5,
            tie_word_embeddings=True,
            bos_token_id=0,
            eos_token_id=1,
        )
    )


def train_both(out: Path, library: Path, recipe: Recipe, draft_steps: int) -> None:
    """Write tokenizer, held-out excerpt and its licence, target and draft into ``out``."""
    parts = read_library(library)
    bpe = train_tokenizer(parts[Part.TRAIN])
    _save_tokenizer(bpe, out)
    (out / "heldout.txt").write_bytes(excerpt(parts[Part.HELDOUT]).encode())
    if (library / "LICENSE.txt").is_file():
        shutil.copyfile(library / "LICENSE.txt", out / "heldout.LICENSE.txt")
    text, validation = (encode(bpe, parts[part]) for part in (Part.TRAIN, Part.VALIDATION))
    print(f"{len(text)} training and {len(validation)} validation tokens", flush=True)
    model = new_model("target", recipe.seed).to(recipe.device)
    train(model, text, validation, recipe, out / "target")
    # The teacher is what was saved: the best so far, rounded to bfloat16.
    teacher = load_model(out / "target").to(recipe.device)
    student = new_model("draft", recipe.seed + 1).to(recipe.device)
    # A sixth of the size: it learns faster and cannot overfit.
    recipe = replace(recipe, steps=draft_steps, peak=2 * recipe.peak, dropout=0.0)
    train(student, text, validation, recipe, out / "draft", teacher)


def _save_tokenizer(bpe: Tokenizer, out: Path) -> None:
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token=BOS,
        eos_token=EOS,
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )
    for name in SHAPES:
        wrapped.save_pretrained(out / name)


def main(
    out: Annotated[Path, typer.Option(help="Folder of the checkpoints.")] = Path(
        "labs/checkpoints"
    ),
    library: Annotated[
        Path | None, typer.Option(help="Standard library to read; default: this Python's.")
    ] = None,
    eval_only: Annotated[bool, typer.Option("--eval-only", help="Measure, train nothing.")] = False,
    steps: Annotated[int, typer.Option(min=1)] = 2400,
    draft_steps: Annotated[int, typer.Option(min=1)] = 8000,
    batch: Annotated[int, typer.Option(min=1, help=f"Windows of {CONTEXT} tokens.")] = 48,
    rate: Annotated[float, typer.Option(help="Peak learning rate of the target.")] = 2e-3,
    dropout: Annotated[float, typer.Option(min=0, max=1, help="Of the target.")] = 0.1,
    seed: int = 1,
    device: str = "cuda" if torch.cuda.is_available() else "cpu",
    compiled: Annotated[bool, typer.Option("--compile", help="Use torch.compile.")] = False,
    report_every: Annotated[int, typer.Option(min=1, help="Steps between validations.")] = 250,
) -> None:
    """Train target and draft, then measure both and write figures.json beside them."""
    library = library or Path(sysconfig.get_paths()["stdlib"])
    if not eval_only:
        out.mkdir(parents=True, exist_ok=True)
        torch.set_float32_matmul_precision("high")
        recipe = Recipe(steps, batch, CONTEXT, rate, dropout, seed, device, compiled, report_every)
        train_both(out, library, recipe, draft_steps)
    # The bigram baseline is fitted again, on the library at hand and with the saved tokenizer.
    bpe = Tokenizer.from_file(str(out / "target" / "tokenizer.json"))
    figures = measure(out, encode(bpe, read_library(library)[Part.TRAIN]))
    show(figures)
    if not eval_only:
        figures["trained_with"] = {"torch": torch.__version__, "library": library.name}
        (out / "figures.json").write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
