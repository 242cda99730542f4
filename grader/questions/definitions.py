"""``questions.toml`` as frozen data: each mistake is one line that names file, question and key."""

import ast
import keyword
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from grader.errors import LabError
from grader.labs.lab import QUESTIONS
from grader.labs.toml import Table, kind_of
from grader.questions.question import (
    CHINESE_FILE,
    TOLERANCE,
    Drawn,
    Kind,
    Question,
    places,
)
from grader.text import visible_line

MOST_QUESTIONS = 100
MOST_OPTIONS = 12
MOST_DRAWN = 1000  # values of one draw
MOST_ASKED = 4000  # characters
_ID = re.compile(r"[a-z][a-z0-9_]*")
_RANGE = {"from", "to", "step"}


def read_questions(folder: Path) -> tuple[Question, ...]:
    """Read the questions of a lab's folder, none where it has no file of them."""
    file = folder / QUESTIONS
    return questions_of(_text(file), shown(file)) if file.is_file() else ()


def in_chinese(folder: Path, questions: tuple[Question, ...]) -> tuple[Question, ...]:
    """Return the questions as they are asked in Chinese; what is not translated stays English."""
    file = folder / CHINESE_FILE
    if not file.is_file():
        return questions
    told = {item.id: item for item in questions_of(_text(file), shown(file))}
    return tuple(_worded(item, told.get(item.id)) for item in questions)


def _worded(english: Question, chinese: Question | None) -> Question:
    same = chinese is not None and chinese.kind is english.kind
    if not same or chinese is None or len(chinese.options) != len(english.options):
        return english
    return replace(english, asks=chinese.asks, options=chinese.options, unit=chinese.unit)


def questions_of(text: str, name: str) -> tuple[Question, ...]:
    """Read the text of a file that is called ``name``; a mistake raises ``LabError``."""
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise LabError(f"{name} is nested too deeply") from None
    except ValueError as error:
        raise LabError(visible_line(f"{name} is not valid TOML: {error}")) from None
    top = Table(name, "", data)
    tables = top.tables("questions")
    top.finish()
    if len(tables) > MOST_QUESTIONS:
        raise top.error("questions", f"are {len(tables)}, more than {MOST_QUESTIONS}")
    found: dict[str, Question] = {}
    for table in tables:
        question = _question(table)
        if question.id in found:
            raise table.error("id", f"{question.id!r} is the id of two questions")
        found[question.id] = question
    return tuple(found.values())


def shown(file: Path) -> str:
    """Show a file of a lab by its path in the repository."""
    return f"labs/{file.parent.name}/{file.name}"


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"{shown(file)} cannot be read: {error}") from None


def _question(numbered: Table) -> Question:
    id = numbered.text("id")
    if not _ID.fullmatch(id) or keyword.iskeyword(id):
        raise numbered.error("id", f"must be a name in snake case, not {id!r}")
    table = Table(numbered.file, f"question {id}", numbered.data)  # errors name it by its id
    table.text("id")
    kind = _kind(table)
    question = Question(id, kind, _asks(table), draws=_draws(table, kind))
    match kind:
        case Kind.NUMBER:
            unit = table.text("unit", "").strip()
            question = replace(question, unit=unit, tolerance=_tolerance(table))
        case Kind.CHOICE | Kind.CHOICES | Kind.ORDER:
            question = replace(question, options=_options(table))
        case Kind.FORMULA:
            question = replace(question, names=_names(table))
        case Kind.PROGRAM:
            question = replace(question, signature=_signature(table))
        case Kind.SHAPE:
            pass
    table.finish()
    _check_places(table, question)
    return question


def _kind(table: Table) -> Kind:
    text = table.text("kind")
    if text not in tuple(Kind):
        raise table.error("kind", f"must be {' or '.join(Kind)}, not {text!r}")
    return Kind(text)


def _asks(table: Table) -> str:
    text = table.text("asks").strip()
    if len(text) > MOST_ASKED:
        raise table.error("asks", f"has {len(text)} characters, more than {MOST_ASKED}")
    return text


def _tolerance(table: Table) -> float:
    value = table.value("tolerance", TOLERANCE)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise table.error("tolerance", f"must be a number from 0 to below 1, not {value!r}")
    return float(value)


