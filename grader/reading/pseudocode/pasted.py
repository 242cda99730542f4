"""What a text was pasted from: Python, or sentences that came with the lab; each as a share.

Shares are of tokens or words, 0 to 1. The text and the code may be anything at all: little of it is
parsed, a line at a time, and what does not parse is taken for words.
"""

import ast
import itertools
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence

from grader.reading.pseudocode.words import has_han, runs, tokens, weigh, weight, words

GRAM = 5  # tokens or words in a row that two texts share
NAMELESS_GRAM = 12  # tokens in a row, names aside: a formula of its own is shorter
PROMPT_GRAM = 3  # words in a row: clauses of a prompt in another order have longer ones
MOST_LINE = 600  # characters of a statement that is parsed, over all its lines
MOST_LINES = 20  # of one statement
MOST_PARSED = 250  # statements of one text; a file of eight sections has 2000

_NUMBER = "[\\d一二三四五六七八九十]+"
# Chinese has no space behind a mark: 1、 (一) 第一步: ①
_MARKER = re.compile(
    rf"""\A\s*(?: (?: [-*+•] | \(?\d+(?:\.\d+)*[.):]? | [a-z][.)] )(?:\s+|$)
    | (?: {_NUMBER}[、.):] | \({_NUMBER}\) | (?:第{_NUMBER}步|步骤\s*{_NUMBER})[、,:.]?
        | [\u2460-\u2473\u2776-\u277f] )(?!\d)\s*
    )""",
    re.VERBOSE,
)
# Comments and strings are left out: who writes the pseudocode into the docstring copies no Python.
_PYTHON = re.compile(
    r"""(?P<skip>\#[^\n]*|'{3}.*?(?:'{3}|\Z)|"{3}.*?(?:"{3}|\Z)|'(?:\\.|[^'\\\n])*'?|"(?:\\.|[^"\\\n])*"?)"""
    r"|\w+|[^\w\s]",
    re.DOTALL,
)
_DOCSTRING = re.compile(r"""'{3}.*?(?:'{3}|\Z)|"{3}.*?(?:"{3}|\Z)""", re.DOTALL)
_MAY_BE_CODE = re.compile(r"[(\[=@.]|\A(?:async|class|def|del|from|import|lambda|return|with)\b")
# It would swallow the body that is put behind a header. It begins where blanks do: else a line of
# blanks takes quadratic time.
_REMARK = re.compile(r"(?<!\s)\s{2,}#\s.*\Z")
_CALL = re.compile(r"\w\(")  # "rows (all of them)" is no call
_LABEL = re.compile(r"[^:=(\[]{1,40}:\s+|\w+,?\s+")  # what stands before a statement: "then "
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_KEYWORDS = frozenset(
    "and as assert async await break class continue def del elif else except finally for from "
    "global if import in is lambda nonlocal not or pass raise return try while with yield "
    "True False None self range".split()
)
_MATHS = frozenset(
    "abs argmax argmin ceil cos dot erf exp exp2 floor gelu len ln log log2 log10 logsumexp max "
    "mean median min mod norm prod relu round rsqrt sigmoid sign silu sin softmax sqrt std sum "
    "tan tanh topk trunc var variance".split()
)
_SIGNS = frozenset(". : def class return for while import raise with lambda self".split())
_ONLY_CODE = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Return, ast.Import, ast.ImportFrom),
    *(ast.Attribute, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    *(
        ast.Dict,
        ast.Set,
        ast.With,
        ast.AsyncWith,
        ast.Raise,
        ast.Try,
        ast.Assert,
        ast.Delete,
        ast.JoinedStr,
    ),
    *(ast.NamedExpr, ast.Starred, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal),
)
_STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.For, ast.While, ast.If)


def bare(line: str) -> str:
    """Take the mark of a list and the space around a line away."""
    return _MARKER.sub("", line, count=1).strip()


def python_tokens(source: str) -> list[str]:
    """Split Python into tokens, without comments and strings; any text will do."""
    return [found[0] for found in _PYTHON.finditer(source) if found["skip"] is None]


def python_remarks(source: str) -> str:
    """Give the comments and strings of Python, one a line; any text will do."""
    return "\n".join(found[0] for found in _PYTHON.finditer(source) if found["skip"] is not None)


def nameless(found: Sequence[str]) -> list[str]:
    """Put one sign in the place of every name; keywords and what follows a dot stay.

    Who renames the variables of a program keeps the names of methods.
    """
    return [
        token if not token.isidentifier() or token in _KEYWORDS or before == "." else "name"
        for before, token in zip(["", *found], found, strict=False)
    ]


def grams(found: Sequence[str], length: int = GRAM) -> frozenset[tuple[str, ...]]:
    """Give all runs of tokens that are worth ``length`` words."""
    return frozenset(tuple(found[at:end]) for at, end in runs(found, length))


def covered(
    found: Sequence[str],
    known: frozenset[tuple[str, ...]],
    length: int = GRAM,
    worth: Sequence[str] | None = None,
) -> float:
    """Give the share of tokens that lie in one of the ``known`` runs, all of one length.

    ``worth`` are tokens to weigh in their place, one for each.
    """
    inside = [False] * len(found)
    for at, end in runs(found, length):
        if tuple(found[at:end]) in known:
            inside[at:end] = [True] * (end - at)
    weights = [weight(token) for token in worth or found]
    return sum(itertools.compress(weights, inside)) / sum(weights) if weights else 0.0


