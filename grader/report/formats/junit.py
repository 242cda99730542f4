"""A report as JUnit XML: one test suite per task.

The elements and attributes are those that the Ant schema demands and Jenkins and GitLab read.
"""

import xml.etree.ElementTree as ET
from datetime import UTC, datetime

from grader.labs.results import Report, TestResult, Verdict
from grader.report.facts.summary import TaskSummary, summarize
from grader.text import first_line, number, visible, visible_line

# A broken contract is a failure; everything else that stopped a test is an error.
ELEMENT = {
    Verdict.FAILED: "failure",
    Verdict.ERROR: "error",
    Verdict.TIMEOUT: "error",
    Verdict.MEMORY: "error",
    Verdict.CRASHED: "error",
    Verdict.INFRA: "error",
    Verdict.SKIPPED: "skipped",
    Verdict.NOT_GRADED: "skipped",
}


def render_junit(report: Report) -> bytes:
    """The report as UTF-8 XML without a character that XML 1.0 forbids."""
    root = ET.Element("testsuites")
    for index, part in enumerate(summarize(report)):
        root.append(_suite(report, part, index))
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _suite(report: Report, part: TaskSummary, index: int) -> ET.Element:
    elements = [ELEMENT.get(test.verdict, "") for test in part.tests]
    suite = ET.Element(
        "testsuite",
        name=visible_line(part.task.id),
        package=_package(report),
        id=str(index),
        hostname="localhost",  # the report should not tell where it was made
        timestamp=_timestamp(report),
        tests=str(len(part.tests)),
        failures=str(elements.count("failure")),
        errors=str(elements.count("error")),
        skipped=str(elements.count("skipped")),
        time=_seconds(sum(test.seconds for test in part.tests)),
    )
    suite.append(_properties(report, part))
    suite.extend(_case(report, test) for test in part.tests)
    printed = "\n".join(visible(test.output) for test in part.tests if test.output)
    ET.SubElement(suite, "system-out").text = printed
    ET.SubElement(suite, "system-err").text = ""
    return suite


def _properties(report: Report, part: TaskSummary) -> ET.Element:
    properties = ET.Element("properties")
    facts = {
        "points": number(part.task.points),
        "score": number(part.task.score),
        "graded": str(part.task.graded).lower(),
        "partial": str(report.partial).lower(),
    }
    facts |= {f"provenance.{key}": str(value) for key, value in report.provenance.items()}
    for name, value in facts.items():
        ET.SubElement(properties, "property", name=visible_line(name), value=visible_line(value))
    return properties


def _case(report: Report, test: TestResult) -> ET.Element:
    classname = f"{_package(report)}.{visible_line(test.task)}"
    case = ET.Element(
        "testcase", name=visible_line(test.id), classname=classname, time=_seconds(test.seconds)
    )
    if test.verdict is not Verdict.PASSED:
        message = first_line(test.message) or test.verdict.value
        child = ET.SubElement(case, ELEMENT[test.verdict], message=message, type=test.verdict.value)
        child.text = visible(test.message)
    return case


def _package(report: Report) -> str:
    return f"lab{report.lab:02d}_{visible_line(report.topic)}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


def _timestamp(report: Report) -> str:
    """The start in UTC without a zone, as the schema wants it; the epoch if it is unknown."""
    try:
        started = datetime.fromisoformat(str(report.provenance.get("started")))
        started = started.astimezone(UTC) if started.tzinfo else started
    except (ValueError, OverflowError):
        started = datetime.fromtimestamp(0, UTC)
    return started.strftime("%Y-%m-%dT%H:%M:%S")
