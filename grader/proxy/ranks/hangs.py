"""Why a call of a group did not end well, in one fault: who failed, and where the others waited."""

from collections.abc import Mapping, Sequence

from grader.errors import StudentError, StudentTimeout, SubmissionFault
from grader.proxy.ranks.ranks import Whereabouts

# What a rank raises because another is gone.
BEREAVED = ("closed by peer", "connection reset", "broken pipe", "remote process exited", "socket")


def explain(
    faults: Mapping[int, SubmissionFault],
    stuck: Mapping[int, Whereabouts],
    returned: Sequence[int],
    lines: Sequence[str],
) -> SubmissionFault:
    """Return the fault to report, its message with what became of the other ranks.

    ``faults``, not empty, and ``stuck`` are by rank; ``lines`` is the submission's source.
    """
    rank = min(faults, key=lambda r: (_is_consequence(faults[r]), r))
    fault = faults[rank]
    same = [r for r in faults if type(faults[r]) is type(fault) and str(faults[r]) == str(fault)]
    late = isinstance(fault, StudentTimeout)
    more = [f"  {_where(r, stuck[r], lines)}" for r in sorted(stuck) if late or r != rank]
    if more and returned:
        more.append(f"  {_named(returned)} returned")
    text = str(fault) if late else f"{_named(same)}: {fault}"
    return _with(fault, "\n".join([text, *more]))


def _is_consequence(fault: SubmissionFault) -> int:
    """Return how likely it is that another rank's fault led to this one: 0, 1 or 2."""
    if isinstance(fault, StudentError):
        return 2 * any(sign in fault.message.lower() for sign in BEREAVED)
    return 1 * isinstance(fault, StudentTimeout)


def _with(fault: SubmissionFault, text: str) -> SubmissionFault:
    """Return the fault with another text."""
    if isinstance(fault, StudentError):
        changed = StudentError(fault.kind, fault.message, fault.bases, fault.frames)
        changed.args = (text,)
        return changed
    return type(fault)(text)


def _named(ranks: Sequence[int]) -> str:
    listed = ", ".join(map(str, ranks))
    return f"rank {listed}" if len(ranks) == 1 else f"ranks {listed}"


def _where(rank: int, place: Whereabouts, lines: Sequence[str]) -> str:
    """Return a line that says where a rank is, as far as it can be known."""
    kind, begun_at = place.last or ("", 0)
    line, function = place.frames[-1] if place.frames else (begun_at, "")
    source = lines[line - 1].strip()[:200] if 1 <= line <= len(lines) else ""
    if not source:
        return f"rank {rank} waits, and not in a line of the code"
    # On a GPU a collective is waited for later, in a line that is not the submission's.
    waits = kind and (begun_at == line or not place.frames)
    doing = f"waits in {kind} (collective {place.begun} of its own)" if waits else "is"
    inside = f" in {function}" if function else ""
    return f"rank {rank} {doing} at line {line}{inside}: {source}"
