"""Leaves while it is imported, on one rank.

Expect:
    total: crashed skipped
    part: crashed skipped
    score: 0
    says: the process ended itself with status 7
"""

import os

import torch.distributed as dist

if dist.is_initialized() and dist.get_rank() == dist.get_world_size() - 1:
    os._exit(7)


def total(x, group=None):
    x = x.clone()
    dist.all_reduce(x, group=group)
    return x


class Part:
    def __init__(self, x, group=None):
        world = dist.get_world_size(group)
        if len(x) % world:
            raise ValueError(f"{len(x)} rows for {world} ranks")
        self.rows = x.chunk(world)[dist.get_rank(group)].clone()
