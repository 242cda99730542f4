"""Grade PSEUDOCODE.md: one test for each section, by counts that an instructor can overrule.

A section earns its share when it is filled in words of the student's own, has the steps, names and
invariant that the lab asks for, and is not pasted: neither Python nor the lab's own sentences.
Whether the steps are true is for a person to say. The text may be anything at all.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.labs.lab import PSEUDOCODE, Lab
from grader.labs.mishaps import conflict_mishap, wide_mishap
from grader.labs.results import Expected, TestResult, Verdict
from grader.labs.submission import Submission
from grader.labs.task import Task
from grader.reading.given import stub_text
from grader.reading.pasted import (
    PROMPT_GRAM,
    bare,
    grams,
    nameless_grams,
    python_share,
    python_tokens,
    quotable,
    quoted,
    shared,
    shared_nameless,
)
from grader.reading.steps import (
    WORDS,
    asks_invariant,
    mentions,
    out_of_order,
    states_invariant,
    steps,
    telling,
    vocabulary,
)

SUITE = "pseudocode"
GATE = "pseudocode[file]"
SINGLE = "one Python file was given, without PSEUDOCODE.md"
NO_CELL = "no cell of the notebook answers a prompt, and no PSEUDOCODE.md lies beside it"
MOST_SHARED = 0.5  # share of a section's tokens or words that may be pasted from one place
MOST_ASKED = 0.85  # share of a section's vocabulary that may be the prompt's
MISSING = "PSEUDOCODE.md is missing: copy it from the lab's folder and answer its prompts"
MOST_TEXT = 100_000  # characters; an honest file has a twentieth of it
KEPT_TEXT = 20_000  # characters of the text in the report

_HEADING = re.compile(r"#{1,6}[ \t]+`?([A-Za-z_]\w*)`?")
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


def grade_pseudocode(lab: Lab, submission: Submission) -> PseudocodeGrade:
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
    prompts = sections(lab, _read(lab.pseudocode))
    own = sections(lab, text)
    sources = _sources(lab, submission, prompts)
    problems = {
        task.id: _problem(task, own[task.id], prompts[task.id].prompt, sources)
        for task in _tasks(lab)
    }
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


@dataclass(frozen=True, slots=True)
class _Sources:
    """Runs of what may have been pasted in, as ``grams`` gives them."""

    code: frozenset[tuple[str, ...]]
    nameless: frozenset[tuple[str, ...]]
    given: frozenset[tuple[str, ...]]  # the handout, the stub's docstrings, the prompts


def _sources(lab: Lab, submission: Submission, prompts: dict[str, Section]) -> _Sources:
    code = submission.code.decode("utf-8", errors="replace")
    given = (_read(lab.handout), stub_text(_read(lab.stub)), *(p.prompt for p in prompts.values()))
    return _Sources(
        grams(python_tokens(code)),
        nameless_grams(code),
        frozenset[tuple[str, ...]]().union(*map(quotable, given)),
    )


def _problem(task: Task, section: Section, prompt: str, sources: _Sources) -> str:
    """Say what is wrong with a section, "" if nothing is."""
    prompts = f"{prompt} \n {section.prompt}"
    found = steps(section.lines, prompts)
    if not found:
        return f"the section `## {task.id}` is empty: answer below the prompt, one step a line"
    return (
        _pasted(task, section.lines, prompts, sources)
        or _too_little(task, found)
        or _unsaid(task, found, prompt)
    )


def _pasted(task: Task, lines: Sequence[str], prompts: str, sources: _Sources) -> str:
    """Say what a section was pasted from, "" if from nothing."""
    if shared(lines, sources.code) > MOST_SHARED:
        return "this is mostly the Python of your submission: say in words what happens"
    if shared_nameless(lines, sources.nameless) > MOST_SHARED:
        return "this is your submission's Python with other names: say in words what happens"
    if python_share(lines) > MOST_SHARED:
        return "this is mostly Python: say in words what happens"
    text = "\n".join(map(bare, lines))
    own = quotable(prompts, PROMPT_GRAM)
    if (
        quoted(text, own, PROMPT_GRAM) > MOST_SHARED
        or _asked(text, prompts, task.names) > MOST_ASKED
    ):
        return "this is mostly the text of the prompt: answer it in your own words"
    if quoted(text, sources.given) > MOST_SHARED:
        return "this is mostly the text of the handout: say it in your own words"
    return ""


def _asked(text: str, prompts: str, names: Sequence[str]) -> float:
    """Give the share, 0 to 1, of a text's vocabulary that the prompts have too."""
    own = vocabulary([text], names)
    return len(own & vocabulary([prompts], names)) / len(own) if own else 0.0


def _too_little(task: Task, found: list[str]) -> str:
    count = len(telling(found, task.names))
    if count < task.steps:
        more = "" if count == len(found) else "; a list of names is no step: say what happens"
        said = "1 step" if count == 1 else f"{count} steps"
        return f"{said}, at least {task.steps} are asked for, one a line{more}"
    if len(vocabulary(found, task.names)) < WORDS * task.steps:
        return "the steps say little beside the names asked for: say what happens to each"
    return ""


def _unsaid(task: Task, found: list[str], prompt: str) -> str:
    missing = [name for name in task.names if not any(mentions(line, name) for line in found)]
    if missing:
        return f"does not mention {', '.join(missing)}"
    if asks_invariant(prompt) and not states_invariant(found):
        return "states no invariant: the prompt asks for one"
    return out_of_order(found, task.order)


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


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", errors="replace")
    except OSError:
        return ""  # `lab check` says so; where prompts are absent the student's quotes serve


def _tasks(lab: Lab) -> list[Task]:
    return [task for task in lab.tasks if task.id != PSEUDOCODE]


def _id(task: Task) -> str:
    return f"{SUITE}[{task.id}]"
