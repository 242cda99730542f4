"""Mutants of a program: which there are, which there are not, and which a day draws."""

import ast
import textwrap
from pathlib import Path

import pytest

from grader.prove.mutants.mutants import drawn, mutants_of

ROOT = Path(__file__).resolve().parents[2]


def after(source: str) -> list[str]:
    return [mutant.after for mutant in mutants_of(textwrap.dedent(source).encode())]


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("y = a < b", ["y = a <= b", "y = a >= b", "y = a < b - 1"]),
        ("y = a >= -n", ["y = a > -n", "y = a < -n", "y = a >= (-n) - 1", "y = a >= n"]),
        ("y = (a) is not (b)", ["y = (a) is (b)"]),
        ("y = a not in b", ["y = a in b"]),
        ("y = (a + b) * c", ["y = (a + b) / c", "y = (a - b) * c"]),
        ("y = a // b & c", ["y = a // b | c", "y = a % b & c"]),
        ("y = a and b and c", ["y = a or b and c", "y = a and b or c"]),
        ("y = not a", ["y = a"]),
        ("y = -(a + b)", ["y = (a + b)", "y = -(a - b)"]),
        ("y = b if a else c", ["y = b if not a else c"]),
        ("y = b if a < 1 else c", ["<=", ">=", "2", "0"]),
        ("y = [a for a in b if a]", ["y = [a for a in b if True]"]),
        ("y = f(a, b, k=c)", ["y = f(a, b)", "y = f(b, a, k=c)"]),
        ("y = f(*a, b)", []),
        ("y = (a + b).float()", ["y = (a + b)", "y = (a - b).float()"]),
        ("y = a.to(b)", ["y = a"]),
        ("y = int(a)", ["y = a"]),
        ("y = a.amax(b)", ["y = a.amin(b)"]),
        ("y = min(a, b)", ["y = max(a, b)"]),
        ("y = torch.float32", ["y = torch.float16"]),
        ("y = a.sum(dim=-1)", ["y = a.sum()", "y = a.sum(dim=1)", "dim=-2", "dim=-0"]),
        ("y = True", ["y = False"]),
        ("y = 3, 0, 0.5, 0.0", ["4,", "2,", "3, 1", "3, -1", "1.0, 0.0", "0.5, 1.0"]),
        ("y = a[b:c]", ["[:c]", "[b:]", "[b + 1:c]", "[b - 1:c]", "[b:c + 1]", "[b:c - 1]"]),
        ("y = a[::b]", ["y = a[:]"]),
        ("y = range(-a)", ["range(a)", "range((-a) + 1)", "range((-a) - 1)"]),
    ],
)
def test_a_line_has_these_mutants(line: str, changed: list[str]) -> None:
    got = after(f"{line}\n")

    assert len(got) == len(changed)
    for part in changed:
        assert any(part in mutant for mutant in got), (part, got)


STATEMENTS = '''
@wrapped
def f(x, scale=None, *, more=None):
    """Docstring."""
    if x:
        return x
    x = g(x)
    y = h(x)
    y += x
    self.kept = y
    with quiet():
        g(y)
    for part in y:
        if part:
            continue
        break
    raise ValueError("text" + part)
    assert x
    return y
'''


def test_statements_and_what_they_stand_under_are_dropped() -> None:
    found = [(mutant.before, mutant.after) for mutant in mutants_of(STATEMENTS.encode())]

    assert [before for before, changed in found if changed == "pass"] == [
        *("return x", "x = g(x)", "y += x", "self.kept = y", "g(y)", "continue", "break"),
        'raise ValueError("text" + part)',
    ]
    assert ("@wrapped", "") in found
    assert ("with quiet():", "if True:") in found
    assert ("y += x", "y = x") in found
    assert ("continue", "break") in found
    heads = [changed for before, changed in found if before.startswith("def")]
    assert heads == [
        "def f(x, scale, *, more=None):",
        "def f(x, scale=None, *, more):",
    ]
    assert [changed for before, changed in found if before == "if x:"] == ["if not x:"]


@pytest.mark.parametrize(
    "source",
    [
        '"""Text."""\n',
        "import torch as t\n",
        "def f(a: 1 = b) -> 2: ...\n",
        "def f():\n    raise ValueError(1 + a)\n",
        "def f():\n    assert a < 1\n",
        'y = f"{a + 1}"\n',
        "y = k[grid](num_warps=4, num_stages=3)\n",
        "y = zip(a, strict=True)\n",
    ],
)
def test_what_changes_no_result_is_left_alone(source: str) -> None:
    changed = [line for line in after(source) if line not in ("pass", "def f(a: 1) -> 2: ...")]

    assert changed == []


def test_mutants_keep_the_form_of_a_line_and_know_their_place() -> None:
    source = textwrap.dedent(
        """
        LIMIT = 2  # of all


        class Cache:
            def update(self, x):
                def inner(y):
                    return y + 'é' + z
                return inner(
                    x, 7,
                )
        """
    ).encode()

    found = {(m.definition, m.line): (m.before, m.after) for m in mutants_of(source)}

    assert found["", 2] == ("LIMIT = 2 # of all", "LIMIT = 1 # of all")
    assert found["Cache.update.inner", 8] == ("return y + 'é' + z", "return y - 'é' + z")
    assert found["Cache.update", 10] == ("x, 7,", "x, 6,")


def test_no_mutant_is_another_or_the_answer_itself() -> None:
    source = (ROOT / "solutions" / "05_kv_cache" / "kv_cache.py").read_bytes()

    trees = [ast.dump(ast.parse(m.edit.apply(source))) for m in mutants_of(source)]

    assert len(trees) > 100
    assert len({ast.dump(ast.parse(source)), *trees}) == len(trees) + 1


def test_a_day_draws_others_and_repeats_itself() -> None:
    source = "".join(f"y{place} = a + {place}\n" for place in range(100)).encode()
    mutants = [*mutants_of(source)]

    some = drawn(mutants, "01_x", "2026-11-23", 20)

    assert some == drawn(mutants, "01_x", "2026-11-23", 20) != mutants[:20]
    assert some == sorted(some, key=mutants.index)
    assert some != drawn(mutants, "01_x", "2026-11-24", 20)
    assert some != drawn(mutants, "02_x", "2026-11-23", 20)
    assert drawn(mutants, "01_x", "2026-11-23", 10_000) == mutants
