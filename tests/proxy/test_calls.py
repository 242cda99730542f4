"""What a student is told of the calls that led to a failure."""

from typing import Any

import pytest
import torch

from grader.proxy.conversation.calls import KEPT, MOST_LINES, Calls
from grader.proxy.loans.loans import Loan
from grader.proxy.loans.watched_arguments import Watched
from grader.proxy.values.shown import revealing
from grader.proxy.values.values import Hidden
from grader.wire.codec import Record


class Stub:
    """An object of the submission, as far as a call shows it."""

    def __init__(self, number: int, kind: str) -> None:
        self.number_ = number
        self.kind_ = kind


def called(*args: Any, name: str = "f", kind: str = "function", **kwargs: Any) -> str:
    calls = Calls()
    calls.note([kind, name], args, kwargs)
    (line,) = calls.lines()
    return line


def double(x: Any) -> Any:
    return 2 * x


PUBLIC = [
    ((1, 2.0, True, None), "f(1, 2.0, True, None)"),
    (("a b",), "f('a b')"),
    ((torch.tensor([[1.0, -2.5]]),), "f(torch.tensor([[1.0, -2.5]]))"),
    (
        (torch.tensor([1.0], dtype=torch.bfloat16),),
        "f(torch.tensor([1.0], dtype=torch.bfloat16))",
    ),
    ((torch.zeros(3, 7),), "f(float32[3, 7])"),
    ((torch.zeros(7, 3).T,), "f(float32[3, 7] with strides [1, 3])"),
    (([1, 2], (3,), {"a": 1}), "f([1, 2], (3,), {'a': 1})"),
    ((Watched([1, 2]),), "f([1, 2])"),
    ((Record("Config", {"width": 4}),), "f(Config(width=4))"),
    ((torch.Generator().manual_seed(7),), "f(torch.Generator().manual_seed(7))"),
    ((Loan(double, ("__call__",), (), keep=False),), "f(double)"),
    ((Loan([], ("pop",), (), keep=False),), "f(<object list of the test: pop()>)"),
    ((Loan([], ("__call__",), (), keep=False),), "f(<callable list of the test>)"),
    (([*range(20)],), f"f({[*range(16)]})".replace("15])", "15, … 20 in all])")),
]


@pytest.mark.parametrize(("args", "text"), PUBLIC, ids=[text for _, text in PUBLIC])
def test_public_test_shows_a_call_as_one_could_type_it(args: tuple[Any, ...], text: str) -> None:
    with revealing(True):
        assert called(*args) == text


HIDDEN = [
    ((1, 2.0, "default"), "f(1, 2.0, 'default')"),
    (("def main(x):",), "f(str of 12)"),
    ((torch.tensor([[1.0, -2.5]]),), "f(float32[1, 2])"),
    (([3, 1, 4], {"a": 1}), "f(list of 3 ints, dict of 1: string to int)"),
    (([0.5, 1], [], {}), "f(list of 2 floats or ints, [], {})"),
    ((["a b", "c"], {3, 4}), "f(list of 2 strings, set of 2 ints)"),
    (([[1], [2, 3, 4], []],), "f(list of 3 lists of 1, 3 and 0 ints)"),
    (([[1, 2], [3, 4]],), "f(list of 2 lists of 2 ints)"),
    (([[1] * n for n in range(2, 9)],), "f(list of 7 lists of 2 to 8 ints)"),
    (([[], []],), "f(list of 2 empty lists)"),
    (([torch.zeros(3, 4), torch.zeros(2)],), "f([float32[3, 4], float32[2]])"),
    (
        ([torch.zeros(n) for n in (1, 2, 3, 4, 5)],),
        "f([float32[1], float32[2], float32[3], float32[4], … 5 in all])",
    ),
    (({"w": torch.zeros(2), "b": None},), "f(dict of 2: strings to tensors or Nones)"),
    (({"w": Hidden(torch.ones(2), torch.zeros(2))},), "f(dict of 1: string to tensor)"),
    (([[7]], [torch.bfloat16]), "f(list of 1 list of 1 int, [torch.bfloat16])"),
    ((torch.float32, torch.device("cpu")), "f(torch.float32, device(type='cpu'))"),
    ((Record("Config", {"width": 4}),), "f(Config(width=4))"),
    ((Record("Config", dict.fromkeys("abcde", 1)),), "f(Config(a=1, b=1, c=1, d=1, e=1))"),
    ((Loan(double, ("__call__",), (), keep=False),), "f(double)"),
    ((Loan([], ("__call__",), (), keep=False),), "f(<callable of the test>)"),
    ((Loan([], ("__call__",), ("size",), keep=False),), "f(<callable of the test: size>)"),
    (
        (Loan([], ("forward", "rewind"), ("length",), keep=False),),
        "f(<object of the test: forward(), rewind(), length>)",
    ),
    ((torch.Generator().manual_seed(7),), "f(torch.Generator().manual_seed(…))"),
]


