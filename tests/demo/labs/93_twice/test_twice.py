"""Public tests of the demo lab of builds."""

import torch

from grader.suite import assert_equal, task


@task("wrapper")
def test_doubles(student):
    """twice doubles every value."""
    x = torch.tensor([1.0, -2.0, 0.5])

    got = student.twice(x)

    assert_equal(got, 2 * x)
