"""Public tests of the demo lab."""

import torch

from grader.suite import assert_close, task


@task("right")
def test_two_columns(student):
    """softmax of equal values is uniform."""
    x = torch.zeros(3, 2)

    got = student.softmax(x)

    assert_close(got, torch.full((3, 2), 0.5).double(), "elementwise", like=x)
