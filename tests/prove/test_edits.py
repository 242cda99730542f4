"""Edits of right answers: what they build, and what is said of one that builds nothing."""

import ast
import difflib
import re
import shutil
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import expectation

from grader.errors import LabError
from grader.prove.answers.diffs import apply, places
from grader.prove.answers.edits import base_name, build, build_sources, built

ROOT = Path(__file__).resolve().parents[2]
WRONG = sorted((ROOT / "solutions").glob("*/wrong/*.py"))
BASE = '''"""A right answer."""

import math
from functools import reduce

LIMIT = 8


def area(radius):
    """Return the area of a circle."""
    if radius < 0:
        raise ValueError("radius")
    return math.pi * radius**2


class Counter(dict):
    step = 1

    def __init__(self, start):
        self.count = start

    def up(self):
        # One more.
        self.count += self.step
        return self.count

    @property
    def twice(self):
        return 2 * self.count
'''
AREA = BASE[BASE.index("def area") : BASE.index("\n\n\nclass")]
ANSWERS = {"shape.py": BASE, "variants/short.py": "def area(radius):\n    return 3 * radius**2\n"}


def edit(body: str, doc: str = "Wrong.\n\nFails: area\n") -> str:
    return f'"""{doc}"""\n\n{textwrap.dedent(body).lstrip()}'


def result(body: str, doc: str = "Wrong.\n\nFails: area\n") -> str:
    return built(edit(body, doc), "shape.py", ANSWERS.__getitem__)


def right(*changes: tuple[str, str]) -> str:
    """The base with the docstring of the edits here, and other changes."""
    text = BASE
    for old, new in (('"""A right answer."""', '"""Wrong.\n\nFails: area\n"""'), *changes):
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


FROM = "Wrong.\n\nFrom: shape.py\nFails: area\n"
BUILT = {
    "a line": (
        'LINES = {"area": r"""\n-     return math.pi * radius**2\n+     return radius**2\n"""}',
        [("math.pi * radius**2", "radius**2")],
    ),
    "a line more": (
        'LINES = {"Counter.up": r"""\n          # One more.\n+         self.step = 2\n"""}',
        [("# One more.\n", "# One more.\n        self.step = 2\n")],
    ),
    "a line less, found by its definition": (
        'LINES = {"Counter.up": r"""\n-         return self.count\n"""}',
        [("        return self.count\n", "")],
    ),
    "two places and an empty line between": (
        'LINES = {"": r"""\n- from functools import reduce\n\n- LIMIT = 8\n+ LIMIT = 9\n...\n'
        '-     step = 1\n+     step = 2\n"""}',
        [
            ("from functools import reduce\n\nLIMIT = 8", "\nLIMIT = 9"),
            ("    step = 1", "    step = 2"),
        ],
    ),
    "empty lines that come and go": (
        'LINES = {"": r"""\n  import math\n+\n  from functools import reduce\n-\n  LIMIT = 8\n"""}',
        [("math\nfrom functools import reduce\n\n", "math\n\nfrom functools import reduce\n")],
    ),
    "a decorator": (
        'LINES = {"Counter.twice": r"""\n-     @property\n"""}',
        [("    @property\n", "")],
    ),
    "a function": (
        "def area(radius):\n    return 0",
        [
            (
                BASE[BASE.index("def area") : BASE.index("\n\n\nclass")],
                "def area(radius):\n    return 0",
            )
        ],
    ),
    "a constant": ("LIMIT = 0", [("LIMIT = 8", "LIMIT = 0")]),
    "a method and one more": (
        "class Counter(dict):\n    def up(self):\n        return 0\n\n"
        "    def down(self):\n        return 1",
        [
            (
                BASE[BASE.index("    def up") : BASE.index("\n\n    @property")],
                "    def up(self):\n        return 0",
            ),
            ("2 * self.count\n", "2 * self.count\n\n    def down(self):\n        return 1\n"),
        ],
    ),
    "another base class": (
        "class Counter(list):\n    step = 2",
        [("class Counter(dict):\n    step = 1", "class Counter(list):\n    step = 2")],
    ),
    "a function more": (
        "def more():\n    return 1",
        [("2 * self.count\n", "2 * self.count\n\n\ndef more():\n    return 1\n")],
    ),
    "an import more": (
        "import math\nimport cmath\n\nLIMIT = cmath.pi",
        [("import reduce\n", "import reduce\nimport cmath\n"), ("LIMIT = 8", "LIMIT = cmath.pi")],
    ),
    "less": (
        "del area, Counter.up",
        [
            (BASE[BASE.index("\n\n\ndef area") : BASE.index("\n\n\nclass")], ""),
            (BASE[BASE.index("\n\n    def up") : BASE.index("\n\n    @property")], ""),
        ],
    ),
}


