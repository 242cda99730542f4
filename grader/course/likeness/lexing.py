"""Give code to the process that reads it for a comparison, and believe little of its reply.

Many files go together, since a process costs as much as a file; where that meets a limit, each is
read alone, and the one that meets it is the one that is not compared. Both together are what one
file may take.
"""

import json
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grader import ROOT
from grader.course.likeness.tokens import is_significant
from grader.environment import To, crossing
from grader.errors import JudgeError
from grader.limited import Ended, Limits, Resource, run

TOGETHER = 512 << 10  # characters
BUDGET = 300.0  # seconds of processor time for all texts of one call
LIMITS = Limits(seconds=120.0, cpu_seconds=3, memory=512 << 20, output=8 << 20)  # of one file
_BOOT = (
    f"import sys; sys.path.append({str(ROOT)!r});"
    " from grader.course.likeness.tokens import main; main()"
)


@dataclass(frozen=True, slots=True)
class Part:
    """What counts of a text, and where in it what counts of each line of the text begins."""

    text: str
    starts: Sequence[int]  # by line, from the first one; none is below the one before

    def line(self, place: int) -> int:
        """Return the line that a place of ``text`` is on; lines count from 1."""
        return max(1, bisect_right(self.starts, place))


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a text was not read."""

    why: str


def significant_parts(texts: Sequence[str]) -> list[Part | Unread]:
    """Return what counts of each text, in order; raises JudgeError if nothing can be read here.

    Short texts are read first, so that what takes long leaves no time to itself alone.
    """
    found: dict[int, Part | Unread] = {}
    left = BUDGET
    for batch in _batches(texts):
        if left <= 0:
            late = Unread("the time for reading this class was used up by longer and slower files")
            found |= dict.fromkeys(batch, late)
            continue
        parts, spent = _read_batch([texts[at] for at in batch])
        left -= spent
        found |= dict(zip(batch, parts, strict=True))
    return [found[at] for at in range(len(texts))]


def _read_batch(texts: list[str]) -> tuple[list[Part | Unread], float]:
    """Read some texts, and say how many seconds of processor time that took."""
    shared = replace(LIMITS, cpu_seconds=2 * LIMITS.cpu_seconds)
    whole, spent = _read(texts, shared if len(texts) > 1 else LIMITS)
    if isinstance(whole, list):
        return [*whole], spent
    if len(texts) == 1:
        return [whole], spent
    found: list[Part | Unread] = []
    for text in texts:
        alone, more = _read([text], LIMITS)
        found += alone if isinstance(alone, list) else [alone]
        spent += more
    return found, spent


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield the places of texts that are read together, short ones first."""
    batch: list[int] = []
    together = 0
    for at in sorted(range(len(texts)), key=lambda at: len(texts[at])):
        if batch and together + len(texts[at]) > TOGETHER:
            yield batch
            batch, together = [], 0
        batch.append(at)
        together += len(texts[at])
    if batch:
        yield batch


def _read(texts: list[str], limits: Limits) -> tuple[list[Part] | Unread, float]:
    """Read some texts in one process; what is wrong with it is what is wrong with all of them."""
    line = [sys.executable, "-I", "-B", "-X", "utf8", "-c", _BOOT]
    env = crossing(To.READER)
    try:
        ended = run(line, limits, stdin=json.dumps(texts).encode(), env=env)
    except OSError as error:
        raise JudgeError(f"the reader of code cannot start: {error}") from None
    if ended.over is not None:
        over = ended.over is Resource.CPU
        spent = max(ended.processor, limits.cpu_seconds if over else 0.0)
        return Unread(f"reading it {limits.told(ended.over)}"), spent
    if ended.status < 0:
        return Unread(f"reading it ended by signal {-ended.status}"), ended.processor
    return _reply(ended, texts), ended.processor


def _reply(ended: Ended, texts: list[str]) -> list[Part]:
    try:
        if ended.status:
            raise ValueError(ended.told[-400:].decode("utf-8", "replace"))
        reply = json.loads(ended.output)
    except ValueError as error:
        raise JudgeError(f"the reader of code failed: {error}") from None
    if not is_significant(reply, texts):
        raise JudgeError("the reader of code failed: its reply is not what was asked for")
    return [Part(text, array("i", starts)) for text, starts in reply]
