"""PSEUDOCODE.md: what earns the points, what does not, and that any bytes are survived."""

import ast
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.labs.documents.submission import Submission
from grader.labs.lab import PSEUDOCODE, Lab, Limits, all_labs
from grader.labs.results import Verdict
from grader.labs.task import Task
from grader.reading.pseudocode.pseudocode import (
    KEPT_TEXT,
    PseudocodeGrade,
    grade_pseudocode,
    pseudocode_tests,
)

LABS = [pytest.param(lab, id=lab.name) for lab in all_labs(Path(__file__).resolve().parents[2])]
PROMPTS = """# Pseudocode

Answer below.

## norm

> State the inputs, what is done with
> `x`, and the invariant.

## attention

> State the loop.
"""
CODE = '''"""Norm."""
import torch


def rms_norm(x, weight, eps):
    """Scale: divide x by its root mean square, then multiply by weight."""
    # Steps: widen x to float32; take the mean of the squares.
    wide = x.float()
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)  # [..., 1]
    return (wide * scale).to(x.dtype) * weight


def attention(q, k, v):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    return torch.softmax(scores, dim=-1) @ v
'''
NORM = """- widen x to float32
- divide by the root of the mean square plus eps
- multiply with the weight
"""
ATTENTION = """1. score each query against each key
2. mix the values by the softmax of the scores
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    folder = tmp_path / "labs" / "01_llama"
    folder.mkdir(parents=True)
    (folder / "PSEUDOCODE.md").write_text(PROMPTS)
    tasks = (
        Task("norm", "t", 50, "h", steps=3, names=("eps", "weight")),
        Task("attention", "t", 45, "h", steps=2, names=("key",)),
        Task("pseudocode", "t", 5, "h"),
    )
    return Lab(
        *(1, "01_llama", "llama", tmp_path, folder, "t", "s", (), (), (), Limits(), (), tasks)
    )


def submit(text: str | bytes | None, code: str = CODE) -> Submission:
    files = {"llama.py": code.encode()}
    if text is not None:
        files["PSEUDOCODE.md"] = text.encode() if isinstance(text, str) else text
    return Submission(files, "0", Path("/clean"), "llama.py", Path("/source"), False)


def answer(norm: str, attention: str = ATTENTION) -> str:
    return PROMPTS.replace("## attention", f"{norm}\n## attention") + f"\n{attention}"


def grade(lab: Lab, text: str | bytes | None) -> PseudocodeGrade:
    return grade_pseudocode(lab, submit(text))


def outcome(lab: Lab, text: str | bytes | None) -> dict[str, str]:
    """The messages of the tests that did not pass, by id."""
    results = grade(lab, text).results
    return {result.id: result.message for result in results if result.verdict != "passed"}


def test_an_answer_in_own_words_earns_every_section(lab: Lab) -> None:
    graded = grade(lab, answer(NORM))

    assert {result.verdict for result in graded.results} == {Verdict.PASSED}
    assert [result.id for result in graded.results] == [
        "pseudocode[file]",
        "pseudocode[norm]",
        "pseudocode[attention]",
    ]
    assert {(result.task, result.suite) for result in graded.results} == {
        ("pseudocode", "pseudocode")
    }


def test_the_manifest_has_a_gate_without_weight(lab: Lab) -> None:
    assert [(test.id, test.weight, test.gate) for test in pseudocode_tests(lab)] == [
        ("pseudocode[file]", 0.0, True),
        ("pseudocode[norm]", 1.0, False),
        ("pseudocode[attention]", 1.0, False),
    ]


@pytest.mark.parametrize("text", [PROMPTS, "", "x" * 1000, "\0\x1b[2J", b"\xfe\xfe" * 50, "## "])
def test_without_an_answer_nothing_passes(lab: Lab, text: str | bytes) -> None:
    missed = outcome(lab, text)

    assert list(missed) == ["pseudocode[file]", "pseudocode[norm]", "pseudocode[attention]"]
    assert missed["pseudocode[file]"] == "no section of PSEUDOCODE.md is answered yet"
    assert missed["pseudocode[norm]"].startswith("the section `## norm` is empty")


def test_a_missing_file_fails_and_a_single_python_file_is_not_graded(lab: Lab) -> None:
    absent = grade(lab, None)
    single = grade_pseudocode(lab, replace(submit(None), single_file=True))

    assert {result.verdict for result in absent.results} == {Verdict.FAILED}
    assert "PSEUDOCODE.md is missing" in absent.results[0].message
    assert {result.verdict for result in single.results} == {Verdict.NOT_GRADED}
    assert single.results[0].message == "one Python file was given, without PSEUDOCODE.md"
    assert len(absent.results) == len(single.results) == 3


def test_a_notebook_is_not_called_a_python_file(lab: Lab) -> None:
    alone = replace(submit(None), single_file=True, is_notebook=True)

    graded = grade_pseudocode(lab, alone)

    assert {result.message for result in graded.results} == {
        "no cell of the notebook answers a prompt, and no PSEUDOCODE.md lies beside it"
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"# Pseudocode\n{PROMPTS}".encode("utf-16"),
            "PSEUDOCODE.md: the file is in UTF-16, not in UTF-8: save it as UTF-8"
            " (in VS Code: the encoding in the status bar); it begins with `# Pseudocode`",
        ),
        (
            f"## norm\n<<<<<<< HEAD\n{PROMPTS}\n=======\n>>>>>>> other\n",
            "PSEUDOCODE.md, line 2: `<<<<<<< HEAD` is the mark of a merge conflict:"
            " keep one version, and delete the lines of its marks",
        ),
    ],
)
def test_what_an_editor_or_git_has_made_of_it_is_named(
    lab: Lab, text: str | bytes, message: str
) -> None:
    assert {*outcome(lab, text).values()} == {message}


def test_one_empty_section_costs_that_section_alone(lab: Lab) -> None:
    assert list(outcome(lab, answer(""))) == ["pseudocode[norm]"]


NO_ANSWERS = {
    "the prompt below itself": "State the inputs, what is done with\n`x`, and the invariant.",
    "the prompt in other lines": "State the inputs,\nwhat is done\nwith `x`, and the invariant.",
    "the prompt as a list": "- State the inputs\n- what is done\n- and the invariant",
    "numbers alone": "1.\n2.\n3.\n4.",
    "single words": "- todo\n- todo\n- eps\n- weight",
    "comment": "<!--\nwiden x to float32\ndivide by eps\nmultiply by weight\n-->",
    "quoted": "> widen x to float32\n> divide by eps\n> multiply by weight",
    "fences and rules": "```\n```\n---\n---\n",
}


@pytest.mark.parametrize("text", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_what_says_nothing_new_is_no_answer(lab: Lab, text: str) -> None:
    missed = outcome(lab, answer(text))

    assert list(missed) == ["pseudocode[norm]"]
    assert missed["pseudocode[norm]"].startswith("the section `## norm` is empty")


def test_the_prompt_of_the_lab_counts_where_the_student_removed_the_quote(lab: Lab) -> None:
    text = answer(NORM).replace("> State the loop.\n", "") + "State the loop.\n"

    assert outcome(lab, text) == {}
    assert list(outcome(lab, text.replace(ATTENTION, ""))) == ["pseudocode[attention]"]


def test_too_few_steps_are_counted(lab: Lab) -> None:
    twice = "- widen x by eps and weight\n- widen x by eps and weight\n- divide it\n"

    assert outcome(lab, answer(twice)) == {
        "pseudocode[norm]": "2 steps, at least 3 are asked for, one a line"
    }


def test_missing_names_are_listed(lab: Lab) -> None:
    text = NORM.replace("eps", "epsilon").replace("weight", "weights")

    assert outcome(lab, answer(text)) == {"pseudocode[norm]": "does not mention eps, weight"}


@pytest.mark.parametrize("name", ["`eps`", "EPS", "eps,", "(eps)", "x+eps", "eps_0"])
def test_names_are_found_in_any_dress(lab: Lab, name: str) -> None:
    assert outcome(lab, answer(NORM.replace("eps", name))) == {}


def body(name: str) -> str:
    start = CODE.index(f"def {name}")
    end = CODE.find("\n\n\n", start)
    return CODE[start : end if end > 0 else None]


PASTED = {
    "as it is": body("rms_norm"),
    "in a fence": f"```python\n{body('rms_norm')}\n```",
    "as a list": "\n".join(f"- {line.strip()}" for line in body("rms_norm").splitlines()),
    "numbered": "\n".join(f"{n}. {s.strip()}" for n, s in enumerate(body("rms_norm").split("\n"))),
    "spaced out": body("rms_norm").replace("(", " ( ").replace(".", " . ").replace("=", " = "),
    "without comments": "\n".join(
        line.partition("#")[0] for line in body("rms_norm").splitlines() if '"""' not in line
    ),
    "with a polite line": "the norm works as follows\n" + body("rms_norm"),
    "another function": body("attention") + "\n# eps and weight are used here",
}


