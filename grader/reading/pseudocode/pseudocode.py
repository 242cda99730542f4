"""Grade PSEUDOCODE.md: one test for each section, by counts that an instructor can overrule.

A section earns its share when it is filled in words of the student's own, has the steps, names and
invariant that the lab asks for, and is not pasted: neither Python nor the lab's own sentences.
Whether the steps are true is for a person to say. The text may be anything at all.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.confined import TOO_SLOW
from grader.errors import JudgeError
from grader.labs.documents.mishaps import conflict_mishap, wide_mishap
from grader.labs.documents.submission import Submission
from grader.labs.lab import PSEUDOCODE, Lab
from grader.labs.results import Expected, TestResult, Verdict
from grader.labs.task import Task
from grader.labs.translations.files import translation
from grader.limited import Resource
from grader.readers import Budget

SUITE = "pseudocode"
GATE = "pseudocode[file]"
SINGLE = "one Python file was given, without PSEUDOCODE.md"
NO_CELL = "no cell of the notebook answers a prompt, and no PSEUDOCODE.md lies beside it"
READER = "grader.reading.pseudocode.answers"
MISSING = "PSEUDOCODE.md is missing: copy it from the lab's folder and answer its prompts"
MOST_TEXT = 100_000  # characters; an honest file has a twentieth of it
KEPT_TEXT = 20_000  # characters of the text in the report
MOST_TOLD = 1_000  # characters of what is wrong with a section

_HEADING = re.compile(r"#{1,6}[ \t]+`?([A-Za-z_][A-Za-z0-9_]*|[^\W\d])`?")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PseudocodeGrade:
    """The results in the order of ``pseudocode_tests``, and what the report keeps of the text."""

    results: tuple[TestResult, ...]
    extras: dict[str, Any]


def pseudocode_tests(lab: Lab) -> tuple[Expected, ...]:
    """List the manifest's lines: a gate for the file, then one test for each section."""
    gate = Expected(GATE, PSEUDOCODE, SUITE, weight=0.0, gate=True)
    return gate, *(Expected(_id(task), PSEUDOCODE, SUITE) for task in _tasks(lab))


def grade_pseudocode(
    lab: Lab, submission: Submission, budget: Budget | None = None
) -> PseudocodeGrade:
    """Grade the sections; one file of code without PSEUDOCODE.md has none and is not graded."""
    if submission.single_file:
        why = NO_CELL if submission.is_notebook else SINGLE
        results = [
            TestResult(test.id, PSEUDOCODE, SUITE, Verdict.NOT_GRADED, why)
            for test in pseudocode_tests(lab)
        ]
        return PseudocodeGrade(tuple(results), {})
    if submission.pseudocode is None:
        return PseudocodeGrade(_all_failed(lab, MISSING), {})
    text = submission.pseudocode.decode("utf-8", errors="replace")
    if found := _wide_or_torn(submission.pseudocode, text):
        return PseudocodeGrade(_all_failed(lab, found), _kept(submission.pseudocode, text))
    if len(text) > MOST_TEXT:
        # Lines are looked for in prompts, runs in code: a million characters would take a minute.
        much = f"PSEUDOCODE.md has more than {MOST_TEXT:,} characters: a step is one short line"
        return PseudocodeGrade(_all_failed(lab, much), _kept(submission.pseudocode, text))
    own = sections(lab, text)
    problems = _problems(lab, submission, own, budget or Budget())
    return PseudocodeGrade(_results(lab, own, problems), _kept(submission.pseudocode, text))


def _wide_or_torn(content: bytes, text: str) -> str:
    """Name an encoding in which no heading can be found, or a merge conflict; "" for neither."""
    found = wide_mishap(content) or conflict_mishap(text)
    if found is None:
        return ""
    line, told = found
    return f"PSEUDOCODE.md, line {line}: {told}" if line else f"PSEUDOCODE.md: {told}"


def _kept(content: bytes, text: str) -> dict[str, Any]:
    return {
        "sha256": hashlib.sha256(content).hexdigest(),
        "text": text[:KEPT_TEXT],
        "truncated": len(text) > KEPT_TEXT,
    }


@dataclass(frozen=True, slots=True)
class Section:
    """One ``## task`` section: the block quotes in it, and the lines that are not quoted."""

    prompt: str
    lines: tuple[str, ...]


