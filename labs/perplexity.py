"""What quantization costs: perplexity of a checkpoint on held-out text, with your code of lab 09.

``python -m labs.perplexity`` prints a table. Your file is imported as it is, without a sandbox.
Weights are those of the checkpoint (bfloat16), activations are float32.
"""

import argparse
import importlib.util
import math
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.llama import Llama

LABS = Path(__file__).resolve().parent
CHECKPOINTS = LABS / "checkpoints"
CONTEXT = 1024  # tokens a window; each is scored on its own
GROUPS = (32, 64)  # widths of the target's layers are multiples of 64, not of 128


class Grouped:
    """``Int4Linear`` with a group size of its own, as ``quantize_model`` wants it."""

    def __init__(self, linear_cls: Any, group: int) -> None:
        self._linear_cls = linear_cls
        self._group = group

    def from_float(self, linear: nn.Linear) -> nn.Module:
        """Quantize one layer."""
        return self._linear_cls.from_float(linear, group=self._group)


def load_code(file: Path) -> ModuleType:
    """Import a file as a module."""
    spec = importlib.util.spec_from_file_location("quantization", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise FileNotFoundError(f"no Python file at {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Triton looks kernels up by it
    spec.loader.exec_module(module)
    return module


@torch.inference_mode()
def perplexity(model: nn.Module, tokens: Tensor, windows: int) -> float:  # int64 [N]
    """Return exp of the mean surprise at each token but the first, in windows of CONTEXT tokens."""
    nats = 0.0
    inputs, nexts = tokens[:-1].split(CONTEXT)[:windows], tokens[1:].split(CONTEXT)[:windows]
    for entering, following in zip(inputs, nexts, strict=True):
        positions = torch.arange(len(entering), device=tokens.device)[None]
        logits = model(entering[None], positions)[0].float()
        nats += F.cross_entropy(logits, following, reduction="sum").item()
    return math.exp(nats / sum(map(len, nexts)))


def bits_per_weight(kind: str, group: int = 0) -> float:
    """Return the bits that a weight of a quantized layer takes, scales and zeros included.

    A scale of int8 serves a whole row, and is not counted.
    """
    return 8.0 if kind == "int8" else 4 + (32 + 8) / group


def rows(code: ModuleType, model: nn.Module) -> Iterator[tuple[str, float, nn.Module]]:
    """Yield name, bits per weight and model, one after the other."""
    yield "bf16", 16.0, model
    yield "int8", bits_per_weight("int8"), code.quantize_model(model, code.Int8Linear)
    for group in GROUPS:
        linear_cls = Grouped(code.Int4Linear, group)
        bits = bits_per_weight("int4", group)
        yield f"int4, group {group}", bits, code.quantize_model(model, linear_cls)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m labs.perplexity", description=__doc__)
    own = LABS / "09_quantization" / "quantization.py"
    parser.add_argument("--from", dest="file", type=Path, default=own, metavar="FILE")
    default = os.environ.get("MODEL") or str(CHECKPOINTS / "target")
    parser.add_argument("--model", type=Path, default=Path(default), metavar="FOLDER")
    parser.add_argument(
        "--windows", type=int, default=16, metavar="N", help=f"of {CONTEXT} tokens; 61 are all"
    )
    options = parser.parse_args(arguments)
    if options.windows < 1:
        parser.error("--windows must be 1 or more")
    return options


def show(options: argparse.Namespace) -> None:
    """Print the table, a row as soon as it is known."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    code = load_code(options.file)
    config = LlamaConfig.from_pretrained(options.model)
    weights = {name: w.float().to(device) for name, w in load_weights(options.model).items()}
    text = (CHECKPOINTS / "heldout.txt").read_bytes().decode()
    tokens = torch.tensor(load_tokenizer(options.model).encode(text), device=device)
    first = 0.0
    print(f"{'layers':<16}{'bits a weight':>14}{'perplexity':>12}{'change':>9}")
    for name, bits, model in rows(code, Llama(config, weights)):
        value = perplexity(model, tokens, options.windows)
        first = first or value
        print(f"{name:<16}{bits:>14.2f}{value:>12.4f}{value / first - 1:>+9.2%}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 2 if something is missing."""
    options = parse(arguments)
    try:
        show(options)
    except NotImplementedError as error:
        print(f"error: not written yet: {error}", file=sys.stderr)
        print("hint: the table needs int8, int4, linears and model of lab 09", file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