@pytest.mark.parametrize("text", PASTED.values(), ids=PASTED)
def test_the_python_pasted_in_earns_nothing(lab: Lab, text: str) -> None:
    missed = outcome(lab, answer(text))

    assert list(missed) == ["pseudocode[norm]"]
    assert missed["pseudocode[norm]"].startswith("this is mostly the Python of your submission")


OWN_WORDS = {
    "prose": NORM,
    "formulas": "y = x / sqrt(mean(x^2) + eps)\nresult = weight * y\nall of it in float32",
    "the code's own comments": "Scale: divide x by its root mean square plus eps\n"
    "Steps: widen x to float32; take the mean of the squares\nthen multiply by weight",
    "some code among words": "wide = x.float()\nmean square s of each row, plus eps\n"
    "divide each row by the root of s and multiply with weight\ncast back to the dtype of x",
    "apostrophes": "it's x's mean square plus eps we need\ndon't forget: weight's dtype isn't x's\n"
    "the result's dtype is x's",
    "in a fence": f"```\n{NORM}\n```",
    "unclosed fence": f"```\n{NORM}",
    "steps without list marks": "for each row in x do\n"
    "  s <- mean square + eps\n  x <- x / s, times weight",
}


@pytest.mark.parametrize("text", OWN_WORDS.values(), ids=OWN_WORDS)
def test_own_words_pass(lab: Lab, text: str) -> None:
    assert outcome(lab, answer(text)) == {}


