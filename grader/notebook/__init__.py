"""A notebook is a second way into a lab: what is graded is the lab's files, by the same judge.

``%load_ext grader.notebook`` in a kernel, and the building of notebooks from a lab's own files.
"""

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Add the magics of a lab to a kernel; IPython calls it."""
    from grader.notebook.extension import load

    load(shell)
