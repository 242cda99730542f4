"""What the workers of a grading get, as one value that crosses between our processes."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from grader.sandbox.confinement import limits


@dataclass(frozen=True, slots=True)
class Setting:
    """What every worker of a grading gets."""

    stage: Path  # holds judge/, given/, submission/ and built/ as the worker sees them
    checkpoints: dict[str, Path]  # bound under given/labs/checkpoints
    given: tuple[str, ...]
    device: str
    level: str  # "bwrap" or "none"
    memory: int  # bytes
    processes: int
    rlimits: dict[str, int]
    output: int  # bytes kept
    threads: int = 1
    triton: bool = False  # the worker imports it before it is ready
    preload: tuple[str, ...] = ()  # modules that it imports too
    ranks: int = 1  # of the largest group; above 1 the worker may have to fork
    cage: str = field(default_factory=limits.detect)
    compiles: bool = False  # the worker compiles kernels for GPUs, and interprets none
    divided: bool = False  # each worker has a host user of its own

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Rebuild a setting that crossed to another process of ours."""
        checkpoints = {name: Path(path) for name, path in data["checkpoints"].items()}
        changed = {"stage": Path(data["stage"]), "checkpoints": checkpoints}
        names = {"given": tuple(data["given"]), "preload": tuple(data["preload"])}
        fields: dict[str, Any] = {**data, **changed, **names}
        return cls(**fields)

    def seen(self, part: str) -> str:
        """Return the path of a folder of the stage as the worker sees it."""
        return f"/{part}" if self.level == "bwrap" else str(self.stage / part)
