"""``python -m grader`` is the same program as ``lab``.

Where the environment changes what Python does (``PYTHONPATH``, ``PYTHONOPTIMIZE``,
``PYTHONWARNINGS`` …) the program starts itself anew with a Python that does not look at it. The
environment stays: a script that a student runs has it.
"""

import os
import sys
from collections.abc import Sequence

from grader import ROOT

# These change nothing that a command does, and are not worth a second start.
HARMLESS = frozenset(
    {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONHASHSEED"}
    | {"PYTHONIOENCODING", "PYTHONNOUSERSITE", "PYTHONSAFEPATH", "PYTHONBREAKPOINT"}
    | {"PYTHONSTARTUP", "PYTHON_COLORS", "PYTHON_HISTORY", "PYTHON_BASIC_REPL"}
)
AGAIN = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
    "from grader.__main__ import main; sys.exit(main())"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, that of this process unless ``arguments`` say another; return its code."""
    if arguments is None and not sys.flags.isolated and any(map(_matters, os.environ)):
        flags = ["-I", "-B"] if sys.flags.dont_write_bytecode else ["-I"]
        os.execv(sys.executable, [sys.executable, *flags, "-c", AGAIN, *sys.argv[1:]])
    try:
        from grader.cli.app import main as run
    except ModuleNotFoundError as missing:
        # Without its packages the command line cannot start; the doctor needs none of them.
        print(f"error: the Python package {missing.name} is not installed", file=sys.stderr)
        print("hint: make setup, or python -m grader.cli.doctor for a diagnosis", file=sys.stderr)
        return 3
    return run(arguments)


def _matters(name: str) -> bool:
    return name.startswith("PYTHON") and name not in HARMLESS


if __name__ == "__main__":
    sys.exit(main())