@pytest.mark.parametrize(
    "heading", ["## norm", "## `norm`", "## Norm", "##  norm  (RMSNorm)", "### norm"]
)
def test_a_heading_is_found_in_its_usual_forms(lab: Lab, heading: str) -> None:
    assert outcome(lab, answer(NORM).replace("## norm", heading)) == {}


def test_the_order_of_sections_does_not_matter(lab: Lab) -> None:
    assert outcome(lab, f"## attention\n{ATTENTION}\n## norm\n{NORM}") == {}


def test_text_and_hash_go_into_the_report(lab: Lab) -> None:
    extras = grade(lab, answer(NORM)).extras
    long = grade(lab, answer(NORM) + "é" * 100_000).extras

    assert extras["text"] == answer(NORM)
    assert (len(extras["sha256"]), extras["truncated"]) == (64, False)
    assert (len(long["text"]), long["truncated"]) == (KEPT_TEXT, True)


@pytest.mark.parametrize("code", ["def (", "'" * 99_999, '"""', "\0", "a" * 99_999, "\\" * 9_999])
def test_code_of_any_kind_is_compared(lab: Lab, code: str) -> None:
    graded = grade_pseudocode(lab, submit(answer(NORM), code))

    assert {result.verdict for result in graded.results} == {Verdict.PASSED}


@pytest.mark.parametrize("lab", LABS)
def test_the_model_pseudocode_of_the_curriculum_passes(lab: Lab) -> None:
    code = (lab.solutions / lab.code_name).read_text()
    text = (lab.solutions / "PSEUDOCODE.md").read_text()

    results = grade_pseudocode(lab, submit(text, code)).results

    assert [result for result in results if result.verdict != "passed"] == []


def in_python(lab: Lab) -> list[Task]:
    """Give the tasks that the submission's Python answers."""
    return [task for task in lab.tasks if task.id != PSEUDOCODE and task.functions]


@pytest.mark.parametrize("lab", LABS)
def test_the_model_code_pasted_into_any_section_fails(lab: Lab) -> None:
    code = (lab.solutions / lab.code_name).read_text()
    lines = code.splitlines()
    for task in in_python(lab):
        found = [n for n in ast.parse(code).body if getattr(n, "name", "") in task.functions]
        pasted = "\n".join("\n".join(lines[n.lineno - 1 : n.end_lineno]) for n in found)
        named = "\n".join(f"- it has {name}" for name in task.names)

        results = grade_pseudocode(lab, submit(f"## {task.id}\n{pasted}\n{named}\n", code)).results

        messages = {result.id: result.message for result in results}
        assert found
        assert messages[f"pseudocode[{task.id}]"].startswith("this is mostly the Python"), task.id


