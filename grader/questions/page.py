"""``QUESTIONS.md``: a heading for each question, what is asked in quoted lines, the answer below.

A page is written again around what was typed: no line of a student's is ever left out. Its head
names the student that it was drawn for; by that, and by headings alone, it is read.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from grader.errors import UsageError
from grader.labs.lab import ANSWERED as NAME
from grader.languages.language import Language, say, speaking, spoken, word
from grader.questions.drawn import LETTERS, Asked
from grader.questions.program import MOST_LINES
from grader.questions.question import Kind
from grader.text import visible_line

MOST_BYTES = 1 << 18
FOR = (word("drawn for"), "抽题学号")  # what stands before an id, in either language
ANSWER = (word("Answer"), "回答")
_FOR = re.compile(rf"\s*>?\s*(?:{'|'.join(FOR)})\s*[:：]\s*`?([^`\s]*)`?\s*", re.IGNORECASE)
_HEADING = re.compile(r"##\s+([A-Za-z_]\w*)\s*")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_LABEL = re.compile(rf"\s*(?:\*\*)?(?:{'|'.join(ANSWER)}|答案?)\s*[:：](?:\*\*)?[ \t]*")
_KINDS = {
    Kind.NUMBER: word("a number"),
    Kind.CHOICE: "one letter, such as b",
    Kind.CHOICES: "all letters that are right, such as b, d; none if no option is",
    Kind.ORDER: "all letters in order, such as c > a > b",
    Kind.SHAPE: "a shape, such as (2, 8, 1)",
    Kind.FORMULA: "one expression in Python, such as `2 * (n + 1) // m`, with `**` for powers",
    Kind.PROGRAM: f"a function in Python of at most {MOST_LINES} lines: `if`, `for`, `while`, "
    "numbers, lists, and `abs`, `len`, `max`, `min`, `range`, `sorted`, `sum`",
}


@dataclass(frozen=True, slots=True)
class Part:
    """One section: the id in its heading, the line of that, and all lines below it."""

    id: str
    line: int
    lines: tuple[str, ...]

    @property
    def answer(self) -> str:
        """What was typed: all that is no quoted line, without our label before it."""
        own = [line for line in self.lines if not line.lstrip().startswith(">")]
        text = "\n".join(own).strip("\n")
        label = _LABEL.match(text)
        return text[label.end() :].strip("\n") if label else text


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it was read."""

    student: str  # for whom it was drawn, as the page says
    head: tuple[str, ...]  # the lines above the first heading
    parts: tuple[Part, ...] = ()
    answers: dict[str, str] = field(default_factory=dict[str, str])  # by question, as typed


def read_page(content: bytes, ids: Sequence[str]) -> Page:
    """Read a page for some questions; what is broken raises ``UsageError`` with the line."""
    head, *parts = _cut(_decoded(content), {*ids})
    found = {match[1] for line in head.lines if (match := _FOR.fullmatch(line))} - {""}
    if len(found) != 1:
        told = "says for two students that it was drawn" if found else "does not say for whom"
        at = next((n for n, line in enumerate(head.lines, 1) if _FOR.match(line)), 1)
        hint = f"its head needs a line: {FOR[0]}: ID"
        raise UsageError(f"{NAME}, line {at}: {told}", hint)
    seen: dict[str, Part] = {}
    for part in parts:
        if part.id in seen and part.id in ids:
            told = f"has {part.id} a second time, as line {seen[part.id].line} has"
            raise UsageError(f"{NAME}, line {part.line}: {told}", "keep one heading of each")
        seen.setdefault(part.id, part)
    answers = {id: seen[id].answer for id in ids if id in seen}
    return Page(found.pop(), head.lines, tuple(parts), answers)


def _decoded(content: bytes) -> list[str]:
    if len(content) > MOST_BYTES:
        raise UsageError(f"{NAME} is larger than {MOST_BYTES >> 10} KiB")
    lines = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").split(b"\n")
    found: list[str] = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(line.decode())
        except ValueError:  # no UTF-8
            raise UsageError(f"{NAME}, line {number}: is no UTF-8", "save it as UTF-8") from None
        if b"\0" in line:
            raise UsageError(f"{NAME}, line {number}: holds a zero byte", "save it as UTF-8")
    return found


