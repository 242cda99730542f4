"""The Hopper kernel of lab 07's answer where there is no GPU: compiled for one.

No grading on a CPU launches it, and Gluon has no interpreter.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPILE = """
import importlib.util, sys
import torch
from triton.runtime import driver
from grader.worker.compiling.compiler import Pretended
driver.set_active(Pretended("sm_90"))
FILE = "solutions/07_flash_attention/flash_attention.py"
spec = importlib.util.spec_from_file_location("answer", FILE)
answer = sys.modules["answer"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(answer)
class Compiled:
    kernel = answer._attend_hopper
    def __getitem__(self, grid):
        return lambda *args, **options: self.note(
            self.kernel.run(*args, grid=grid, warmup=True, **options)
        )
    def note(self, made):
        assert "wgmma.mma_async" in made.asm["ptx"] and len(made.asm["cubin"]) > 1000
        print(made.metadata.shared)
answer._attend_hopper = Compiled()
def launch(width, causal, packed):
    q = torch.empty(1, 2, 1024, width, dtype=torch.bfloat16)
    starts = torch.tensor([0, 500, 1024], dtype=torch.int32)
    answer._launch_hopper(
        q, q, q, q, torch.empty(1, 2, 1024), causal, 0.1, (starts, starts) if packed else None
    )
"""
MOST_SHARED = 232_448  # bytes of a block on a Hopper GPU


@pytest.mark.in_turn
@pytest.mark.parametrize("width", [64, 128])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_the_kernel_compiles_for_a_hopper_gpu(
    width: int, causal: bool, packed: bool, tmp_path: Path
) -> None:
    environment = {"PYTHONPATH": str(ROOT), "TRITON_CACHE_DIR": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-c", f"{COMPILE}\nlaunch({width}, {causal}, {packed})"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment, "TRITON_INTERPRET": "0"},
        timeout=300,
        check=False,
    )

    assert result.returncode == 0, result.stderr[-2000:]
    assert 0 < int(result.stdout) <= MOST_SHARED
