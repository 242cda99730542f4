"""Answers as students type them, right ones and wrong ones, and what is typed to do harm."""

import time
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from threading import Thread

import pytest
from stand_ins.asking import asking_lab

from grader import ROOT
from grader.labs.lab import Lab, load_lab
from grader.questions import typed
from grader.questions.arithmetic import Unreadable
from grader.questions.definitions import questions_of, read_questions
from grader.questions.drawn import Asked, draw, normal_id
from grader.questions.judging import Judged, Standing, judge, read
from grader.questions.key import Key, read_key

OPTIONS = [("top_k",), ("top_p",), ("min_p", "最小概率"), ("none of them", "都不是")]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    root = tmp_path_factory.mktemp("typed")
    return asking_lab(root, load_lab(ROOT / "labs" / "03_sampling"))


@pytest.fixture(scope="module")
def key(lab: Lab) -> Key:
    found = read_key(lab)
    assert found is not None
    return found


def asked(lab: Lab, id: str) -> Asked:
    return next(draw(lab.name, q, "ada") for q in read_questions(lab.folder) if q.id == id)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("1,024", 1024), ("1024 tokens", 1024), ("1 token", 1), ("1e3", 1000), ("1 024", 1024)),
        *(("50 %", Fraction(1, 2)), ("2^10", 1024), ("2**10", 1024), ("1.5", Fraction(3, 2))),
        *(("１０２４", 1024), ("（１＋２）×３", 9), ("`12`", 12), ("= 16", 16), ("2 * 8 = 16", 16)),
        *(("-3", -3), ("\u22123", -3), ("10⁻³", Fraction(1, 1000)), ("3/4", Fraction(3, 4))),
        *(
            ("1,024 个", 1024),
            ("007", 7),
            ("12.\nsince it is so", 12),
            ("1e-05", Fraction(1, 10**5)),
        ),
    ],
)
def test_numbers_are_read_in_their_usual_spellings(text: str, value: Fraction) -> None:
    assert typed.number(typed.cleaned(text), ["tokens", "个"]) == value


@pytest.mark.parametrize("text", ["1.5 MB", "3,5", "many", "x", "1 2 3 4", "2 +", "[1]", "True"])
def test_what_is_no_number_is_no_answer(text: str) -> None:
    with pytest.raises(Unreadable):
        typed.number(typed.cleaned(text), ["tokens"])


@pytest.mark.parametrize(
    "text", ["b", "B.", "(b)", "ｂ", "`b`", "b) top_p", "top_p", "选 b", "b、"]
)
def test_one_letter_is_read(text: str) -> None:
    assert typed.choice(typed.cleaned(text), OPTIONS) == 1


@pytest.mark.parametrize(
    "text", ["b, d", "d b", "bd", "b、d", "b和d", "top_p, none of them", "b\nd"]
)
def test_letters_are_read_in_any_order(text: str) -> None:
    assert typed.choices(typed.cleaned(text), OPTIONS) == {1, 3}


@pytest.mark.parametrize(
    "text",
    ["c > a > b > d", "c, a, b, d", "cabd", "c→a→b→d", "c＞a＞b＞d", "1. c\n2. a\n3. b\n4. d"],
)
def test_an_order_is_read(text: str) -> None:
    assert typed.order(typed.cleaned(text), OPTIONS) == (2, 0, 1, 3)


@pytest.mark.parametrize("text", ["c > a", "c > a > b > b", "a < b < c < d", "c > a > b > e", "x"])
def test_what_is_no_order_is_no_answer(text: str) -> None:
    with pytest.raises(Unreadable):
        typed.order(typed.cleaned(text), OPTIONS)


@pytest.mark.parametrize(
    "text",
    [
        *("(2, 8, 1, 513)", "[2,8,1,513]", "2 x 8 x 1 x 513", "2×8×1×513", "2 8 1 513"),
        *("torch.Size([2, 8, 1, 513])", "（2，8，1，513）", "`(2, 8, 1, 512 + 1)`"),
    ],
)
def test_a_shape_is_read(text: str) -> None:
    assert typed.shape(typed.cleaned(text)) == (2, 8, 1, 513)


