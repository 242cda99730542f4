"""Public tests of lab 01: the worked examples of the handout, small enough to follow by hand."""
from grader.plugin import task
from grader.compare import check
@task("norm")
def test_x(student):
    """x"""
    check(True, "")
