"""All that hidden and public tests import of the judge, and only they import it.

So whatever moves in the judge, no suite is touched. What the judge hands to a test beside these
are fixtures, of ``plugin``.
"""

from grader.errors import Mismatch, NotGraded, StudentError
from grader.grammar import counted
from grader.judge.plugin.items import task
from grader.proxy.instruments.graphs import Backend, Graph
from grader.proxy.instruments.replayed import Graphs
from grader.proxy.ranks.group import Group, GroupProxy, PerRank
from grader.proxy.ranks.network import Network
from grader.proxy.ranks.peer import Peer
from grader.proxy.student import Folder
from grader.proxy.values.compare import (
    assert_close,
    assert_equal,
    assert_new,
    assert_unmodified,
    assert_written,
    check,
    check_within,
)
from grader.proxy.values.kinds import describe, expect
from grader.proxy.values.values import Proxy
from grader.timing.race import Race
from grader.timing.silence import assert_from_kernels, assert_kernels_alone_compute

__all__ = [
    "Backend",
    "Folder",
    "Graph",
    "Graphs",
    "Group",
    "GroupProxy",
    "Mismatch",
    "Network",
    "NotGraded",
    "Peer",
    "PerRank",
    "Proxy",
    "Race",
    "StudentError",
    "assert_close",
    "assert_equal",
    "assert_from_kernels",
    "assert_kernels_alone_compute",
    "assert_new",
    "assert_unmodified",
    "assert_written",
    "check",
    "check_within",
    "counted",
    "describe",
    "expect",
    "task",
]