@pytest.mark.parametrize("text", ["", "   \n ", "``", "```\n```"])
def test_an_empty_place_is_not_answered(lab: Lab, key: Key, text: str) -> None:
    for question in read_questions(lab.folder):
        found = judge(draw(lab.name, question, "ada"), text, key)
        assert found.standing is Standing.EMPTY


@pytest.mark.parametrize(
    ("text", "standing", "says"),
    [
        ("beams * vocabulary * rows", Standing.RIGHT, ""),
        ("scores = rows×beams×vocabulary", Standing.RIGHT, ""),
        ("-(-beams * vocabulary * rows)", Standing.RIGHT, ""),
        ("beams * vocabulary", Standing.WRONG, ""),
        ("beams * vocabulary * rows * 1.0001", Standing.WRONG, ""),
        ("rows / (beams - beams)", Standing.WRONG, "divides by zero"),
        ("beams ^ vocabulary", Standing.UNREADABLE, "^ is no power"),
        ("beam * vocabulary", Standing.UNREADABLE, "beam is unknown"),
        ("beams ** vocabulary ** rows ** 9", Standing.WRONG, "too large"),
        ("__import__('os')", Standing.UNREADABLE, "more than arithmetic"),
        ("beams.real", Standing.UNREADABLE, "more than arithmetic"),
        ("[beams for beams in ()]", Standing.UNREADABLE, "more than arithmetic"),
        ("(" * 3000 + ")" * 900, Standing.UNREADABLE, "cannot be read"),
        ("-" * 3900 + "beams", Standing.UNREADABLE, "deeply"),
        ("9" * 3900, Standing.UNREADABLE, "too large"),
    ],
)
def test_formulas_are_judged(lab: Lab, key: Key, text: str, standing: Standing, says: str) -> None:
    found = judge(asked(lab, "beam_scores"), text, key)

    assert (found.standing, says in found.says) == (standing, True), found


@pytest.mark.parametrize(
    ("body", "standing", "says"),
    [
        ("return len([x for x in probabilities if x >= p * max(probabilities)])", "right", ""),
        ("n = 0\n    for x in probabilities:\n        n += x >= p * max(probabilities)\n"
         "    return n", "right", ""),
        ("i, n = 0, 0\n    while i < len(probabilities):\n"
         "        if probabilities[i] >= p * sorted(probabilities)[-1]:\n            n = n + 1\n"
         "        i += 1\n    return n", "right", ""),
        ("return len(probabilities)", "wrong", "gives another result in 2 of 3 cases"),
        ("return 1 / 0", "wrong", "divides by zero"),
        ("return probabilities[99]", "wrong", "raises IndexError"),
        ("while True:\n        pass", "wrong", "takes more than"),
        ("return kept(probabilities, p)", "cannot be read", "kept() is not known"),
        ("return 10 ** 10 ** 10", "wrong", "too large"),
        ("return 1 << 10 ** 9", "wrong", "too large"),
        ("return [0] * 10 ** 9", "wrong", "makes a list of more than"),
        ("return sum(range(10 ** 12))", "wrong", "takes more than"),
        ("a = []\n    a.append(a)\n    return a == a", "wrong", "deeply"),
        ("a = [1]\n    b = [1]\n    for i in range(40):\n        a = [a, a]\n        b = [b, b]\n"
         "    return a == b", "wrong", ""),
        ("a = [1]\n    for i in range(99):\n        a = a + a\n    return a", "wrong", "makes a"),
        ("return round(1, -10 ** 9)", "wrong", "too many digits"),
        ("return (-8) ** 0.5", "wrong", "not real"),
        ("import os", "cannot be read", "Import is not known"),
        ("return open('/etc/passwd')", "cannot be read", "open() is not known"),
        ("return p.__class__", "cannot be read", "Attribute is not known"),
        ("return (lambda: 1)()", "cannot be read", "calls what is not known"),
        ("return f'{p:99999999}'", "cannot be read", "JoinedStr is not known"),
        ("return 'x' * 10 ** 9", "cannot be read", "has str, no number"),
        ("global x", "cannot be read", "Global is not known"),
        ("return [i for i in range(9)" + " for j in range(9)" * 20 + "]", "wrong", "takes more"),
    ],
)  # fmt: skip
def test_programs_are_interpreted(lab: Lab, key: Key, body: str, standing: str, says: str) -> None:
    text = f"```python\ndef kept(probabilities, p):\n    {body}\n```"

    found = judge(asked(lab, "kept"), text, key)

    assert (found.standing.value, says in found.says) == (standing, True), found


