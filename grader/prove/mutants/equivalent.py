"""Why some mutants are no mistakes: ``solutions/NN_topic/equivalent.toml``.

A mutant is named by its definition and the line before and after, since numbers of lines change
with every edit. What names none any more is stale, and told.
"""

import tomllib
from collections.abc import Collection, Iterator

from grader.errors import LabError
from grader.labs.lab import Lab
from grader.labs.toml import Table
from grader.prove.files import EQUIVALENT, shown
from grader.prove.findings import Finding, verdict

Key = tuple[str, str, str]  # definition, line before, line after


def reasons_of(lab: Lab) -> dict[Key, str]:
    """Read the reasons of a lab; none without the file. Raises ``LabError``."""
    file = lab.solutions / EQUIVALENT
    if not file.is_file():
        return {}
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LabError(f"{shown(lab, file)}: {error}") from None
    table = Table(shown(lab, file), "", data)
    reasons: dict[Key, str] = {}
    for entry in table.tables("equal", ()):
        reasons |= _read(entry)
    table.finish()
    return reasons


def _read(entry: Table) -> dict[Key, str]:
    definition, before = entry.text("in", ""), entry.text("before")
    reason = entry.text("reason")
    after = entry.value("after")
    # A line that is dropped leaves an empty one.
    lines = [after] if isinstance(after, str) else list(entry.texts("after"))
    entry.finish()
    return {(definition, before, line): reason for line in lines}


def stale(lab: Lab, reasons: Collection[Key], known: Collection[Key]) -> Iterator[Finding]:
    """Give a finding for each reason that names no mutant."""
    file = shown(lab, lab.solutions / EQUIVALENT)
    for key in reasons:
        if key not in known:
            definition, before, after = key
            details = (f"  in:     {definition}", f"  before: {before}", f"  after:  {after}")
            rule = "each reason is of a mutant"
            yield verdict(lab.name, rule, file, "there is none like this", "", details)
