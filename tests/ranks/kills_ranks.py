"""Kills the other ranks.

Expect:
    total: crashed skipped
    part: passed
    score: 30
    says: the process was ended by SIGKILL
"""

import contextlib
import os
import signal

import torch.distributed as dist


def total(x, group=None):
    for pid in range(2, 200):
        if dist.get_rank(group) == 0 and pid not in (os.getpid(), os.getppid()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    x = x.clone()
    dist.all_reduce(x, group=group)
    return x


class Part:
    def __init__(self, x, group=None):
        world = dist.get_world_size(group)
        if len(x) % world:
            raise ValueError(f"{len(x)} rows for {world} ranks")
        self.rows = x.chunk(world)[dist.get_rank(group)].clone()
