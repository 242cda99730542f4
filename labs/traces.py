"""Given code: what hands the events of a trace from one function of yours to another.

The grader uses it for long traces, whose events need not leave your process. Two traces of the
given Llama lie beside the checkpoints, of a CPU and of an H200; ``python -m labs.record`` has
recorded them, and records others.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

Events = list[dict[str, Any]]

RECORDED = Path(__file__).parent / "checkpoints" / "decode_trace.json.gz"
RECORDED_ON_A_GPU = RECORDED.with_name("gpu_decode_trace.json.gz")


def through(read: Callable[[str], Events], use: Callable[[Events], Any], path: str) -> Any:
    """Return what ``use`` makes of the events that ``read`` finds at ``path``."""
    return use(read(path))
