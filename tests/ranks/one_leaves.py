"""Leaves rank 3 early, with a good exit status.

Expect:
    total: crashed skipped
    part: passed
    score: 30
    says: rank 3: the process ended itself with status 0
"""

import os

import torch.distributed as dist


def total(x, group=None):
    if dist.get_rank(group) == 3:
        os._exit(0)
    x = x.clone()
    dist.all_reduce(x, group=group)
    return x


class Part:
    def __init__(self, x, group=None):
        world = dist.get_world_size(group)
        if len(x) % world:
            raise ValueError(f"{len(x)} rows for {world} ranks")
        self.rows = x.chunk(world)[dist.get_rank(group)].clone()
