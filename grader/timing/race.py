"""A race: one function of the submission against a baseline of ours, at one size."""

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType

from torch import Generator, Tensor

from grader.labs.lab import Lab


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Race:
    """What is timed: a public name of the submission, called alike on both sides.

    A name of given code is called with the submission's module first, of the baseline's without.

    ``inputs`` makes the tensors of one call on the generator's device, fresh values each time: let
    them vary in scale and offset, so that what is right for tame values only loses. ``bytes`` and
    ``flops`` are the least that a call must move through the GPU's memory, and must compute.
    """

    function: str
    case: str  # shown to the student
    inputs: Callable[[Generator], tuple[Tensor, ...]]
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    compare: str = "elementwise"  # row of the tolerance table for the outputs
    bytes: int
    flops: int = 0
    size: float = 0.0  # x in the plot, in ``axis``
    axis: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from the other races of a lab."""
        return self.function, self.case


def load_baseline(lab: Lab) -> ModuleType:
    """Import the baseline into the judge, where it is the trusted implementation."""
    spec = importlib.util.spec_from_file_location(f"baseline_{lab.name}", lab.baseline)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
