"""Run a script and write down what its kernels move and compute: for ``lab bench lab --file``.

It runs with the rights of whoever asks, as any script would; nothing is graded by it.
"""

import json
import runpy
import sys
from pathlib import Path

from grader.worker.kernels import interpreter


def main() -> None:
    """Run the script named first beside a meter, and write the file named second."""
    file, out = sys.argv[1:]
    interpreter.prepare("cpu")
    from grader.worker.metering.meter import Meter  # takes the interpreter as it is now

    sys.argv = [file]
    sys.path[0] = str(Path(file).resolve().parent)
    meter = Meter()
    try:
        runpy.run_path(file, run_name="__main__")
    finally:
        Path(out).write_text(json.dumps(meter.stop()), encoding="utf-8")


if __name__ == "__main__":
    main()
