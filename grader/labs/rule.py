"""What a lab forbids in the code of a submission."""

from dataclasses import dataclass

from grader.labs.toml import Table


@dataclass(frozen=True, slots=True)
class Rule:
    """What a lab forbids: names and operators, or all of a package but the members in ``only``."""

    reason: str
    forbid: tuple[str, ...] = ()  # dotted names; each covers what lies below it
    aten: tuple[str, ...] = ()  # patterns of operator names
    package: str = ""
    only: tuple[str, ...] = ()


def read_rule(table: Table) -> Rule:
    """Read one ``[[rules]]``."""
    rule = Rule(
        reason=table.text("reason"),
        forbid=table.texts("forbid", ()),
        aten=table.texts("aten", ()),
        package=table.text("package", ""),
        only=table.texts("only", ()),
    )
    table.finish()
    if rule.package and (rule.forbid or rule.aten):
        raise table.error("package", "cannot stand beside forbid or aten: write two rules")
    if not (rule.package or rule.forbid or rule.aten):
        raise table.error("forbid", "is missing (or aten, or package with only)")
    if rule.only and not rule.package:
        raise table.error("only", "needs package")
    return rule
