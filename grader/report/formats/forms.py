"""Every file form of a report."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from grader.errors import UsageError
from grader.files import check_writable, json_bytes, write_file
from grader.labs.results import Report
from grader.report.formats.gradescope import render_gradescope
from grader.report.formats.html import render_html
from grader.report.formats.junit import render_junit
from grader.report.formats.markdown import render_markdown
from grader.text import visible_line

STDOUT = "-"


class Form(StrEnum):
    """A form that a report can be written in; the value is the option's name."""

    JSON = "json"
    HTML = "html"
    MARKDOWN = "markdown"
    JUNIT = "junit"
    GRADESCOPE = "gradescope"


@dataclass(frozen=True, slots=True)
class Output:
    """One file that the user asked for; ``target`` "-" is standard output."""

    form: Form
    target: str


def render(report: Report, form: Form) -> bytes:
    """The bytes of a report in one form; never fails on what a submission wrote."""
    match form:
        case Form.JSON:
            return json_bytes(report.to_json())
        case Form.GRADESCOPE:
            return json_bytes(render_gradescope(report))
        case Form.HTML:
            return render_html(report).encode()
        case Form.MARKDOWN:
            return render_markdown(report).encode()
        case Form.JUNIT:
            return render_junit(report)


def planned(targets: Mapping[Form, str | None]) -> tuple[Output, ...]:
    """The outputs asked for, checked before any grading: each writable, no two the same."""
    outputs = tuple(Output(form, target) for form, target in targets.items() if target is not None)
    seen: dict[str, Form] = {}
    for output in outputs:
        place = output.target if output.target == STDOUT else os.path.realpath(output.target)
        if place in seen:
            shown = visible_line(output.target)
            raise UsageError(f"--{seen[place]} and --{output.form} both write to {shown}")
        seen[place] = output.form
        if output.target != STDOUT:
            check_writable(output.target)
    return outputs


def write(report: Report, outputs: tuple[Output, ...]) -> None:
    """Write every output; a disk that fills up meanwhile raises ``UsageError``."""
    for output in outputs:
        data = render(report, output.form)
        if output.target == STDOUT:
            sys.stdout.write(data.decode())
            sys.stdout.flush()
        else:
            write_file(Path(output.target), data)
