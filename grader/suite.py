"""All that hidden and public tests import of the judge, and only they import it.

So whatever moves in the judge, no suite is touched. What the judge hands to a test beside these
are fixtures, of ``plugin``.
"""

from grader.compare import (
    assert_close,
    assert_equal,
    assert_unmodified,
    check,
    describe,
    expect,
)
from grader.conversation import Proxy
from grader.errors import Mismatch, NotGraded, StudentError
from grader.group import Group, GroupProxy, PerRank
from grader.plugin import task
from grader.race import Race
from grader.silence import assert_from_kernels
from grader.student import Folder

__all__ = [
    "Folder",
    "Group",
    "GroupProxy",
    "Mismatch",
    "NotGraded",
    "PerRank",
    "Proxy",
    "Race",
    "StudentError",
    "assert_close",
    "assert_equal",
    "assert_from_kernels",
    "assert_unmodified",
    "check",
    "describe",
    "expect",
    "task",
]
