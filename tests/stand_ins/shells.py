"""Shells of users: a command of ours is started from one with settings, limits and a umask."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stand_ins.expectation import HERE

ROOT = HERE.parent
# What the console script ``lab`` does, of a tree.
LAB = "import sys; sys.path.insert(0, {tree!r}); from grader.__main__ import main; sys.exit(main())"
# Aborts in every process but one: whoever starts another with it is seen.
PRELOADED = """
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(void) {
    const char *only = getenv("ONLY");
    if (only == 0 || atoi(only) != getpid()) abort();
}
"""
SITECUSTOMIZE = """
import os
if os.environ.get("ONLY") != str(os.getpid()):
    os._exit(77)
"""
FAKE = "raise RuntimeError('this is not the package that was meant')\n"


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> Any:
        """The report that it printed."""
        assert self.code in (0, 1), (self.code, self.err)
        return json.loads(self.out)

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict of each test."""
        return {f"{test['suite']} {test['id']}": test["verdict"] for test in self.report["tests"]}

    @property
    def refusal(self) -> str:
        """The one line of an error; the command must have said nothing else but a hint."""
        lines = [line for line in self.err.splitlines() if not line.startswith("grading ")]
        assert self.code in (2, 3), (self.code, self.err)
        assert [line.partition(":")[0] for line in lines] in (["error", "hint"], ["error"]), lines
        return lines[0]


@dataclass(frozen=True, slots=True)
class Shell:
    """What a user has set; ``before`` are commands of bash that run first."""

    settings: Mapping[str, str] = field(default_factory=dict)
    before: str = "true"

    def lab(self, tree: Path, *arguments: str) -> Said:
        """Run a command of ``lab`` in a tree."""
        # ONLY is the number of the command itself. The shell is not to be hit by what is preloaded.
        exports = "".join(f"export {key}={shlex.quote(v)}; " for key, v in self.settings.items())
        line = shlex.join([sys.executable, "-c", LAB.format(tree=str(tree)), *arguments])
        done = subprocess.run(
            ["bash", "-c", f"{self.before} || exit 99; export ONLY=$$; {exports} exec {line}"],
            cwd=tree,
            env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=300,
        )
        return Said(done.returncode, done.stdout.decode(), done.stderr.decode("utf-8", "replace"))

    def grade(self, tree: Path, source: Path, level: str, device: str = "cpu") -> Said:
        """Grade a submission as a user does; its lab is the only one of a tree."""
        lab = next((tree / "labs").glob("[0-9]*")).name
        options = ("--json", "-", "--device", device, "--sandbox", level, "--seed", "5")
        return self.lab(tree, "grade", lab, "--from", str(source), *options)


