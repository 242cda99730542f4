"""The kernels of a submission that are left to Triton's autotuner, each with what it may choose."""

import importlib
import sys
from collections.abc import Iterator
from typing import Any

from grader.worker.metering.meter import line_of

MOST = 20  # kernels
MOST_CONFIGS = 100  # of one
MOST_TEXT = 200  # characters of a configuration
MODULE = "submission"


def tuned() -> list[dict[str, Any]]:
    """Return the kernels at the top level of the submission's file, in the order of their lines."""
    tuner: Any = importlib.import_module("triton.runtime.autotuner").Autotuner
    found = {id(value): value for value in vars(sys.modules[MODULE]).values()}.values()
    told = [_told(value) for value in found if isinstance(value, tuner)]
    return sorted(told, key=lambda kernel: kernel["line"])[:MOST]


def _told(tuner: Any) -> dict[str, Any]:
    function = tuner.fn
    while hasattr(function, "fn"):
        function = function.fn
    return {
        "kernel": function.__qualname__,
        "line": line_of(function),
        "keys": [str(key) for key in tuner.keys],
        "configs": [", ".join(_options(config)) for config in tuner.configs[:MOST_CONFIGS]],
    }


def _options(config: Any) -> Iterator[str]:
    yield from (f"{name}={value}"[:MOST_TEXT] for name, value in config.kwargs.items())
    yield f"num_warps={config.num_warps}"
    yield f"num_stages={config.num_stages}"
