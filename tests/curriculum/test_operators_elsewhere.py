"""Lab 15's model answer, built for this torch, under another: the stable headers promise it."""

import os
import subprocess
from pathlib import Path

import pytest
import torch
from stand_ins.isolation import require_sandbox

from grader import ROOT
from grader.labs.lab import load_lab
from grader.sandbox.building import Compiler, build_file
from grader.sandbox.level import are_divided
from reference import operators as oracle

OTHER = "INFERLAB_OTHER_TORCH"  # names a Python that has another version of torch
ASKED = """
import sys, torch
library, cases, results = sys.argv[1:]
torch.ops.load_library(library)
asked = torch.load(cases)
torch.save([getattr(torch.ops.inferlab15, name)(*args) for name, args in asked], results)
torch.save([args for _, args in asked], cases)
print(torch.__version__)
"""


def test_model_answer_runs_under_another_torch(tmp_path: Path) -> None:
    python = os.environ.get(OTHER)
    if not python:
        pytest.skip(f"{OTHER} names no Python with another torch")
    require_sandbox()
    lab = load_lab(ROOT / "labs" / "15_operators")
    build = lab.builds[0]
    compiler = Compiler.find(build)
    if compiler is None:
        pytest.skip(f"there is no {build.program}: {build.install}")
    sources = {name: (lab.solutions / name).read_bytes() for name in build.sources}
    divided = are_divided("bwrap", "cpu")
    built = build_file(build, compiler, sources, tmp_path / "build", "bwrap", divided=divided)
    library, asked, answered = (tmp_path / name for name in ("operators.so", "asked", "answered"))
    library.write_bytes(built.content)
    x, up, dy = (torch.randn(6, 4).t() for _ in range(3))
    packed = torch.randint(256, (3, 3), dtype=torch.uint8)
    scale, zero = torch.rand(3, 2), torch.randint(16, (3, 2), dtype=torch.uint8)
    cases = [
        ("silu_mul", [x, up]),
        ("silu_mul_backward", [dy, x, up]),
        ("add_rms_norm", [x.bfloat16(), up.bfloat16(), torch.ones(6).bfloat16(), 1e-5]),
        ("int4_linear", [x, packed, scale, zero, 3]),
    ]
    torch.save(cases, asked)

    command = [python, "-W", "ignore", "-c", ASKED, *map(str, (library, asked, answered))]
    done = subprocess.run(command, capture_output=True)

    assert done.returncode == 0, done.stderr.decode()[-400:]
    assert done.stdout.decode().strip() != compiler.version
    product, gradients, normed, linear = torch.load(answered)
    torch.testing.assert_close(product, oracle.silu_mul(x, up).float())
    for got, want in zip(gradients, oracle.silu_mul_backward(dy, x, up), strict=True):
        torch.testing.assert_close(got, want.float())
    added = (x.bfloat16(), up.bfloat16())
    assert torch.equal(torch.load(asked)[2][1], oracle.add(*added))
    want = oracle.add_rms_norm(*added, torch.ones(6), 1e-5)
    torch.testing.assert_close(normed.double(), want, rtol=8e-3, atol=1e-3)
    torch.testing.assert_close(linear, oracle.int4_linear(x, packed, scale, zero, 3).float())
