"""A compiler in a sandbox of its own: what it sees, what it may take, and what is told of it."""

import dataclasses
import os
import subprocess
from pathlib import Path

import pytest
from stand_ins import expectation
from stand_ins.isolation import require_sandbox

from grader.errors import SandboxError
from grader.labs.build import Build
from grader.limited import Resource
from grader.sandbox import building
from grader.sandbox.building import Built, Compiler, build_file
from grader.sandbox.level import are_divided

BUILD = expectation.find("93_twice").builds[0]
SMALL = dataclasses.replace(BUILD, command=tuple("g++ -shared -fPIC {sources} -o {output}".split()))
LEVELS = ("bwrap", "none")
OTHER = "INFERLAB_OTHER_TORCH"  # names a Python that has another version of torch
ASKED = """
import sys, torch
torch.ops.load_library(sys.argv[1])
print(torch.__version__, torch.ops.demo93.twice(torch.tensor([1.5, -2.0])).tolist())
"""


def compiler_of(build: Build) -> Compiler:
    found = Compiler.find(build)
    if found is None:
        pytest.skip(f"there is no {build.program}: {build.install}")
    return found


def made(folder: Path, source: str, level: str = "bwrap", build: Build = SMALL) -> Built:
    """Build a source of the demo lab."""
    if level == "bwrap":
        require_sandbox()
    compiler, sources = compiler_of(build), {"twice.cpp": source.encode()}
    divided = are_divided(level, "cpu")
    return build_file(build, compiler, sources, folder / "build", level, divided=divided)


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_made_comes_out_and_nothing_is_left(tmp_path: Path, level: str) -> None:
    built = made(tmp_path, "int twice(int x) { return 2 * x; }", level)

    assert built.content.startswith(b"\x7fELF")
    assert (built.problem, built.over) == ("", None)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(("architecture", "word"), [("sm_90", "-arch=sm_90"), ("", "-arch=native")])
def test_what_is_for_this_gpu_is_made_for_it(architecture: str, word: str) -> None:
    command = tuple("nvcc -O2 -arch=native {sources} -o {output} -L{torch}/lib".split())
    build = dataclasses.replace(BUILD, command=command, device="cuda")
    compiler = Compiler(Path("/nvcc"), Path("/torch"), "2.11.0", architecture)

    line = compiler.arguments(build, "/tmp/twice.so")

    assert line == ["-O2", word, "twice.cpp", "-o", "/tmp/twice.so", "-L/torch/lib"]


@pytest.mark.parametrize("level", LEVELS)
def test_mistake_is_told_with_its_line_and_no_path_of_ours(tmp_path: Path, level: str) -> None:
    built = made(tmp_path, "int twice(int x) { return 2 * y; }", level)

    assert built.content == b""
    assert built.problem.startswith("g++ could not build twice.cpp:\ntwice.cpp:")
    assert "twice.cpp:1:31: error" in built.problem
    assert str(tmp_path) not in built.problem


def test_where_torch_lies_is_not_told(tmp_path: Path) -> None:
    source = "#include <torch/csrc/stable/ops.h>\nauto a = torch::stable::narrow(1);"

    built = made(tmp_path, source, build=BUILD)

    assert "torch/include/torch/csrc/stable/ops.h" in built.problem
    assert str(compiler_of(BUILD).torch.parent) not in built.problem


def test_long_complaint_is_cut(tmp_path: Path) -> None:
    built = made(tmp_path, "x" * 5000 + ";\n" + "y;\n" * 500)

    assert built.problem.endswith("… and more")
    assert len(built.problem) < 4000


@pytest.mark.parametrize(
    ("change", "source", "over", "says"),
    [
        ({"cpu_seconds": 1}, "bomb", Resource.CPU, "needs more than 1 s of processor time"),
        ({"memory_mb": 100}, "bomb", Resource.MEMORY, "needs more than 100 MiB of memory"),
        ({"seconds": 1}, "bomb", Resource.TIME, "did not end within 1 s"),
        ({"file_mb": 1}, "char a[4 << 20] = {1};", Resource.FILE, "writes more than 1 MiB"),
    ],
)
def test_limit_is_told(
    tmp_path: Path, change: dict[str, int], source: str, over: Resource, says: str
) -> None:
    bomb = (expectation.EXPLOITS / "compiler" / "memory_bomb.cpp").read_text()
    build = dataclasses.replace(SMALL, **{"memory_mb": 4096} | change)

    built = made(tmp_path, bomb if source == "bomb" else source, build=build)

    assert built.over is over
    assert says in built.problem


def test_nothing_of_ours_is_in_view(tmp_path: Path) -> None:
    secret = tmp_path / "secret.h"
    secret.write_text("canary")
    places = [secret, Path(building.__file__), "/judge", "/given", "/submission", "/etc/shadow"]

    built = made(tmp_path, "".join(f'#include "{place}"\n' for place in places[:2]))

    assert "No such file or directory" in built.problem
    for place in places:
        assert "No such file" in made(tmp_path, f'#include "{place}"\n').problem


def test_command_that_writes_nothing_is_told(tmp_path: Path) -> None:
    build = dataclasses.replace(SMALL, command=("true", "{sources}", "{output}"))

    built = made(tmp_path, "", build=build)

    assert built.problem.startswith("true could not build twice.cpp")


def test_sandbox_that_does_not_start_is_no_fault_of_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_sandbox()
    broken = (["/bin/sh", "-c", "echo no namespaces >&2; exit 1"], [])
    monkeypatch.setattr(building, "confine", lambda *_, **__: broken)

    with pytest.raises(SandboxError, match="no namespaces"):
        made(tmp_path, "int a;")


def test_compiler_that_is_missing_is_none() -> None:
    assert Compiler.find(dataclasses.replace(SMALL, command=("no-such-compiler",))) is None


def test_library_of_one_torch_runs_under_another(tmp_path: Path) -> None:
    """The stable headers promise it; what is linked and how is the command's."""
    python = os.environ.get(OTHER)
    if not python:
        pytest.skip(f"{OTHER} names no Python with another torch")
    source = (expectation.find("93_twice").solutions / "twice.cpp").read_text()
    library = tmp_path / "twice.so"
    library.write_bytes(made(tmp_path, source, build=BUILD).content)

    done = subprocess.run([python, "-W", "ignore", "-c", ASKED, str(library)], capture_output=True)

    version, _, result = done.stdout.decode().strip().partition(" ")
    assert result == "[3.0, -4.0]", done.stderr.decode()[-400:]
    assert version != compiler_of(BUILD).version
