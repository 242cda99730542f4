"""What the sanitizer says of kernels, held to its form, and how a student reads it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.errors import Mismatch
from grader.proxy.instruments.readings import UNCOUNTED

MAX_FOUND = 20
SHOWN = 3
TOO_LARGE = "too large"
INTRODUCTION = "the kernels do what a GPU does not forgive (docs/sanitizer.md)"


@dataclass(frozen=True, slots=True)
class Mistake:
    """What the sanitizer found at a line of the submission, by kind; ``text`` is a sentence."""

    kind: str
    line: int
    tensor: str
    text: str
    count: int


@dataclass(slots=True)
class Sanitized:
    """What kernels did that a GPU would not forgive; ``partial`` where not all was followed."""

    found: list[Mistake] = field(default_factory=list[Mistake])
    partial: bool = False

    @property
    def unsound(self) -> list[Mistake]:
        """What no GPU forgives; a block may be too large for one card and fit another."""
        return [mistake for mistake in self.found if mistake.kind != TOO_LARGE]

    def take(self, reading: list[Any]) -> None:
        """Take what the conversation's ``probe`` has left, or raise Mismatch."""
        match reading:
            case [{"findings": list(findings), "partial": bool(partial)}]:
                self.partial = partial
                self.found = mistakes(findings)
            case _:
                raise Mismatch(UNCOUNTED)


def mistakes(findings: Sequence[Any]) -> list[Mistake]:
    """Return what a worker says was found, or raise Mismatch."""
    return [_mistake(item) for item in findings[:MAX_FOUND]]


def _mistake(item: Any) -> Mistake:
    match item:
        case {
            "kind": str(kind),
            "line": int(line),
            "tensor": str(tensor),
            "text": str(text),
            "count": int(count),
        }:
            return Mistake(kind[:20], line, tensor[:60], text[:500], count)
        case _:
            raise Mismatch(UNCOUNTED)


def told(found: Sequence[Mistake], lines: Sequence[str]) -> str:
    """Return a message that shows the first mistakes, each at its line of the submission."""
    shown = [INTRODUCTION]
    before: int | None = None
    for mistake in found[:SHOWN]:
        if mistake.line != before:
            known = 0 < mistake.line <= len(lines)
            source = lines[mistake.line - 1].strip()[:200] if known else ""
            shown.append(f"  line {mistake.line}: {source}".rstrip(": "))
            before = mistake.line
        shown.append(f"    {mistake.kind}: {mistake.text}")
    if len(found) > SHOWN:
        shown.append(f"  and {len(found) - SHOWN} more like these")
    return "\n".join(shown)
