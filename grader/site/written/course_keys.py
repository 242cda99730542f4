"""Each key of ``course.toml``: asked of the code that reads it, explained by the documents.

The reader is given the examples of the documents, and a table that writes down which keys it asks
for. What a key may hold is what the reader says when it holds something else. So no list of keys
stands here: a new one appears by itself, with its comment once an example has it.
"""

import copy
import json
import re
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.course.config import course_of
from grader.errors import InferlabError
from grader.labs.toml import Table
from grader.site.sources.tables import code, table

FILE = "course.toml"
_BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"(?:\[([\w.-]+)\]|([\w-]+)\s*=\s*((?:\"[^\"]*\"|[^#\"])*?))\s*(?:#\s*(.*))?")
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)")
_FORM = re.compile(r"must (?:be |hold )?(.*?)(?:, not .*|: .*)?")
_PROBES: tuple[Any, ...] = ([[1]], -1, "?", "? ?")  # each is refused by some keys
_MISSING: Any = object()
_KINDS = ("a string", "a number", "a whole number", "a list of strings", "strings only")
_SECRET = '"…"'  # as examples write what is nobody's business


@dataclass(frozen=True, slots=True)
class Asking(Table):
    """A table that writes down each key that is asked for, with its default; inner ones do too."""

    found: dict[str, Any] = field(default_factory=dict[str, Any])

    def value(self, key: str, default: Any = _MISSING) -> Any:
        """Return what stands there, as any table does."""
        path = f"{self.where}.{key}" if self.where else key
        # A key that must be there is asked for with a bare object, here or where texts are read.
        self.found.setdefault(path, ... if type(default) is object else default)
        return Table.value(self, key) if default is _MISSING else Table.value(self, key, default)

    def _inner(self, key: str, data: dict[str, Any]) -> Table:
        where = f"{self.where}.{key}" if self.where else key
        return Asking(self.file, where, data, found=self.found)


def course_keys_page(documents: Mapping[str, str]) -> str:
    """Write a table of keys for each table of the file; ``documents`` have examples, by path."""
    examples = examples_of(documents.values())
    keys = asked(examples)
    said = _comments(text for page in documents.values() for text in _BLOCK.findall(page))
    links = " and ".join(f"[{path}](../{path})" for path in documents)
    lines = [
        "# course.toml",
        f"Each key that the program asks {code(FILE)} for, and what it says of a wrong value; "
        f"what a key means is said beside the examples in {links}. Only {code('title')} is "
        "required of the whole, and of a table that is there what *must be there*.",
    ]
    groups: dict[str, list[str]] = {}
    for path in keys:
        groups.setdefault(path.rpartition(".")[0], []).append(path)
    for group in sorted(groups):
        lines.append(f"## {code(f'[{group}]')}" if group else "## At the top of the file")
        lines += [_as_text(said[group][1])] if group in said else []
        rows = [_row(path, keys[path], examples, said) for path in groups[group]]
        lines.append(table(("key", "must be", "unless said", "meaning"), rows))
    return "\n\n".join(lines) + "\n"


def examples_of(documents: Iterable[str]) -> list[dict[str, Any]]:
    """Return the examples of this file in documents; those of others have keys it does not know."""
    blocks = (text for page in documents for text in _BLOCK.findall(page))
    tables = [tomllib.loads(text.replace(_SECRET, f'"{"secret" * 6}"')) for text in blocks]
    known = [{"title": "A course", **data} for data in tables]
    return [data for data in known if "is no key" not in _read(data, {})]


def asked(examples: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the keys that a course is read by, with defaults; of numbered ones the first.

    A key without a default has ``...``.
    """
    found: dict[str, Any] = {}
    for data in examples:
        _read(data, found)
    kept: dict[str, Any] = {}
    for path, default in found.items():
        first = _NUMBER.sub("1", path)
        if default != {} and not any(_NUMBER.sub("1", other) == first for other in kept):
            kept[path] = default
    return kept


def _read(data: dict[str, Any], found: dict[str, Any]) -> str:
    """Read a course as the program does, and return what it says against it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "teams.csv").write_text("team,student\nred,s30\n", encoding="utf-8")
        try:
            course_of(Asking(FILE, "", data, found=found), Path(folder))
        except InferlabError as error:
            return error.message.removeprefix(f"{FILE}: ")
    return ""


def _comments(examples: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return value and comment of keys and heads of tables in examples, by their paths."""
    said: dict[str, tuple[str, str]] = {}
    for text in examples:
        group = ""
        for line in text.splitlines():
            match = _LINE.fullmatch(line)
            if match is None:
                continue
            group = match[1] or group
            path = match[1] or (f"{group}.{match[2]}" if group else match[2])
            if match[4]:
                said.setdefault(path, (match[3] or "", match[4]))
    return said


def _row(
    path: str, default: Any, examples: Sequence[dict[str, Any]], said: Mapping[str, tuple[str, str]]
) -> list[str]:
    value, comment = said.get(path, ("", ""))
    goes_on = value and comment.startswith("or ")
    meaning = f"{code(value)} {_as_text(comment)}" if goes_on else _as_text(comment)
    places = [data for data in examples if _table(data, path) is not None]
    forms, must = _forms(path, places or [{"title": "A course"}])
    shown = "*must be there*" if must else code(_written(default))
    return [code(path.rpartition(".")[2]), _as_text(forms), shown, meaning]


def _forms(path: str, examples: Iterable[dict[str, Any]]) -> tuple[str, bool]:
    """Ask the reader what a key may hold, and if it must be there: it says so of wrong files."""
    told = [_told(path, data, wrong) for data in examples for wrong in (*_PROBES, ...)]
    matches = [_FORM.fullmatch(problem) for problem in told]
    forms = dict.fromkeys(match[1] for match in matches if match)
    kind = next((form for form in reversed(forms) if form in _KINDS), "")
    closer = [form for form in forms if form not in _KINDS]
    if kind and closer and closer[0].startswith(("above", "at most")):
        closer[0] = f"{kind} {closer[0]}"
    return " or ".join(closer or [kind]), any(problem == "is missing" for problem in told)


def _told(path: str, data: dict[str, Any], value: Any) -> str:
    """Return what is said of one key if it has that value; if ``...``, without it."""
    changed = copy.deepcopy(data)
    *folders, key = path.split(".")
    inner = changed
    for name in folders:
        inner = inner.setdefault(name, {})
    if value is ...:
        inner.pop(key, None)
    else:
        inner[key] = value
    where, _, problem = _read(changed, {}).partition(": ")
    return problem if where == path else ""


def _table(data: dict[str, Any], path: str) -> dict[str, Any] | None:
    """Return the table that a key is in; None if there is none."""
    inner: Any = data
    for name in path.split(".")[:-1]:
        inner = inner.get(name) if isinstance(inner, dict) else None
    return inner if isinstance(inner, dict) else None


def _written(value: Any) -> str:
    """Write a default as TOML does; None is no value, and a text of several lines is too long."""
    if value is None or value is ... or (isinstance(value, str) and "\n" in value):
        return ""
    return json.dumps(value, ensure_ascii=False)


def _as_text(comment: str) -> str:
    """Keep Markdown from reading marks into a comment."""
    return re.sub(r"([*_<\[\]{}])", r"\\\1", comment)
