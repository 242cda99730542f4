"""PSEUDOCODE.md: what earns the points, what does not, and that any bytes are survived."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.labs.lab import PSEUDOCODE, Lab, Limits, Task, all_labs
from grader.labs.results import Verdict
from grader.labs.submission import Submission
from grader.reading.pseudocode import KEPT_TEXT, PseudocodeGrade, grade_pseudocode, pseudocode_tests

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


@pytest.mark.parametrize("text", [PROMPTS, "", "x" * 1000, "\0\x1b[2J", b"\xff\xfe" * 50, "## "])
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
    assert len(absent.results) == len(single.results) == 3


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


@pytest.mark.parametrize("name", ["`eps`", "EPS", "eps,", "(eps)", "x+eps"])
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


@pytest.mark.parametrize("lab", LABS)
def test_the_model_code_pasted_into_any_section_fails(lab: Lab) -> None:
    code = (lab.solutions / lab.code_name).read_text()
    lines = code.splitlines()
    for task in lab.tasks:
        if task.id == PSEUDOCODE:
            continue
        found = [n for n in ast.parse(code).body if getattr(n, "name", "") in task.functions]
        pasted = "\n".join("\n".join(lines[n.lineno - 1 : n.end_lineno]) for n in found)
        named = "\n".join(f"- it has {name}" for name in task.names)

        results = grade_pseudocode(lab, submit(f"## {task.id}\n{pasted}\n{named}\n", code)).results

        messages = {result.id: result.message for result in results}
        assert found
        assert messages[f"pseudocode[{task.id}]"].startswith("this is mostly the Python"), task.id


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
