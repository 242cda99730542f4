"""Sends nothing from rank 1, for which the others wait.

Expect:
    total: timeout skipped
    part: passed
    score: 30
    says: rank 0 waits in all_reduce (collective 1 of its own) at line
    says: in total: dist.all_reduce(x, group=group)
    says: rank 1 returned
"""

import torch.distributed as dist


def total(x, group=None):
    x = x.clone()
    if dist.get_rank(group) != 1:
        dist.all_reduce(x, group=group)
    return x


class Part:
    def __init__(self, x, group=None):
        world = dist.get_world_size(group)
        if len(x) % world:
            raise ValueError(f"{len(x)} rows for {world} ranks")
        self.rows = x.chunk(world)[dist.get_rank(group)].clone()
