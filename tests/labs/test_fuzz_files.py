"""Files that others write (``lab.toml``, code, PSEUDOCODE.md): a line of words, or a verdict."""

import json
import os
import random
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from stand_ins.expectation import HERE
from stand_ins.fuzzing import fuzz

from grader.errors import LabError, UsageError
from grader.labs.documents.regular import MAX_BYTES
from grader.labs.documents.submission import PSEUDOCODE_NAME, Submission, collect, fingerprint
from grader.labs.lab import Lab, load_lab
from grader.labs.results import Verdict
from grader.readers import Budget
from grader.reading import reader, rules, syntax
from grader.reading.pseudocode import pseudocode
from grader.reading.pseudocode.pseudocode import GATE, grade_pseudocode

ROOT = HERE.parent
LABS = [load_lab(folder) for folder in sorted(ROOT.glob("labs/[0-9][0-9]_*"))]
TOMLS = [(lab.folder / "lab.toml").read_text() for lab in LABS]
CODES = [(lab.solutions / lab.code_name).read_bytes() for lab in LABS]
ANSWERS = [(lab.solutions / PSEUDOCODE_NAME).read_bytes() for lab in LABS]
SECONDS = 20.0  # of one file, on a machine that does much else; each takes a fraction of one


def assert_a_line(message: str, naming: str = "") -> None:
    assert message.isprintable()
    assert message
    assert naming in message


# -- bytes, changed ------------------------------------------------------------------------------


@st.composite
def spoilt(draw: st.DrawFn, whole: list[bytes], salt: list[bytes]) -> bytes:
    """One of the files after some accidents."""
    data = bytearray(draw(st.sampled_from(whole)))
    for _ in range(draw(st.integers(1, 5))):
        at, end = sorted(draw(st.tuples(*[st.integers(0, len(data))] * 2)))
        match draw(st.sampled_from("flip cut copy salt join noise lines".split())):
            case "flip" if data:
                data[min(at, len(data) - 1)] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del data[at : min(end, at + 200)]
            case "copy":
                data[at:at] = data[at : at + 200] * draw(st.integers(1, 3))
            case "salt":
                data[at:at] = draw(st.sampled_from(salt))
            case "join":
                other = draw(st.sampled_from(whole))
                data[at:] = other[draw(st.integers(0, len(other))) :]
            case "noise":
                data[at:at] = draw(st.binary(max_size=20))
            case "lines":
                rows = data.splitlines(keepends=True)
                random.Random(at).shuffle(rows)
                data = bytearray(b"".join(rows))
    return bytes(data)


SALT = [
    *(b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\x0c", b"\x1b[2J", b"\xed\xa0\x80", b"\\"),
    *("\u202e".encode(), "\u2028".encode(), "\U0001d4ea\ufb01".encode(), b"'''", b'"""'),
    *(b"[" * 50, b"{" * 50, b"(" * 50),
    *(b"9" * 5000, b"-1", b"1e999", b"nan", b"0x" + b"f" * 5000, b"\t", b"''", b'""', b"()"),
]

# -- lab.toml ----------------------------------------------------------------------------------


def read_lab(folder: Path, content: bytes) -> None:
    """Load a lab: it is one, or a line says which key of which file is wrong."""
    (folder / "lab.toml").write_bytes(content)
    try:
        lab = load_lab(folder)
    except LabError as error:
        assert_a_line(error.message, "labs/01_llama/lab.toml")
        event("refused")
    else:
        assert sum(task.points for task in lab.tasks) == pytest.approx(100)
        assert 1 <= lab.limits.ranks <= 16
        hash(lab)
        event("a lab")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("course") / "labs" / "01_llama"
    made.mkdir(parents=True)
    return made


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_real_lab_is_read(tmp_path: Path, lab: Lab) -> None:
    folder = tmp_path / "course" / "labs" / lab.name
    folder.mkdir(parents=True)
    (folder / "lab.toml").write_bytes((lab.folder / "lab.toml").read_bytes())

    assert load_lab(folder).tasks


@given(spoilt([text.encode() for text in TOMLS], SALT))
@fuzz(200)
def test_spoilt_lab(folder: Path, content: bytes) -> None:
    read_lab(folder, content)


def replaced(draw: st.DrawFn, text: str, value: str) -> str:
    """Put a value in place of one that stands in the file."""
    lines = text.splitlines()
    at = draw(st.sampled_from([n for n, line in enumerate(lines) if " = " in line]))
    lines[at] = f"{lines[at].partition(' = ')[0]} = {value}"
    return "\n".join(lines)


simple = st.one_of(
    st.sampled_from(
        ["true", "1979-05-27", "07:32:00", "inf", "nan", "-1", "0", "0x1f", '"\\u0000"']
    ),
    st.integers(-(10**30), 10**400).map(str),
    st.floats().map(str),
    st.text(max_size=8).map(json.dumps),
)
values = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(inner, max_size=3).map(
            lambda items: "{" + ", ".join(f'"k{n}\\n" = {v}' for n, v in enumerate(items)) + "}"
        ),
    ),
    max_leaves=6,
)


