"""The step of lab 11 that is timed: a submission's runner and the baseline say the same."""

import gc
import importlib.util
import weakref
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from labs.timed import timed_step

ROOT = Path(__file__).resolve().parents[2]


def module_at(place: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(place).stem, ROOT / place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_runner_and_baseline_agree_in_any_order():
    answer = module_at("solutions/11_compiled/compiled.py")
    baseline = module_at("grader/suites/baseline_11_compiled.py")
    options = {"seed": 5, "layers": 2, "width": 128}
    steps = [torch.tensor([7, 1999, 30]), torch.tensor([4, 4, 810])]

    theirs = [timed_step(answer, tokens, **options).clone() for tokens in (*steps, steps[0])]
    ours = [baseline.timed_step(tokens, **options) for tokens in reversed(steps)]

    assert torch.equal(theirs[0], theirs[2])
    for got, want in zip(theirs, reversed(ours), strict=False):
        assert (got - want).norm() < 1e-2 * want.norm()
    assert (theirs[0] - theirs[1]).norm() > want.norm() / 2


def test_model_and_cache_outlive_a_runner_that_keeps_graphs_alone():
    """A graph reads their memory, but is no reason for it to stay."""
    made: list[weakref.ref[Any]] = []

    class Runner:
        def __init__(self, model: Any, cache: Any, sizes: list[int], make_graph: Any) -> None:
            made.extend((weakref.ref(model), weakref.ref(cache)))

        def step(self, tokens: list[int], positions: list[int], slots: list[int]) -> torch.Tensor:
            return torch.zeros(len(tokens), 5)

    answer = module_at("solutions/11_compiled/compiled.py")
    answer.GraphRunner = Runner
    timed_step(answer, torch.tensor([1, 2]), seed=6, layers=1, width=64)
    gc.collect()

    assert [x() is not None for x in made] == [True, True]
