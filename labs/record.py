"""Record a trace of the given Llama with torch's profiler: ``python -m labs.record``.

A prompt is read in a span "prefill", then tokens are made one by one in spans "decode", keys and
values kept. With ``--device cuda`` kernels and launches are in it too.
"""

import argparse
import gzip
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile, record_function

from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.llama import Llama
from labs.traces import RECORDED

CHECKPOINTS = ("draft",)
LEFT_OUT = ("traceName", "trace_id", "host_name")  # say where, and not what
PROMPT = "import os\n\ndef main("


class Cache:
    """Keys and values of one layer, as many as have come."""

    def __init__(self) -> None:
        self._held: tuple[Tensor, Tensor] | None = None

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        if self._held is not None:
            k, v = torch.cat([self._held[0], k], 2), torch.cat([self._held[1], v], 2)
        self._held = k, v
        return k, v


def step(model: Llama, caches: list[Cache], tokens: Tensor, start: int) -> Tensor:  # [1, T]
    """Return the best next token, [1, 1]."""
    positions = torch.arange(start, start + tokens.shape[1], device=tokens.device)[None]
    return model(tokens, positions, caches=caches)[:, -1:].argmax(-1)


@torch.inference_mode()
def run(model: Llama, prompt: list[int], steps: int, device: str) -> None:
    """Read the prompt and make some tokens, each in a span of its own."""
    caches = [Cache() for _ in range(model.num_layers)]
    with record_function("prefill"):
        token = step(model, caches, torch.tensor([prompt], device=device), 0)
    for made in range(steps):
        with record_function("decode"):
            token = step(model, caches, token, len(prompt) + made)
    if device == "cuda":
        torch.cuda.synchronize()


def record(folder: Path, steps: int, device: str) -> dict[str, Any]:
    """Return what the profiler writes of a second run, the first being the warm-up."""
    weights = {name: weight.to(device) for name, weight in load_weights(folder).items()}
    model = Llama(LlamaConfig.from_pretrained(folder), weights).to(device)
    prompt = load_tokenizer(folder).encode(PROMPT)
    run(model, prompt, steps, device)
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
    with profile(activities=activities, profile_memory=True) as profiler:
        run(model, prompt, steps, device)
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "trace.json"
        profiler.export_chrome_trace(str(file))
        trace = json.loads(file.read_text(encoding="utf-8"))
    return {key: value for key, value in trace.items() if key not in LEFT_OUT}


def main(arguments: Sequence[str] | None = None) -> None:
    """Record, and say what was recorded."""
    parser = argparse.ArgumentParser("python -m labs.record", description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--steps", type=int, default=1, help="tokens behind the first (default: 1)")
    parser.add_argument("--to", type=Path, default=RECORDED, help="file, .json or .json.gz")
    options = parser.parse_args(arguments)
    trace = record(RECORDED.parent / CHECKPOINTS[0], options.steps, options.device)
    text = json.dumps(trace, separators=(",", ":")).encode()
    # No time in the header of the zip: what was recorded is all that differs.
    zipped = options.to.suffix == ".gz"
    options.to.write_bytes(gzip.compress(text, mtime=0) if zipped else text)
    print(f"{len(trace['traceEvents'])} events, {options.to.stat().st_size} bytes: {options.to}")


if __name__ == "__main__":
    main()
