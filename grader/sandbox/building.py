"""Let a compiler make one file of a submission's sources, in a sandbox of its own.

None of the submission runs here, but what a compiler reads can steer it: files that a source
includes, time and memory that templates take, messages without end. So it sees what a worker sees
of the system, the sources, and nothing of ours; it writes to a scratch folder alone, and what it
has made comes out through a pipe. We copy that file and never look into it.
"""

import importlib.metadata
import importlib.util
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.environment import To, crossing
from grader.errors import CannotGrade, SandboxError
from grader.labs.build import Build
from grader.limited import Ended, Limits, Resource, run
from grader.sandbox.confinement import gpu, limits
from grader.sandbox.confinement.bubblewrap import confine, worker_environment
from grader.sandbox.pace import PACE

MIB = 1 << 20
FAILED = 97  # the status of our script when the compiler has failed; other ones are not its
# Where to work and what to hand over; the rest is the compiler's line, whose words are for people.
NATIVE = "-arch=native"  # of nvcc: it asks the GPU, which no compiler reaches in its sandbox
SCRIPT = 'cd "$0" || exit 1; out=$1; shift; "$@" >&2 && cat "$out" || exit 97'
MOST_LINES, MOST_CHARACTERS = 24, 3000  # of what it says


@dataclass(frozen=True, slots=True)
class Built:
    """What came of a build: a file, or why there is none, and the limit that it met."""

    content: bytes = b""
    problem: str = ""
    over: Resource | None = None


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler of this machine, and the torch and the GPU that it compiles for."""

    path: Path
    torch: Path
    version: str
    architecture: str = ""

    @classmethod
    def find(cls, build: Build) -> "Compiler | None":
        """Find what a build needs; None where there is no such program."""
        found = shutil.which(build.program, path=worker_environment(build.device, "/")["PATH"])
        if found is None:
            return None
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.origin is None:
            raise CannotGrade("torch is not installed for this Python", "make setup")
        return cls(
            Path(found).resolve(),
            Path(spec.origin).parent,
            importlib.metadata.version("torch"),
            gpu.architecture() if build.device == "cuda" else "",
        )

    def known_by(self) -> list[str]:
        """Return what tells it from another one, or from itself after an update."""
        about = self.path.stat()
        size, changed = str(about.st_size), str(about.st_mtime_ns)
        return [str(self.path), size, changed, self.version, self.architecture]

    def arguments(self, build: Build, output: str) -> list[str]:
        """Return the arguments of a build's command, for the GPU of this machine."""
        line = build.line(output, str(self.torch))[1:]
        known = f"-arch={self.architecture}" if self.architecture else NATIVE
        return [known if word == NATIVE else word for word in line]


def build_file(
    build: Build,
    compiler: Compiler,
    sources: Mapping[str, bytes],
    folder: Path,
    level: str,
    *,
    divided: bool,
) -> Built:
    """Run the command of a build on sources, in a folder that is new; ``level`` as workers have it.

    Raises SandboxError where the sandbox does not start.
    """
    theirs, scratch = folder / "sources", folder / "scratch"
    for made in (folder, theirs, scratch):
        made.mkdir(mode=0o755)
        made.chmod(0o755)
    for name, content in sources.items():
        (theirs / name).write_bytes(content)
        (theirs / name).chmod(0o644)
    group = limits.judge_group(limits.detect(), build.memory_mb * MIB)
    try:
        ended = _run(build, compiler, theirs, scratch, level, group, divided=divided)
        killed = group.why_killed() if group else ""
    finally:
        if group:
            group.close()
        shutil.rmtree(folder, ignore_errors=True)
    over = ended.over or (Resource.MEMORY if killed and ended.status else None)
    if over is None and ended.status not in (0, FAILED):
        told = ended.told.decode(errors="replace").strip().splitlines() or ["no message"]
        raise SandboxError(f"the sandbox of a compiler did not start: {told[-1]}")
    return _built(build, compiler, ended, over)


def _run(
    build: Build,
    compiler: Compiler,
    sources: Path,
    scratch: Path,
    level: str,
    group: "limits.Cgroup | None",
    *,
    divided: bool,
) -> Ended:
    confined = level == "bwrap"
    home = "/tmp" if confined else str(scratch)
    output = f"{home}/{build.file_name}"
    line = compiler.arguments(build, output)
    place = "/sources" if confined else str(sources)
    command = ["/bin/sh", "-c", SCRIPT, place, output, str(compiler.path), *line]
    passed: list[int] = []
    env = worker_environment(build.device, home)
    if confined:
        env = crossing(To.LAUNCHER)
        command, passed = confine(command, [(sources, place)], build.device, divided=divided)
    start = limits.inside(group) if group else limits.outside()
    size = build.file_mb * MIB
    allowed = Limits(build.seconds, size, build.cpu_seconds, build.memory_mb * MIB, file=size)
    try:
        return run([*start, *command], allowed, env=env, pass_fds=passed, clock=PACE)
    finally:
        for fd in passed:
            os.close(fd)


def _built(build: Build, compiler: Compiler, ended: Ended, over: Resource | None) -> Built:
    if over is None and not ended.status:
        if ended.output:
            return Built(ended.output)
        return Built(problem=f"{build.program} has made an empty file")
    # Where torch lies on this machine is nobody's business.
    told = ended.told.decode("utf-8", errors="replace").replace(f"{compiler.torch.parent}/", "")
    said = _cut(told)
    if over is None:
        return Built(problem=f"{build.program} could not build {', '.join(build.sources)}:\n{said}")
    what = {
        Resource.TIME: f"did not end within {build.seconds} s",
        Resource.CPU: f"needs more than {build.cpu_seconds} s of processor time",
        Resource.MEMORY: f"needs more than {build.memory_mb} MiB of memory",
    }.get(over, f"writes more than {build.file_mb} MiB")
    told = f"{build.program} {what} for {', '.join(build.sources)}"
    return Built(problem=f"{told}\n{said}".strip(), over=over)


def _cut(said: str) -> str:
    """Keep the first lines of what a compiler says, each of a length that can be read."""
    lines = [line for line in said[: 64 * MOST_CHARACTERS].splitlines() if line.strip()]
    kept = "\n".join(line[:240] for line in lines[:MOST_LINES])[:MOST_CHARACTERS]
    return kept if len(lines) <= MOST_LINES else f"{kept}\n… and more"
