"""What the sanitizer found: plain data, each mistake of a kernel once, with its first example."""

from dataclasses import asdict, dataclass
from typing import Any

MAX_FINDINGS = 20
MAX_DIGITS = 60  # of an index in a text


@dataclass(slots=True)
class Finding:
    """One mistake, at one line of a kernel.

    ``kind`` is one of "write-write", "read-write", "outside", "unwritten", "masked", "overflow",
    "too large", "waits", "grid". ``index`` has an entry for each axis of the tensor, or is the
    offset in elements where it lies in no tensor; None where no address is meant. ``program`` did
    it, ``other`` is the program before it. Both lines are of the file that was submitted.
    """

    kind: str
    line: int
    text: str
    tensor: str = ""
    index: tuple[int, ...] | None = None
    program: tuple[int, ...] = ()
    other: tuple[int, ...] | None = None
    other_line: int | None = None
    count: int = 1  # lanes, of all launches


class Findings:
    """Those of one probe."""

    def __init__(self) -> None:
        self._found: dict[tuple[Any, ...], Finding] = {}
        self.partial = False  # some were left out, or something could not be followed

    def add(self, finding: Finding) -> None:
        """Keep a finding, or count it with the first of its kind, tensor and lines."""
        key = finding.kind, finding.tensor, finding.line, finding.other_line
        known = self._found.get(key)
        if known is not None:
            known.count += finding.count
        elif len(self._found) < MAX_FINDINGS:
            self._found[key] = finding
        else:
            self.partial = True

    def plain(self) -> list[dict[str, Any]]:
        """Return them in the order in which they were found, as JSON could hold them."""
        return [asdict(finding) for finding in self._found.values()]


def place(tensor: str, index: tuple[int, ...] | None) -> str:
    """Return how a kernel's author would name an element."""
    inner = ", ".join(map(str, index or ()))
    return f"{tensor}[{inner[:MAX_DIGITS]}]"


def shown(program: tuple[int, ...]) -> str:
    """Return a program's ids, without the axes that the grid does not have."""
    return str(program[0]) if len(program) == 1 else str(program)
