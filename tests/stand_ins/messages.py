"""Find the messages in sources: what reads like words, and what is said in so many words.

No call marks most of them, so none can be forgotten: a string of two words or more is a message
unless it is a docstring, a pattern or something named in ``UNSAID``. A single word is one where it
is given to ``say`` or ``word``. Parts of an f-string that are computed become places, ``{names}``.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from babel.messages.pofile import read_po
from jinja2 import Environment
from jinja2.ext import extract_from_ast

from grader import ROOT
from grader.course.publishing.beside.makefile import makefile_of, words_of
from grader.course.publishing.tree import TARGETS
from grader.labs.lab import lab_names
from grader.languages.language import CATALOGUES

CATALOGUE, PUBLIC, HIDDEN = (ROOT / name for name in CATALOGUES)
# What students are told in: reports, refusals of their work, the commands that they use.
SOURCES = (
    *("grader/report/facts/*.py", "grader/report/formats/terminal.py"),
    *("grader/report/formats/html.py", "grader/notebook/verdict.py"),
    *("grader/cli/commands.py", "grader/cli/terminal/[fp]*.py", "grader/judge/manual.py"),
    *("grader/judge/builds.py", "grader/judge/grade.py", "grader/judge/runner.py"),
    *("grader/judge/plugin/*.py", "grader/proxy/**/*.py", "grader/timing/*.py"),
    *("grader/reading/*.py", "grader/reading/pseudocode/[aps][!a]*.py"),
    *("grader/sandbox/allowance.py", "grader/sandbox/building.py", "grader/sandbox/level.py"),
    *("grader/sandbox/process.py", "grader/sandbox/stage.py", "grader/labs/compiled.py"),
    *("grader/labs/documents/[cnrs]*.py", "grader/labs/documents/mishaps.py"),
    *("grader/notebook/build.py", "grader/notebook/handout.py"),
    *("grader/questions/[agijlt]*.py", "grader/questions/p[ar][go][eg]*.py"),
    "grader/cli/handing/questions.py",
    *("grader/worker/sanitizer/*.py", "grader/worker/code/[fk]*.py", "grader/confined.py"),
    *("grader/worker/compiling/*.py", "grader/worker/kernels/*.py", "grader/limited.py"),
    *("grader/worker/device/kernels.py", "grader/worker/hidden/launch_sites.py"),
    *("grader/worker/serve.py", "grader/worker/scripts/[ar]*.py", "grader/wire/objects.py"),
    *(
        "grader/grammar.py",
        "grader/files.py",
        "grader/labs/lab.py",
        "grader/sandbox/confinement/gpu.py",
    ),
    *("grader/report/markup/chart.py", "grader/report/markup/plots.py"),
    *("grader/report/markup/heatmap.py", "grader/report/formats/markdown.py"),
    *("grader/course/mail.py", "grader/service/giving/reports.py", "grader/site/written/cards.py"),
    *("grader/course/publishing/beside/handing.py", "grader/course/publishing/beside/readme.py"),
    *("grader/cli/doctor.py", "grader/cli/start.py", "grader/start/lay.py"),
    *("grader/cli/notebook.py", "grader/cli/repeating/*.py", "grader/cli/kernels/*.py"),
    "grader/notebook/files.py",
    *("grader/client/*.py", "grader/cli/handing/a[t]*.py", "grader/cli/handing/[bw]*.py"),
    *("grader/course/gradebook/marks.py", "grader/course/gradebook/g*.py"),
    *("grader/course/gradebook/totals.py", "grader/course/rules/total.py"),
    *("grader/course/reading/points.py", "grader/course/reading/comments.py"),
    *("grader/course/analysis/requests.py", "grader/course/database/giving/records.py"),
    *("grader/service/core/[bdv]*.py", "grader/service/core/people/requests.py"),
    *("grader/service/adapters/web/[bp]*.py", "grader/service/adapters/web/shared/*.py"),
    "grader/service/adapters/web/sign_in.py",
    *("grader/service/adapters/web/gate/gate.py", "grader/service/adapters/web/api.py"),
    *("grader/service/adapters/web/desk/given.py", "grader/service/adapters/web/desk/launches.py"),
    *("grader/service/adapters/web/desk/requests.py", "grader/service/adapters/web/texts/*.py"),
)
# Tests of labs that have a Chinese handout: a lab may be in English only.
_IN_CHINESE = [
    name for name in lab_names(ROOT) if (ROOT / "labs" / name / "README.zh.md").is_file()
]
SOURCES_OF = {
    CATALOGUE: SOURCES,
    PUBLIC: ("labs/speed/*.py", *(f"labs/{name}/test_*.py" for name in _IN_CHINESE)),
    HIDDEN: tuple(f"grader/suites/*_{name}.py" for name in _IN_CHINESE),
}
STUDENTS_TARGETS = (*TARGETS, "run", "chat", "serve", "speculate")
# Whose texts stand in calls of ``_``: the pages of the service.
TEMPLATES = "grader/service/adapters/web/templates/*.html"
# Strings of these that no student reads: what authors of labs did wrong, styles, code, patterns.
UNSAID = re.compile(
    r"^ *import (gc|json|os|sys|torch|triton)|^from \w+ import |; import "
    r"|^make (grade|repeat|hint) |^\"\"\""
    r"|\bdef |global |return |print\(|with suppress|for last in|tl\.store|^bold|^not bold"
    r"|^a malformed|^an unknown (message|kind)|^an answer to no|^waiting for (the GPU|what is comp)"
    r"|^starting workers|^loading the sub|^first calls|^controls: |^compiling kernels|^races: "
    r"|names no tiers$|^task\(id|belongs to no task|no contract \{contract\} in lab|^between tests"
    r"|^# |NN_topic|two digits, an|lab\.toml|^every lab folder|is nested too deeply$|not valid TOML"
    r"|have the same number|^grading: |solutions to check|instructors'|--only must|no turn in time"
    r"|remembered|nothing (was|to) check|benchmark|^the full repository|^a an and|of on at for"
    r"|^Cannot alloc|^can't alloc|^start new thread|closed by peer$|connection reset|broken pipe"
    r"|remote process|active drivers|Pointer argument|data pointer|^from user code|^File "
    r"|restore it|^no checkpoint|must name a|^wrong number$|is not callable|sandbox of a comp"
    r"|^%+(load_ext|lab|check|task \{)|^## "
    r"|^ *<|;padding:|;overflow-"
    r"|how Python \{python|^tuned kernels|torch is not installed|^no cgroup|no lower-case"
    r"|^(is|are) wrong,|^make questions|must be at most|^is not$"
    r"|^(git|make) (remote|submit|attempts)|^  (git remote|make submit)|^Hand in lab|^Bearer|: %s$"
    r"|^(given|lti|email|number) \{\w+\}$|^\{lab\}\{times\}|^ of \{count\}$|^form-act"
    r"|^(svg|text|polyline|@media|\.\w+) ?[{(.]|^padding:|^soft (end|mid)$|^ at \{outer\}$"
    r"|^must (be|not) |^has a \$|^\$\$ is|^names \$\{|^known are|^set \{password\}$|^lab \w+ lists"
    r"|^assert |raise SystemExit|^from (grader|importlib|\{pack)|^ +for lab|^except |^told = kind"
    r"|^if not torch|^repeated\.begin|^import \{topic|^x = torch|-m pdb|^make python LAB=\{number"
    r"|^such as 3;|^bring all but|^write the lab's notebook|^pip install -e"
    r"|^noindex|^accept-lang|^private, max|asked has gone"
    r"|^lab (login|gradebook|roster) [URLa-z{}]+$|^answers? to %s|^an answer to %s|^apt install"
    r"|^make (check|field) |^lab check |^caught publicly$|^\(Tensor |^Used \("
    r"|bytes spill|^\(\\S\*\)|^for i in range|isinstance\(|^with open\("
)

LABELLED = "labelled"  # of its arguments a label alone is marked
MARKS = frozenset({"say", "word", LABELLED})
_WORDS = re.compile(r"[A-Za-z][a-z']+,? [a-z(]")
_SILENT = frozenset(
    {"compile", "match", "getenv", "JudgeError", "AssertionError", "ValueError", "TypeError"}
    | {"parametrize"}  # what it is given stands in the names of tests
)
# Too short to be known for words.
SHORT = frozenset(
    {"labs: {known}", "a {name}{x}", "{lengths}; {x}", "item {index} of {what}", "1 step"}
    | {"{text} ({why}).", "{text}.", "call: {call}", "calls:"}
    | {"{count} steps", "{outer}[{index}] of {match}", "PSEUDOCODE.md: {told}"}
    | {"{count} day", "{count} days", "dropped: {list}", "bonus: {list}"}
    | {
        "{count} % ({of})",
        "number {number}: {page}",
        "{author} on {about}:",
        "{name}: {count} bytes",
    }
    | {
        "{now} of {most} MHz",
        "{group}: {unit} by size",
        "hash {hash}: {page}",
        "Hand in? [y/N] ",
        "Go on? [y/N] ",
        "token: ",
        "Your id: ",
        "no CUDA device",
        "Hello $name,",
    }
    | {"  got       {came}", "  expected  {due}", "  got       {plain}", "  expected  {plain}"}
    | {"reads", "writes", "write-write", "read-write", "outside", "unwritten", "masked"}
    | {"overflow", "waits", "grid"}
)
# Of English grammar: no translation needs them.
BOUND = frozenset({"verb", "it", "plural"})


def messages(file: Path) -> list[str]:
    """Return the messages of a source file, in its order, each once."""
    tree = ast.parse(file.read_bytes())
    docstrings = {id(node) for node in ast.walk(tree) for node in _docstring(node)}
    found: dict[str, None] = {}
    for node, marked in _strings(tree, docstrings):
        for text in template(node):
            words = re.sub(r"\{[^}]*\}", "x", text)
            told = _WORDS.search(words) and not UNSAID.search(text)
            if marked or told or text in SHORT:
                found[text.strip("\n")] = None
    return [text for text in found if text.strip()]


def all_messages(patterns: Iterable[str] = SOURCES) -> dict[str, list[str]]:
    """Return all messages, each with the paths of the files that have it."""
    files = sorted({file for pattern in patterns for file in ROOT.glob(pattern)})
    found: dict[str, list[str]] = {}
    for file in files:
        for text in messages(file):
            found.setdefault(text, []).append(str(file.relative_to(ROOT)))
    for text in words_of(makefile_of((ROOT / "Makefile").read_text(), STUDENTS_TARGETS)):
        found.setdefault(text, []).append("Makefile")
    for file in sorted(ROOT.glob(TEMPLATES)):
        for text in said_by(file):
            found.setdefault(text, []).append(str(file.relative_to(ROOT)))
    return found


def said_by(file: Path) -> Iterator[str]:
    """Return what a template says, in its order."""
    tree = Environment().parse(file.read_text(encoding="utf-8"))
    for _line, _call, texts in extract_from_ast(tree, ("_",), babel_style=False):
        yield from (text for text in texts or () if text)


def template(node: ast.expr) -> list[str]:
    """Return an f-string or a string line by line, with names in the places of what is computed."""
    if isinstance(node, ast.Constant):
        return str(node.value).split("\n")
    assert isinstance(node, ast.JoinedStr)
    text, seen = "", dict[str, str]()
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += str(part.value).replace("{", "{{").replace("}", "}}")
        elif isinstance(part, ast.FormattedValue):
            text += _place(part.value, seen)
    return text.split("\n")


def _place(value: ast.expr, seen: dict[str, str]) -> str:
    match value:
        case ast.Call(func=ast.Name(id="agreeing"), args=[what, ast.Constant(value=str(verb))]):
            return f"{_place(what, seen)} {verb}"
        case _:
            key = ast.dump(value)
            if key not in seen:
                name = _name(value)
                same = sum(other.rstrip("0123456789") == name for other in seen.values())
                seen[key] = f"{name}{same + 1}" if same else name
            return "{" + seen[key] + "}"


def _name(value: ast.expr) -> str:
    """Name a place by what is computed there."""
    match value:
        case ast.Name(id=name):
            return name.strip("_").lower()
        case ast.Attribute(attr=name):
            return name.strip("_").lower()
        case ast.Call(func=ast.Attribute(attr="join")) | ast.ListComp():
            return "list"
        case ast.Call(func=ast.Name(id="len" | "sum" | "int" | "number")):
            return "count"
        case ast.Call(
            func=ast.Name(id="visible_line" | "visible" | "str" | "say"), args=[first, *_]
        ):
            return _name(first)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name.strip("_").lower()
        case ast.BinOp(left=ast.Constant(value="s")):
            return "plural"
        case ast.Subscript(value=inner) | ast.BinOp(left=inner):
            return _name(inner)
        case _:
            return "x"


def _docstring(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value


def _strings(tree: ast.AST, skipped: set[int]) -> Iterator[tuple[ast.expr, bool]]:
    """Go through the strings that may be messages; True for those that are marked."""
    todo: list[tuple[ast.AST, bool]] = [(tree, False)]
    while todo:
        node, marked = todo.pop()
        if id(node) in skipped:
            continue
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="split")):
                continue  # a list of names
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                if name in _SILENT:
                    continue
                below = [*node.args, *(item.value for item in node.keywords)]
                labels = name == LABELLED
                todo += [
                    (item, name in MARKS and (isinstance(item, ast.Constant) or not labels))
                    for item in reversed(below)
                ]
                todo.append((node.func, False))
                if name == "counted" and isinstance(noun := node.args[-1], ast.Constant):
                    yield ast.Constant(f"{{count}} {noun.value}s"), True
            case ast.Constant(value=str()):
                yield node, marked
            case ast.JoinedStr():
                yield node, marked
                inner = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
                todo += [(item, False) for item in reversed(inner)]
            case ast.IfExp():
                todo += [(node.orelse, marked), (node.body, marked), (node.test, False)]
            case ast.Compare() | ast.Assert() | ast.AnnAssign(value=None):
                continue
            case _:
                todo += [(child, False) for child in reversed([*ast.iter_child_nodes(node)])]


def places(text: str) -> Mapping[str, int]:
    """Count the places of a message by their names."""
    found: dict[str, int] = {}
    for name in re.findall(r"(?<!\{)\{([a-z_0-9]*)(?::say|:each)?\}", text):
        found[name] = found.get(name, 0) + 1
    return found


def wanted(catalogue: Path) -> dict[str, list[str]]:
    """Return the messages that a catalogue is to have: what one before it has, it leaves out."""
    before: set[str] = set()
    for other, sources in SOURCES_OF.items():
        found = all_messages(sources)
        if other == catalogue:
            return {text: files for text, files in found.items() if text not in before}
        before |= found.keys()
    raise ValueError(catalogue)


def problems(catalogue: Path) -> list[str]:
    """Return what is wrong with a catalogue: missing, fuzzy, unused, or with other places."""
    with catalogue.open("rb") as file:
        known = {str(item.id): item for item in read_po(file) if item.id}
    texts = wanted(catalogue)
    found = [f"missing: {text}" for text in texts if text not in known or not known[text].string]
    found += [f"unused: {text}" for text in known if text not in texts]
    for text, item in known.items():
        if item.fuzzy:
            found.append(f"fuzzy: {text}")
        here, there = set(places(text)), set(places(str(item.string)))
        if item.string and not here - BOUND <= there <= here:
            found.append(f"other places: {text}")
    return found
