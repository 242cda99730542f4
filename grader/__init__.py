"""The judge: grade a submission of a lab without ever running student code in this process."""

from pathlib import Path

__version__ = "0.1.0"

ROOT = Path(__file__).resolve().parent.parent  # of the repository, or of an installation
