"""Public tests of lab 06: the examples of the handout, to try your code on as you go."""

import torch
from torch import Tensor

from grader.suite import assert_close, expect, task

Triple = tuple[Tensor, Tensor, Tensor]

# The example of the handout: mean 3 and variance 5 in the first row, all equal in the second.
X = torch.tensor([[0.0, 2.0, 4.0, 6.0], [7.0, 7.0, 7.0, 7.0]])
WEIGHT = torch.tensor([1.0, 2.0, 1.0, 2.0])
BIAS = torch.tensor([0.0, 0.0, 1.0, 1.0])


@task("forward")
def test_example_of_the_forward(student):
    """Each row is normalised by its own mean and biased variance, eps is added to the variance."""
    got = expect(student.layer_norm_forward(X, WEIGHT, BIAS, 4.0), Triple)

    y, mean, rstd = got
    want = torch.tensor([[-1.0, -2 / 3, 4 / 3, 3.0], [0.0, 0.0, 1.0, 1.0]])
    assert_close(mean, torch.tensor([3.0, 7.0]), "elementwise", what="mean")
    assert_close(rstd, torch.tensor([1 / 3, 1 / 2]), "elementwise", what="rstd")
    assert_close(y, want, "elementwise", what="y")


@task("forward")
def test_width_that_is_no_power_of_two(student):
    """The lanes of a block beyond the row count in neither the mean nor the variance."""
    x = torch.tensor([[1.0, 5.0, 3.0], [-2.0, 0.0, 2.0]])

    got = expect(student.layer_norm_forward(x, torch.ones(3), torch.zeros(3), 0.0), Triple)

    assert_close(got[1], torch.tensor([3.0, 0.0]), "elementwise", what="mean")
    assert_close(got[2], torch.tensor([0.375, 0.375]).sqrt(), "elementwise", what="rstd")


@task("backward")
def test_example_of_the_backward(student):
    """dx follows from two sums over its row; dweight and dbias are sums over all rows."""
    dy = torch.tensor([[1.0, 0.0, 2.0, 1.0], [3.0, 1.0, 0.0, 1.0]])
    mean, rstd = torch.tensor([3.0, 7.0]), torch.tensor([1 / 3, 1 / 2])

    got = expect(student.layer_norm_backward(dy, X, WEIGHT, mean, rstd), Triple)

    dx, dweight, dbias = got
    want = torch.tensor([[1.5 / 27, -10 / 27, 5.5 / 27, 3 / 27], [0.625, 0.125, -0.875, 0.125]])
    assert_close(dbias, torch.tensor([4.0, 1.0, 2.0, 2.0]), "backward", what="dbias")
    assert_close(dweight, torch.tensor([-1.0, 0.0, 2 / 3, 1.0]), "backward", what="dweight")
    assert_close(dx, want, "backward", what="dx")


@task("backward")
def test_autograd_goes_through_layer_norm(student):
    """layer_norm can be differentiated: its gradients are those of layer_norm_backward."""
    x = torch.tensor([[0.0, 2.0, 4.0, 6.0]])

    got = student.gradients("layer_norm", (x, WEIGHT, BIAS), torch.ones(1, 4), eps=4.0)

    _, dweight, dbias = expect(got, Triple, "the gradients")
    assert_close(dbias, torch.ones(4), "backward", what="dbias")
    assert_close(dweight, torch.tensor([-1.0, -1 / 3, 1 / 3, 1.0]), "backward", what="dweight")
