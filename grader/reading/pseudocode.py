"""Grade PSEUDOCODE.md: one test for each section, by counts that an instructor can overrule.

A section earns its share when it is filled in words of the student's own, has the steps and names
the lab asks for, and is not the submitted Python pasted in. The text may be anything at all.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from grader.labs.lab import PSEUDOCODE, Lab, Task
from grader.labs.results import Expected, TestResult, Verdict
from grader.labs.submission import Submission

SUITE = "pseudocode"
GATE = "pseudocode[file]"
SINGLE = "one Python file was given, without PSEUDOCODE.md"
GRAM = 5  # tokens in a row that the code has too
MOST_SHARED = 0.5  # share of a section's tokens that may lie in such runs
MISSING = "PSEUDOCODE.md is missing: copy it from the lab's folder and answer its prompts"
MOST_TEXT = 100_000  # characters; an honest file has a twentieth of it
KEPT_TEXT = 20_000  # characters of the text in the report

_HEADING = re.compile(r"#{1,6}[ \t]+`?([A-Za-z_]\w*)`?")
_MARKER = re.compile(r"\A\s*(?:[-*+•]|\(?\d+(?:\.\d+)*[.):]?|[a-z][.)])(?:\s+|$)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_WORD = re.compile(r"\w+")
# Comments and strings are left out: who writes the pseudocode into the docstring copies no Python.
_PYTHON = re.compile(
    r"""(?P<skip>\#[^\n]*|'{3}.*?(?:'{3}|\Z)|"{3}.*?(?:"{3}|\Z)|'(?:\\.|[^'\\\n])*'?|"(?:\\.|[^"\\\n])*"?)"""
    r"|\w+|[^\w\s]",
    re.DOTALL,
)
_TEXT = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class PseudocodeGrade:
    """The results in the order of ``pseudocode_tests``, and what the report keeps of the text."""

    results: tuple[TestResult, ...]
    extras: dict[str, Any]


def pseudocode_tests(lab: Lab) -> tuple[Expected, ...]:
    """List the manifest's lines: a gate for the file, then one test for each section."""
    gate = Expected(GATE, PSEUDOCODE, SUITE, weight=0.0, gate=True)
    return gate, *(Expected(_id(task), PSEUDOCODE, SUITE) for task in _tasks(lab))


def grade_pseudocode(lab: Lab, submission: Submission) -> PseudocodeGrade:
    """Grade the sections; a submission of one Python file has none and is not graded."""
    if submission.single_file:
        results = [
            TestResult(test.id, PSEUDOCODE, SUITE, Verdict.NOT_GRADED, SINGLE)
            for test in pseudocode_tests(lab)
        ]
        return PseudocodeGrade(tuple(results), {})
    if submission.pseudocode is None:
        return PseudocodeGrade(_all_failed(lab, MISSING), {})
    text = submission.pseudocode.decode("utf-8", errors="replace")
    if len(text) > MOST_TEXT:
        # Lines are looked for in prompts, runs in code: a million characters would take a minute.
        much = f"PSEUDOCODE.md has more than {MOST_TEXT:,} characters: a step is one short line"
        return PseudocodeGrade(_all_failed(lab, much), _kept(submission.pseudocode, text))
    prompts = sections(lab, _read_prompts(lab))
    own = sections(lab, text)
    code = grams(python_tokens(submission.code.decode("utf-8", errors="replace")))
    problems = {
        task.id: _problem(task, own[task.id], prompts[task.id].prompt, code) for task in _tasks(lab)
    }
    return PseudocodeGrade(_results(lab, own, problems), _kept(submission.pseudocode, text))


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


def steps(lines: Iterable[str], prompt: str) -> list[str]:
    """Keep the lines that say something: two words at least, once, and not out of the prompt."""
    asked = f" {' '.join(_words(prompt))} "
    found: dict[str, str] = {}
    for line in lines:
        bare = _MARKER.sub("", line, count=1)
        words = " ".join(_words(bare))
        if " " in words and f" {words} " not in asked:
            found.setdefault(words, bare.strip())
    return list(found.values())


def python_tokens(source: str) -> list[str]:
    """Split Python into tokens, without comments and strings; any text will do."""
    return [found[0] for found in _PYTHON.finditer(source) if found["skip"] is None]


def grams(tokens: list[str]) -> frozenset[tuple[str, ...]]:
    """Give all runs of ``GRAM`` tokens."""
    return frozenset(tuple(tokens[at : at + GRAM]) for at in range(len(tokens) - GRAM + 1))


def shared(lines: Iterable[str], code: frozenset[tuple[str, ...]]) -> float:
    """Give the share of tokens, 0 to 1, that lie in a run which the code has too.

    Read as words and as Python, the larger counts: comments in pasted code must not dilute it.
    """
    text = "\n".join(_MARKER.sub("", line, count=1) for line in lines)
    return max(_covered(_TEXT.findall(text), code), _covered(python_tokens(text), code))


def _covered(tokens: list[str], code: frozenset[tuple[str, ...]]) -> float:
    covered = [False] * len(tokens)
    for at in range(len(tokens) - GRAM + 1):
        if tuple(tokens[at : at + GRAM]) in code:
            covered[at : at + GRAM] = [True] * GRAM
    return sum(covered) / len(tokens) if tokens else 0.0


def _problem(task: Task, section: Section, prompt: str, code: frozenset[tuple[str, ...]]) -> str:
    """Say what is wrong with a section, "" if nothing is."""
    found = steps(section.lines, f"{prompt} \n {section.prompt}")
    if not found:
        return f"the section `## {task.id}` is empty: answer below the prompt, one step a line"
    if shared(section.lines, code) > MOST_SHARED:
        return "this is mostly the Python of your submission: say in words what happens"
    if len(found) < task.steps:
        return f"{len(found)} steps, at least {task.steps} are asked for, one a line"
    missing = [name for name in task.names if not _mentions(found, name)]
    return f"does not mention {', '.join(missing)}" if missing else ""


def _mentions(lines: list[str], name: str) -> bool:
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
    return any(pattern.search(line) for line in lines)


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


def _read_prompts(lab: Lab) -> str:
    try:
        return lab.pseudocode.read_bytes().decode("utf-8", errors="replace")
    except OSError:
        return ""  # `lab check` says so; the quotes of the student's own file serve instead


def _tasks(lab: Lab) -> list[Task]:
    return [task for task in lab.tasks if task.id != PSEUDOCODE]


def _id(task: Task) -> str:
    return f"{SUITE}[{task.id}]"


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
