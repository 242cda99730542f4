"""The reference engine's kernels, interpreted on a CPU beside the same step in plain torch.

A process of its own for each: Triton asks for its interpreter when a kernel is defined. It is
mended as a worker's is: unmended it patches the language again at each call within a kernel.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from reference.engine.weights import GROUP, Packed

ROOT = Path(__file__).resolve().parents[2]
STEP = """
import torch
from grader.worker.kernels import interpreter
interpreter.mend()
from reference.models.checkpoint import random_model
from reference.engine.decoder import Decoder, StaticCache
from reference.engine.launches import KernelStep, Shape, Tuning
from reference.engine.weights import Weights
MAX_LEN, SPARE = 150, 2

def near(got, want):
    return bool((got - want).abs().max() < 1e-4 * want.abs().max())

def check(size, heads, groups, width, bits, tuning, start, group=32):
    g = torch.Generator().manual_seed(1)
    def normal(*shape, scale=1.0, shift=0.0):
        return torch.randn(*shape, generator=g) * scale + shift
    model = random_model(normal, hidden_size=64, intermediate_size=96, num_heads=heads,
        num_kv_heads=groups, head_dim=width, vocab_size=21)
    weights = Weights(model, MAX_LEN, torch.float32, "cpu", bits, group)
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
SPLIT = (
    "Tuning({'down': Shape(16, 4, block=16, split=3), 'gate_up': Shape(32, 4, block=32, split=2)},"
    " 32, 16)"
)
STEPS = "Tuning({'down': Shape(2, 4, 3), 'gate_up': Shape(4, 4, 4), 'head': Shape(4, 4, 4)})"
CODES = (
    "Tuning({'down': Shape(2, 4, 3, 2), 'gate_up': Shape(8, 4, 2, 1), 'out': Shape(1, 4, 1, 4)})"
)
CASES = {
    "one row, a head for each key": f"1, 4, 4, 64, None, {SMALL}, 3",
    "one row, eight heads for a key": f"1, 8, 1, 32, None, {WHOLE}, 31",
    "one row in several steps": f"1, 4, 2, 32, None, {STEPS}, 33",
    "one row of codes": f"1, 4, 2, 64, 4, {SMALL}, 40",
    "one row of codes in several steps": f"1, 4, 2, 32, 4, {CODES}, 0",
    "one row of codes in other groups": "1, 4, 2, 32, 4, None, 0, 16",
    "three rows of codes": f"3, 8, 1, 32, 4, {SMALL}, 5",
    "three rows in shares": f"3, 4, 2, 128, None, {SPLIT}, 31",
    "one row, nine chunks to merge": "1, 4, 2, 32, None, Tuning(chunk=16, keys=16), 140",
    "forty rows in shares": f"40, 2, 2, 32, None, {SPLIT}, 5",
    "seventeen rows": f"17, 2, 2, 32, None, {SMALL}, 5",
}


def python(code: str, interpreted: bool = True) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TRITON_INTERPRET": str(int(interpreted))}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )


@pytest.mark.in_turn
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_step_of_kernels_is_the_step_of_torch(case: str) -> None:
    pytest.importorskip("triton")

    done = python(f"{STEP}\ncheck({case})")

    assert done.returncode == 0, done.stderr[-3000:]


COMPILED = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from reference.engine import codes, kernels, products

KINDS = {"w": "*i32", "scale": "*fp32", "zero": "*u8", "eps": "fp32", "part": "*fp32",
    "arrived": "*i32", "best": "*fp32", "where": "*i32", "cos": "*fp32", "sin": "*fp32",
    "positions": "*i64", "slots": "*i64"}
NUMBERS = "M max_len most".split()

def compiled(kernel, warps, constants, **kinds):
    names = kernel.arg_names
    types = {n: "constexpr" if n in constants else "i32" if n in NUMBERS else
        (KINDS | kinds).get(n, "*bf16") for n in names}
    source = ASTSource(
        kernel, types, {(names.index(name),): value for name, value in constants.items()},
        {(i,): [["tt.divisibility", 16]] for i, n in enumerate(names) if types[n][0] == "*"},
    )
    options = {"num_warps": warps, "launch_pdl": True}
    return triton.compile(source, GPUTarget("cuda", 90, 32), options)

"""
PRODUCT = "{'K': 2048, 'OUTS': 5632, 'GATED': True, 'ADD': False, 'PDL': True, 'ROWS': ROWS} | "
COMPILES = {
    "codes": f"""
for steps, shares in ((1, 2), (3, 1)):
    made = compiled(codes.vector4, 4, {PRODUCT.replace("ROWS}", "16}")}{{"GROUP": 32,
        "STEPS": steps, "SHARES": shares, "WARPS": 4, "NORM": True, "HALVES": True}})
    assert "fma.rn.f16x2" in made.asm["ptx"] and "ld.global.v4.b32" in made.asm["ptx"]
    # x alone, of 2048 float32, may move once; codes stay.
    assert made.metadata.shared <= 4 * 2048, made.metadata.shared
""",
    "a row": f"""
made = compiled(products.vector, 4, {PRODUCT.replace("ROWS}", "4}")}{{"STEPS": 2, "BLOCK": 2048,
    "NORM": True, "BEST": False}}, w="*bf16")
""",
    "rows": f"""
for rows, split in ((16, 1), (64, 2)):
    made = compiled(products.tile, 4, {PRODUCT.replace("ROWS}", "rows}")}{{"GROUP": 0, "COLS": 64,
        "BLOCK": 64, "SPLIT": split, "BEST": False, "STAGES": 4}}, w="*bf16",
        scale="*bf16", zero="*bf16")
    assert "wgmma" in made.asm["ptx"]
""",
    "attention": """
for chunk, keys in ((128, 128), (1024, 128)):
    compiled(kernels.attend, 8, {"H": 32, "G": 4, "D": 64, "HEADS": 16, "CHUNK": chunk,
        "KEYS": keys, "PDL": True}, scale="fp32")
""",
}


@pytest.mark.parametrize("kernel", COMPILES)
def test_a_gpu_takes_what_the_interpreter_runs(kernel: str) -> None:
    pytest.importorskip("triton")

    done = python(COMPILED + COMPILES[kernel], interpreted=False)

    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.gpu
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_codes_in_halves_lose_no_more_than_bfloat16(size: float) -> None:
    from reference.engine import codes

    packed = Packed.of(torch.randn(80, 1056, device="cuda"), GROUP)
    x = (size * torch.randn(1, 1056, device="cuda")).bfloat16()
    out = torch.full((1, 80), torch.nan, device="cuda")
    words = packed.codes.view(torch.int32)
    same = {"K": 1056, "OUTS": 80, "GROUP": GROUP, "ROWS": 16, "STEPS": 2, "SHARES": 2, "WARPS": 4}
    flags = {"NORM": False, "GATED": False, "ADD": False, "HALVES": True, "PDL": False}

    codes.vector4[(3,)](
        x, x, words, packed.scale, packed.zero, out, 0.0, **same, **flags, num_warps=4
    )

    want = x.double() @ packed.dequantize(torch.float64).T
    assert (out - want).norm() < 2e-3 * want.norm()
