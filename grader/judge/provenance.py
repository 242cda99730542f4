"""Where a report comes from: what was graded, with which software, seed and isolation."""

import platform
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from grader import __version__
from grader.judge.setup.request import Request
from grader.labs.documents.submission import Submission
from grader.sandbox.level import bubblewrap
from grader.sandbox.setting import Setting


def begun(
    request: Request, submission: Submission, seed: int, setting: Setting, why_not: str
) -> dict[str, Any]:
    """Describe a grading that begins now; ``why_not`` says why it is not isolated, if it is not."""
    found: dict[str, Any] = {
        "submission_sha256": submission.sha256,
        "seed": seed,
        "sandbox": setting.level,
        "device": setting.device,
        "python": platform.python_version(),
        "torch": _version("torch"),
        "triton": _version("triton"),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": 0.0,
        "limits": setting.cage,
        "inferlab": __version__,
    }
    if submission.notes:
        found["notebook"] = list(submission.notes)
    if setting.level == "bwrap":
        found["isolated_by"] = bubblewrap()
    if setting.level == "none":
        found["not_isolated"] = why_not
    if request.suite == "public" or not request.lab.hidden_suite.is_file():
        found["suite"] = "public"  # its points do not compare with those of all tests
    return found


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
