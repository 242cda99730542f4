"""Refuses what cannot be shared on rank 0 alone.

Expect:
    total: passed
    part: passed failed
    score: 87.5
    says: expected a ValueError on every rank; rank 1 raised none
"""

import torch.distributed as dist


def total(x, group=None):
    x = x.clone()
    dist.all_reduce(x, group=group)
    return x


class Part:
    def __init__(self, x, group=None):
        world = dist.get_world_size(group)
        if len(x) % world and dist.get_rank(group) == 0:
            raise ValueError(f"{len(x)} rows for {world} ranks")
        self.rows = x.chunk(world)[dist.get_rank(group)].clone()
