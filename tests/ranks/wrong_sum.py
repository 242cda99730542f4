"""Sums on rank 0 alone.

Expect:
    total: failed skipped
    part: passed
    score: 30
"""

import torch.distributed as dist


def total(x, group=None):
    x = x.clone()
    dist.reduce(x, 0, group=group)
    return x


class Part:
    def __init__(self, x, group=None):
        world = dist.get_world_size(group)
        if len(x) % world:
            raise ValueError(f"{len(x)} rows for {world} ranks")
        self.rows = x.chunk(world)[dist.get_rank(group)].clone()