def shared(lines: Iterable[str], code: frozenset[tuple[str, ...]]) -> float:
    """Give the share of tokens that lie in a run which the code has too.

    Read as words and as Python, the larger counts: comments in pasted code must not dilute it.
    """
    text = "\n".join(_MARKER.sub("", line, count=1) for line in lines)
    return max(covered(tokens(text), code), covered(python_tokens(text), code))


def nameless_grams(source: str) -> frozenset[tuple[str, ...]]:
    """Give a program's runs of ``NAMELESS_GRAM`` tokens, but for those a formula has too."""
    found = grams(nameless(python_tokens(source)), NAMELESS_GRAM)
    return frozenset(run for run in found if not _SIGNS.isdisjoint(run))


def shared_nameless(lines: Iterable[str], code: frozenset[tuple[str, ...]]) -> float:
    """Give what ``shared`` gives where names do not count; ``code`` is of ``nameless_grams``."""
    text = "\n".join(_MARKER.sub("", line, count=1) for line in lines)
    found = python_tokens(text)
    return covered(nameless(found), code, NAMELESS_GRAM, found)


def quoted(text: str, known: frozenset[tuple[str, ...]], length: int = GRAM) -> float:
    """Give the share of a text's words, numbers aside, that lie in one of the ``known`` runs."""
    return covered(_numberless(text), known, length)


def quotable(text: str, length: int = GRAM) -> frozenset[tuple[str, ...]]:
    """Give all runs of ``length`` words of a text, numbers aside."""
    return grams(_numberless(text), length)


def _numberless(text: str) -> list[str]:
    return [word for word in words(text) if not word.isdigit()]


def python_share(lines: Iterable[str]) -> float:
    """Give the share of tokens in statements that only code has; formulas are no code.

    Lines that are comments do not count, and neither do docstrings where that makes a difference.
    """
    lines = [line for line in map(bare, lines) if not line.startswith("#")]
    without = _DOCSTRING.sub("", "\n".join(lines)).split("\n")
    return max(_share(lines), _share(without)) if without != lines else _share(lines)


def _share(lines: Sequence[str]) -> float:
    code = total = 0.0
    at = 0
    budget = iter(range(MOST_PARSED))
    cells = [_REMARK.sub("", cell).strip(" `") for line in lines for cell in _cells(line)]
    while at < len(cells):
        text, taken = _statement(cells, at)
        tail = _code(text, budget)
        if not tail and taken > 1:
            text, taken = cells[at], 1
            tail = _code(text, budget)
        found = python_tokens(tail)
        # A Chinese clause is a name to Python: what has one may parse and is words all the same.
        code += weigh(token for token in found if not has_han(token))
        total += weigh(found) + weigh(tokens(text.removesuffix(tail)))
        at += taken
    return code / total if total else 0.0


def _cells(line: str) -> list[str]:
    """Cut the row of a table into its cells."""
    return line.strip("|").split("|") if line.startswith("|") else [line]


def _statement(lines: Sequence[str], at: int) -> tuple[str, int]:
    """Join lines from ``at`` on until all brackets are closed; also say how many they are."""
    depth = size = 0
    for taken, line in enumerate(lines[at : at + MOST_LINES], 1):
        size += len(line) + 1
        if size > MOST_LINE:
            break
        signs = python_tokens(line)
        depth += sum(sign in _OPEN for sign in signs) - sum(sign in _CLOSE for sign in signs)
        if depth <= 0:
            return "\n".join(lines[at : at + taken]), taken
    return lines[at], 1


def _code(text: str, budget: Iterator[int]) -> str:
    """Give the end of a text that is Python, "" if none is; the start may be "then" or a label."""
    if len(text) > MOST_LINE or not _MAY_BE_CODE.search(text):
        return ""
    if _has_code(_parsed(text, budget), text):
        return text
    for _ in range(2):
        label = _LABEL.match(text)
        if label is None:
            return ""
        text = text[label.end() :]
        tree = _parsed(text, budget)
        if tree is not None and isinstance(tree.body[0], _STATEMENTS) and _has_code(tree, text):
            return text
    return ""


def _parsed(text: str, budget: Iterator[int]) -> ast.Module | None:
    """Parse one statement, a header without its body too; None if it is no Python."""
    body = " pass" if python_tokens(text)[-1:] == [":"] else ""
    if text.startswith("@"):
        body = "\ndef f(): pass"
    start = "if 0: pass\n" if text.startswith(("elif", "else")) else ""
    start = "try: pass\n" if text.startswith(("except", "finally")) else start
    if next(budget, None) is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a string is worth one
            tree = ast.parse(start + text + body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if tree.body else None


def _has_code(tree: ast.Module | None, text: str) -> bool:
    if tree is None:
        return False
    try:
        return any(_only_code(node, text) for node in ast.walk(tree))
    except RecursionError:
        return False


def _only_code(node: ast.AST, text: str) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _MATHS:
            return False
        case ast.Call():
            return _CALL.search(text) is not None
        case ast.Subscript(slice=ast.Slice() | ast.Constant(value=str())):
            return True
        case ast.Subscript(slice=ast.Tuple(elts=indices)):
            return not all(_is_letter(index) for index in indices)
        case ast.Try() if text.startswith(("except", "finally")):
            return text.startswith("except ")
        case _:
            return isinstance(node, _ONLY_CODE)


def _is_letter(index: ast.expr) -> bool:
    """True for the i of a formula and the T of a shape."""
    match index:
        case ast.Name(id=name):
            return len(name) == 1
        case ast.Constant(value=value):
            return isinstance(value, int)
        case ast.BinOp(left=left, right=right):
            return _is_letter(left) and _is_letter(right)
        case _:
            return False
