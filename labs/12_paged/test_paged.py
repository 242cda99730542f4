"""Public tests of lab 12."""

from grader.suite import check, task


@task("blocks", contract=1)
def test_x(student):
    """A manager can be made."""
    check(student.BlockManager(3, 2).admit(0, [1]) == 0, "x")
