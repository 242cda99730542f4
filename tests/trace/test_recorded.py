"""What is recorded of a launch is what its programs touch."""

import functools

import pytest
from stand_ins.expectation import HERE

from grader.errors import InferlabError
from grader.trace.record import HIDDEN, OUTSIDE, Launch, Step, Trace, read
from grader.trace.run import traced
from grader.trace.words import alternative, step_in_words, summary

FILE = HERE / "stand_ins" / "traced_kernels.py"
LINES = FILE.read_text().splitlines()


def line(code: str) -> int:
    return next(number for number, text in enumerate(LINES, 1) if code in text)


@functools.cache
def trace(call: str) -> Trace:
    return traced(FILE, call, quiet=True)


@functools.cache
def several() -> Trace:
    """The calls that end well, in one process."""
    return trace("run_double(); run_total(); run_beyond()")


def launch(name: str) -> Launch:
    return next(found for found in several().launches if found.kernel == name)


def of(found: Launch, program: tuple[int, ...]) -> list[Step]:
    return [step for step in found.steps if step.program == program]


def test_each_access_stands_at_its_line_and_names_its_elements() -> None:
    found = launch("double")

    load, store = of(found, (1, 0))

    assert found.grid == (2, 2)
    assert (load.kind, load.line, load.inner) == ("load", line("values = tile("), line("return tl"))
    assert (store.kind, store.line) == ("store", line("tl.store(out + r"))
    assert [found.tensors[0].index(lane) for lane in load.lanes[:4]] == [
        (2, 0), (2, 1), (2, 2), (2, 3),
    ]  # fmt: skip
    assert load.lanes[4:] == (HIDDEN,) * 4
    assert load.values[:4] == ("4", "10", "16", "22")
    assert store.values[:4] == ("8", "20", "32", "44")
    assert found.tensors[0].strides == (2, 6)


def test_every_element_is_touched_by_one_program() -> None:
    found = launch("double")

    for tensor in (0, 1):
        touched = [e for step in found.steps if step.tensor == tensor for e in step.elements]
        assert sorted(touched) == list(range(15))


def test_atomics_have_their_name_and_values_of_bf16_are_numbers() -> None:
    steps = launch("total").steps

    assert [step.kind for step in steps] == ["load", "atomic_add"] * 3
    assert steps[1].values == ("6",)
    assert {step.elements[0] for step in steps[1::2]} == {0}


def test_lanes_outside_of_every_tensor_are_told_and_masked() -> None:
    (load, store) = launch("beyond").steps

    assert load.lanes == (0, 1, 2, OUTSIDE)
    assert load.outside == 1
    assert store.values[:3] == ("0", "1", "2")
    assert "1 outside of every tensor" in step_in_words(launch("beyond"), load)
    assert several().fault is None


def test_an_error_stands_at_its_line_and_program_and_the_rest_is_there() -> None:
    found = trace("run_fails()")

    assert found.fault is not None
    assert (found.fault.line, found.fault.program) == (line("tl.store(out + at, values + "), (1,))
    assert [step.program for step in found.launches[0].steps] == [(0,), (1,)]
    assert f"line {found.fault.line}, program 1: ValueError" in "\n".join(summary(found))


def test_what_raises_outside_of_kernels_is_told() -> None:
    found = trace("torch.zeros(3) @ torch.zeros(4)")

    assert found.launches == ()
    assert found.fault is not None
    assert (found.fault.kind, found.fault.program) == ("RuntimeError", ())


def test_what_is_too_much_is_counted() -> None:
    many, large = trace("run_many()"), trace("run_large()").launches[0]

    assert (len(many.launches), many.more) == (8, 2)
    assert many.launches[0].more == 48
    assert len(large.steps[0].lanes) == 4096
    assert "295,913 more lanes are not told" in step_in_words(large, large.steps[0])


def test_words_name_slices_and_cut_what_is_long() -> None:
    lines = "\n".join(summary(several()))

    assert "launch 1: double[(2, 2)], 4 programs on 2 axes" in lines
    assert "x [3, 5] float32, strides (2, 6)" in lines
    assert "loads x[0:2, 0:4] (2 x 4 lanes)" in lines
    assert "loads x[0:2, 4] (2 elements, 2 x 4 lanes, 6 hidden by the mask)" in lines
    assert "does atomic_add on out[0] (1 lane)" in lines
    many = trace("run_many()")
    assert "… 994 more programs" in "\n".join(summary(many))
    assert "994 more programs likewise" in alternative(many.launches[0])


@pytest.mark.parametrize(
    "data", [None, {}, {"launches": [{}], "more": 0, "fault": None}, [1], {"launches": 3}]
)
def test_a_record_of_another_form_is_refused(data: object) -> None:
    with pytest.raises(InferlabError, match="another form"):
        read(data)


def test_a_lane_of_no_element_is_refused() -> None:
    tensor = {"name": "x", "shape": [3], "strides": [1], "dtype": "float32"}
    step = {"program": [0], "line": 1, "inner": 1, "kind": "load", "tensor": 0, "shape": [1]}
    step |= {"hidden": 0, "outside": 0}
    launched = {"kernel": "k", "first": 1, "source": [], "grid": [1], "arguments": []}
    launched |= {"tensors": [tensor], "more": 0}

    for lanes in ([3], [-4]):
        data = {"launches": [{**launched, "steps": [{**step, "lanes": lanes}]}]}
        with pytest.raises(InferlabError):
            read({**data, "more": 0, "fault": None})


def test_a_process_that_dies_is_told() -> None:
    with pytest.raises(InferlabError, match="ended with code 7"):
        traced(FILE, "__import__('os')._exit(7)", quiet=True)