def sections(lab: Lab, text: str) -> dict[str, Section]:
    """Cut a text at its headings; a task without a section gets an empty one."""
    ids = {task.id: task.id for task in _tasks(lab)}
    prompts: dict[str, list[str]] = {task_id: [] for task_id in ids}
    lines: dict[str, list[str]] = {task_id: [] for task_id in ids}
    current = ""
    for line in _COMMENT.sub("", text).splitlines():
        heading = _HEADING.match(line)
        if heading is not None:
            # Only a heading that names a task ends a section: `# a comment` in a fence does not.
            current = ids.get(heading[1].lower(), "" if line.startswith("## ") else current)
        elif current and line.lstrip().startswith(">"):
            prompts[current].append(line.lstrip().lstrip("> "))
        elif current and line.strip() and not line.lstrip().startswith(("```", "~~~", "---")):
            lines[current].append(line)
    return {id_: Section("\n".join(prompts[id_]), tuple(lines[id_])) for id_ in ids}


def _problems(
    lab: Lab, submission: Submission, own: dict[str, Section], budget: Budget
) -> dict[str, str]:
    """Say what is wrong with each section, "" where nothing is, as a reader finds it."""
    prompts = [sections(lab, text) for text in _both(lab.pseudocode)]
    asked = [
        [
            *(task.id, task.names, task.order, task.steps),
            "\n".join(each[task.id].prompt for each in prompts),
            *(own[task.id].prompt, own[task.id].lines),
        ]
        for task in _tasks(lab)
    ]
    given = [*_both(lab.handout), *(part.prompt for each in prompts for part in each.values())]
    request = {
        "code": submission.text,
        "sources": _sources(lab, submission),
        "given": given,
        "stubs": _both(lab.stub),
        "asked": asked,
    }
    ended = budget.run(READER, json.dumps(request).encode())
    if ended.over is Resource.CPU:
        return dict.fromkeys(own, f"PSEUDOCODE.md {TOO_SLOW}: a step is one short line")
    if ended.status < 0 or (ended.status and b"MemoryError" in ended.told[-200:]):
        return dict.fromkeys(own, "PSEUDOCODE.md is too large or too deeply nested to be read")
    try:
        if ended.status:
            raise ValueError(ended.told[-400:].decode("utf-8", "replace"))
        reply = json.loads(ended.output)
        return {task: str(reply[task])[:MOST_TOLD] for task in own}
    except (ValueError, TypeError, KeyError) as error:
        raise JudgeError(f"the reader of pseudocode failed: {error}") from None


def _sources(lab: Lab, submission: Submission) -> list[str]:
    """Give what a lab has a compiler read, as handed in and as the stub has it."""
    names = [name for build in lab.builds for name in build.sources]
    own = [submission.files[name] for name in names if name in submission.files]
    return [
        *(content.decode("utf-8", errors="replace") for content in own),
        *(_read(lab.folder / name) for name in names),
    ]


def _results(lab: Lab, own: dict[str, Section], problems: dict[str, str]) -> tuple[TestResult, ...]:
    filled = any(own[task.id].lines for task in _tasks(lab))
    empty = "" if filled else "no section of PSEUDOCODE.md is answered yet"
    results = [_result(GATE, empty)]
    return *results, *(_result(_id(task), problems[task.id]) for task in _tasks(lab))


def _all_failed(lab: Lab, message: str) -> tuple[TestResult, ...]:
    return tuple(_result(test.id, message) for test in pseudocode_tests(lab))


def _result(test_id: str, problem: str) -> TestResult:
    verdict = Verdict.FAILED if problem else Verdict.PASSED
    return TestResult(test_id, PSEUDOCODE, SUITE, verdict, problem)


def _both(path: Path) -> list[str]:
    """Read a file of the lab and its Chinese, or its English where the course is in Chinese."""
    return [
        _read(file) for file in (path, translation(path), path.with_suffix(f".en{path.suffix}"))
    ]


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", errors="replace")
    except OSError:
        # `lab check` says so; where prompts are absent the student's quotes serve.
        return ""


def _tasks(lab: Lab) -> list[Task]:
    return [task for task in lab.tasks if task.id != PSEUDOCODE]


def _id(task: Task) -> str:
    return f"{SUITE}[{task.id}]"
