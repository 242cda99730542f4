"""Run a script of yours with Triton exactly as a worker has it: ``make python LAB=6 FILE=mine.py``.

Outside of a worker the interpreter is Triton's own: its ``tl.dot`` of bfloat16 multiplies bit
patterns, and says nothing of it. At the end stands what the sanitizer found, where it is asked for.
"""

import linecache
import runpy
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from grader.worker.kernels import interpreter

SANITIZE = "--sanitize"
MOST = 10  # mistakes shown


def main() -> None:
    """Prepare Triton for the device named first, then run the script named second."""
    sanitize = sys.argv[1] == SANITIZE
    device, file, *rest = sys.argv[1 + sanitize :]
    interpreter.prepare(device)
    sys.argv = [file, *rest]
    sys.path[0] = str(Path(file).resolve().parent)
    if sanitize:
        _run_sanitized(file)
    else:
        runpy.run_path(file, run_name="__main__")


def _run_sanitized(file: str) -> None:
    from grader.worker.sanitizer.sanitizer import Sanitizer  # imports torch and Triton

    probe = Sanitizer()
    try:
        with probe:
            runpy.run_path(file, run_name="__main__")
    finally:
        reading = probe.stop()
        sys.stdout.flush()
        if probe.launches:
            print(*told(reading, probe.files), sep="\n", file=sys.stderr)


def told(reading: dict[str, Any], files: dict[int, set[str]]) -> Iterable[str]:
    """Tell of what was found, each mistake with the text of its lines; ``files`` has theirs."""
    found = reading["findings"]
    if not found:
        yield "sanitizer: no mistake found in the launches of this run"
    else:
        mistakes = f"{len(found)} mistake{'s' * (len(found) > 1)}"
        yield f"sanitizer: {mistakes} that a GPU would not forgive"
    for number, mistake in enumerate(found[:MOST], 1):
        lanes = f" ({mistake['count']:,} lanes in all)" if mistake["count"] > 1 else ""
        yield f"\n{number}. {mistake['kind']}: {mistake['text']}{lanes}"
        for line in dict.fromkeys((mistake["line"], mistake["other_line"])):
            for name in sorted(files.get(line, ())):
                yield f"   {Path(name).name}:{line}: {linecache.getline(name, line).strip()}"
    if len(found) > MOST:
        yield f"\nand {len(found) - MOST} more"
    if reading["partial"]:
        yield "not all could be followed: a smaller launch shows more"


if __name__ == "__main__":
    main()
