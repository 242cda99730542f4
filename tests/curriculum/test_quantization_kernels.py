"""The kernels of lab 09's answers where there is no GPU: compiled for one, and interpreted.

The interpreter takes what the compiler refuses, such as a constexpr that is assigned twice; and in
grading on a CPU nobody calls the kernels of int8, nor those of int4 with every size of group. Each
runs in a process of its own, since Triton asks for its interpreter when a kernel is defined.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = ROOT / "solutions" / "09_quantization"
LOAD = f"""
import importlib.util, sys
def load(name):
    spec = importlib.util.spec_from_file_location("answer", {str(ANSWERS)!r} + "/" + name)
    module = sys.modules["answer"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
"""
COMPILE = f"""{LOAD}
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
POINTERS = dict(x="*bf16", y="*bf16", words="*i32", packed="*u8", codes="*i8", scale="*fp32",
                zero="*u8", offset="*fp32", part="*fp32")
def build(kernel, sizes, **pointers):
    types = {{name: (POINTERS | pointers).get(name, "i32") for name in kernel.arg_names}}
    types |= dict.fromkeys(sizes, "constexpr")
    constants = {{(kernel.arg_names.index(name),): value for name, value in sizes.items()}}
    source = ASTSource(kernel, types, constexprs=constants)
    made = compile(source, target=GPUTarget("cuda", 90, 32), options={{"num_warps": 4}})
    assert len(made.asm["cubin"]) > 1000
    print(kernel.__name__, end=" ")
"""
TILE = "'WHOLE': False, 'ROWS': 16, 'OUTS': 64, 'STAGES': 3"
KERNELS = {
    "quantization.py": {
        "_vector4_kernel": "{'SHARE': 1, 'WHOLE': True, 'ROWS': 8, 'CHUNKS': 128}",
        "_vector8_kernel": "{'ROWS': 4, 'CHUNKS': 128}",
        "_tile4_kernel": f"{{'SHIFT': 2, {TILE}}}",
        "_tile8_kernel": f"{{{TILE}}}",
        "_any_kernel": "{'ROWS': 16, 'OUTS': 32, 'BYTES': 32}",
    },
    "variants/simple.py": {"matmul_kernel": "{'OUTS': 32, 'BYTES': 128}"},
    "variants/dot_of_bytes_twice.py": {"dot_kernel": "{'ROWS': 16, 'OUTS': 32, 'COLUMNS': 64}"},
    "variants/numbers_as_words.py": {"partial_kernel": "{'SPLIT': 3, 'OUTS': 16, 'BYTES': 64}"},
    "variants/weights_read_once.py": {"atomic_kernel": "{'OUTS': 64, 'COLUMNS': 128}, y='*fp32'"},
    "variants/padded_with_zeros.py": {
        "halves_kernel": "{'ROWS': 16, 'OUTS': 16, 'BYTES': 16}, "
        "even='*bf16', odd='*bf16', y='*fp32'",
    },
}
INTERPRET = f"""{LOAD}
from grader.worker.kernels import interpreter
interpreter.prepare("cpu")
import torch
answer = load("quantization.py")
used = set()
class Noted:
    def __init__(self, name):
        self.name, self.kernel = name, getattr(answer, name)
    def __getitem__(self, grid):
        used.add(self.name)
        return self.kernel[grid]
for name in ("_vector4_kernel", "_tile4_kernel", "_any_kernel", "_vector8_kernel", "_tile8_kernel"):
    setattr(answer, name, Noted(name))
def judge(got, x, weights, case):
    want = x.double() @ weights.T
    assert (got.shape, got.dtype) == (want.shape, x.dtype), case
    limit = {{torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 6e-3}}[x.dtype]
    assert (got.double() - want).norm() < limit * want.norm(), case
generator = torch.Generator().manual_seed(5)
for rows, width, num_out, dtype in SIZES:
    x = torch.randn(rows, width, generator=generator).to(dtype)
    codes = torch.randint(-128, 128, (num_out, width), generator=generator).to(torch.int8)
    scale = 0.01 + torch.rand(num_out, generator=generator)
    got = answer._int8_matmul(x, codes, scale)
    judge(got, x, codes.double() * scale.double()[:, None], (rows, width, num_out, dtype))
for rows, width, num_out, group, dtype in GROUPS:
    x = torch.randn(rows, width, generator=generator).to(dtype)
    packed = torch.randint(0, 256, (num_out, width // 2), generator=generator).to(torch.uint8)
    zero = torch.randint(0, 16, (num_out, width // group), generator=generator).to(torch.uint8)
    scale = 0.01 + torch.rand(num_out, width // group, generator=generator)
    codes = torch.stack((packed & 15, packed >> 4), 2).flatten(1).double()
    weights = (codes.unflatten(1, (-1, group)) - zero[..., None]) * scale[..., None]
    got = answer.int4_matmul(x, packed, scale, zero, group)
    judge(got, x, weights.flatten(1), (rows, width, num_out, group, dtype))
print(sorted(used))
"""
SIZES = """
SIZES = (
    (1, 48, 21, torch.bfloat16),  # three chunks of 16 bytes
    (1, 1040, 3, torch.float32),  # two steps, the second almost empty
    (1, 30, 5, torch.float16),  # no whole chunks: dequantized
    (5, 80, 67, torch.float16),
    (18, 64, 9, torch.bfloat16),
    (3, 17, 4, torch.float32),
    (3, 2224, 130, torch.bfloat16),  # columns in two parts, the last step almost empty
)
GROUPS = (
    (1, 96, 11, 32, torch.bfloat16),  # three chunks; the last program has three rows
    (1, 4160, 9, 64, torch.float16),  # two steps, the second almost empty
    (1, 8192, 9, 32, torch.float16),  # two whole steps
    (1, 4096, 3, 4096, torch.bfloat16),  # a group is a step
    (1, 8192, 3, 8192, torch.bfloat16),  # a group is longer: tiles
    (1, 16448, 5, 32, torch.bfloat16),  # a wide matrix
    (1, 64, 7, 32, torch.float32),
    (3, 320, 70, 64, torch.bfloat16),
    (17, 320, 5, 8, torch.float16),  # groups of less than a chunk
    (65, 2304, 5, 256, torch.float16),  # columns in two parts, two tiles of x
    (2, 1024, 5, 512, torch.float32),
    (2, 96, 5, 24, torch.float16),  # groups of no power of two
    (4, 42, 3, 7, torch.float32),  # a byte in two groups
)
"""


def ran(script: str, **environment: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TRITON_DEFAULT_FP_FUSION": "1", **environment},
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout.strip()


@pytest.mark.in_turn
@pytest.mark.parametrize("file", KERNELS)
def test_the_kernels_compile_for_a_gpu(file: str, tmp_path: Path) -> None:
    kernels = KERNELS[file]
    builds = [f"build(load({file!r}).{name}, {sizes})" for name, sizes in kernels.items()]

    told = ran("\n".join((COMPILE, *builds)), TRITON_CACHE_DIR=str(tmp_path), TRITON_INTERPRET="0")

    assert told.split() == list(kernels)


def test_the_vector_kernel_compiles_for_rows_that_end_within_a_step(tmp_path: Path) -> None:
    sizes = "{'SHARE': 4, 'WHOLE': False, 'ROWS': 8, 'CHUNKS': 128}"
    build = f"build(load('quantization.py')._vector4_kernel, {sizes})"

    told = ran(f"{COMPILE}\n{build}", TRITON_CACHE_DIR=str(tmp_path), TRITON_INTERPRET="0")

    assert told == "_vector4_kernel"


def test_the_kernels_are_right_under_the_interpreter() -> None:
    script = INTERPRET.replace("generator = torch", f"{SIZES}\ngenerator = torch", 1)

    told = ran(script, TRITON_INTERPRET="1")

    assert told == str(sorted(KERNELS["quantization.py"]))
