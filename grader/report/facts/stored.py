"""A stored report JSON as a ``Report`` again: of another version, what is missing is empty."""

from collections.abc import Mapping
from typing import Any

from grader.labs.results import (
    ContractResult,
    Report,
    State,
    TaskResult,
    TestResult,
    Verdict,
)
from grader.report.facts.measured import listed, number_of, table_of, text_of

_VERDICTS = {verdict.value: verdict for verdict in Verdict}
_STATES = {state.value: state for state in State}


def report_of(data: Mapping[str, object]) -> Report:
    """Read the report of an attempt; it never fails on what an older grading wrote."""
    return Report(
        lab=int(number_of(data.get("lab")) or 0),
        topic=text_of(data.get("topic")),
        tasks=tuple(_task(table_of(entry)) for entry in listed(data.get("tasks"))),
        tests=tuple(_test(table_of(entry)) for entry in listed(data.get("tests"))),
        provenance=dict(table_of(data.get("provenance"))),
        partial=data.get("partial") is True,
        extras=dict(table_of(data.get("extras"))),
        contracts=tuple(_contract(table_of(entry)) for entry in listed(data.get("contracts"))),
    )


def _task(entry: Mapping[str, Any]) -> TaskResult:
    return TaskResult(
        id=text_of(entry.get("id")),
        title=text_of(entry.get("title")),
        points=number_of(entry.get("points")) or 0.0,
        score=number_of(entry.get("score")) or 0.0,
        graded=entry.get("graded") is True,
    )


def _test(entry: Mapping[str, Any]) -> TestResult:
    return TestResult(
        id=text_of(entry.get("id")),
        task=text_of(entry.get("task")),
        suite=text_of(entry.get("suite")),
        # What no verdict of ours says is nothing that a student did.
        verdict=_VERDICTS.get(text_of(entry.get("verdict")), Verdict.INFRA),
        message=text_of(entry.get("message")),
        seconds=number_of(entry.get("seconds")) or 0.0,
        output=text_of(entry.get("output")),
        contract=int(number_of(entry.get("contract")) or 0),
        function=text_of(entry.get("function")),
        halves=entry.get("halves") is True,
    )


def _contract(entry: Mapping[str, Any]) -> ContractResult:
    return ContractResult(
        number=int(number_of(entry.get("number")) or 0),
        task=text_of(entry.get("task")),
        says=text_of(entry.get("says")),
        state=_STATES.get(text_of(entry.get("state")), State.UNTRIED),
        points=number_of(entry.get("points")) or 0.0,
        score=number_of(entry.get("score")) or 0.0,
    )
