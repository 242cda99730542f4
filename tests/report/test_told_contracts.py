"""What reports say of contracts."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from grader.labs.results import ContractResult, Report, State, TaskResult, TestResult, Verdict
from grader.report.facts.contracts import contract_lines, numbers_text
from grader.report.facts.next_step import Guide
from grader.report.facts.summary import gist, summarize
from grader.report.formats.gradescope import render_gradescope
from grader.report.formats.html import render_html
from grader.report.formats.markdown import render_markdown
from grader.report.formats.terminal import make_console, render_terminal

STATES = [State.HOLDS, State.HOLDS, State.HOLDS, State.BROKEN, State.WAITING, State.UNTRIED]
CONTRACTS = tuple(
    ContractResult(number, "norm", f"what {number} says", state, 10.0, 10.0 * (number < 4))
    for number, state in enumerate(STATES, 1)
)
GUIDE = Guide(
    title="Norm",
    stub="labs/01_x/x.py",
    pseudocode="labs/01_x/PSEUDOCODE.md",
    handout="labs/01_x/README.md",
    functions={"norm": ("first", "second", "third")},
)


def failed(
    number: int, function: str, verdict: Verdict = Verdict.FAILED, **more: str
) -> TestResult:
    message = more.get("message", "off")
    suite = more.get("suite", "hidden")
    return TestResult(
        f"test_{number}", "norm", suite, verdict, message, contract=number, function=function
    )


def report(*tests: TestResult, suite: str = "public") -> Report:
    return Report(
        1,
        "x",
        (TaskResult("norm", "Norm", 100.0, 30.0, True),),
        tests or (TestResult("test_1", "norm", "public", Verdict.PASSED, contract=1),),
        {"sandbox": "bwrap", "suite": suite, "seed": 7},
        contracts=CONTRACTS,
    )


def shown(item: Report) -> str:
    stream = io.StringIO()
    Console(file=stream, width=200).print(render_terminal(item, GUIDE))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([], ""),
        ([3], "3"),
        ([1, 2], "1, 2"),
        ([2, 1, 3], "1-3"),
        ([1, 2, 3, 5, 7, 8, 9, 10, 12], "1-3, 5, 7-10, 12"),
    ],
)
def test_numbers_in_a_row_are_told_by_their_ends(numbers: list[int], text: str) -> None:
    assert numbers_text(numbers) == text


def test_contracts_are_told_by_number() -> None:
    tests = [TestResult(f"t{n}", "norm", "public", Verdict.PASSED, contract=n) for n in range(1, 6)]

    assert contract_lines(report(*tests)) == [
        "3 of 4 contracts tried here hold: 1-3",
        "not tried yet: 5",
        "tried by the hidden tests only: 6",
        "broken: 4",
    ]


def test_whole_grading_leaves_nothing_to_the_hidden_tests() -> None:
    assert not any("hidden" in line for line in contract_lines(report(suite="")))


def test_lab_without_contracts_says_nothing_of_them() -> None:
    plain = replace(report(), contracts=())

    assert contract_lines(plain) == []
    told = shown(plain) + render_markdown(plain) + render_html(plain)
    assert "contracts tried here" not in told
    assert "<h2>Contracts" not in told


def test_every_form_tells_the_same() -> None:
    item = report(failed(4, "second"))
    lines = contract_lines(item)

    page = render_html(item)
    assert all(line in shown(item) for line in lines)
    assert all(line in page for line in lines)
    assert "3 of 4 contracts tried here hold" in render_markdown(item).replace("\\", "")
    assert "what 4 says" in shown(item)
    assert re.search(r"<td>4</td><td>what 4 says</td><td>broken</td><td>0 / 10</td>", page)


def test_next_step_names_the_functions_whose_tests_fail() -> None:
    text = shown(report(failed(4, "second"), failed(5, "second"), failed(6, "third")))

    assert "next: fix second, third (task norm) in labs/01_x/x.py" in text
    assert "tests that fail: second 2, third 1; this task alone: make grade LAB=1 TASK=norm" in text


def test_exception_is_more_telling_than_a_wrong_value() -> None:
    text = shown(
        report(failed(4, "first"), failed(5, "third", Verdict.ERROR, message="KeyError: 'x'"))
    )

    assert "next: fix third, first" in text
    assert "KeyError" in text


def test_what_is_not_written_yet_comes_last() -> None:
    unwritten = failed(4, "first", Verdict.ERROR, message="NotImplementedError: norm: first")
    passed = TestResult("test_3", "norm", "public", Verdict.PASSED, contract=3)

    assert "next: fix second (task norm)" in shown(report(unwritten, failed(5, "second"), passed))
    assert "next: write first (task norm)" in shown(report(unwritten, passed))


def test_readable_test_is_explained_before_a_hidden_one() -> None:
    text = shown(report(failed(4, "first"), failed(5, "first", suite="public")))

    assert "norm · test_5 · failed" in text


def test_seed_is_told_with_the_command_that_repeats_it() -> None:
    elsewhere = replace(GUIDE, source="mine.py")
    stream = io.StringIO()
    Console(file=stream, width=200).print(render_terminal(report(failed(4, "x")), elsewhere))

    assert (
        "seed 7; the same inputs again: make grade LAB=1 FROM=mine.py SEED=7" in stream.getvalue()
    )


def test_public_failure_is_told_how_to_step_through_once() -> None:
    elsewhere = replace(GUIDE, source="mine.py")
    tests = [failed(4, "x"), failed(5, "y", suite="public"), failed(6, "z", suite="public")]
    tests[1] = replace(tests[1], id="test_5[(1, 2)-$x]")
    stream = io.StringIO()
    Console(file=stream, width=200).print(render_terminal(report(*tests), elsewhere))

    line = "step through it: make repeat LAB=1 TEST='test_5[(1, 2)-$x]' SEED=7 FROM=mine.py"
    assert [x.strip() for x in stream.getvalue().splitlines() if "make repeat" in x] == [line]


def test_hidden_or_unwritten_test_is_stepped_through_by_no_command() -> None:
    said = {"suite": "public", "message": "NotImplementedError: norm"}
    unwritten = failed(5, "x", Verdict.ERROR, **said)

    assert "make repeat" not in shown(report(failed(4, "x")))
    assert "make repeat" not in shown(report(failed(4, "x"), unwritten))


def test_no_line_of_a_pipe_is_wrapped_or_ends_in_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    stream = io.StringIO()
    long = "word " * 60

    make_console(stream).print(render_terminal(report(failed(4, "first", message=long)), GUIDE))

    lines = stream.getvalue().splitlines()
    assert long.strip() in stream.getvalue()
    assert [line for line in lines if line != line.rstrip()] == []


def test_after_all_public_tests_the_hidden_contracts_are_named() -> None:
    done = replace(
        report(TestResult("t", "norm", "public", Verdict.PASSED, contract=1)),
        tasks=(TaskResult("norm", "Norm", 100.0, 100.0, True),),
        contracts=CONTRACTS[:2],
    )

    assert "read in the handout what the hidden tests alone try: 2" in shown(done)


def test_failure_names_the_broken_task_that_it_builds_on() -> None:
    above = TestResult("test_all", "model", "public", Verdict.FAILED, "off", function="Llama")
    tasks = (*report().tasks, TaskResult("model", "Model", 50.0, 0.0, True))
    item = replace(
        report(failed(4, "second"), above),
        tasks=tasks[::-1],  # whatever the order, what others build on comes first
        extras={"builds_on": {"Llama": ["norm"], "second": "anything"}},
    )
    line = "it builds on norm (contract 4), which is broken too: mend that first"

    assert shown(item).count(line) == 1
    assert "next: fix second (task norm)" in shown(item)
    assert line in render_html(item)
    assert line in render_markdown(item).replace("\\", "")
    assert "builds on" not in shown(replace(item, extras={}))


def test_task_that_holds_is_no_origin() -> None:
    above = TestResult("test_all", "model", "public", Verdict.FAILED, "off", function="Llama")
    passed = TestResult("test_1", "norm", "public", Verdict.PASSED, contract=1)
    whole = TaskResult("norm", "Norm", 100.0, 100.0, True)
    item = replace(
        report(passed, above),
        tasks=(whole, TaskResult("model", "Model", 50.0, 0.0, True)),
        extras={"builds_on": {"Llama": ["norm"]}},
    )

    assert "builds on" not in shown(item)


def test_each_form_names_the_contract_of_a_failure() -> None:
    item = report(failed(4, "first"))
    said = "contract 4: what 4 says"

    (entry,) = render_gradescope(item)["tests"]
    for text in (shown(item), render_html(item), render_markdown(item), entry["output"]):
        assert said in text.replace("\\", "")


def test_failure_of_no_contract_names_none() -> None:
    assert "contract 0" not in shown(report(failed(0, "first")))


def test_what_else_broke_is_told_in_a_line_for_each_contract() -> None:
    tests = [failed(4, "first")] + [
        failed(number, "first", message=f"What holds.\ncall: first({number})\n{number} is off")
        for number in (5, 5, 6)
    ]

    text = shown(report(*tests))

    also = [line.strip() for line in text.splitlines() if "also:" in line]
    assert also == [
        "also: contract 5, test_5: failed, 5 is off",
        "also: contract 6, test_6: failed, 6 is off",
    ]


def test_the_rest_of_many_broken_contracts_is_counted() -> None:
    text = shown(report(*(failed(number, "first") for number in range(1, 9))))

    assert text.count("also:") == 5
    assert "also: and 3 more contracts" in text


@pytest.mark.parametrize("slow", [Verdict.CRASHED, Verdict.TIMEOUT, Verdict.MEMORY])
def test_wrong_value_is_told_before_what_ended_a_worker(slow: Verdict) -> None:
    (part,) = summarize(report(failed(4, "first", slow), failed(5, "second")))

    assert part.first is not None
    assert part.first.function == "second"


def test_where_nothing_could_be_tried_no_contract_holds_or_is_broken() -> None:
    waiting = tuple(replace(contract, state=State.WAITING) for contract in CONTRACTS)

    assert contract_lines(replace(report(), contracts=waiting))[0] == "not tried yet: 1-6"


def test_gist_is_the_reason_and_no_call() -> None:
    calls = "What holds.\ncalls:\n  f = F(1)\n  f.g(2)\nit is 3, expected 4\n  got 3"

    assert gist(failed(4, "first", message=calls)) == "it is 3, expected 4"
    assert gist(failed(4, "first", message="What holds.\ncall: f(1)\nit is 3")) == "it is 3"


def test_function_of_the_first_broken_contract_is_named_first() -> None:
    text = shown(report(failed(5, "first"), failed(4, "third"), failed(4, "third")))

    assert "next: fix third, first" in text
    assert "tests that fail: third 2, first 1" in text


def test_stub_that_was_graded_from_elsewhere_is_graded_from_there_again() -> None:
    stub = failed(4, "first", Verdict.ERROR, message="NotImplementedError: norm: first")
    guide = replace(GUIDE, source="mine", functions={**GUIDE.functions, "rope": ()})
    stream = io.StringIO()

    Console(file=stream, width=200).print(render_terminal(report(stub), guide))

    assert re.search(r"4\. run +make grade LAB=1 FROM=mine TASK=norm *\n", stream.getvalue())
