"""Kills the process that forked the ranks.

Expect:
    total: crashed skipped
    part: passed
    score: 30
"""

import os
import signal

import torch.distributed as dist


def total(x, group=None):
    if dist.get_rank(group) == 0:
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    x = x.clone()
    dist.all_reduce(x, group=group)
    return x


class Part:
    def __init__(self, x, group=None):
        world = dist.get_world_size(group)
        if len(x) % world:
            raise ValueError(f"{len(x)} rows for {world} ranks")
        self.rows = x.chunk(world)[dist.get_rank(group)].clone()