@given(st.data())
@fuzz(300)
def test_lab_with_another_value(folder: Path, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TOMLS))
    for _ in range(data.draw(st.integers(1, 2))):
        text = replaced(data.draw, text, data.draw(values))
    read_lab(folder, text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    "content",
    [
        *(b"a=" + b"[" * 9000, b"a=" + b"{a=" * 9000, b"a=" + b"9" * 9000, b"\xff", b"\0"),
        *(
            b'"a\\nb" = 1',
            b"a" + b".a" * 900 + b"=1",
            b"[" + b"a." * 9000 + b"a]",
            b"title=1\n" * 2,
        ),
    ],
    ids=lambda content: repr(content[:9]),
)
def test_lab_that_breaks_the_reader_is_refused(folder: Path, content: bytes) -> None:
    (folder / "lab.toml").write_bytes(content)

    with pytest.raises(LabError) as caught:
        load_lab(folder)

    assert_a_line(caught.value.message)


# -- a submission's files ---------------------------------------------------------------------

LAB: Lab = LABS[0]
NAMES = [
    *("llama.py", PSEUDOCODE_NAME, "01_llama", "labs", "labs/01_llama", "01_llama/llama.py"),
    *("labs/01_llama/llama.py", "01_llama/PSEUDOCODE.md", "conftest.py", "a\nb.py", "\udcff.py"),
    *("x" * 200, "llama.py ", "Llama.py", "l\u0131ama.py", "-rf", ".git", "llama.py/llama.py"),
]
KINDS = [
    "file",
    "file",
    "file",
    "empty",
    "large",
    "folder",
    "link",
    "loop",
    "away",
    "fifo",
    "socket",
]


def place(root: Path, name: str, kind: str) -> None:
    """Put something of a kind there, unless something else is in the way."""
    path = root / name
    if os.path.lexists(path) or any(parent.is_symlink() for parent in path.parents):
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        match kind:
            case "file":
                path.write_bytes(b"x = 1\n")
            case "empty":
                path.touch()
            case "large":
                with open(path, "wb") as file:
                    file.truncate(MAX_BYTES + 1)
            case "folder":
                path.mkdir()
            case "link":
                path.symlink_to("llama.py")
            case "loop":
                path.symlink_to(path)
            case "away":
                path.symlink_to(root.parent)
            case "fifo":
                os.mkfifo(path)
            case _:
                with socket.socket(socket.AF_UNIX) as bound:
                    bound.bind(os.fspath(path))
    except OSError:
        event("in the way")


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(KINDS)), max_size=6),
    st.sampled_from([".", ".", ".", *NAMES, "nowhere", "\0", "y" * 5000]),
)
@fuzz(150)
def test_tree_is_taken_or_refused(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, str]], source: str
) -> None:
    tree, into = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("clean")
    for name, kind in entries:
        place(tree, name, kind)
    try:
        got = collect(LAB, tree / source, into)
    except UsageError as error:
        assert_a_line(error.message)
        event("refused")
        return
    assert set(got.files) <= {LAB.code_name, PSEUDOCODE_NAME}
    assert {path.name: path.read_bytes() for path in into.iterdir()} == got.files
    assert all(content in (b"x = 1\n", b"") for content in got.files.values())
    event("taken")


