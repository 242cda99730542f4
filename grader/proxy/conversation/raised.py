"""What a worker says that the submission raised; it may say anything."""

from collections.abc import Sequence
from typing import Any, cast

from grader.errors import Frame, StudentError, StudentMemory, SubmissionFault
from grader.proxy.loans.loans import MAX_NAME
from grader.wire.errors import WireError

MAX_FRAMES = 50
OUT_OF_MEMORY = {"MemoryError", "OutOfMemoryError"}


def raised(reply: dict[str, Any], lines: Sequence[str]) -> SubmissionFault:
    """Return the fault that a reply tells of: StudentError, or StudentMemory.

    ``lines`` is the submission's source. Raises WireError for what no worker of ours says.
    """
    kind, message, bases = reply.get("kind"), reply.get("message"), reply.get("bases")
    frames = reply.get("frames")
    if not isinstance(kind, str) or not isinstance(message, str):
        raise WireError("a malformed error")
    if not isinstance(bases, list) or not isinstance(frames, list):
        raise WireError("a malformed error")
    if len(cast(list[Any], frames)) > MAX_FRAMES:
        raise WireError("a malformed error")
    names = tuple(base[:MAX_NAME] for base in cast(list[Any], bases)[:50] if type(base) is str)
    if OUT_OF_MEMORY & {kind, *names}:
        return StudentMemory(message[:300] or "out of memory")
    seen = tuple(_frame(frame, lines) for frame in cast(list[Any], frames))
    return StudentError(kind[:MAX_NAME], message[:4000], names, seen)


def _frame(frame: Any, lines: Sequence[str]) -> Frame:
    match frame:
        case [int(line), str(function)]:
            # The source line is our own copy's: no file that a worker names is opened.
            inside = 1 <= line <= len(lines)
            source = lines[line - 1].strip()[:200] if inside else ""
            return Frame(line if inside else 0, function[:MAX_NAME], source)
        case _:
            raise WireError("a malformed error")
