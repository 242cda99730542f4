"""Static rules: which tasks a submission loses for what it imports and calls.

This polices a lab's rules; it is no security boundary, and it never punishes honest code. So what
is not certain is let through and left to the guard at run time: names behind several hands,
strings that are computed, what another function returns. The standard library is allowed without
exception, ``subprocess`` and ``ctypes`` too: the sandbox, not a word list, confines a submission.
"""

import fnmatch
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.labs.documents.submission import Submission
from grader.labs.lab import PSEUDOCODE, Lab
from grader.labs.results import RULES, Expected, TestResult, Verdict
from grader.labs.rule import Rule
from grader.labs.task import Task
from grader.readers import Budget
from grader.reading.cursor import MODULE
from grader.reading.reader import Facts, Fault, Reader, Reference, read_code

_SHOWN = 5  # violations in one message
# The same function under other names: its C binding, its operator, its functional form.
_SPELLINGS = re.compile(
    r"torch\.(?:nn\.functional|functional|_VF|_C\._nn|_C\._VariableFunctions|ops\.aten)"
    r"\.(?P<name>\w+)(?:\.(?:default|\w*overload\w*))?"
)
_OPERATORS = re.compile(
    r"torch\.(?:ops\.aten|_VF|_C\._nn|_C\._VariableFunctions)\.(?P<name>\w+)(?:\.\w+)?"
    r"|torch\.(?P<low>_\w+|native_\w+)"
)
_MODULES = re.compile(r"torch\.nn\.modules\.(?:[a-z_]+\.)?(?P<name>[A-Z]\w*)")
# What an allowed loader returned: a model that is run is more than its weights.
_RUN = re.compile(
    r"(?P<maker>.*?)\(\)"
    r"(?:\.(?:to|eval|train|cpu|cuda|half|float|double|bfloat16|requires_grad_)\(\))*"
    r"(?:(?:\.\w+)*\.(?:generate|forward|__call__|model|base_model|lm_head))?"
)
_IS_MODEL = re.compile(r"Model|For[A-Z]|LMHead")


@dataclass(frozen=True, slots=True)
class Violation:
    """One forbidden use and the tasks that it costs."""

    line: int
    name: str
    reason: str
    tasks: tuple[str, ...]

    def __str__(self) -> str:
        return f"line {self.line}: {self.name} is not allowed: {self.reason}"


@dataclass(frozen=True, slots=True)
class StaticReport:
    """What can be said of a submission's code without running it."""

    fault: Fault | None
    violations: tuple[Violation, ...] = ()
    signatures: dict[str, str] | None = None
    logical_lines: int = 0
    annotated: float | None = None  # share of arguments with an annotation, None without any
    builds_on: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])


def static_check(
    lab: Lab, submission: Submission, read: Reader = read_code, budget: Budget | None = None
) -> StaticReport:
    """Read the code, in a limited process, and hold it against the lab's rules."""
    facts = read(submission.code, budget or Budget())
    if facts.fault is not None:
        return StaticReport(facts.fault)
    share = facts.annotated / facts.arguments if facts.arguments else None
    return StaticReport(
        *(
            None,
            find_violations(lab, facts, submission.source),
            facts.signatures,
            facts.logical_lines,
            share,
        ),
        builds_on=find_foundations(lab, facts),
    )


def rule_of(task_id: str) -> str:
    """Return the id of the gate that a task's rules are."""
    return f"rules[{task_id}]"


def rule_tests(lab: Lab) -> tuple[Expected, ...]:
    """List the manifest's lines: a gate without weight for each task."""
    return tuple(
        Expected(rule_of(task.id), task.id, RULES, weight=0.0, gate=True) for task in lab.tasks
    )


def rule_results(lab: Lab, submission: Submission, static: StaticReport) -> tuple[TestResult, ...]:
    """Give the verdict of each task's gate."""
    return tuple(_result(task, submission, static) for task in lab.tasks)


def _result(task: Task, submission: Submission, static: StaticReport) -> TestResult:
    verdict, message = Verdict.PASSED, ""
    found = [violation for violation in static.violations if task.id in violation.tasks]
    if task.id == PSEUDOCODE:
        # Words are graded as words, whatever is wrong with the code.
        verdict = Verdict.NOT_GRADED if submission.single_file else Verdict.PASSED
    elif task.alone:
        pass  # none of the code runs: nothing of it can be wrong
    elif static.fault is not None:
        verdict, message = Verdict.ERROR, str(static.fault)
    elif found:
        lines = [str(violation) for violation in found]
        more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        verdict, message = Verdict.FAILED, "\n".join(lines[:_SHOWN] + more)
    return TestResult(rule_of(task.id), task.id, RULES, verdict, message)


def find_violations(lab: Lab, facts: Facts, source: Path | None = None) -> tuple[Violation, ...]:
    """Find what breaks the lab's rules, in the order of lines, each once.

    ``source`` is the folder or file that the submission was taken from.
    """
    costs = _costs(lab, facts) | _costs_at_import(lab, facts)
    found: dict[tuple[int, str, str], Violation] = {}
    for use, name, reason in [*_imports(lab, facts, source), *_uses(lab, facts)]:
        key = (use.line, name, use.unit)
        found.setdefault(key, Violation(use.line, name, reason, costs.get(use.unit, ())))
    return tuple(found[key] for key in sorted(found))


