"""What commands of a course write is their owner's alone: marks, reports and students' work."""

import os
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

PRIVATE = 0o077  # as umask: nothing for the group, nothing for others
Options = ParamSpec("Options")
Result = TypeVar("Result")


def private(command: Callable[Options, Result]) -> Callable[Options, Result]:
    """Let a command make files of mode 0600 and folders of 0700, whatever the umask is."""

    @wraps(command)
    def run(*args: Options.args, **kwargs: Options.kwargs) -> Result:
        before = os.umask(PRIVATE)
        try:
            return command(*args, **kwargs)
        finally:
            os.umask(before)

    return run