class Renamed(ast.NodeTransformer):
    """Gives the variables of a program other names."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.setdefault(node.id, f"other{len(self.names)}"), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self.names.setdefault(node.arg, f"other{len(self.names)}"), node.annotation)


@pytest.mark.parametrize("lab", LABS)
def test_the_model_code_with_other_names_fails_in_any_section(lab: Lab) -> None:
    code = (lab.solutions / lab.code_name).read_text()
    for task in in_python(lab):
        found = [n for n in ast.parse(code).body if getattr(n, "name", "") in task.functions]
        pasted = "\n".join(ast.unparse(Renamed().visit(node)) for node in found)
        named = "\n".join(f"- every {name} counts" for name in task.names)

        for against in (code, CODE):  # the own program, and one that the code is not from
            results = grade_pseudocode(
                lab, submit(f"## {task.id}\n{pasted}\n{named}\n", against)
            ).results
            messages = {result.id: result.message for result in results}
            assert "Python" in messages[f"pseudocode[{task.id}]"], task.id


COMPILED = [
    pytest.param(lab, name, id=f"{lab.name}/{name}")
    for lab in all_labs(Path(__file__).resolve().parents[2])
    for build in lab.builds
    for name in build.sources
]
KEPT = frozenset(  # by who renames what is theirs
    "auto bool break const constexpr continue double else false float for if int int64_t namespace"
    " return size_t static_cast std struct template true typename uint32_t unsigned using"
    " void".split()
)
# What a definition of C++ begins with, at the left edge.
DEFINITION = re.compile(r"^(?!#|//|using |namespace|\}).*\n(?:.*\n)*?\}", re.MULTILINE)


@pytest.mark.parametrize(("lab", "name"), COMPILED)
@pytest.mark.parametrize("handed_in", [True, False], ids=["own", "another's"])
@pytest.mark.parametrize("renamed", [False, True], ids=["as it is", "other names"])
def test_source_for_a_compiler_pasted_into_a_section_fails(
    lab: Lab, name: str, handed_in: bool, renamed: bool
) -> None:
    source = text = (lab.solutions / name).read_text()
    if renamed:
        own_names = sorted({*re.findall(r"\b[a-z]\w+\b", source)} - KEPT)
        names = {name: f"x{number}" for number, name in enumerate(own_names)}
        text = re.sub(r"\b[a-z]\w+\b", lambda word: names.get(word[0], word[0]), source)
    own = submit("", (lab.solutions / lab.code_name).read_text())
    task = next(task for task in lab.tasks if task.id != PSEUDOCODE)
    for found in [found[0] for found in DEFINITION.finditer(text) if len(found[0]) > 300][:6]:
        named = "\n".join(f"- it has {name}" for name in task.names)
        files = {**own.files, "PSEUDOCODE.md": f"## {task.id}\n{found}\n{named}\n".encode()}
        if handed_in:
            files[name] = source.encode()

        results = grade_pseudocode(lab, replace(own, files=files)).results

        messages = {result.id: result.message for result in results}
        assert "C++" in messages[f"pseudocode[{task.id}]"], found


@pytest.mark.parametrize("lab", LABS)
def test_the_words_of_a_lab_are_no_answer_to_its_prompts(lab: Lab) -> None:
    prompts = lab.pseudocode.read_text().replace("> ", "")
    handout = lab.handout.read_text().replace("## ", "")
    given_words = [f"## {task.id}\n{handout}\n" for task in lab.tasks]
    for text in (prompts, "".join(given_words)):
        results = grade_pseudocode(lab, submit(text)).results
        passed = {result.id for result in results if result.verdict == "passed"}
        assert passed <= {"pseudocode[file]"}


@settings(max_examples=100, deadline=None)
@given(text=st.binary(max_size=300), lines=st.lists(st.sampled_from(answer(NORM).splitlines())))
def test_any_bytes_get_a_verdict(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, lines: list[str]
) -> None:
    tasks = (Task("norm", "t", 95, "h", names=("(",)), Task("pseudocode", "t", 5, "h"))
    folder = Path("/nowhere/labs/01_llama")
    lab = Lab(*(1, "01_llama", "llama", folder, folder, "t", "s", (), (), (), Limits(), (), tasks))

    graded = grade(lab, "\n".join(lines).encode() + text)

    assert len(graded.results) == 2
    assert {result.verdict for result in graded.results} <= {Verdict.PASSED, Verdict.FAILED}


# -- pasted text, lists of names, invariants and orders ------------------------------------------

HANDOUT = """# Lab 01

