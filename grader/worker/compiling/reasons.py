"""Why torch compiled a piece of code again, by the record that it keeps of each."""

import re
from typing import Any

LIMIT = "recompile_limit"  # of torch, on graphs of one function


def reason_of(record: Any, own: str = "") -> str:
    """Return why torch compiled a piece of code again, or not at all; "" for the first time.

    ``own`` is the submission's file: others are named. Torch says
    ``0/1: place == 3  # the line of code  # path:7 in step`` and a stack.
    """
    if LIMIT in str(record.fail_reason):
        return f"torch keeps no more graphs of one function than these ({LIMIT})"
    if broken := re.fullmatch(r"torch_dynamo_resume_in_(\w+)_at_(\d+)", record.co_name or ""):
        other = _other(str(record.co_filename or ""), own)
        return f"the graph breaks in {broken[1]}, at line {broken[2]}{other}"
    first, *_ = str(record.recompile_reason or "").splitlines() or [""]
    guard = re.sub(r"^\d+/\d+: ", "", first).partition("  # ")[0].strip()
    place = re.search(r"(\S*):(\d+) in (\S+)$", first.strip())
    if place is None:
        return guard[:120]
    return f"{guard[:120]} (line {place[2]}{_other(place[1], own)}, in {place[3]})"


def _other(file: str, own: str) -> str:
    """Name a file that is not the submission's; what torch cuts short is told by its end."""
    name = file.rpartition("/")[2]
    return f" of {name}" if own and name and name != own.rpartition("/")[2] else ""
