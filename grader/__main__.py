"""``python -m grader`` is the same program as ``lab``."""

import sys

try:
    from grader.cli.app import main
except ModuleNotFoundError as missing:
    # Without its packages the command line cannot start; the doctor needs none of them.
    print(f"error: the Python package {missing.name} is not installed", file=sys.stderr)
    print("hint: make setup, or python -m grader.cli.doctor for a diagnosis", file=sys.stderr)
    sys.exit(3)

if __name__ == "__main__":
    sys.exit(main())