## Task 1 · norm

y = x / sqrt(mean(x²) + eps) · weight, along the last axis. Nothing is subtracted. Float16 ends at
65504: the square of 256 is already infinite there. The root mean square of each row is found in
float32 and every element is divided by it before the weight is applied.
"""
STUB = '''"""Lab 01."""


def rms_norm(
    x: Tensor,  # the rows, of any dtype and of any number of leading axes
    weight: Tensor,
    eps: float,
) -> Tensor:
    """Scale the last axis of x to a root mean square of one, then multiply by weight.

    The small number eps keeps the division finite where a whole row consists of zeros alone.
    """
    raise NotImplementedError("norm: rms_norm")


def mine(x):
    """Widen the row to float32 first and take the mean of the squares of its elements."""
    return x
'''
ASKING = """# Pseudocode

## norm

> Inputs: `x`, `weight` and `eps`. Say which quantity is computed from a row, where `eps` enters it,
> when `weight` comes in, and in which precision each step runs. Invariant to state: what is the
> root mean square of a row before the weight comes in?
"""


@pytest.fixture
def asking(lab: Lab) -> Lab:
    (lab.folder / "PSEUDOCODE.md").write_text(ASKING)
    (lab.folder / "README.md").write_text(HANDOUT)
    (lab.folder / "llama.py").write_text(STUB)
    norm = Task("norm", "t", 95, "h", steps=3, names=("x", "weight", "eps"))
    return replace(lab, tasks=(norm, Task("pseudocode", "t", 5, "h")))


def verdict(lab: Lab, text: str) -> str:
    """The message of the section, "" if it passed."""
    return outcome(lab, f"{ASKING}\n{text}\n").get("pseudocode[norm]", "")


HONEST = {
    "terse": "widen x\nsquare, mean, plus eps, root\ndivide, then times weight\nalways float32",
    "verbose": "First of all the row x is brought to float32, since a square may "
    "overflow in half.\n"
    "After that we look at all its entries, square them, and compute what they are on average.\n"
    "To this average a tiny eps is added so that we never divide by zero for an empty signal.\n"
    "We then take the square root and divide each entry by it.\n"
    "As the last thing each entry is multiplied with its own weight and rounded back.",
    "formulas among words": "work in float32 throughout\nm = sum(x * x) / E, for every row\n"
    "r = 1 / sqrt(m + eps)\ny = x * r * weight\nround back once to the incoming dtype",
    "bullet points": "* bring `x` to float32\n* average its squares and add `eps`\n"
    "* divide by the root, so each row has size one\n* scale with `weight`",
    "numbered": "1. bring `x` to float32\n2) average its squares, plus eps\n"
    "3: divide by the root of that\n(4) times `weight`; the row's size never exceeds one before",
    "LaTeX": "cast $x$ to float32 for every step\n"
    r"$m = \frac{1}{E}\sum_i x_i^2$ is the average of the squares"
    "\n"
    r"$y_i = \frac{x_i}{\sqrt{m + \mathrm{eps}}} \cdot weight_i$ and a cast back",
    "German decimals": "a row with 0,5 and 1,5 has the average square 1,25, plus eps 0,00001\n"
    "its root is 1,118 and x gets divided by it, exactly once\nlast comes the weight, e.g. 0,25",
    "a table": "| step | what happens |\n| --- | --- |\n| 1 | convert x to float32 |\n"
    "| 2 | average the squares, add eps |\n| 3 | divide each entry by the root |\n"
    "| 4 | multiply with weight |",
    "terms of the handout": "- float16 overflows at 256 squared, so x goes to float32 before "
    "anything\n"
    "- the root mean square comes from the average of squares with eps under the root\n"
    "- after the division a row has root mean square one, always (nearly, because of eps)\n"
    "- weight is applied at the end",
    "code mentioned": "call `x.float()` so that squares stay finite\n"
    "average the squares along the last axis (`mean(-1, keepdim=True)`) and add eps\n"
    "divide by the root, multiply with weight, every time in float32",
    "one line of Python": "wide = x.float()\n"
    "the average of its squares plus eps goes under a root\n"
    "divide the wide row by that root, entry by entry\nweight scales every column at the end",
    "headings": "### statistics\n- bring x to float32\n- average all squares, plus eps\n"
    "### scaling\n- divide by the root\n- multiply with weight",
    "loops": "for each row of x:\n    s <- average of the squares, in float32\n"
    "    for each element of the row:\n        y = element / sqrt(s + eps)\n        y = y * weight",
    "shapes": "x [B, T, E] to float32\n"
    "stat [B, T, 1]: mean square, plus eps, one number for every row\n"
    "out [B, T, E]: x over the root of stat, times weight [E]",
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_honest_steps_of_many_kinds_pass(asking: Lab, text: str) -> None:
    assert verdict(asking, text) == ""


def test_a_formula_that_the_code_has_too_is_no_copy(asking: Lab) -> None:
    code = "def turn(a, b, w):\n    u = a * cos(w) - b * sin(w)\n    v = b * cos(w) + a * sin(w)\n"
    text = (
        "p = x * cos(eps) - y * sin(eps)\nq = y * cos(eps) + x * sin(eps)\n"
        "the length of each pair stays\nscale both by weight\n"
    )

    results = grade_pseudocode(asking, submit(f"## norm\n{text}", code)).results

    assert [result.message for result in results] == ["", ""]


OTHERS_PYTHON = {
    "renamed": "def f(a, g, e):\n    b = a.to(torch.float32)\n"
    "    r = torch.rsqrt((b * b).mean(dim=-1, keepdim=True) + e)\n"
    "    return (b * r).to(a.dtype) * g\n"
    "# x, weight and eps",
    "renamed over several lines": "def f(\n    a: Tensor,  # x\n    g: Tensor,  # weight\n"
    "    e: float,  # eps\n) -> Tensor:\n    b = a.to(\n        torch.float32\n    )\n"
    "    r = torch.rsqrt(\n        b.pow(2).mean(-1, keepdim=True) + e\n"
    "    )\n    return b * r * g",
    "a list": "- a = x.to(torch.float32)\n- b = a.square().mean(-1, keepdim=True)\n"
    "- c = torch.sqrt(b + eps)\n- return (a / c).type_as(x) * weight",
    "numbered in code marks": "1. `a = x.to(torch.float32)`\n"
    "2. `b = a.square().mean(-1)[..., None]`\n"
    "3. `c = torch.sqrt(b + eps)`\n4. `return a / c * weight`",
    "a fence": "```python\na = x.double()\nn = np.linalg.norm(a, axis=-1)\n"
    "y = a / np.sqrt(n ** 2 / a.shape[-1] + eps)\nout = weight * y.astype(x.dtype)\n```",
    "loops": "for i in range(len(x)):\n    total = 0\n    for j in range(len(x[i])):\n"
    "        total += pow(x[i][j], 2)\n    for j in range(len(x[i])):\n"
    "        out[i][j] = scale(x[i][j], total, eps) * weight[j]",
    "with words before": "then a = x.to(torch.float32)\n"
    "next b = a.square().mean(-1, keepdim=True)\n"
    "root: c = torch.sqrt(b + eps)\nfinally out = (a / c).type_as(x) * weight",
    "a table": "| 1 | a = x.to(torch.float32) |\n| 2 | b = a.square().mean(-1, keepdim=True) |\n"
    "| 3 | c = torch.sqrt(b + eps) |\n| 4 | out = weight * (a / c).type_as(x) |",
    "under a docstring": '"""Always widen the row, find its size, then divide the row by it, and '
    'weight it,\nand never forget that eps is there for the rows that are nothing but zeros."""\n'
    "a = x.to(torch.float32)\nb = a.square().mean(-1, keepdim=True)\n"
    "return a / torch.sqrt(b + eps) * weight",
    "commented": "# widen the row, as squares of half precision overflow far too early\n"
    "a = x.to(torch.float32)\n# find the mean of the squares and its root\n"
    "b = a.square().mean(-1, keepdim=True)\n# divide by it and apply the weight\n"
    "return a / torch.sqrt(b + eps) * weight",
    "another program": "import numpy as np\nfrom math import sqrt\nclass Norm(Module):\n"
    "    def __init__(self, weight, eps):\n        self.weight, self.eps = weight, eps\n"
    "    def __call__(self, x):\n        return self.weight * x / sqrt(np.mean(x ** 2) + self.eps)",
}