# -- code ----------------------------------------------------------------------------------------


def submission(lab: Lab, code: bytes, text: bytes | None = None) -> Submission:
    files = {lab.code_name: code} | ({} if text is None else {PSEUDOCODE_NAME: text})
    folder = Path("/nonexistent")
    return Submission(files, fingerprint(files), folder, lab.code_name, folder, False)


def judge_code(code: bytes) -> reader.Facts:
    """Read code as the judge does, and hold it against the rules of a lab."""
    started = time.monotonic()
    facts = reader.read_code(code, Budget())
    rules.find_violations(LAB, facts)
    assert time.monotonic() - started < SECONDS
    assert facts.fault is None or str(facts.fault)
    return facts


GRAMMAR = [
    *(b"\nmatch a:\n    case [b, *_] | {'k': C(d=1)}: pass\n", b"\nx: int = (y := 1)\n"),
    *(
        b"\nasync def f(*a, b=1, **k):\n    async with a as b: yield await c\n",
        b"\ndel a.b[c:d, ...]\n",
    ),
    *(
        b"\ntry: pass\nexcept* E as e: raise e from None\nfinally: pass\n",
        b"\nglobal a\nnonlocal b\n",
    ),
    *(b"\nf = lambda *, a=f'{x!r:>{w}}': [*a, {**b}]\n", b"\n@d(1)[2].e\nclass A(B, m=C): a = a\n"),
    *(
        b"\nfrom . import a\nfrom torch.nn.functional import *\n",
        b"\nimport torch as t, a.b.c as d\n",
    ),
    *(
        b"\nwith a as (b, c), d: ...\n",
        b"\nfor a, *b in c: continue\nelse: break\n",
        b"\nreturn 1\n",
    ),
]


@given(spoilt(CODES, [*SALT, *GRAMMAR]))
@fuzz(150)
def test_spoilt_code_is_read_or_at_fault(code: bytes) -> None:
    """In this process, which is quicker: what breaks the parser itself is below."""
    facts = reader.facts_of(json.loads(json.dumps(syntax.read(code))))
    rules.find_violations(LAB, facts)
    event("a fault" if facts.fault else "code")


@given(spoilt(CODES, [*SALT, *GRAMMAR]))
@fuzz(20)
def test_reader_in_its_own_process_survives(code: bytes) -> None:
    facts = judge_code(code)
    event("a fault" if facts.fault else "code")


HUGE = {
    "number as a default": b"def f(x=0x" + b"f" * 100_000 + b", *, y=1): pass",
    "newline in a default": b"def f(x=f'''{\"\"\"\n\"\"\"}'''): pass",
    "digits": b"x = " + b"9" * 100_000,
    "brackets": b"x = " + b"[" * 100_000,
    "closed brackets": b"x = " + b"(" * 150 + b")" * 150,
    "sum": b"x = " + b"1+" * 200_000 + b"1",
    "attributes": b"x = torch" + b".a" * 200_000,
    "calls": b"x = f" + b"()" * 50_000,
    "lambdas": b"x = " + b"lambda:" * 30_000 + b"1",
    "indents": b"".join(b" " * n + b"if x:\n" for n in range(99)),
    "comparisons": b"x = " + b"a<" * 20_000 + b"a",
    "strings": b"x = " + b"'a'" * 200_000,
    "f-strings": b"x = " + b"f'{" * 200 + b"1" + b"}'" * 200,
    "names": b"".join(b"a%d = a%d\n" % (n + 1, n) for n in range(5000)),
    "branches": b"import torch\n" + b"x = torch\n" * 5000 + b"x.y",
    "many meanings": b"".join(b"if c: import torch.a%d as x\n" % n for n in range(3000))
    + b"def f():\n"
    + b"    x.relu(x)\n" * 30_000,
    "globals": b"def f():\n    global " + b",".join(b"a%d" % n for n in range(50_000)),
    "decorators": b"@torch.a\n" * 5000 + b"def f(): pass",
    "null": b"x = 1\0",
    "utf-16": "x = 1".encode("utf-16"),
    "unknown encoding": b"# coding: klingon\n",
    "rot13": b"# coding: rot13\nk = 1",
    "wide identifiers": "\U0001d4fd\U0001d4f8 = \uff45\uff56\uff41\uff4c".encode(),
    "mark": b"\xef\xbb\xbf# coding: latin-1\nx = 1",
    "form feeds": b"\f" * 100_000,
    "joined lines": b"\\\n" * 100_000,
    "empty": b"",
}


