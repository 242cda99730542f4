"""Hidden suite of the demo lab of builds: a library alone, and one with the code beside it."""

from grader.suite import assert_equal, task

SECRET = "canary-93a7c1e05b6d2f48"  # tests look for it in everything that a submission can reach


@task("kernel", gate=True)
def test_operator(student, draw):
    """The operator doubles every value."""
    x = draw.normal(5, 7)

    got = student.operator("torch.ops.demo93.twice")(x)

    assert_equal(got, 2 * x)


@task("kernel")
def test_empty(student, draw):
    """The operator doubles nothing."""
    x = draw.normal(0, 3)

    got = student.operator("torch.ops.demo93.twice")(x)

    assert_equal(got, x)


@task("kernel")
def test_dtypes(student, draw):
    """The operator refuses what is not float32."""
    with student.raises(RuntimeError):
        student.operator("torch.ops.demo93.twice")(draw.normal(3).double())


@task("wrapper", gate=True)
def test_wrapper(student, draw):
    """The function calls the operator."""
    x = draw.normal(5, 7)

    got = student.twice(x)

    assert_equal(got, 2 * x)


@task("device", gate=True)
def test_device(student, draw):
    """The operator doubles every value on a GPU."""
    x = draw.normal(5, 7)

    got = student.operator("torch.ops.demo93.twice")(x)

    assert_equal(got, 2 * x)