def _cut(lines: Sequence[str], ids: set[str]) -> list[Part]:
    """Cut at headings: those of questions anywhere, others where they are not fenced code."""
    parts: list[tuple[str, int, list[str]]] = [("", 1, [])]
    fence = ""
    for number, line in enumerate(lines, 1):
        heading = _HEADING.fullmatch(line)
        if heading and (heading[1] in ids or not fence):
            parts.append((heading[1], number, []))
            fence = ""
            continue
        found = _FENCE.match(line)
        if found:
            fence = "" if fence and line.strip().startswith(fence) else fence or found[1]
        parts[-1][2].append(line)
    return [Part(id, line, tuple(below)) for id, line, below in parts]


def written(
    number: int, student: str, asked: Sequence[tuple[Asked, Asked]], before: Page | None = None
) -> str:
    """Return the page of a lab for a student; ``asked`` has each question in both languages.

    The language is the one that is spoken. What was typed ``before`` stays as it was.
    """
    blocks = [_heading(number, student) if before is None else _text(before.head)]
    known = {part.id: part for part in before.parts} if before else {}
    ids = {english.question.id for english, _ in asked}
    for pair in asked:
        id = pair[0].question.id
        blocks.append(_section(id, pair, known[id].lines if id in known else ()))
    # What is asked no more stays at the end.
    others = [part for part in before.parts if part.id not in ids] if before else []
    blocks += [_text((f"## {part.id}", *part.lines)) for part in others]
    return "\n\n".join(blocks) + "\n"


def _heading(number: int, student: str) -> str:
    again = say(f"`lab questions {number}` adds what is new and keeps what you typed.")
    return "\n".join(
        (
            f"# {say(f'Check yourself: lab {number:02d}')}",
            "",
            f"{say(FOR[0])}: `{student}`",
            "",
            say(
                "Numbers and the order of options are drawn for this id: leave that line as it is."
            ),
            say("Type each answer below the quoted lines, and leave the headings as they are."),
            again,
        )
    )


def _section(id: str, pair: tuple[Asked, Asked], lines: Sequence[str]) -> str:
    """Write a question around what stood below its heading."""
    ours = {line for language in Language for line in _quoted(_of(pair, language), language)}
    rest = [*lines]
    while rest and (not rest[0].strip() or rest[0] in ours):
        rest.pop(0)
    typed = _text(rest)
    if typed.strip().rstrip(":：").strip() in ("", *ANSWER):
        typed = f"{say(ANSWER[0])}:"
    quoted = _quoted(_of(pair, spoken()), spoken())
    return "\n".join((f"## {id}", "", *quoted, "", typed))


def _of(pair: tuple[Asked, Asked], language: Language) -> Asked:
    return pair[language is Language.CHINESE]


def _quoted(asked: Asked, language: Language) -> list[str]:
    """Return what is asked, and how it is answered, as quoted lines."""
    lines = asked.asks.split("\n")
    if asked.options:
        pairs = zip(LETTERS, asked.options, strict=False)
        lines += ["", *(f"- {letter}. {text}" for letter, text in pairs)]
    with speaking(language):
        lines += ["", f"*{_kind(asked)}*"]
    return [f"> {line}".rstrip() for line in lines]


def _kind(asked: Asked) -> str:
    question = asked.question
    told = say(_KINDS[question.kind])
    match question.kind:
        case Kind.NUMBER if question.unit:
            return say(f"{told}, in {question.unit}")
        case Kind.FORMULA:
            return say(f"{told}; its names: `{', '.join(question.names)}`")
        case Kind.PROGRAM:
            return say(f"{told}; it begins with `def {question.signature}:`")
        case _:
            return told


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines).strip("\n")


def unknown(page: Page, ids: Iterable[str]) -> list[str]:
    """Return headings of a page that are no question of the lab."""
    return [visible_line(part.id) for part in page.parts if part.id not in {*ids}]


def is_answered(content: bytes) -> bool:
    """Tell whether anything was typed into a page; what cannot be read was."""
    try:
        return any(part.answer.strip() for part in _cut(_decoded(content), set())[1:])
    except UsageError:
        return True