HOSTILE = {
    "nul": "1\0",
    "right to left": "1\u202e2",
    "private": "\ue000",
    "megabytes": "9" * (1 << 21),
    "lines": "1\n" * (1 << 19),
    "towers": "10**10**10",
    "small towers": "9**9**9**9",
    "nests": "(" * 4000,
    "signs": "-" * 7000 + "1",
    "nots": "not " * 1500 + "1",
    "lambdas": "lambda:" * 900 + "1",
    "ifs": "1 if 1 else " * 500 + "1",
    "exponents": "1e999999999",
    "digits": "9" * 7999,
    "commas": "1," * 3999,
    "letters": "a" * 7999,
    "superscripts": "²" * 7999,
    "ligatures": "\ufdfa" * 7999,
    "fences": "```\n" * 1900,
    "a program": "def kept(probabilities, p):\n" + "    if p:\n" * 100,
    "deep lists": "def kept(probabilities, p):\n    return " + "[" * 180 + "]" * 180,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_ends_in_a_word_soon_and_without_memory(lab: Lab, key: Key, name: str) -> None:
    found: dict[str, Judged] = {}

    def judge_all() -> None:  # in a thread, whose stack may be small
        for question in read_questions(lab.folder):
            drawn = draw(lab.name, question, "ada")
            found[question.id] = judge(drawn, HOSTILE[name], key)

    tracemalloc.start()
    began = time.process_time()
    thread = Thread(target=judge_all)
    thread.start()
    thread.join()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(found) == 7
    assert not any(each.is_right for each in found.values())
    assert all(each.says or each.standing is not Standing.UNREADABLE for each in found.values())
    assert most < 64 << 20
    assert time.process_time() - began < 5


def test_draws_are_the_same_everywhere_and_differ_by_student(lab: Lab) -> None:
    number, choice = read_questions(lab.folder)[:2]

    drawn = {name: draw(lab.name, number, name).values for name in ("ada", "bob", "cyd", "dee")}
    orders = {draw(lab.name, choice, f"s{n}").order for n in range(40)}

    assert drawn["ada"] == draw(lab.name, number, " ADA ").values == {"best": 0.8, "p": 0.05}
    assert len({tuple(values.items()) for values in drawn.values()}) > 1
    assert len(orders) > 10
    assert normal_id(" Ada ") == "ada"


def test_letters_stand_for_the_options_as_a_student_sees_them(lab: Lab, key: Key) -> None:
    (choice,) = (q for q in read_questions(lab.folder) if q.id == "commutes")

    for student in (f"s{n}" for n in range(20)):
        drawn = draw(lab.name, choice, student)
        letter = "abcd"[drawn.options.index("top_k")]
        right = [x for x in "abcd" if judge(drawn, x, key).is_right]
        assert right == [letter]


def test_without_a_key_an_answer_is_only_read(lab: Lab) -> None:
    assert read(asked(lab, "commutes"), "b").standing is Standing.READ
    assert read(asked(lab, "commutes"), "q").standing is Standing.UNREADABLE


@pytest.mark.parametrize(
    ("tolerance", "text", "is_right"),
    [
        ("0.01", "100.9", True),
        ("0.01", "101.1", False),
        ("0", "100.0", True),
        ("0", "100.1", False),
    ],
)
def test_numbers_have_a_relative_tolerance(tolerance: str, text: str, is_right: bool) -> None:
    toml = f'[[questions]]\nid = "n"\nkind = "number"\nasks = "?"\ntolerance = {tolerance}\n'
    (question,) = questions_of(toml, "questions.toml")
    right: Callable[[], int] = lambda: 100  # noqa: E731

    assert judge(draw("x", question, "ada"), text, Key({"n": right})).is_right is is_right