@pytest.mark.parametrize("text", OTHERS_PYTHON.values(), ids=OTHERS_PYTHON)
def test_python_from_anywhere_earns_nothing(asking: Lab, text: str) -> None:
    assert "Python" in verdict(asking, text)


def test_the_submission_with_other_names_is_found_behind_words_too(asking: Lab) -> None:
    renamed = body("rms_norm").split('"""')[2]
    for old, new in (("wide", "a"), ("scale", "b"), ("x", "row"), ("weight", "g"), ("eps", "tiny")):
        renamed = re.sub(rf"\b{old}\b", new, renamed)
    text = "".join(f"- we do {line.strip()}\n" for line in renamed.splitlines() if "#" not in line)

    assert verdict(asking, text + "- x weight eps").startswith("this is")


LISTS = {
    "lines": "x\nweight\neps",
    "all in a line, thrice": "x, weight, eps\nweight, eps, x\neps, x, weight",
    "and": "x and weight\nweight and eps\neps and x",
    "uses": "uses x\nuses the weight\nthen it uses eps",
    "inputs": "input x\ninput weight\nparameter eps",
    "slashes": "x / weight\nweight / eps\neps / x",
    "plus": "x + weight\nweight + eps\neps + x",
    "as asked": "it has x\nit has weight\nit has eps",
    "a table": "| x | weight |\n| weight | eps |\n| eps | x |",
    "numbers": "1. x 1\n2. weight 2\n3. eps 3",
    "one word again and again": "always x\nalways weight\nalways eps",
    "letters": "x a b\nweight c d\neps e f",
    "plural": "the weights\nweights and eps\nx weights",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_a_list_of_names_is_no_step(asking: Lab, text: str) -> None:
    message = verdict(asking, text)

    empty = "the section `## norm` is empty"
    little = "the steps say little beside the names"
    assert message.startswith((empty, little)) or "at least 3 are asked for" in message


def test_a_list_of_names_above_honest_steps_does_no_harm(asking: Lab) -> None:
    assert verdict(asking, f"x, weight, eps\n{HONEST['bullet points']}") == ""


OF_THE_LAB = {
    "the docstring": "Scale the last axis of x to a root mean square of one,\n"
    "then multiply by weight.\n"
    "The small number eps keeps the division finite where a whole row consists of zeros alone.",
    "in other lines": "- scale the last axis of x to a root\n"
    "- mean square of one, then multiply by weight\n"
    "- the small number eps keeps the division finite where a whole row consists of zeros alone",
    "signature": "the rows, of any dtype and of any number\nof leading axes\n"
    "the small number eps keeps the division finite\nweight x always",
    "the handout": "Float16 ends at 65504: the square of 256 is already infinite there.\n"
    "The root mean square of each row is found in float32\n"
    "every element is divided by it before the weight is applied.\nx and eps always enter",
    "numbers and signs changed": "float16 ends at 7! the square of 9 is already infinite there\n"
    "THE ROOT MEAN SQUARE of each row, is found in float32 and\n"
    "every element is divided by it before the weight is applied, x, eps",
    "both": "Scale the last axis of x to a root mean square of one\n"
    "The root mean square of each row is "
    "found in float32\nThe small number eps keeps the division finite\nweight",
}


@pytest.mark.parametrize("text", OF_THE_LAB.values(), ids=OF_THE_LAB)
def test_the_text_of_the_lab_earns_nothing(asking: Lab, text: str) -> None:
    assert verdict(asking, text).startswith("this is mostly the text of the handout")


OF_THE_PROMPT = {
    "other order": "- where eps enters it, and which quantity is computed from a row\n"
    "- in which precision each step runs, when weight comes in\n"
    "- what is the root mean square of a row x before the weight comes in",
    "as statements": "a quantity is computed from a row x\neps enters it\n"
    "weight comes in, and each step runs in precision\nthe root mean square of a row comes before",
    "shuffled": "row computed quantity which is a from\nenters eps where it\n"
    "runs step each precision\n"
    "comes weight x in when, root square mean before",
}


@pytest.mark.parametrize("text", OF_THE_PROMPT.values(), ids=OF_THE_PROMPT)
def test_the_prompt_reordered_earns_nothing(asking: Lab, text: str) -> None:
    assert verdict(asking, text).startswith("this is mostly the text of the prompt")


def test_what_the_student_wrote_into_the_stub_is_no_text_of_the_lab(asking: Lab) -> None:
    text = "widen the row to float32 first and take the mean of the squares of its elements\n"

    assert verdict(asking, text + "add eps, divide x by the root\nevery time weight last") == ""


@pytest.mark.parametrize(
    "stub", ["def (", "\0", "(" * 9999, "x" * 300_000, "class A:\n  def f(s): 1"]
)
def test_a_stub_of_any_kind_is_survived(asking: Lab, stub: str) -> None:
    asking.stub.write_text(stub)

    assert verdict(asking, HONEST["terse"]) == ""


STATED = [
    *("invariant: a row has size one", "the size is always one", "no row ever grows"),
    *("every row has size one", "each row comes out with size one", "the shape stays the same"),
    *("the row count is unchanged", "the dtype remains float16", "that holds at any time"),
    *("sizes are at most one", "rows == size one", "after step 2 rows have size one"),
]
UNSTATED = "widen x to float32\naverage the squares and add eps\ndivide by the root\ntimes weight"


@pytest.mark.parametrize("line", STATED)
def test_an_invariant_is_known_by_many_words(asking: Lab, line: str) -> None:
    assert verdict(asking, UNSTATED) == "states no invariant: the prompt asks for one"
    assert verdict(asking, f"{UNSTATED}\n{line}") == ""


def test_no_invariant_is_wanted_where_the_prompt_asks_for_none(asking: Lab) -> None:
    (asking.folder / "PSEUDOCODE.md").write_text("## norm\n\n> Say what happens to x.\n")

    assert outcome(asking, f"## norm\n{UNSTATED}\n") == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("take each row's max\nexp of x less the max\nadd eps and weight", ""),
        ("TAKE the Maxes of every row\nexps of x minus those\nadd eps and weight", ""),
        ("max first, every exp after\nadd eps to x\nmultiply with weight", ""),
        ("shift x somehow\nadd eps to every entry\nmultiply with weight", ""),
        ("maximise x expertly\nexp of every entry plus eps\nmultiply with weight", ""),
        (
            "exp of every x\nsubtract their max\nadd eps and weight",
            "max comes before exp, but your first steps about them are "
            '"subtract their max" and, before it, "exp of every x"',
        ),
    ],
)
def test_first_mentions_come_in_the_order_that_the_lab_gives(
    asking: Lab, text: str, said: str
) -> None:
    norm = replace(asking.tasks[0], order=("max", "exp"))

    assert verdict(replace(asking, tasks=(norm, asking.tasks[1])), text) == said


