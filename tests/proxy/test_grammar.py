"""Messages agree with what they name, whatever a test names and however many things there are."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.errors import Mismatch
from grader.grammar import MORE, are_several, counted, item, singular
from grader.proxy.instruments.instruments import raises
from grader.proxy.loans.watched_arguments import Watched
from grader.proxy.values.compare import assert_close, assert_equal, assert_unmodified, check
from grader.proxy.values.kinds import expect

ROOT = Path(__file__).parents[2]
# What the words of the suites that end with an s are: several things, or one.
SEVERAL = frozenset(
    "answers arguments blocks bytes caches chunks codes draft_probs draws entries eos_ids events"
    " frequencies gradients graphs halves key_positions keys lengths logits names offsets operators"
    " outputs pairs positions products prompts results rows seconds sizes statistics tables"
    " target_calls target_logits target_probs targets tensors times tokens values weights".split()
)
ONE = frozenset({"bias", "dbias", "in_features", "loss"})


def names_of(file: Path) -> Iterator[str]:
    """Give what a suite calls the values that it compares, with words for what it puts in."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", "") not in COMPARING:
            continue
        for value in (*node.args[1:], *(k.value for k in node.keywords if k.arg == "what")):
            match value:
                case ast.Constant(value=str(name)):
                    yield name
                case ast.JoinedStr(values=parts):
                    filled = "keys", "2"  # what begins a name is a tensor's
                    yield "".join(
                        str(part.value) if isinstance(part, ast.Constant) else filled[place > 0]
                        for place, part in enumerate(parts)
                    )
                case _:
                    pass


COMPARING = {"assert_close", "assert_equal", "assert_new", "assert_unmodified", "close", "expect"}


SUITES = [*ROOT.glob("labs/*/test_*.py"), *ROOT.glob("grader/suites/test_*.py")]
NAMES = sorted({name for suite in SUITES for name in names_of(suite) if name.strip()})


def message_of(function: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(Mismatch) as failure:
        function(*args, **options)
    return str(failure.value)


def messages(name: str) -> Iterator[str]:
    """Give what comparisons say of a value with this name, of one thing wrong and of several."""
    x, nan = torch.zeros(2), torch.tensor([float("nan"), 0.0])
    yield message_of(assert_equal, 1, 2, name)
    yield message_of(assert_equal, [1], [1, 2], name)
    yield message_of(assert_equal, [[1], [2]], [[1], [3]], name)
    yield message_of(assert_equal, {"a": 1}, {"b": 1}, name)
    yield message_of(assert_equal, x.half(), x, name)
    yield message_of(assert_equal, x[:1], x, name)
    yield message_of(assert_equal, x + 1, x, name)
    yield message_of(assert_equal, torch.tensor([0.0, 1.0]), x, name)
    yield message_of(assert_close, x[:1], x, "matmul", what=name)
    yield message_of(assert_close, x.half(), x, "matmul", what=name)
    yield message_of(assert_close, nan, x, "matmul", what=name)
    yield message_of(assert_close, nan.nan_to_num(1.0), x + 2, "matmul", what=name)
    yield message_of(assert_close, x, x + float("inf"), "matmul", what=name)
    yield message_of(expect, 1, list[int], name)
    yield message_of(expect, ["a"], list[list[int]], name)
    yield message_of(expect, x, torch.Tensor, name, shape=(3,))
    watched = Watched([1])
    watched.after = [2]
    yield message_of(assert_unmodified, watched, name)


@pytest.mark.parametrize("name", NAMES)
def test_messages_agree_with_every_name_of_the_suites(name: str) -> None:
    head = re.split(rf" (?:{'|'.join(MORE)})\b", name)[0].split()[-1].rstrip(",")
    told = name.startswith(("what ", "how ")) or not head.replace("_", "").isalpha()
    assert told or head in SEVERAL | ONE or not head.endswith("s")
    several = head in SEVERAL and not told
    wrong = {"is", "has", "holds", "was"} if several else {"are", "have", "hold", "were"}

    for text in messages(name):
        line = text.partition("\n")[0]
        assert not re.search(r"\bitem \d+ of item\b|\blist\[|\btuple\[", line), line
        if line.startswith(name):  # else the verb is about items or values of it
            assert line.removeprefix(name).split()[0] not in wrong, line


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("graphs ran 1 times for 1 prompts", "graphs ran 1 time for 1 prompt"),
        ("1 graphs were captured in 11 steps", "1 graph was captured in 11 steps"),
        ("1 graphs serve 3 sizes", "1 graph serves 3 sizes"),
        ("1 new tokens came back, expected 2", "1 new token came back, expected 2"),
        ("1 guesses of 1 copies; 1.1 bytes", "1 guess of 1 copies; 1.1 bytes"),
        ("[1, 1] rows of slot[1 rows]", "[1, 1] rows of slot[1 rows]"),
    ],
)
def test_what_is_one_is_told_as_one(text: str, right: str) -> None:
    assert singular(text) == right
    assert message_of(check, False, text) == right


def test_numbers_and_items() -> None:
    assert (counted(1, "row"), counted(0, "row"), counted(1200, "row")) == (
        *("1 row", "0 rows"),
        "1,200 rows",
    )
    assert item(1, item(2, item(0, "x"))) == "[0][2][1] of x"
    assert [are_several(x) for x in ("keys", "keys[0]", "the bias", "what admits returns")] == [
        *(True, False, False, False),
    ]


def test_error_that_did_not_come_is_told_with_its_case() -> None:
    def expecting(*args: Any) -> None:
        with raises(*args):
            pass

    assert message_of(expecting, ValueError) == "expected a ValueError, but nothing was raised"
    assert message_of(expecting, ValueError, "slot", lambda: "prefill([1], 3)") == (
        "expected a ValueError that names slot, but nothing was raised by prefill([1], 3)"
    )