@pytest.mark.parametrize(("args", "text"), HIDDEN, ids=[text for _, text in HIDDEN])
def test_hidden_test_shows_what_kind_of_inputs_there_were(args: tuple[Any, ...], text: str) -> None:
    assert called(*args) == text


def test_what_else_a_call_does_is_told() -> None:
    x = torch.ones(2)

    with revealing(True):
        assert called(x, kind="overwritten", p=1.0) == (
            "f(torch.tensor([1.0, 1.0]), p=1.0), and its result is then written over"
        )
        assert called((x,), x, kind="gradients") == "f(torch.tensor([1.0, 1.0])), then backward"
        assert called((1, 2), (3, 4), kind="together") == "f of (1, 2) and of (3, 4)"


def test_state_is_told_by_the_calls_that_led_to_it() -> None:
    calls = Calls()
    made = calls.note(["function", "KVCache"], (8,), {})
    calls.returned(made, 5, "KVCache")
    other = calls.note(["function", "KVCache"], (9,), {})
    calls.returned(other, 6, "KVCache")
    calls.note(["object", 5, "update"], (1,), {})
    calls.note(["object", 6, "update"], (2,), {})
    calls.note(["function", "attend"], (Stub(5, "KVCache"), 3), {})

    assert calls.lines() == [
        "kvcache = KVCache(8)",
        "kvcache.update(1)",
        "attend(kvcache, 3)",
    ]
    assert calls.function == "attend"


def test_what_was_taken_from_a_module_or_a_class_has_its_path() -> None:
    calls = Calls()
    calls.found({"op": "handle", "target": ["given", "llama", "nn"]}, Stub(1, "object"))
    calls.found({"op": "get", "object": 1, "name": "Linear"}, Stub(2, "object"))
    calls.returned(calls.note(["object", 2, "__call__"], (8, 2), {}), 3, "Linear")
    calls.found({"op": "get", "object": 3, "name": "weight"}, Stub(4, "object"))
    calls.found({"op": "handle", "target": ["function", "Int8Linear"]}, Stub(5, "object"))
    calls.found({"op": "get", "object": 5, "name": "from_float"}, Stub(6, "object"))
    calls.note(["object", 6, "__call__"], (Stub(3, "Linear"),), {})

    assert calls.lines() == ["linear = nn.Linear(8, 2)", "Int8Linear.from_float(linear)"]
    assert calls.function == "Int8Linear"


def test_method_belongs_to_the_class_that_is_to_be_mended() -> None:
    calls = Calls()
    calls.returned(calls.note(["function", "Sampler"], (), {}), 1, "Sampler")
    calls.note(["object", 1, "__call__"], (4,), {})

    assert calls.function == "Sampler"
    assert calls.lines()[-1] == "sampler(4)"


def test_long_state_keeps_its_beginning_and_its_end() -> None:
    calls = Calls()
    calls.returned(calls.note(["function", "Cache"], (), {}), 1, "Cache")
    for step in range(20):
        calls.note(["object", 1, "step"], (step,), {})

    lines = calls.lines()

    assert (lines[0], lines[1], lines[-1]) == ("cache = Cache()", "… 13 calls", "cache.step(19)")
    assert len(lines) == MOST_LINES + 1


def test_what_was_called_is_bounded() -> None:
    calls = Calls()
    for step in range(10 * KEPT):
        calls.note(["function", "f"], ("x" * 10_000, [["y"] * 10_000] * 10_000, step), {})

    with revealing(True):
        assert sum(map(len, calls.lines())) < 1000


def test_each_test_begins_with_no_call() -> None:
    calls = Calls()
    calls.note(["function", "f"], (), {})

    calls.clear()

    assert (calls.lines(), calls.function) == ([], "")


def compiled() -> Calls:
    """The calls of a test that has had a model compiled."""
    calls = Calls()
    fields = dict.fromkeys("abcdefghi", 1)
    weights = {name: torch.ones(1) for name in fields}
    given = ["given", "llama", "Llama"]
    calls.returned(calls.note(given, (Record("LlamaConfig", fields), weights), {}), 1, "Llama")
    calls.found({"op": "backend"}, Stub(2, "Backend"))
    arguments = Stub(1, "Llama"), Stub(2, "Backend")
    calls.note(["object", 2, "name"], arguments[:1], {})
    step = calls.note(["function", "compile_step"], arguments, {})
    calls.returned(step, 3, "OptimizedModule")
    return calls


