"""Public tests of the demo lab."""

import torch

from grader.suite import assert_close, task


@task("scale")
def test_doubles(student):
    """scale multiplies every value by the factor."""
    x = torch.tensor([[1.0, -2.0, 0.5]])

    got = student.scale(x, 2.0)

    assert_close(got, torch.tensor([[2.0, -4.0, 1.0]]).double(), "elementwise", like=x)
