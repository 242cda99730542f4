"""The page of a lab: what it teaches, what it needs, how long it takes, and what was measured."""

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.labs.lab import Lab
from grader.labs.translations.pages import told
from grader.languages.language import Language, say, spoken, word
from grader.site.sources.markdown import outside, section
from grader.site.sources.repository import Repository
from grader.site.sources.tables import code, rows_of, table
from grader.text import number

WORDS_A_MINUTE = 200  # of a text with formulas, slowly
CHARACTERS_A_MINUTE = 300  # the same of Chinese
GOAL = {Language.ENGLISH: "Goal", Language.CHINESE: "目标"}  # a section of each handout
FIELD, MUTANTS = "docs/field.md", "docs/writing-suites.md"
FIELD_HEAD = ("lab", "ports", "killed", "caught publicly")
MUTANTS_HEAD = ("lab", "mutants", "killed", "equal", "left")
_MEASURED = "<!-- measured"
_HAN = re.compile(r"[\u4e00-\u9fff]")


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
    """Write the page of a lab in the language that is spoken, for ``labs/NN_topic/index.md``."""
    handout_file = f"labs/{lab.name}/README.md"
    translated = repository.translated(handout_file)
    in_chinese = spoken() is Language.CHINESE
    handout = repository.text(handout_file)
    if in_chinese and translated:
        handout = told(handout, repository.text(translated))
    chinese = " · [中文讲义](README.zh.md)" if translated and not in_chinese else ""
    points = sum(task.points for task in lab.tasks)
    rows = [
        (
            say(task.title),
            ", ".join(map(code, task.functions)),
            number(task.points),
            str(len(task.contracts) or ""),
        )
        for task in lab.tasks
    ]
    head = (word("task"), "you write", word("points"), word("contracts"))
    read, stub = say("Read the handout"), say("the stub")
    parts = [
        f"# {lab.number:02d} · {say(lab.title)}",
        say(lab.summary),
        f"**[{read}](README.md)** · [{stub}](./{lab.code_name}){chinese}",
        f"## {say('What it teaches')}",
        section(handout, GOAL[spoken()]),
        table(tuple(map(say, head)), rows) + "\n" + say(f"Together {number(points)} points."),
        f"## {say('What it needs')}",
        "\n".join(f"- {line}" for line in _needs(lab)),
        f"## {say('How long it takes')}",
        "\n".join(f"- {line}" for line in _time(lab, handout)),
        f"## {say('What is measured')}",
        "\n".join(f"- {line}" for line in _measured(lab, repository)),
    ]
    return "\n\n".join(parts) + "\n"


def _needs(lab: Lab) -> Iterator[str]:
    if lab.imports:
        yield say(f"Packages: {', '.join(map(code, lab.imports))}.")
    if lab.given:
        files = ", ".join(code(f"labs/{name}.py") for name in lab.given)
        yield say(f"Given code: {files}.")
    if lab.checkpoints:
        models = ", ".join(map(code, lab.checkpoints))
        how = say("how they were trained")
        yield say(f"Given models: {models}") + f" ([{how}](../../docs/checkpoints.md))"
    timed = [task for task in lab.tasks if task.ladders]
    if timed:
        tasks = say(" and ").join(f"*{say(task.title)}*" for task in timed)
        points = number(sum(task.points for task in timed))
        yield say(
            f"A GPU for {tasks}: {points} points, which elsewhere are not graded and not counted."
        )
    else:
        yield say("No GPU: all points are graded on a CPU.")
    if lab.limits.ranks > 1:
        yield say(f"Room for {lab.limits.ranks} processes at a time, one for each rank.")
    yield say(f"At most {lab.limits.memory_mb / 1024:g} GiB of memory in one process.")


def _time(lab: Lab, handout: str) -> Iterator[str]:
    prose = " ".join(line for is_prose, line in outside(handout) if is_prose)
    if spoken() is Language.CHINESE:
        count, pace = len(_HAN.findall(prose)), CHARACTERS_A_MINUTE
        minutes = round(count / pace)
        yield say(f"To read: {count:,} characters, some {minutes} minutes at {pace} a minute.")
    else:
        count, pace = len(prose.split()), WORDS_A_MINUTE
        yield f"To read: {count:,} words, some {round(count / pace)} minutes at {pace} a minute."
    answer = lab.solutions / lab.code_name
    if answer.is_file():
        lines, given = (lines_of_code(file.read_text("utf-8")) for file in (answer, lab.stub))
        yield say(
            f"To write: the model answer has {lines - given} lines of code more than the stub."
        )
    yield say(
        f"To grade: a call may take {lab.limits.call_seconds:g} s, a test "
        f"{lab.limits.test_seconds:g} s, all of it {lab.limits.total_seconds / 60:g} minutes."
    )


def _measured(lab: Lab, repository: Repository) -> Iterator[str]:
    proof = proof_of(lab)
    typed = code(f"make check LAB={lab.number}")
    yield say(
        f"{proof.wrong} wrong answers each lose what they should, and {proof.variants} right "
        f"variants earn everything: {typed}."
    )
    for name, ports, killed, public in rows_of(repository.text(FIELD), FIELD_HEAD):
        if name == lab.name:
            typed = code(f"make field ARGS={lab.number}")
            which = f"[{say('which')}](../../{FIELD})"
            yield say(
                f"Of {ports} bugs that real engines have had, the suite sees {killed}, the public "
                f"tests {public} ({which}): {typed}."
            )
    for name, tried, killed, equal, left, _ in rows_of(repository.text(MUTANTS), MUTANTS_HEAD):
        if name == f"{lab.number:02d}":
            typed = code(f"lab check {lab.number} --mutants")
            how = f"[{say('how')}](../../{MUTANTS})"
            yield say(
                f"Of {tried} small changes of the model answer tests see {killed}, {equal} change "
                f"nothing that a contract asks for, {left} are left ({how}): {typed}."
            )
    others = _pages_that_measure(lab, repository)
    if others:
        yield say(f"Figures of this lab also stand in {', '.join(others)}.")


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