@pytest.mark.parametrize(("body", "changes"), BUILT.values(), ids=BUILT)
def test_an_edit_builds_the_whole_answer(body: str, changes: list[tuple[str, str]]) -> None:
    assert result(body, FROM) == right(*changes)


def test_the_model_answer_is_what_lines_edit_unless_told_otherwise() -> None:
    lines = 'LINES = {"area": r"""\n-     return 3 * radius**2\n+     return 3\n"""}'
    doc = "Wrong.\n\nFrom: variants/short.py\nFails: area\n"

    assert result(lines, doc) == '"""Wrong.\n\nFails: area\n"""\ndef area(radius):\n    return 3\n'
    with pytest.raises(LabError, match=r"^line 7: is not found in area$"):
        result(lines)


@pytest.mark.parametrize("body", ["def area(radius):\n    return 0\n", "LINES = 3\n"])
def test_a_file_without_lines_and_from_is_a_whole_answer(body: str) -> None:
    assert result(body) == edit(body)
    assert base_name(ast.parse(edit(body)), "shape.py") == ""


def test_an_answer_that_is_built_is_a_whole_one() -> None:
    text = result('LINES = {"area": r"""\n-     return math.pi * radius**2\n"""}', FROM)

    assert built(text, "shape.py", ANSWERS.__getitem__) == text


BROKEN = {
    "no such base": ("", "Wrong.\n\nFrom: variants/long.py\nFails: area\n", 3, "no right answer"),
    "a wrong one as base": ("", "Wrong.\n\nFrom: wrong/a.py\nFails: area\n", 3, "no right answer"),
    "a base outside": ("", "Wrong.\n\nFrom: ../x/shape.py\nFails: area\n", 3, "no right answer"),
    "no such name": ('LINES = {\n    "volume": r"""\n- x\n""",\n}', FROM, 8, "defines no volume"),
    "no such name to delete": ("LIMIT = 1\ndel volume", FROM, 8, "defines no volume"),
    "a stale line": (
        'LINES = {\n    "area": r"""\n      if radius < 0:\n-         raise KeyError\n"""}',
        *(FROM, 10, "is not found in area"),
    ),
    "an empty place": (
        'LINES = {"area": r"""\n...\n-     return math.pi * radius**2\n"""}',
        *(FROM, 8, "has no `- ` and no context"),
    ),
    "lines apart": (
        'LINES = {"area": r"""\n      if radius < 0:\n-     return math.pi * radius**2\n"""}',
        *(FROM, 8, "is not found in area"),
    ),
    "a line that occurs twice": (
        'LINES = {"": r"""\n      step = 1\n+     one = 1\n...\n\n-\n+ x = 1\n"""}',
        *(FROM, 11, "stands 2 times in the answer"),
    ),
    "overlapping places": (
        'LINES = {"area": r"""\n-     if radius < 0:\n+     if radius:\n...\n      if radius < 0:\n'
        '-         raise ValueError("radius")\n"""}',
        *(FROM, 11, "overlaps with what line 8 changes"),
    ),
    "lines of what is written anew": (
        'LINES = {"area": r"""\n-     return math.pi * radius**2\n"""}\n\ndef area():\n    pass',
        *(FROM, 11, "overlaps with what line 8 changes"),
    ),
    "no Python comes out": (
        'LINES = {"area": r"""\n-     if radius < 0:\n"""}\n\nLIMIT = 0',
        *(FROM, 8, "gives no Python: unexpected indent"),
    ),
    "nothing comes or goes": (
        'LINES = {"area": r"""\n      if radius < 0:\n"""}',
        FROM,
        8,
        "nothing",
    ),
    "nothing but what comes": ('LINES = {"area": r"""\n+     x = 1\n"""}', FROM, 8, "no context"),
    "a mark that is none": ('LINES = {"area": r"""\n* x\n"""}', FROM, 8, "begins with neither"),
    "a diff that is no text": ('LINES = {\n    "area": 3,\n}', FROM, 8, "both written out"),
    "a statement": ("LIMIT = 1\nprint(LIMIT)", FROM, 8, "neither a definition"),
    "no Python": ("x = 1\ndef", FROM, 8, "is no Python"),
}


