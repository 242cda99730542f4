"""What docs/triton-interpreter.md says of each name of ``triton.language`` is what is so now."""

import importlib.metadata
import subprocess
import sys

import pytest
from stand_ins.expectation import HERE

PAGE = HERE.parent / "docs" / "triton-interpreter.md"


def test_the_table_is_what_the_kernels_of_each_name_do() -> None:
    if f"in Triton {importlib.metadata.version('triton')}\n" not in PAGE.read_text("utf-8"):
        pytest.skip("the table is of another version of Triton")

    done = subprocess.run(
        [sys.executable, str(HERE / "run_interpreter.py"), "--check"],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_nothing_that_was_tried_is_wrong() -> None:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    named = {line.split("`")[1]: line.split(" | ")[1] for line in rows}

    assert [name for name, status in named.items() if "wrong" in status] == []
    assert named["map_elementwise"] == "mended by us"
    assert named["inline_asm_elementwise"] == "refused"
