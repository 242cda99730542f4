"""The reference engine's kernels, interpreted on a CPU beside the same step in plain torch.

A process of its own for each: Triton asks for its interpreter when a kernel is defined.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STEP = """
import torch
from reference.checkpoint import random_model
from reference.engine.decoder import Decoder, StaticCache
from reference.engine.launches import KernelStep, Shape, Tuning
from reference.engine.weights import Weights
MAX_LEN, SPARE = 70, 2

def near(got, want):
    return bool((got - want).abs().max() < 1e-4 * want.abs().max())

def check(size, heads, groups, width, bits, tuning, start):
    g = torch.Generator().manual_seed(1)
    def normal(*shape, scale=1.0, shift=0.0):
        return torch.randn(*shape, generator=g) * scale + shift
    model = random_model(normal, hidden_size=64, intermediate_size=96, num_heads=heads,
        num_kv_heads=groups, head_dim=width, vocab_size=21)
    weights = Weights(model, MAX_LEN, torch.float32, "cpu", bits)
    ours, theirs = (StaticCache(model.fields, size + SPARE, MAX_LEN, torch.float32, "cpu")
        for _ in range(2))
    for a, b in zip((*ours.keys, *ours.values), (*theirs.keys, *theirs.values)):
        b.copy_(a.copy_(torch.randn(a.shape, generator=g)))
    step = KernelStep(weights, ours, size, tuning)
    tokens = torch.randint(21, (size,), generator=g)
    positions = torch.tensor([(start + 7 * i) % (MAX_LEN - 2) for i in range(size)])
    slots = torch.randperm(size + SPARE, generator=g)[:size]
    step.inputs.copy_(torch.stack((tokens, positions, slots)))
    for _ in range(2):  # the second one takes what the first has chosen
        step.launch()
        want = Decoder(weights).step(theirs, tokens, positions, slots, MAX_LEN)
        assert near(step.logits, want)
        tokens = step.inputs[0].clone()
        assert torch.equal(tokens, step.logits.argmax(-1))
        assert torch.equal(step.history[torch.arange(size), positions], tokens)
        positions = positions + 1
        assert torch.equal(step.inputs[1], positions)
        for a, b in zip((*ours.keys, *ours.values), (*theirs.keys, *theirs.values)):
            assert near(a, b)
            written = torch.zeros(a.shape, dtype=torch.bool)
            written[slots, :, positions - 1] = True
            assert torch.equal(a[~written], b[~written])
            b.copy_(a)
"""
SMALL = "Tuning(chunk=32, keys=16)"  # several chunks, several blocks of each
WHOLE = "Tuning(chunk=32, keys=32)"
SPLIT = "Tuning({'down': Shape(16, 4, 1, 16, 3), 'gate_up': Shape(32, 4, 1, 32, 2)}, 32, 16)"
STEPS = "Tuning({'down': Shape(2, 4, 3), 'gate_up': Shape(4, 4, 4), 'head': Shape(4, 4, 4)})"
CASES = {
    "one row, a head for each key": f"1, 4, 4, 64, None, {SMALL}, 3",
    "one row, eight heads for a key": f"1, 8, 1, 32, None, {WHOLE}, 50",
    "one row in several steps": f"1, 4, 2, 32, None, {STEPS}, 33",
    "one row of codes": f"1, 4, 2, 64, 4, {SMALL}, 40",
    "one row of codes in several steps": f"1, 4, 2, 32, 4, {STEPS}, 0",
    "three rows of codes": f"3, 8, 1, 32, 4, {SMALL}, 5",
    "three rows in shares": f"3, 4, 2, 128, None, {SPLIT}, 31",
    "seventeen rows": f"17, 2, 2, 32, None, {SMALL}, 5",
}


def python(code: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TRITON_INTERPRET": "1"}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_step_of_kernels_is_the_step_of_torch(case: str) -> None:
    pytest.importorskip("triton")

    done = python(f"{STEP}\ncheck({case})")

    assert done.returncode == 0, done.stderr[-3000:]