def _options(table: Table) -> tuple[str, ...]:
    options = tuple(text.strip() for text in table.texts("options"))
    if not 2 <= len(options) <= MOST_OPTIONS:
        raise table.error("options", f"must be 2 to {MOST_OPTIONS}, not {len(options)}")
    for text in options:
        if re.fullmatch(r"\W*[a-zA-Z]\W*", text):
            told = f"{text!r} is a single letter, and by letters students name options"
            raise table.error("options", told)
        if "\n" in text:
            raise table.error("options", f"{text!r} has more than one line")
    return options


def _names(table: Table) -> tuple[str, ...]:
    names = table.texts("names")
    for name in names:
        if not name.isidentifier() or keyword.iskeyword(name) or not name.isascii():
            raise table.error("names", f"{name!r} is no name for a formula")
    if not names:
        raise table.error("names", "must name something: a formula of nothing is a number")
    return names


def _signature(table: Table) -> str:
    text = table.text("signature").strip()
    try:
        (node,) = ast.parse(f"def {text}: pass").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        node = None
    if not isinstance(node, ast.FunctionDef) or not _is_plain(node):
        told = f'must be as "blocks_needed(lengths, block_size)", not {text!r}'
        raise table.error("signature", told)
    return text


def _is_plain(node: ast.FunctionDef) -> bool:
    """Whether all arguments are names by place, without defaults or annotations."""
    given = node.args
    special = given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg
    noted = node.returns or any(argument.annotation for argument in given.args)
    return bool(given.args) and not (special or given.defaults or noted)


def _draws(table: Table, kind: Kind) -> Mapping[str, tuple[Drawn, ...]]:
    inner = table.table("draws")
    if inner.data and kind in (Kind.FORMULA, Kind.PROGRAM):
        raise table.error("draws", f"a {kind} is judged at many arguments: it draws nothing")
    found: dict[str, tuple[Drawn, ...]] = {}
    for name in inner.data:
        if not _ID.fullmatch(name) or keyword.iskeyword(name):
            raise inner.error(name, "must be a name in snake case")
        found[name] = _values(inner, name)
    return found


def _values(table: Table, name: str) -> tuple[Drawn, ...]:
    value = table.value(name)
    values: list[Any]
    if isinstance(value, dict):
        values = _range(table, name, cast(dict[str, Any], value))
    elif isinstance(value, list):
        values = cast(list[Any], value)
    else:
        told = f"must be a list or {{ from = 1, to = 9, step = 2 }}, not {kind_of(value)}"
        raise table.error(name, told)
    if not 2 <= len(values) <= MOST_DRAWN:
        told = f"must be 2 to {MOST_DRAWN} values to draw from, not {len(values)}"
        raise table.error(name, told)
    for item in values:
        if isinstance(item, bool) or not isinstance(item, int | float | str):
            raise table.error(name, f"must hold numbers or strings, not {kind_of(item)}")
        if values.count(item) > 1:
            raise table.error(name, f"holds {item!r} twice")
    return tuple(values)


def _range(table: Table, name: str, given: dict[str, Any]) -> list[Any]:
    """Return the values from an end to the other; decimal fractions are stepped exactly."""
    if unknown := given.keys() - _RANGE:
        raise table.error(f"{name}.{min(unknown)}", "is no key of a range (known: from, to, step)")
    for key in ("from", "to"):
        if key not in given:
            raise table.error(f"{name}.{key}", "is missing")
    numbers = [given["from"], given["to"], given.get("step", 1)]
    for key, value in zip(("from", "to", "step"), numbers, strict=True):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise table.error(f"{name}.{key}", f"must be a number, not {kind_of(value)}")
        if not abs(value) < 1e15:
            raise table.error(f"{name}.{key}", f"is out of range: {value}")
    first, last, step = (Decimal(repr(value)) for value in numbers)
    if step <= 0:
        raise table.error(f"{name}.step", f"must be above 0, not {step}")
    count = int((last - first) / step) + 1
    if not 2 <= count <= MOST_DRAWN:
        raise table.error(name, f"must be 2 to {MOST_DRAWN} values to draw from, not {count}")
    plain = all(isinstance(value, int) for value in numbers)
    return [int(first + i * step) if plain else float(first + i * step) for i in range(count)]


def _check_places(table: Table, question: Question) -> None:
    used = places(question.asks).union(*map(places, question.options))
    for name in sorted(used - question.draws.keys()):
        told = f"{{{name}}} is drawn nowhere; braces that stay are written {{{{ and }}}}"
        raise table.error("asks", told)
    for name in sorted(question.draws.keys() - used):
        raise table.error(f"draws.{name}", f"is not used: {{{name}}} stands nowhere")