COMPILED = [
    "llama = Llama(LlamaConfig(…), dict of 9: strings to tensors)",
    "optimized_module = compile_step(llama, backend)",
]


def test_what_the_judge_asks_its_own_objects_is_no_call_of_the_students() -> None:
    calls = compiled()
    calls.note(["object", 1, "state_dict"], (), {})
    calls.note(["object", 2, "counts"], (), {})

    with revealing(True):
        assert calls.lines() == COMPILED
    assert calls.function == "compile_step"


def test_function_that_is_watched_is_told_as_called() -> None:
    calls = compiled()
    calls.note(["object", 2, "watch"], (Stub(3, "OptimizedModule"),), {"tokens": 7})

    assert calls.lines() == [*COMPILED, "optimized_module(7)"]


def test_object_of_given_code_is_told_of_once_the_submission_has_had_it() -> None:
    calls = Calls()
    calls.returned(calls.note(["given", "llama", "Llama"], (), {}), 1, "Llama")
    calls.note(["object", 1, "__call__"], (1,), {})
    assert calls.lines() == ["llama = Llama()"]

    calls.note(["function", "quantize_model"], (Stub(1, "Llama"),), {})
    calls.note(["object", 1, "__call__"], (2,), {})

    assert calls.lines()[-2:] == ["quantize_model(llama)", "llama(2)"]


def test_object_of_given_code_is_told_of_where_it_takes_one_of_the_submission() -> None:
    calls = Calls()
    calls.returned(calls.note(["given", "llama", "Llama"], (), {}), 1, "Llama")
    calls.returned(calls.note(["function", "Cache"], (), {}), 2, "Cache")
    calls.note(["object", 1, "__call__"], (7,), {"caches": [Stub(2, "Cache")]})

    assert calls.lines() == ["llama = Llama()", "cache = Cache()", "llama(7, caches=[cache])"]


def test_what_a_test_asks_given_code_afterwards_is_no_call_of_the_students() -> None:
    calls = compiled()
    calls.gave(calls.note(["object", 3, "__call__"], (7,), {}), torch.ones(1))
    calls.gave(calls.note(["object", 1, "__call__"], (29,), {}), torch.ones(1))

    assert calls.lines() == [*COMPILED, "optimized_module(7)"]


def test_function_and_objects_in_a_list_are_named_by_what_made_them() -> None:
    calls = Calls(public=["StaticCache", "compile_step"])
    calls.returned(calls.note(["function", "StaticCache"], (), {}), 1, "StaticCache")
    layers = calls.note(["object", 1, "layers"], (4,), {})
    calls.gave(layers, [Stub(2, "_Rows"), Stub(3, "_Rows")])
    calls.note(["object", 3, "update"], (5,), {})
    assert calls.lines()[1:] == ["layers = static_cache.layers(4)", "layers[1].update(5)"]
    assert calls.function == "StaticCache"

    step = calls.note(["function", "compile_step"], (Stub(1, "StaticCache"),), {})
    calls.returned(step, 4, "function")
    calls.note(["object", 4, "__call__"], (6,), {})
    assert calls.lines()[-2:] == ["step = compile_step(static_cache)", "step(6)"]
    assert calls.function == "compile_step"


def test_looks_are_left_out_but_the_last() -> None:
    calls = Calls(reads=["table"])
    calls.returned(calls.note(["function", "Blocks"], (), {}), 1, "Blocks")
    for seq in range(3):
        calls.note(["object", 1, "admit"], (seq,), {})
        for _ in range(KEPT):
            calls.note(["object", 1, "table"], (seq,), {})

    assert calls.lines() == [
        *("blocks = Blocks()", "blocks.admit(0)", "blocks.admit(1)", "blocks.admit(2)"),
        "blocks.table(2)",
    ]


def test_what_made_an_object_is_told_however_long_ago() -> None:
    calls = compiled()
    for step in range(2 * KEPT):
        calls.note(["object", 3, "__call__"], (step,), {})

    lines = calls.lines()

    assert (lines[0], lines[-1]) == (COMPILED[0], f"optimized_module({2 * KEPT - 1})")


def test_numbers_of_another_worker_have_no_names_of_this_one() -> None:
    calls = Calls()
    calls.returned(calls.note(["function", "Rows"], (), {}), 1, "Rows")
    calls.clear()
    calls.note(["function", "f"], (Stub(1, "Cache"),), {})

    assert calls.lines() == ["f(cache)"]
