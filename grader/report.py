"""Every file form of a report, and writing one so that nobody ever reads half a file."""

import json
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from grader.errors import UsageError
from grader.report_gradescope import render_gradescope
from grader.report_html import render_html
from grader.report_junit import render_junit
from grader.report_markdown import render_markdown
from grader.results import Report
from grader.text import encodable, visible_line

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


def json_bytes(data: Mapping[str, object]) -> bytes:
    """JSON for a file or a pipe, whatever text a submission wrote into it."""
    # ASCII only, so that a terminal that shows it interprets nothing.
    return (json.dumps(encodable(dict(data)), indent=2, allow_nan=False) + "\n").encode("ascii")


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


def check_writable(target: str) -> None:
    """Raise ``UsageError`` unless ``target`` can be created or replaced now."""
    shown = visible_line(target)
    if not target or "\0" in target:
        raise UsageError(f"cannot write to {shown!r}", "give a file name, or - for the screen")
    path = Path(os.path.realpath(target))
    if path.is_dir():
        raise UsageError(f"cannot write {shown}: it is a folder", "give a file name")
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {shown}: no folder {visible_line(str(path.parent))}")
    try:
        if _is_special(path):
            path.open("ab").close()
        else:
            # Trying is the only sound test: access bits say nothing about read-only mounts.
            tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise UsageError(f"cannot write {shown}: {error.strerror}") from None


def write(report: Report, outputs: tuple[Output, ...]) -> None:
    """Write every output; a disk that fills up meanwhile raises ``UsageError``."""
    for output in outputs:
        data = render(report, output.form)
        if output.target == STDOUT:
            sys.stdout.write(data.decode())
            sys.stdout.flush()
        else:
            write_file(Path(output.target), data)


def write_file(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data`` in one step, through links, with the usual permissions."""
    target = Path(os.path.realpath(path))
    try:
        if _is_special(target):
            target.write_bytes(data)  # /dev/null, a pipe: never to be replaced by a file
        else:
            _replace(target, data)
    except OSError as error:
        raise UsageError(f"cannot write {visible_line(str(path))}: {error.strerror}") from None


def _is_special(path: Path) -> bool:
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def _replace(target: Path, data: bytes) -> None:
    # Not mkstemp: its files are private, and a report has the permissions of any new file.
    part = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            file.write(data)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