@pytest.mark.parametrize(("body", "doc", "line", "problem"), BROKEN.values(), ids=BROKEN)
def test_an_error_names_the_line_of_the_edit(body: str, doc: str, line: int, problem: str) -> None:
    with pytest.raises(LabError) as caught:
        result(body, doc)

    assert caught.value.message.startswith(f"line {line}: ")
    assert problem in caught.value.message


def test_a_name_that_is_defined_twice_is_ambiguous() -> None:
    twice = {"shape.py": "X = 1\nX = 2\n"}

    with pytest.raises(LabError, match=r"^line 7: the right answer defines X 2 times$"):
        built(edit("X = 3", FROM), "shape.py", twice.__getitem__)


def test_a_file_is_built_beside_its_right_answers(tmp_path: Path) -> None:
    for name, text in ANSWERS.items():
        (tmp_path / "07_shape" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "07_shape" / name).write_text(text)
    file = tmp_path / "07_shape" / "wrong" / "small.py"
    file.parent.mkdir()
    file.write_text(edit("LIMIT = 0", FROM))
    assert build(file) == right(("LIMIT = 8", "LIMIT = 0"))

    file.write_text(edit("LIMIT = 0", "Wrong.\n\nFrom: shapes.py\nFails: area\n"))
    with pytest.raises(LabError, match=r"^small\.py, line 3: there is no right answer shapes\.py$"):
        build(file)


LINES = st.lists(st.sampled_from(["a = 1", "b = 2", "c = 3", "", "d = 4  # x"]), max_size=12)


@given(LINES, LINES)
def test_any_diff_leads_from_one_text_to_the_other(before: list[str], after: list[str]) -> None:
    # One line before that stands nowhere else gives the place of what is only added.
    before, after = ["first = 0", *before], ["first = 0", *after]
    marked = [line for line in difflib.ndiff(before, after) if not line.startswith("?")]
    diff = "\n".join(["", *(line.rstrip() if len(line) < 3 else line for line in marked), ""])
    if before == after:
        return

    (place,) = places(diff, 1)

    change = place.change(before, 0, len(before), "the text")
    assert apply(before, [change]).split("\n")[:-1] == after


@pytest.mark.parametrize("file", WRONG, ids=[f"{file.parts[-3]}/{file.stem}" for file in WRONG])
def test_every_wrong_answer_here_can_be_built(file: Path) -> None:
    assert ast.get_docstring(ast.parse(build(file)))


# Sources for compilers

TWICE = expectation.find("93_twice")


def test_source_is_edited_as_a_whole_and_the_code_stays() -> None:
    file = TWICE.solutions / "wrong" / "thrice.py"

    sources = build_sources(file, TWICE.sources, TWICE.solutions)

    right = {name: (TWICE.solutions / name).read_text() for name in TWICE.sources}
    assert sources == right | {"twice.cpp": right["twice.cpp"].replace("= 2 *", "= 3 *")}
    assert "twice(x: Tensor)" in build(file)


def test_sources_of_an_edit_of_the_code_are_those_of_its_base(tmp_path: Path) -> None:
    solutions = Path(shutil.copytree(TWICE.solutions, tmp_path / TWICE.name))
    (solutions / "variants").mkdir()
    (solutions / "variants" / "other.py").write_text((solutions / "twice.py").read_text())
    (solutions / "variants" / "other.cpp").write_text("// another one\n")
    file = solutions / "wrong" / "added_one.py"
    file.write_text(file.read_text().replace("Fails:", "From: variants/other.py\nFails:"))

    sources = build_sources(file, TWICE.sources, solutions)

    assert sources["twice.cpp"] == "// another one\n"
    assert sources["twice.cu"] == (solutions / "twice.cu").read_text()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("to[i] = 2", "to[i] = 7", "thrice.py, line 8: is not found in twice.cpp"),
        ("twice.cpp", "thrice.cpp", "there is no source thrice.cpp"),
    ],
)
def test_source_that_cannot_be_edited_is_told(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    solutions = Path(shutil.copytree(TWICE.solutions, tmp_path / TWICE.name))
    file = solutions / "wrong" / "thrice.py"
    file.write_text(file.read_text().replace(old, new))

    with pytest.raises(LabError, match=re.escape(problem)):
        build_sources(file, TWICE.sources, solutions)
