"""The page of a lab: what it teaches, what it needs, how long it takes, and what was measured."""

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.labs.lab import Lab
from grader.site.sources.markdown import outside, section
from grader.site.sources.repository import Repository
from grader.site.sources.tables import code, rows_of, table
from grader.text import number

WORDS_A_MINUTE = 200  # of a text with formulas, slowly
FIELD, MUTANTS = "docs/field.md", "docs/writing-suites.md"
FIELD_HEAD = ("lab", "ports", "killed", "caught publicly")
MUTANTS_HEAD = ("lab", "mutants", "killed", "equal", "left")
_MEASURED = "<!-- measured"


@dataclass(frozen=True, slots=True)
class Proof:
    """How many answers prove a lab's suite: files of the tree, each graded by ``lab check``."""

    wrong: int
    variants: int
    field: int

    def __add__(self, other: "Proof") -> "Proof":
        return Proof(
            self.wrong + other.wrong, self.variants + other.variants, self.field + other.field
        )


def proof_of(lab: Lab) -> Proof:
    """Count the wrong answers, right variants and field bugs of a lab."""
    wrong, variants = (len([*(lab.solutions / f).glob("*.py")]) for f in ("wrong", "variants"))
    return Proof(wrong, variants, len([*lab.field.glob("*.py")]))


def card(lab: Lab, repository: Repository) -> str:
    """Write the page of a lab, for ``labs/NN_topic/index.md``."""
    handout_file = f"labs/{lab.name}/README.md"
    handout = repository.text(handout_file)
    chinese = " · [中文讲义](README.zh.md)" if repository.translated(handout_file) else ""
    points = sum(task.points for task in lab.tasks)
    rows = [
        (
            f"{task.title}",
            ", ".join(map(code, task.functions)),
            number(task.points),
            str(len(task.contracts) or ""),
        )
        for task in lab.tasks
    ]
    parts = [
        f"# {lab.number:02d} · {lab.title}",
        lab.summary,
        f"**[Read the handout](README.md)** · [the stub](./{lab.code_name}){chinese}",
        "## What it teaches",
        section(handout, "Goal"),
        table(("task", "you write", "points", "contracts"), rows)
        + f"\nTogether {number(points)} points.",
        "## What it needs",
        "\n".join(f"- {line}" for line in _needs(lab)),
        "## How long it takes",
        "\n".join(f"- {line}" for line in _time(lab, handout)),
        "## What is measured",
        "\n".join(f"- {line}" for line in _measured(lab, repository)),
    ]
    return "\n\n".join(parts) + "\n"


def _needs(lab: Lab) -> Iterator[str]:
    if lab.imports:
        yield f"Packages: {', '.join(map(code, lab.imports))}."
    if lab.given:
        files = ", ".join(code(f"labs/{name}.py") for name in lab.given)
        yield f"Given code: {files}."
    if lab.checkpoints:
        yield (
            f"Given models: {', '.join(map(code, lab.checkpoints))} "
            "([how they were trained](../../docs/checkpoints.md))."
        )
    timed = [task for task in lab.tasks if task.ladders]
    if timed:
        told = " and ".join(f"*{task.title}*" for task in timed)
        points = number(sum(task.points for task in timed))
        yield f"A GPU for {told}: {points} points, which elsewhere are not graded and not counted."
    else:
        yield "No GPU: all points are graded on a CPU."
    if lab.limits.ranks > 1:
        yield f"Room for {lab.limits.ranks} processes at a time, one for each rank."
    yield f"At most {lab.limits.memory_mb / 1024:g} GiB of memory in one process."


def _time(lab: Lab, handout: str) -> Iterator[str]:
    words = len(" ".join(line for prose, line in outside(handout) if prose).split())
    yield (
        f"To read: {words:,} words, some {round(words / WORDS_A_MINUTE)} minutes "
        f"at {WORDS_A_MINUTE} words a minute."
    )
    answer = lab.solutions / lab.code_name
    if answer.is_file():
        lines, given = (lines_of_code(file.read_text("utf-8")) for file in (answer, lab.stub))
        yield f"To write: the model answer has {lines - given} lines of code more than the stub."
    yield (
        f"To grade: a call may take {lab.limits.call_seconds:g} s, a test "
        f"{lab.limits.test_seconds:g} s, all of it {lab.limits.total_seconds / 60:g} minutes."
    )


def _measured(lab: Lab, repository: Repository) -> Iterator[str]:
    proof = proof_of(lab)
    yield (
        f"{proof.wrong} wrong answers each lose what they should, and {proof.variants} right "
        f"variants earn everything: {code(f'make check LAB={lab.number}')}."
    )
    for name, ports, killed, public in rows_of(repository.text(FIELD), FIELD_HEAD):
        if name == lab.name:
            yield (
                f"Of {ports} bugs that real engines have had, the suite sees {killed}, the public "
                f"tests {public} ([which](../../{FIELD})): {code(f'make field ARGS={lab.number}')}."
            )
    for name, tried, killed, equal, left, _ in rows_of(repository.text(MUTANTS), MUTANTS_HEAD):
        if name == f"{lab.number:02d}":
            yield (
                f"Of {tried} small changes of the model answer tests see {killed}, {equal} change "
                f"nothing that a contract asks for, {left} are left "
                f"([how](../../{MUTANTS})): {code(f'lab check {lab.number} --mutants')}."
            )
    others = _pages_that_measure(lab, repository)
    if others:
        yield f"Figures of this lab also stand in {', '.join(others)}."


def _pages_that_measure(lab: Lab, repository: Repository) -> Sequence[str]:
    """List pages with measured tables that name the lab."""
    names = re.compile(rf"\b{lab.name}\b|\blabs?(?: \d\d(?:,| and| to))* {lab.number:02d}\b")
    found: list[str] = []
    for path in repository.sources():
        text = repository.text(path) if path.startswith("docs/") and path != FIELD else ""
        if _MEASURED in text and names.search(text):
            title = text.partition("\n")[0].lstrip("# ")
            found.append(f"[{title}](../../{path})")
    return found


def lines_of_code(text: str) -> int:
    """Count the lines of Python that hold more than comments, docstrings and blanks."""
    lines: set[int] = set()
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    is_start = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_docstring = is_start and token.type == tokenize.STRING
        if token.type not in skipped and token.type != tokenize.ENDMARKER and not is_docstring:
            lines |= {*range(token.start[0], token.end[0] + 1)}
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            is_start = token.type == tokenize.NEWLINE
    return len(lines)