def _costs(lab: Lab, facts: Facts) -> dict[str, tuple[str, ...]]:
    """Map each unit to the tasks that contain or reach it."""
    costs: dict[str, tuple[str, ...]] = {}
    below = _below_each(facts)
    for task in lab.tasks:
        for unit in _reached(below, (name.partition(".")[0] for name in task.functions)):
            costs[unit] = (*costs.get(unit, ()), task.id)
    return costs


def _costs_at_import(lab: Lab, facts: Facts) -> dict[str, tuple[str, ...]]:
    """Map what runs when the file is imported to all tasks: where its results go is not known."""
    every = tuple(task.id for task in lab.tasks if task.id != PSEUDOCODE)
    return dict.fromkeys(_reached(_below_each(facts), [MODULE]), every)


def _below_each(facts: Facts) -> dict[str, set[str]]:
    below: dict[str, set[str]] = {}
    for user, used in facts.edges:
        below.setdefault(user, set()).add(used)
    return below


def _reached(below: Mapping[str, set[str]], units: Iterable[str]) -> set[str]:
    """Return units and all that they build on."""
    todo, reached = [*units], set[str]()
    while todo:
        unit = todo.pop()
        if unit not in reached:
            reached.add(unit)
            todo += below.get(unit, ())
    return reached


def find_foundations(lab: Lab, facts: Facts) -> dict[str, list[str]]:
    """Map each public function to the tasks of others that its code reaches, in the lab's order."""
    edges = _below_each(facts)
    own = {task.id: {name.partition(".")[0] for name in task.functions} for task in lab.tasks}
    below: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for names in own.values() for name in sorted(names)):
        reached = _reached(edges, [name])
        below[name] = [t for t, names in own.items() if name not in names and names & reached]
    return {name: tasks for name, tasks in below.items() if tasks}


Found = tuple[Reference, str, str]  # the use, the name to show, the reason


def _imports(lab: Lab, facts: Facts, source: Path | None) -> list[Found]:
    given = [f"labs.{name}" for name in lab.given]
    allowed = ", ".join([*lab.imports, *given, "the standard library"])
    found: list[Found] = []
    for use in facts.imports:
        top = use.name.partition(".")[0]
        if use.name.startswith("."):
            reason = f"relative imports lead nowhere; {_alone(lab, use.name.strip('.'))}"
        elif top in sys.stdlib_module_names or top in lab.imports or use.name == "labs":
            continue
        elif any(_below(use.name, name) for name in given):
            continue
        elif _is_own_file(top, source):
            reason = _alone(lab, use.name)
        else:
            reason = f"this lab may import {allowed}; {_alone(lab, '')}"
        found.append((use, f"import of {use.name}", reason))
    return found


def _alone(lab: Lab, name: str) -> str:
    """Say what to do with a file of the student's own."""
    what = f"what you need of {name}" if name else "what you need of others"
    return f"of your own files {lab.code_name} alone is graded: move {what} into it"


def _is_own_file(name: str, source: Path | None) -> bool:
    """Tell whether a module is a file beside the submission."""
    folders = (source, source.parent) if source is not None else ()
    places = (folder / place for folder in folders for place in (f"{name}.py", name))
    return any(map(os.path.lexists, places))


def _uses(lab: Lab, facts: Facts) -> list[Found]:
    found: list[Found] = []
    for use in facts.references:
        for rule in lab.rules:
            if use.kind != "check" and _breaks(rule, use):
                found.append((use, _shown(use.name), rule.reason))
                break
    for use in facts.methods:
        # A method of unknown origin: only where no class of the file has one of that name.
        for rule in lab.rules:
            name = f"torch.Tensor.{use.name}"
            if name in rule.forbid and use.name not in facts.members:
                found.append((use, name, rule.reason))
    return found


def _shown(name: str) -> str:
    maker, ran, _ = name.partition("()")
    return f"running what {maker} returned" if ran else name


def _breaks(rule: Rule, use: Reference) -> bool:
    if rule.package:
        return _below(use.name, rule.package) and _misuses(rule, use)
    name = _canonical(use.name)
    if any(_below(name, _canonical(forbidden)) for forbidden in rule.forbid):
        return True
    operator = _OPERATORS.fullmatch(use.name)
    if operator is None:
        return False
    leaf = operator["name"] or operator["low"]
    return any(fnmatch.fnmatchcase(leaf, pattern) for pattern in rule.aten)


def _misuses(rule: Rule, use: Reference) -> bool:
    """True for a call of anything but the members in ``only``, and for running what they load."""
    if use.kind == "base":
        return True
    if use.kind != "call":
        return False
    if "()" not in use.name:
        parts = use.name.split(".")
        # Silencing a library's log computes nothing.
        return parts[-1] not in rule.only and "logging" not in parts
    run = _RUN.fullmatch(use.name)
    if run is None:
        return False
    maker, _, member = run["maker"].rpartition(".")
    return member in rule.only and _IS_MODEL.search(maker.rpartition(".")[2]) is not None


def _canonical(name: str) -> str:
    """Give one spelling to a function of torch that has several."""
    spelled = _SPELLINGS.fullmatch(name)
    if spelled is not None:
        return f"torch.{spelled['name']}"
    module = _MODULES.fullmatch(name)
    return f"torch.nn.{module['name']}" if module is not None else name


def _below(name: str, top: str) -> bool:
    return name == top or name.startswith(top + ".")