@pytest.mark.parametrize("name", HUGE)
def test_code_made_to_break_the_reader(name: str) -> None:
    """A verdict in bounded time: never our failure, never a reply that fills our memory."""
    judge_code(HUGE[name])


def test_default_that_cannot_be_written_is_shown_as_dots() -> None:
    facts = reader.read_code(HUGE["number as a default"], Budget())

    assert facts.signatures == {"f": "x=..., *, y=..."}


# -- PSEUDOCODE.md -------------------------------------------------------------------------------


def judge_text(lab: Lab, text: bytes, code: bytes = b"x = 1\n") -> dict[str, Any]:
    started = time.monotonic()
    grade = grade_pseudocode(lab, submission(lab, code, text))
    assert time.monotonic() - started < SECONDS
    expected = [test.id for test in pseudocode.pseudocode_tests(lab)]
    assert [result.id for result in grade.results] == expected
    assert all(result.verdict in (Verdict.PASSED, Verdict.FAILED) for result in grade.results)
    json.dumps(grade.extras, allow_nan=False).encode()
    return {result.id: result for result in grade.results}


@given(spoilt(ANSWERS, [*SALT, b"\n## norm\n", b"<!--", b"-->", b"\n> ", b"\n```\n", b"1.1.1."]))
@fuzz(150)
def test_spoilt_pseudocode_gets_a_verdict(text: bytes) -> None:
    results = judge_text(LAB, text)
    event(str(results[GATE].verdict))


@given(st.text(max_size=300), st.sampled_from(CODES))
@fuzz(50)
def test_any_text_gets_a_verdict(text: str, code: bytes) -> None:
    heading = f"## {LAB.tasks[0].id}\n"
    judge_text(LAB, (heading + text).encode("utf-8", "surrogatepass"), code)


HEADING = f"## {LAB.tasks[0].id}\n".encode()
MOST = pseudocode.MOST_TEXT - len(HEADING)
SLOW = {
    "quotes and lines": b"> "
    + b"aa " * (MOST // 7)
    + b"\n"
    + b"".join(b"aa b%d\n" % n for n in range(MOST // 18)),
    "dotted numbers": b"1.1" * (MOST // 3 - 9) + b"x",
    "digits": b"1" * (MOST - 9) + b"x",
    "comments": b"<!--" * (MOST // 4),
    "quotation marks": b"'''" * (MOST // 3 - 9) + b"\\",
    "backslashes": b"'\\" * (MOST // 2),
    "the code itself": b"a " * (MOST // 2),
    "headings": HEADING * (MOST // len(HEADING)),
}


@pytest.mark.parametrize("name", SLOW)
def test_pseudocode_made_to_be_slow(name: str) -> None:
    judge_text(LAB, HEADING + SLOW[name], b"a " * 500_000)


def test_pseudocode_of_a_megabyte_fails_and_says_why() -> None:
    results = judge_text(LAB, HEADING + b"say a word\n" * 90_000)

    assert {result.verdict for result in results.values()} == {Verdict.FAILED}
    assert "has more than 100,000 characters" in results[GATE].message