HOSTILE = {
    "brackets": "x = " + "(" * 390 + "\n",
    "closed brackets": "x = " + "(" * 190 + ")" * 190 + "\n",
    "minus signs": "x = " + "-" * 390 + "1\n",
    "not": "x = " + "not " * 95 + "1\n",
    "attributes": "x" + ".a" * 190 + "\n",
    "calls": "f" + "()" * 190 + "\n",
    "lambda": "x = " + "lambda: " * 45 + "1\n",
    "open for ever": "f(\n",
    "big number": "x = " + "9" * 390 + "\n",
    "escapes": "x = '\\d'.a\n",
    "nulls": "x = \0.a\n",
    "surrogates": "x = \ud800.a\n",
    "spaces": "a" + " " * 390 + "(\n",
    "hashes": "a" + "  # " * 95 + "(\n",
    "labels": "a " * 190 + "= f(x)\n",
    "many short ones": "a.b\n",
    "quotes": '"""\n',
    "tables": "|" * 390 + "\n",
    "invariants": "after " * 60 + "(\n",
    "operators": "<-" * 190 + "\n",
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE)
def test_hostile_lines_get_a_verdict_soon(asking: Lab, line: str) -> None:
    text = "## norm\n" + line * (99_000 // len(line))
    started = time.monotonic()

    graded = grade(asking, text.encode("utf-8", "surrogatepass"))

    assert len(graded.results) == 2
    assert time.monotonic() - started < 10


def test_a_million_characters_fail_before_any_is_read(asking: Lab) -> None:
    assert "more than 100,000 characters" in verdict(asking, "x = f(" * 170_000)
