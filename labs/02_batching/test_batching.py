"""Public tests of lab 02: the examples of the handout, to try your code on as you go."""

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from grader.suite import assert_equal, check, expect, task


@task("pad")
def test_example_of_left_padding(student):
    """Prompts line up on the right; positions start at each row's first real token."""
    got = expect(student.left_pad([[5, 6, 7], [8], [9, 4]], 4), tuple[Tensor, Tensor, Tensor])

    tokens, positions, valid = got
    assert_equal(tokens, torch.tensor([[5, 6, 7], [4, 4, 8], [4, 9, 4]]), "tokens")
    assert_equal(positions, torch.tensor([[0, 1, 2], [0, 0, 0], [0, 0, 1]]), "positions")
    want = torch.tensor([[True, True, True], [False, False, True], [False, True, True]])
    assert_equal(valid, want, "valid")


@task("mask")
def test_example_of_a_mask(student):
    """Padding sees itself; a real token sees the real tokens up to itself."""
    valid = torch.tensor([[False, True, True], [True, False, True]])

    got = student.causal_mask(valid)

    left = [[1, 0, 0], [0, 1, 0], [0, 1, 1]]
    hole = [[1, 0, 0], [0, 1, 0], [1, 0, 1]]
    assert_equal(got, torch.tensor([[left], [hole]]).bool(), "the mask")


@task("waste")
def test_example_of_waste(student):
    """Lengths 1 and 4 make 8 cells, 3 of them padding."""
    got = expect(student.padding_waste([1, 4]), float)

    check(abs(got - 0.375) < 1e-9, "3 of 8 cells are padding: the share is 0.375")


class Weigher:
    """A model that says the sum of token * (position + 1) over all that a query sees, modulo 10."""

    def __init__(self) -> None:
        self.shapes: list[list[int]] = []

    def __call__(self, tokens: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        for name, value in {"tokens": tokens, "positions": positions, "mask": mask}.items():
            expect(value, Tensor, f"{name}, as the model gets it,")
        integers = {tokens.dtype, positions.dtype} <= {torch.int32, torch.int64}
        check(integers, "the model was given tokens or positions that are not integers")
        check(tokens.dim() == 2, "the model was given tokens that are not [B, T]")
        check(positions.shape == tokens.shape, "positions and tokens differ in shape")
        check(tokens.numel() < 100, "the model was given far more tokens than there are")
        batch, width = tokens.shape
        check(mask.dtype == torch.bool, "the model was given a mask that is not bool")
        check(list(mask.shape) == [batch, 1, width, width], "the mask is not [B, 1, T, T]")
        self.shapes.append([batch, width])
        weighed = tokens.long() * (positions + 1)
        return one_hot((mask[:, 0] * weighed[:, None, :]).sum(-1) % 10, 10).float()


@task("generate")
def test_example_of_generation(student):
    """Each row gets what it would get alone, ends at its own EOS, and each step is one call."""
    model = Weigher()

    got = student.generate(student.lend(model), [[1, 2], [4]], 6, [0, 3], 9)

    assert_equal(got, [[5], [4, 2, 8]])
    calls = len(model.shapes)
    check(calls == 4, f"4 steps are needed, the model was called {calls} times")


@task("engine")
def test_two_texts_give_two_texts(student):
    """execute takes a list of texts and returns as many; none for an empty list."""
    engine = student.BatchEngine(student.checkpoint("target").path)

    got = expect(engine.execute(["def __init__(self", "import "], max_new_tokens=3), list[str])

    check(len(got) == 2, f"2 texts went in, {len(got)} came back")
    assert_equal(engine.execute([]), [], "the answer to an empty list")
