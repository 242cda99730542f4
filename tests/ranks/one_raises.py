"""Raises on rank 1 while the others wait.

Expect:
    total: error skipped
    part: passed
    score: 30
    says: rank 1: ZeroDivisionError
    says: rank 3 waits in all_reduce
"""

import torch.distributed as dist


def total(x, group=None):
    x = x / (1 / (dist.get_rank(group) - 1)) if dist.get_rank(group) == 1 else x.clone()
    dist.all_reduce(x, group=group)
    return x


class Part:
    def __init__(self, x, group=None):
        world = dist.get_world_size(group)
        if len(x) % world:
            raise ValueError(f"{len(x)} rows for {world} ranks")
        self.rows = x.chunk(world)[dist.get_rank(group)].clone()
