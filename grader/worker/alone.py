"""Run a script of yours with Triton exactly as a worker has it: ``make python LAB=6 FILE=mine.py``.

Outside of a worker the interpreter is Triton's own: its ``tl.dot`` of bfloat16 multiplies bit
patterns, and says nothing of it.
"""

import runpy
import sys
from pathlib import Path

from grader.worker import interpreter


def main() -> None:
    """Prepare Triton for the device named first, then run the script named second."""
    device, file, *rest = sys.argv[1:]
    interpreter.prepare(device)
    sys.argv = [file, *rest]
    sys.path[0] = str(Path(file).resolve().parent)
    runpy.run_path(file, run_name="__main__")


if __name__ == "__main__":
    main()