def blamed(shell: Shell, breaks: Callable[[Shell], bool]) -> list[str]:
    """Return as few settings as halving leads to, of a shell whose settings break something."""
    names = [*shell.settings]
    while len(names) > 1:
        for half in (names[: len(names) // 2], names[len(names) // 2 :]):
            few = replace(shell, settings={name: shell.settings[name] for name in half})
            if breaks(few):
                names = half
                break
        else:
            break
    return names


def tree(place: Path, lab: str) -> Path:
    """Make a course of a single lab, one of ours or of the demo course: reports stay in there."""
    ours = HERE / "demo" if (HERE / "demo" / "labs" / lab).exists() else ROOT
    leave_out = shutil.ignore_patterns("__pycache__", "suites", "course", "service", "site")
    shutil.copytree(ROOT / "grader", place / "grader", ignore=leave_out)
    shutil.copytree(ROOT / "reference", place / "reference", ignore=leave_out)
    other_labs = shutil.ignore_patterns("__pycache__", *(f"{n:02d}_*" for n in range(100)))
    shutil.copytree(ours / "labs", place / "labs", ignore=other_labs)
    shutil.copytree(ours / "labs" / lab, place / "labs" / lab)
    (place / "grader" / "suites").mkdir()
    for file in (ours / "grader" / "suites").glob(f"*{lab}.py"):
        shutil.copy(file, place / "grader" / "suites" / file.name)
    return place


def cluster(place: Path) -> dict[str, str]:
    """Return what a job of a batch system has: much of it, none of it meant for us."""
    for name in ("job", "lib"):
        (place / name).mkdir(exist_ok=True)
    return {
        "LD_LIBRARY_PATH": f"/usr/local/lib:{place}/lib:/usr/local/cuda/lib64::relative",
        "PYTHONPATH": f"{place}/lib",
        "PYTHONNOUSERSITE": "1",
        "PYTHONUNBUFFERED": "1",
        "TMPDIR": f"{place}/job",
        "LC_ALL": "xx_XX.UTF-8",
        "OMP_NUM_THREADS": "48",
        "OMP_PROC_BIND": "close",
        "OMP_PLACES": "cores",
        "MKL_NUM_THREADS": "48",
        "KMP_AFFINITY": "granularity=fine,compact",
        "GOMP_CPU_AFFINITY": "0-47",
        "NCCL_DEBUG": "INFO",
        "NCCL_SOCKET_IFNAME": "ib0",
        "NCCL_IB_HCA": "mlx5_0",
        "GLOO_SOCKET_IFNAME": "ib0",
        "RANK": "3",
        "LOCAL_RANK": "3",
        "WORLD_SIZE": "8",
        "MASTER_ADDR": "node17",
        "MASTER_PORT": "29500",
        "SLURM_JOB_ID": "4711",
        "SLURM_NTASKS": "8",
        "SLURM_PROCID": "3",
        "PMI_RANK": "3",
        "CUDA_HOME": "/apps/cuda/12",
        "TRITON_CACHE_DIR": f"{place}/triton",
        "TORCH_HOME": f"{place}/torch",
        "TORCHINDUCTOR_CACHE_DIR": f"{place}/inductor",
        "HF_HOME": f"{place}/hf",
        "HTTP_PROXY": "http://proxy:3128",
        "MALLOC_ARENA_MAX": "4",
    }


def hostile(place: Path) -> dict[str, str]:
    """Return settings each of which would break a process of ours, or change what it computes."""
    fakes, libraries = place / "fakes", place / "libraries"
    for folder in (fakes, libraries):
        folder.mkdir(exist_ok=True)
    for name in ("torch", "typer", "pytest", "numpy", "triton"):
        (fakes / f"{name}.py").write_text(FAKE)
    for name in ("sitecustomize", "usercustomize"):
        (fakes / f"{name}.py").write_text(SITECUSTOMIZE)
    preloaded = libraries / "libaborts.so"
    source = libraries / "aborts.c"
    source.write_text(PRELOADED)
    line = ["gcc", "-shared", "-fPIC", "-o", str(preloaded), str(source)]
    subprocess.run(line, check=True)
    # What a loader of C's library takes first; it would find none of its functions in there.
    for name in ("libcap.so.2", "libselinux.so.1", "libstdc++.so.6", "libgomp.so.1"):
        (libraries / name).write_bytes(preloaded.read_bytes())
    return {
        # The first process of all has them too, and must be able to start.
        "PYTHONPATH": str(fakes),
        "PYTHONOPTIMIZE": "2",
        "PYTHONWARNINGS": "error",
        "PYTHONINSPECT": "1",
        "PYTHONUTF8": "0",
        "PYTHONIOENCODING": "ascii",
        "PYTHONHASHSEED": "0",
        "PYTHONMALLOC": "debug",
        "PYTHONDEVMODE": "1",
        "PYTHONSTARTUP": str(fakes / "torch.py"),
        "PYTHONBREAKPOINT": "nowhere.nothing",
        "PYTHONSAFEPATH": "1",
        "LC_ALL": "tr_TR.UTF-8",
        "LC_NUMERIC": "de_DE.UTF-8",
        "GCONV_PATH": str(fakes),
        "LD_LIBRARY_PATH": str(libraries),
        "LD_PRELOAD": str(preloaded),
        "LD_AUDIT": str(preloaded),
        "LD_BIND_NOW": "1",
        "MALLOC_PERTURB_": "165",
        "MALLOC_CHECK_": "3",
        "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0",
        "TRITON_INTERPRET": "0",
        "TRITON_DEBUG": "1",
        "TRITON_CACHE_DIR": "/proc/nowhere",
        "TORCH_LOGS": "+all",
        "TORCHDYNAMO_DISABLE": "1",
        "TORCH_COMPILE_DISABLE": "1",
        "TORCHINDUCTOR_CACHE_DIR": "/proc/nowhere",
        "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "1",
        "PYTORCH_JIT": "0",
        "PYTORCH_CUDA_ALLOC_CONF": "nonsense:1",
        "OMP_NUM_THREADS": "abc",
        "OMP_DYNAMIC": "maybe",
        "MKL_NUM_THREADS": "-7",
        "MKL_CBWR": "nonsense",
        "OPENBLAS_NUM_THREADS": "1000",
        "CUDA_LAUNCH_BLOCKING": "1",
        "NCCL_ALGO": "nonsense",
        "NCCL_PROTO": "nonsense",
        "NCCL_NET_PLUGIN": "nonsense",
        "NVIDIA_TF32_OVERRIDE": "1",
        "PYTEST_ADDOPTS": "--no-such-option",
        "PYTEST_PLUGINS": "no_such_plugin",
        "HYPOTHESIS_PROFILE": "nonsense",
        "HF_HUB_OFFLINE": "0",
        "GIT_DIR": "/proc/nowhere",
        "SSLKEYLOGFILE": "/proc/nowhere",
        "HOME": "/proc/nowhere",
        "TERM": "nonsense",
        "COLUMNS": "1",
        "CI": "true",
        "EXAMPLES": "many",
        "NO_COLOR": "",
    }
