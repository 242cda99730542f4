"""Give code to the process that reads it for a comparison, and believe little of its reply.

Many files go together, since a process costs as much as a file; where that meets a limit, each is
read alone, and the one that meets it is the one that is not compared. Both together are what one
file may take.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grader import ROOT
from grader.course.gradebook.tokens import is_significant
from grader.environment import To, crossing
from grader.errors import JudgeError
from grader.limited import Ended, Limits, run

TOGETHER = 512 << 10  # characters
LIMITS = Limits(seconds=120.0, cpu_seconds=3, memory=512 << 20, output=8 << 20)  # of one file
_BOOT = (
    f"import sys; sys.path.append({str(ROOT)!r});"
    " from grader.course.gradebook.tokens import main; main()"
)


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a text was not read."""

    why: str


def significant_parts(texts: Sequence[str]) -> list[str | Unread]:
    """Return what counts of each text, in order; raises JudgeError if nothing can be read here."""
    found: list[str | Unread] = []
    for batch in _batches(texts):
        shared = replace(LIMITS, cpu_seconds=2 * LIMITS.cpu_seconds)
        whole = _read(batch, shared if len(batch) > 1 else LIMITS)
        if isinstance(whole, Unread) and len(batch) > 1:
            for text in batch:
                alone = _read([text], LIMITS)
                found += [alone] if isinstance(alone, Unread) else alone
        else:
            found += [whole] if isinstance(whole, Unread) else whole
    return found


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        if batch and sum(map(len, batch)) + len(text) > TOGETHER:
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


def _read(texts: list[str], limits: Limits) -> list[str] | Unread:
    """Read some texts in one process; what is wrong with it is what is wrong with all of them."""
    line = [sys.executable, "-I", "-B", "-X", "utf8", "-c", _BOOT]
    env = crossing(To.READER)
    try:
        ended = run(line, limits, stdin=json.dumps(texts).encode(), env=env)
    except OSError as error:
        raise JudgeError(f"the reader of code cannot start: {error}") from None
    if ended.over is not None:
        return Unread(f"reading it {limits.told(ended.over)}")
    if ended.status < 0:
        return Unread(f"reading it ended by signal {-ended.status}")
    return _reply(ended, texts)


def _reply(ended: Ended, texts: list[str]) -> list[str]:
    try:
        if ended.status:
            raise ValueError(ended.told[-400:].decode("utf-8", "replace"))
        reply = json.loads(ended.output)
    except ValueError as error:
        raise JudgeError(f"the reader of code failed: {error}") from None
    if not is_significant(reply, texts):
        raise JudgeError("the reader of code failed: its reply is not what was asked for")
    return reply
